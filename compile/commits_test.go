package compile_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/commits/commitskit"
)

// committed is a made-up recording of threads that commit to a log in groups. Threads wait from
// when they want a commit until it is durable or they lead.
func committed(seed uint64, threads, commits int) (text string, want format.Grouping, bytes int64) {
	r := rand.New(rand.NewPCG(seed, 3))
	type thread struct {
		left   int
		wanted int64
	}
	all, lines := make([]thread, threads), []wokenLine(nil)
	line := func(i int, start, end int64, text string, args ...any) {
		lines = append(lines, wokenLine{start, end, i, fmt.Sprintf(text, args...)})
	}
	line(0, 1000, 2000, `openat(AT_FDCWD, "/w/log", O_WRONLY|O_CREAT|O_APPEND, 0600) = 3 <0.000001000> {type=reg size=0 new}`)
	for i := range all {
		if i > 0 {
			line(0, 1000+int64(i)*2000, 2000+int64(i)*2000, "clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d <0.000001000>", 101+i)
		}
		all[i] = thread{commits, 100_000 + r.Int64N(100_000)}
	}
	free, leader := int64(0), 0
	for {
		first := -1
		for i := range all {
			if all[i].left > 0 && (first < 0 || all[i].wanted < all[first].wanted) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		begin := all[first].wanted
		if begin < free {
			begin = free + 10_000
			line(first, all[first].wanted, free+5_000, "wait(FUTEX, 0x%d) = 0 <0.%09d> {by=%d}", first, free+5_000-all[first].wanted, 101+leader)
		}
		leader = first
		var members []int
		for i := range all {
			if all[i].left > 0 && all[i].wanted <= begin {
				members = append(members, i)
			}
		}
		size, end := 100*int64(len(members)), begin+5_000
		line(first, begin, end, "write(3, 0x1000, %d) = %d <0.000005000>", size, size)
		free = end + 50_000 + r.Int64N(300_000)
		line(first, end+1_000, free, "fdatasync(3) = 0 <0.%09d>", free-end-1_000)
		want.Groups++
		want.Commits++
		bytes += size
		for _, i := range members {
			woken := free
			if i != first {
				woken += 1_000
				line(i, all[i].wanted, woken, "wait(FUTEX, 0x%d) = 0 <0.%09d> {by=%d}", i, woken-all[i].wanted, 101+first)
				want.Commits++
			}
			all[i].left, all[i].wanted = all[i].left-1, woken+2_000+r.Int64N(150_000)
		}
	}
	for i := range all {
		line((i+1)%threads, all[(i+1)%threads].wanted+1_000_000, all[(i+1)%threads].wanted+1_000_000, "exit(0) = ?")
	}
	want.Threads = int64(threads)
	slices.SortStableFunc(lines, func(a, b wokenLine) int { return cmp.Compare(a.end, b.end) })
	var b strings.Builder
	b.WriteString("# pianola script 1\n# recorder: ebpf\n# lost: 0\n")
	last := int64(0)
	for _, l := range lines {
		sign, d := "", l.start-last
		if d < 0 {
			sign, d = "-", -d
		}
		fmt.Fprintf(&b, "%d %s%d.%09d %s\n", 101+l.thread, sign, d/1e9, d%1e9, l.text)
		last = l.start
	}
	return b.String(), want, bytes
}

// Each commit is found, as that of a leader or of a thread that joined its group.
func TestCommits(t *testing.T) {
	for seed := range uint64(50) {
		input, want, bytes := committed(seed, 2+int(seed%6), 25)
		out, report := compiled(t, input, compile.Options{})
		require.Equal(t, want, report.Grouping, "seed %d", seed)
		require.Len(t, report.Logs, 1)
		l := report.Logs[0]
		require.Positive(t, l.Nanos)
		l.Nanos, l.Turns = 0, 0
		require.Equal(t, compile.Log{Name: "w/pianola_tmp1", Commits: want.Commits, Groups: want.Groups, Bytes: bytes}, l)
		require.Zero(t, report.Kept)
		text := out.String()
		require.Len(t, regexp.MustCompile(`:lead\b`).FindAllString(text, -1), int(want.Groups))
		require.Len(t, regexp.MustCompile(`:join\b`).FindAllString(text, -1), int(want.Commits-want.Groups))
		require.Contains(t, text, "# grouped: "+want.String()+"\n")
	}
}

// They are found as well if threads share a processor: one that waited for its turn, and looked
// again, waits when the next leader has begun. Its unrecorded calls have a cost, and
// the leader of that group gets the processor after its sync only.
func TestCommitsOfBusyThreads(t *testing.T) {
	const rounds = 10
	var b strings.Builder
	b.WriteString(`# pianola script 1
# recorder: ebpf
# lost: 0
# cost: inside=0 outside=0 rich=0 call=200
101 0.000001000 openat(AT_FDCWD, "/w/log", O_RDWR|O_CREAT, 0600) = 3 <0.000000100> {type=reg size=0}
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000000100>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 103 <0.000000100>
`)
	for range rounds {
		b.WriteString(`102 0.001000000 write(3, 0x1000, 100) = 100 <0.000001000>
102 0.000002000 fdatasync(3) = 0 <0.000100000>
103 0.000010000 stat("/w/a", 0x1) = 0 <0.000001000>
103 0.000010000 wait(FUTEX, 0x3) = 0 <0.000085000> {by=102}
103 0.000100000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000020000 write(3, 0x1000, 100) = 100 <0.000001000>
101 0.000002000 fdatasync(3) = 0 <0.000150000> {behind=120000}
103 0.000060000 wait(FUTEX, 0x3) = 0 <0.000100000> {by=101 calls=1 own=90000}
`)
	}
	b.WriteString("103 0.001000000 stat(\"/w/a\", 0x1) = 0 <0.000001000>\n")
	_, report := compiled(t, b.String(), compile.Options{})
	require.Equal(t, format.Grouping{Threads: 3, Commits: 3 * rounds, Groups: 2 * rounds}, report.Grouping)
}

// A replay can leave out the wait of a thread for a group of commits. So the thread comes after what the
// leader did before, such as creating the next log, by an edge of its own.
func TestOrderWithoutGroups(t *testing.T) {
	text := commitskit.NextLogs(`103 0.000100000 stat("/w/log", 0x1) = 0 <0.000001000>
103 0.000010000 openat(AT_FDCWD, "/w/next%[1]d", O_RDWR) = 5 <0.000001000> {type=reg size=0}
103 0.000002000 close(5) = 0 <0.000001000>
103 0.000002000 close(4) = 0 <0.000001000>
`)
	out, report := compiled(t, text, compile.Options{})
	require.EqualValues(t, 20, report.Grouping.Commits)
	require.Len(t, regexp.MustCompile(`(?m)^3 open .*\{after=2:\d+:name\}$`).FindAllString(out.String(), -1), 10)
}

// A report says why a replay keeps the groups of a log, and how much of the run time that is.
func TestKeptGroups(t *testing.T) {
	for _, test := range []struct {
		groups int
		second int  // the thread that leads every second group
		reads  bool // and reads within it
		want   string
		kept   string
	}{
		{10, 102, false, "20 commits in 10 groups, 1000 bytes, kept as recorded: no leader waits for another\n", "^50 % of the run time is in groups of commits that a replay keeps: it takes longer"},
		{3, 102, false, "6 commits in 3 groups, 300 bytes, kept as recorded: too few\n", "^$"},
		{10, 103, false, "20 commits in 10 groups, 1000 bytes\n", "^$"},
		{10, 103, true, ", kept as recorded: 5 groups have other calls\n", "^50 % "},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, "# pianola script 1\n# recorder: ebpf\n# lost: 0\n# elapsed: %d.000000000\n", 2*test.groups)
		b.WriteString(`101 0.000001000 openat(AT_FDCWD, "/w/log", O_RDWR|O_CREAT, 0600) = 3 <0.000000100> {type=reg size=0}
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000000100>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 103 <0.000000100>
`)
		for i := range test.groups {
			leader := []int{102, test.second}[i%2]
			fmt.Fprintf(&b, "%d 1.100000000 write(3, 0x1000, 100) = 100 <0.000001000>\n", leader)
			if test.reads && i%2 == 1 {
				fmt.Fprintf(&b, "%d 0.000002000 read(3, 0x1000, 10) = 0 <0.000001000>\n", leader)
			}
			fmt.Fprintf(&b, "%d 0.000002000 fdatasync(3) = 0 <1.000000000>\n", leader)
			fmt.Fprintf(&b, "%d -0.000010000 wait(FUTEX, 0x10) = 0 <1.000020000> {by=%d}\n", 205-leader, leader)
		}
		_, report := compiled(t, b.String(), compile.Options{})
		var out strings.Builder
		_, err := report.WriteTo(&out)
		require.NoError(t, err)
		require.Contains(t, out.String(), test.want, "%+v", test)
		require.Regexp(t, test.kept, report.KeptText(), "%+v", test)
	}
}
