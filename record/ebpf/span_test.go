package ebpf

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/features"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/layer"
	"pianola/record"
	"pianola/record/recordkit"
)

// queue builds the library of testdata/queue.c and a program that calls it, in a
// directory where the dynamic linker finds it by the program's RUNPATH alone; with static
// the library is linked into the program.
func queue(t *testing.T, static bool) (program string, l *layer.Layer) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no C compiler for amd64")
	}
	dir := t.TempDir()
	program = filepath.Join(dir, "spans")
	library := filepath.Join(dir, "libqueue.so.1")
	build := func(args ...string) {
		out, err := exec.Command(cc, append([]string{"-O1", "-fno-optimize-sibling-calls", "-o"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	if static {
		build(program, "testdata/spans.c", "testdata/queue.c", "-lpthread")
	} else {
		build(library, "-shared", "-fPIC", "testdata/queue.c")
		build(program, "testdata/spans.c", library, "-lpthread", "-Wl,-rpath,$ORIGIN", "-Wl,--enable-new-dtags")
	}
	l, err = layer.Load("testdata/queue.json")
	require.NoError(t, err)
	return program, l
}

// spans records the program and returns what the script has of its spans.
func spansOf(t *testing.T, static bool, what string, change func(*record.Options)) (lines []string, r record.Result) {
	t.Helper()
	program, l := queue(t, static)
	var c recordkit.Collect
	o := record.Options{Command: []string{program, what}, Layers: []*layer.Layer{l}}
	if change != nil {
		change(&o)
	}
	r, _ = recordLong(t, o, &c)
	return c.Lines(format.OpNone), r
}

// addresses are those that differ from run to run.
var addresses = regexp.MustCompile("0x[0-9a-f]{6,}")

func TestSpans(t *testing.T) {
	for _, test := range []struct {
		what string
		want []string
	}{
		{"arguments", []string{
			`queue:q_open(path="file \"x\"", 2) = 7`,
			`queue:q_open(NULL, 3) = -1`,
			`queue:q_many(-1, ?, 1000, 4000000000, -7, "name", -3, 200, -9000000000, &194, [1, -2, 3], 3, 0x…) = -9000000000`,
		}},
		{"arrays", []string{
			"queue:q_take([0, -1, -2], 3, 0) = -3",
			"queue:q_take([-4, -5], 2, 0) = -9", "queue:q_take(0x…, 3, 1) = -12",
			"queue:q_take([-6, -7, -8], 3, 0) = -21",
			"queue:q_take([], -1, 0) = 0", "queue:q_take(NULL, 0, 0) = 0", "queue:q_take([], 0, 0) = 0",
			"queue:q_take([0" + strings.Repeat(", 0", int(bpf.CLimitMAX_NUMBERS)-1) + "], 1000, 0) = 0",
			"queue:q_find(&2, &-1, [0, 0, 1, -1, 0, 0], [0, 10]) = 3",
			"queue:q_find(&-5, &-1, [], NULL) = 3",
			"queue:q_find(&1, &-1, [0, 0], [0]) = 3",
		}},
		{"nest", []string{
			"queue:q_deep(0) = 0", "queue:q_deep(1) = 1", "queue:q_deep(2) = 2", "queue:q_deep(3) = 3",
			"queue:q_call(1) = 2", "queue:q_tail(1) = 2", "queue:q_call(2) = 3", "queue:q_tail(2) = 3",
		}},
		{"jump", []string{"queue:q_call(1) = 2"}},
		{"fork", []string{"queue:q_call(20) = 21", "queue:q_fork(4) = 4"}},
		{"exec", []string{"queue:q_call(5) = 6"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			lines, r := spansOf(t, false, test.what, nil)
			for i, line := range lines {
				lines[i] = addresses.ReplaceAllString(line, "0x…")
			}
			require.Equal(t, test.want, lines)
			require.Equal(t, map[string]int64{"queue": int64(len(lines))}, r.Spans)
			require.Zero(t, r.Lost)
			require.Len(t, r.Probed, 1)
			require.Equal(t, "queue libqueue.so.1 functions=9 missing=1 stepped=1", r.Probed[0].String())
			require.Positive(t, r.Cost.Span)
			require.Positive(t, r.InPlace.Span)
		})
	}
}

// A library that is linked into the program is found by the program's symbols.
func TestSpansStatic(t *testing.T) {
	lines, r := spansOf(t, true, "nest", nil)
	require.Len(t, lines, 8)
	require.Equal(t, "queue spans functions=9 missing=1 stepped=1", r.Probed[0].String())
}

func TestSpanText(t *testing.T) {
	lines, _ := spansOf(t, false, "arguments", func(o *record.Options) { o.LayerText = true })
	require.Len(t, lines, 3)
	require.Contains(t, lines[2], `, 3, "SELECT") = `)
}

func TestSpansForced(t *testing.T) {
	lines, _ := spansOf(t, false, "slow", nil)
	require.Equal(t, []string{"queue:q_call(1) = 2"}, lines)
	lines, r := spansOf(t, false, "slow", func(o *record.Options) { o.LayerForce = true })
	require.Equal(t, []string{"queue:q_slow() = 3", "queue:q_call(1) = 2"}, lines)
	require.Zero(t, r.Probed[0].Stepped)
	lines, r = spansOf(t, false, "slow", func(o *record.Options) {
		for _, f := range o.Layers[0].Functions {
			f.Always = f.Name == "q_slow"
		}
	})
	require.Equal(t, []string{"queue:q_slow() = 3", "queue:q_call(1) = 2"}, lines)
	require.Zero(t, r.Probed[0].Stepped)
}

// Calls that are too deep within one another are counted, and those above them recorded.
func TestSpansDeep(t *testing.T) {
	const calls = 30
	deep := int(bpf.CLimitMAX_FRAMES)
	lines, r := spansOf(t, false, "deep", nil)
	require.Len(t, lines, deep)
	require.Equal(t, "queue:q_deep(29) = 29", lines[deep-1])
	require.Equal(t, map[string]int64{"spans": int64(calls - deep)}, r.LostByOp)
}

func TestSpansOfThreads(t *testing.T) {
	program, l := queue(t, false)
	var c recordkit.Collect
	recordLong(t, record.Options{Command: []string{program, "threads"}, Layers: []*layer.Layer{l}}, &c)
	outer := map[int32]format.Event{}
	n := 0
	for _, e := range c.Of(format.OpNone) {
		require.Equal(t, "setup", e.Span.Kind)
		if e.Span.Args[0].Int == 0 {
			outer[e.TID] = e
			continue
		}
		n++
		inner := outer[e.TID]
		require.LessOrEqual(t, e.Start, inner.Start)
		require.GreaterOrEqual(t, e.End(), inner.End())
	}
	require.Equal(t, 400, n)
	require.Len(t, outer, 4)
}

// A library in a place that the recorder can't know before is probed when it is opened, and the recording says how late that was.
func TestSpansLate(t *testing.T) {
	program, l := queue(t, false)
	c := spanSink{seen: make(chan struct{})}
	script := filepath.Join(t.TempDir(), "run")
	ask, answer := filepath.Join(filepath.Dir(script), "ask"), filepath.Join(filepath.Dir(script), "answer")
	require.NoError(t, mkfifo(ask))
	require.NoError(t, mkfifo(answer))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec "+program+" wait <'"+ask+"' >'"+answer+"'\n"), 0o755))
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			in, err := os.OpenFile(ask, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer in.Close()
			out, err := os.Open(answer)
			if err != nil {
				return err
			}
			defer out.Close()
			for { // until it is probed, for as long as that takes
				if _, err := in.Write([]byte{1}); err != nil {
					return err
				}
				if _, err := out.Read(make([]byte, 1)); err != nil {
					return err
				}
				select {
				case <-c.seen:
					return nil
				case <-time.After(time.Millisecond):
				}
			}
		}()
	}()
	r, _ := recordLong(t, record.Options{Command: []string{script}, Layers: []*layer.Layer{l}}, &c)
	require.NoError(t, <-done)
	require.Len(t, r.Probed, 1)
	require.Positive(t, r.Probed[0].Late)
	require.Contains(t, r.Probed[0].String(), " late=")
	require.NotEmpty(t, c.Of(format.OpNone))
	require.Equal(t, r.Probed[0].String(), layerLine(t, c.Headers[len(c.Headers)-1]))
}

// spanSink is a sink that says when the first span has come.
type spanSink struct {
	recordkit.Collect
	seen chan struct{}
	once sync.Once
}

func (s *spanSink) Write(events []format.Event) error {
	if slices.ContainsFunc(events, func(e format.Event) bool { return e.Span != nil }) {
		s.once.Do(func() { close(s.seen) })
	}
	return s.Collect.Write(events)
}

func layerLine(t *testing.T, h *format.Header) string {
	t.Helper()
	line, ok := h.Value(format.MetaLayer)
	require.True(t, ok)
	return line
}

// A library that a process has mapped already is probed when the recorder attaches.
func TestSpansAttached(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	program, l := queue(t, false)
	cmd := exec.Command(program, "wait")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	call := func() {
		_, err := in.Write([]byte{41})
		require.NoError(t, err)
		_, err = out.Read(make([]byte, 1))
		require.NoError(t, err)
	}
	call() // it is mapped
	var c recordkit.Collect
	began := make(chan struct{})
	var r record.Result
	ended := make(chan error, 1)
	go func() {
		var err error
		r, err = Attach(context.Background(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20, Layers: []*layer.Layer{l}}, &begins{Collect: &c, began: began})
		ended <- err
	}()
	select {
	case <-began:
	case err := <-ended:
		require.NoError(t, err, "it ended before it began")
	}
	call()
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.NoError(t, <-ended)
	require.Equal(t, []string{"queue:q_call(41) = 42"}, c.Lines(format.OpNone))
	require.Len(t, r.Probed, 1)
	require.Zero(t, r.Probed[0].Late)
}

// begins is a sink that says when the recording has begun.
type begins struct {
	*recordkit.Collect
	began chan struct{}
}

func (b *begins) WriteHeader(h *format.Header) error {
	if b.began != nil {
		close(b.began)
		b.began = nil
	}
	return b.Collect.WriteHeader(h)
}

// Older kernels attach in other ways.
func TestProbing(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	_, l := queue(t, false)
	o := record.Options{RingBytes: 1 << 20, Layers: []*layer.Layer{l}}
	for _, how := range []probing{probingBest, probingEach, probingMulti} {
		c := configOf(&o)
		c.Spans, c.Probing = planSpans(&o).all, how
		p, err := load(c)
		require.NoError(t, err)
		defer func() { require.NoError(t, p.close()) }()
		if how == probingMulti && features.HaveBPFLinkUprobeMulti() != nil {
			continue
		}
		ring, err := openRing(p.ring())
		require.NoError(t, err)
		defer func() { require.NoError(t, ring.close()) }()
		require.NoError(t, p.attach())
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cost, err := calibrateSpan(p, ring, usualEntry)
		require.NoError(t, err)
		require.Positive(t, cost)
		t.Log(how, cost)
	}
}

// The program wakes the recorder when a library is mapped, and when a program is executed.
func TestWakes(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	dynamic, l := queue(t, false)
	static, _ := queue(t, true)
	python := fmt.Sprintf("import ctypes, sys; sys.stdin.read(1); ctypes.CDLL(%q); sys.stdin.read(1)", filepath.Join(filepath.Dir(dynamic), "libqueue.so.1"))
	for name, command := range map[string][]string{
		"mapped":   {"python3", "-c", python},
		"executed": {"sh", "-c", "read x; exec " + static + " nest"},
	} {
		t.Run(name, func(t *testing.T) {
			o := record.Options{RingBytes: 1 << 20, Layers: []*layer.Layer{l}}
			c := configOf(&o)
			c.Spans = planSpans(&o).all
			p, err := load(c)
			require.NoError(t, err)
			defer func() { require.NoError(t, p.close()) }()
			require.True(t, p.wakes)
			ring, err := openRing(p.ring())
			require.NoError(t, err)
			woken, err := ring.wakes(p.ring())
			require.NoError(t, err)
			<-woken // once at the start, for nothing
			require.NoError(t, p.attach())

			cmd := exec.Command(command[0], command[1:]...)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
			require.NoError(t, err)
			defer unix.Close(pidfd)
			require.NoError(t, p.follow(pidfd))
			_, err = in.Write([]byte("x\n"))
			require.NoError(t, err)
			select {
			case <-woken:
			case <-time.After(time.Minute):
				t.Error("nothing woke the recorder")
			}
			require.NoError(t, in.Close())
			require.NoError(t, cmd.Wait())
			require.NoError(t, ring.close())
		})
	}
}

// While a program maps no library, the ring is left alone as long as without layers.
func TestPauseOfProbes(t *testing.T) {
	_, l := queue(t, false)
	p := planSpans(&record.Options{Layers: []*layer.Layer{l}})
	now := time.Now()
	p.program = &program{wakes: true}
	require.Equal(t, maxPause, p.pause(now))
	p.globals[0].expected = now.Add(globalWait)
	require.Equal(t, globalPoll, p.pause(now))
	require.Equal(t, maxPause, p.pause(now.Add(globalWait)))
	p.program.wakes = false
	require.Equal(t, probePause, p.pause(now.Add(globalWait)))
}

// A program in Go is not probed: it would crash.
func TestSpansOfGo(t *testing.T) {
	l, err := layer.Load("testdata/queue.json")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	p := planSpans(&record.Options{Layers: []*layer.Layer{l}})
	require.NoError(t, p.attach(0, self, "test", 0))
	require.Len(t, p.files, 1)
	require.ErrorIs(t, p.files[0].Err, layer.ErrGo)
	require.Contains(t, p.files[0].String(), ` refused="a program in Go`)
}

// The recorder has room for all that the layers that ship want to read of a call.
func TestPlanSpans(t *testing.T) {
	for _, name := range layer.Names() {
		l, err := layer.Load(name)
		require.NoError(t, err)
		for _, probe := range planSpans(&record.Options{Layers: []*layer.Layer{l}, LayerText: true}).all {
			f := probe.Function
			read := slices.Clone(f.Numbers)
			for _, a := range f.Arrays {
				read = append(read, a.Arg)
			}
			for _, list := range [][]layer.Handle{f.Define, f.Map, f.Undefine} {
				for _, h := range list {
					if arg, ok := strings.CutPrefix(h.Value, "*"); ok {
						read = append(read, arg)
					}
				}
			}
			for _, arg := range read {
				require.GreaterOrEqual(t, probe.Args[f.Index(arg)].Piece, 0, "%s: %s", f.Name, arg)
			}
		}
	}
}

func TestViewSpan(t *testing.T) {
	l, err := layer.Load("testdata/queue.json")
	require.NoError(t, err)
	p := planSpans(&record.Options{Layers: []*layer.Layer{l}})
	d := drain{writer: record.NewWriter(recordkit.Discard{}, 0), probes: p}
	raw := bpf.CSpan{Start: 1, Took: 2, Ret: 3, Tid: 4, Nr: bpf.CNumberNR_SPAN, Function: 1}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&raw)), spanSize)
	_, err = d.add(b)
	require.NoError(t, err)
	require.Equal(t, "q_many", d.span.Probe.Function.Name)
	require.EqualValues(t, 1, p.calls[1])
	_, err = d.add(b[:spanSize-1])
	require.ErrorIs(t, err, errRecord)
	raw.Function = uint32(len(p.all))
	_, err = d.add(b)
	require.ErrorIs(t, err, errRecord)
	d.probes = nil
	_, err = d.add(b)
	require.ErrorIs(t, err, errRecord)
}
