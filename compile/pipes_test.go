package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// Each line is a thread, the start of its call and its duration in microseconds, and
// the call. Lines are in the order of completion. Thread 10 has created the pipe [3, 4]
// and forked the processes 11 (thread 2 of the trace) and 12 (thread 3). The test lists
// the pipe events of the trace: thread, number in the thread, operation, start and wait
// in microseconds, and edges other than to its own clone.
func TestPipes(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"a read waits for its write",
			[]string{"11 500 5 write(4, 0x1, 100) = 100", "12 200 320 read(3, 0x1, 100) = 100"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"a read that finds bytes does not",
			[]string{"11 500 5 write(4, 0x1, 100) = 100", "12 510 5 read(3, 0x1, 100) = 100"}, nil},
		{"only the first byte is waited for",
			[]string{
				"11 100 5 write(4, 0x1, 100) = 100", "12 110 1 read(3, 0x1, 60) = 60", "12 120 9 read(3, 0x1, 100) = -1 EINTR (x)",
				"11 600 5 write(4, 0x1, 100) = 100", "12 550 100 read(3, 0x1, 100) = 100",
			}, nil},
		{"a read can end before the line of its write, which was larger than the pipe",
			[]string{"12 200 320 read(3, 0x1, 65536) = 65536", "12 530 70 read(3, 0x1, 65536) = 34464", "11 500 90 write(4, 0x1, 100000) = 100000"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0", "3:1 pipe_read 530+0", "2:1 pipe_write 500+30 3:1"}},
		{"bytes of a process that was not recorded",
			[]string{"12 100 5 read(3, 0x1, 100) = 100", "11 500 5 write(4, 0x1, 100) = 100", "12 200 320 read(3, 0x1, 100) = 100"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"readv, writev, copies of descriptors",
			[]string{"11 10 1 dup2(4, 1) = 1", "12 10 1 fcntl(3, F_DUPFD, 9) = 9", "11 500 5 writev(1, 0x1, 2, 100) = 100", "12 200 320 readv(9, 0x1, 1, 100) = 100"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"splice from one pipe into another",
			[]string{"12 10 1 pipe([5, 6]) = 0", "11 500 5 write(4, 0x1, 100) = 100", "12 200 320 splice(3, NULL, 6, NULL, 100, 0) = 100"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"a thread does not wait for itself",
			[]string{"12 100 300 write(4, 0x1, 100) = 100", "12 410 300 read(3, 0x1, 100) = 100"}, nil},
		{"the end waits for the last close",
			[]string{"10 20 1 close(4) = 0", "12 30 1 close(4) = 0", "11 500 5 close(4) = 0", "12 200 320 read(3, 0x1, 100) = 0"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"the end waits for an exit, which is in the trace",
			[]string{"10 20 1 close(4) = 0", "12 30 1 close(4) = 0", "11 500 0 exit_group(0) = ?", "12 200 320 read(3, 0x1, 100) = 0"},
			[]string{"3:0 pipe_read 200+300 2:0"}},
		{"the end waits for an execve",
			[]string{"11 30 1 fcntl(4, F_SETFD, 1) = 0", `11 500 5 execve("/w/x", 0x1, 0x2) = 0`, "12 200 320 read(3, 0x1, 100) = 0"},
			[]string{"3:0 pipe_read 200+300 2:0"}},
		{"the end waits for a copy of a file over it",
			[]string{`11 30 1 open("/w/a", O_RDONLY) = 5`, "11 500 5 dup2(5, 4) = 4", "12 200 320 read(3, 0x1, 100) = 0"},
			[]string{"3:0 pipe_read 200+300 2:1"}},
		{"a write waits for the read that made room",
			[]string{"11 100 1 write(4, 0x1, 65536) = 65536", "12 500 5 read(3, 0x1, 65536) = 65536", "11 110 450 write(4, 0x1, 100) = 100"},
			[]string{"3:0 pipe_read 500+0", "2:0 pipe_write 110+390 3:0"}},
		{"a write that did not last does not wait",
			[]string{"12 105 1 read(3, 0x1, 9) = 9", "11 104 5 write(4, 0x1, 100) = 100"},
			nil},
		{"a read after poll",
			[]string{`12 100 10 stat("/w/a", 0x1) = 0`, "11 500 5 write(4, 0x1, 100) = 100", "12 520 5 read(3, 0x1, 100) = 100 {off=400000}"},
			[]string{"2:0 pipe_write 500+0", "3:1 pipe_read 110+390 2:0"}},
		{"a read after a sleep",
			[]string{`12 100 10 stat("/w/a", 0x1) = 0`, "11 500 5 write(4, 0x1, 100) = 100", "12 9520 5 read(3, 0x1, 100) = 100 {off=9400000}"}, nil},
		{"a FIFO",
			[]string{
				`10 20 1 mknod("/w/p", S_IFIFO|0600, 0) = 0`, `11 40 50 open("/w/p", O_WRONLY) = 5 {type=fifo}`, `12 30 60 open("/w/p", O_RDONLY) = 6 {type=fifo}`,
				"11 500 5 write(5, 0x1, 100) = 100", "12 200 320 read(6, 0x1, 100) = 100",
			},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"inherited",
			[]string{"11 500 5 write(1, 0x1, 100) = 100", "12 200 320 read(0, 0x1, 100) = 100"},
			[]string{"2:0 pipe_write 500+0", "3:0 pipe_read 200+300 2:0"}},
		{"durations are not known",
			[]string{"11 500 - write(4, 0x1, 100) = 100", "12 200 - read(3, 0x1, 100) = 100"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := pipeScript(c.lines)
			s, r := compiled(t, input, compile.Options{Compensate: true})
			require.Equal(t, strings.Join(c.want, "\n"), strings.Join(pipeEvents(s), "\n"), s)
			require.Zero(t, r.LeftOut[format.OpPipeRead])

			k := &checker{}
			for _, e := range s.events {
				require.NoError(t, k.Write([]format.Event{e}))
			}
			require.NoError(t, k.fault)

			// The trace is the same from any form of the recording.
			again, _ := compiled(t, input, compile.Options{Compensate: true})
			require.Equal(t, s.events, again.events)
		})
	}
}

func pipeScript(lines []string) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# fd: 10 0 O_RDONLY 0 \"pipe:[7]\"\n# fd: 10 1 O_WRONLY 0 \"pipe:[7]\"\n")
	last := 0
	for _, line := range append([]string{"10 1 1 pipe([3, 4]) = 0", "10 3 1 fork() = 11", "10 5 1 fork() = 12"}, lines...) {
		var tid, start int
		var dur string
		_, err := fmt.Sscan(line, &tid, &start, &dur)
		if err != nil {
			panic(err)
		}
		call := strings.SplitN(line, " ", 4)[3]
		sign, gap := "", start-last
		if last = start; gap < 0 {
			sign, gap = "-", -gap
		}
		call, notes, noted := strings.Cut(call, " {")
		if dur != "-" && !strings.HasSuffix(call, "= ?") {
			var micros int
			fmt.Sscan(dur, &micros)
			call += fmt.Sprintf(" <%d.%06d>", micros/1e6, micros%1e6)
		}
		if noted {
			call += " {" + notes
		}
		fmt.Fprintf(&b, "%d %s0.%06d000 %s\n", tid, sign, gap, call)
	}
	return b.String()
}

func pipeEvents(s *text) (list []string) {
	now, count := map[int32]int64{}, map[int32]int{}
	for i, th := range s.header.Threads {
		now[int32(i+1)] = th.Start
	}
	for i := range s.events {
		e := &s.events[i]
		start := now[e.TID] + e.Compute
		now[e.TID] = start + max(e.Dur, 0)
		if e.Op == format.OpPipeRead || e.Op == format.OpPipeWrite {
			var edges string
			for _, g := range e.Edges {
				if g.Thread != 1 {
					edges += fmt.Sprintf(" %d:%d", g.Thread, g.Event)
				}
			}
			list = append(list, fmt.Sprintf("%d:%d %s %d+%d%s", e.TID, count[e.TID], e.Op, start/1000, e.Dur/1000, edges))
		}
		count[e.TID]++
	}
	return list
}
