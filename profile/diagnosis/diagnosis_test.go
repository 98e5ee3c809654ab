package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/script"
	"pianola/profile"
)

// act is a call that is done n times, each time for so many microseconds, and after so
// many of compute.
type act struct {
	n      int
	call   func(i int) string
	micros int
	gap    int
	notes  string
}

// always returns the same call.
func always(call string) func(int) string { return func(int) string { return call } }

// at returns a call with an offset that is i times a step.
func at(call string, step int) func(int) string {
	return func(i int) string { return fmt.Sprintf(call, i*step) }
}

// scattered returns a call with offsets that are in no order, below 1 GiB.
func scattered(call string) func(int) string {
	return func(i int) string { return fmt.Sprintf(call, uint32(i*2654435761)>>14<<12) }
}

// recording writes a script of one thread.
func recording(remarks string, acts ...act) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n" + remarks)
	before := 0
	for _, a := range acts {
		for i := range a.n {
			fmt.Fprintf(&b, "1 %d.%06d %s <0.%06d>", (before+a.gap)/1e6, (before+a.gap)%1e6, a.call(i), a.micros)
			if a.notes != "" {
				b.WriteString(" {" + a.notes + "}")
			}
			b.WriteByte('\n')
			before = a.micros
		}
	}
	return b.String()
}

// opens is an open of a file.
func opens(fd int, name, flags string) act {
	return act{n: 1, call: always(fmt.Sprintf("openat(AT_FDCWD, %q, %s, 0644) = %d", name, flags, fd)), micros: 5}
}

func read(t *testing.T, text string) *profile.Profile {
	t.Helper()
	p, err := profile.Read(script.NewReader(strings.NewReader(text), "test"))
	require.NoError(t, err)
	return p
}

// A finding about several files says how many calls were on which, those with the most
// first.
func TestCounts(t *testing.T) {
	names := []string{"/w/journal", "/w/a", "/w/b", "/w/c", "/w/d"}
	var acts []act
	for i, name := range names {
		acts = append(acts, opens(3+i, name, "O_WRONLY|O_CREAT"))
	}
	for i, n := range []int{40, 20, 10, 1, 2} {
		acts = append(acts, act{n: n, call: always(fmt.Sprintf("fdatasync(%d) = 0", 3+i)), micros: 300})
	}
	require.Contains(t, of(t, recording("", acts...))["sync"].Text, ": 73 calls of fdatasync, 40 of them on /w/journal, 20 on /w/a, 10 on /w/b and 3 on 2 others, p50 ")
	require.Contains(t, of(t, recording("", acts[0], acts[1], acts[5], acts[6]))["sync"].Text, ": 60 calls of fdatasync, 40 of them on /w/journal and 20 on /w/a, p50 ")
}

// A transaction of SQLite syncs the journal twice, and the directory and the database once.
func TestJournalSyncs(t *testing.T) {
	syncs := func(journal, directory, database int64) string {
		e := &evidence{}
		for name, n := range map[string]int64{"/w/db-journal": journal, "/w": directory, "/w/db": database} {
			f := &profile.File{Name: name}
			f.Categories[profile.Syncs].Calls = n
			e.parts = append(e.parts, part{File: f})
		}
		return journalSyncs(e)
	}
	require.Equal(t, "11 transactions of 4 syncs each (2 of the journal, 1 of the directory, 1 of the database)", syncs(22, 11, 11))
	require.Equal(t, "1 transaction of 2 syncs each (1 of the journal, 1 of the database)", syncs(1, 0, 1))
	require.Equal(t, "45 syncs (23 of the journal, 11 of the directory, 11 of the database)", syncs(23, 11, 11))
	require.Equal(t, "3 syncs (2 of the journal, 1 of the directory)", syncs(2, 1, 0))
}

// of returns the findings of a recording by their rules.
func of(t *testing.T, text string) map[string]profile.Finding {
	t.Helper()
	p := read(t, text)
	list := Of(p, Subject{Name: "trace.txt"})
	found := map[string]profile.Finding{}
	var sum float64
	for i, f := range list {
		found[f.Rule] = f
		require.Positive(t, f.Share)
		require.GreaterOrEqual(t, f.Share, minShare)
		require.LessOrEqual(t, f.Share, 1.0)
		if i > 0 && list[i-1].Rule != "idle" {
			require.LessOrEqual(t, f.Seconds, list[i-1].Seconds)
		}
		require.False(t, i > 0 && f.Rule == "idle", "it comes first")
		sum += f.Seconds
	}
	require.LessOrEqual(t, sum, float64(p.RunTime)/1e9*1.000001, "what findings are about is counted once")
	return found
}

// The act, so many times, or once; taking so many microseconds; on another descriptor.
func (a act) times(n int) act       { a.n = n; return a }
func (a act) once() act             { return a.times(1) }
func (a act) taking(micros int) act { a.micros = micros; return a }
func (a act) with(fd string) act {
	call := a.call
	a.n, a.call = 1, func(i int) string { return strings.Replace(call(i), "(3", "("+fd, 1) }
	return a
}

// pause is compute for so many microseconds.
func pause(micros int) act {
	return act{n: 1, call: always(`stat("/", 0x1000) = 0`), gap: micros}
}

// times returns the acts n times over.
func times(n int, acts ...act) (list []act) {
	for range n {
		list = append(list, acts...)
	}
	return list
}

// Each rule has a recording that it finds something in, and neighbours in which it
// does not.
func TestRules(t *testing.T) {
	var (
		file    = opens(3, "/f", "O_RDWR|O_CREAT")
		direct  = opens(3, "/f", "O_RDWR|O_DIRECT")
		synced  = opens(3, "/f", "O_RDWR|O_DSYNC")
		small   = act{call: always("write(3, 0x1000, 212) = 212"), micros: 3}
		sync    = act{call: always("fdatasync(3) = 0"), micros: 300}
		reading = act{call: at("pread64(3, 0x1000, 4096, %d) = 4096", 4096), micros: 3}
		jumping = act{call: scattered("pread64(3, 0x1000, 4096, %d) = 4096"), micros: 80}
	)
	for _, test := range []struct {
		rule  string
		fires []act
		text  string // a part of what it says
		share float64
		try   string           // candidates
		not   map[string][]act // by what is different
	}{
		{
			rule: "rollback-journal",
			fires: append([]act{file, opens(4, "/f-journal", "O_RDWR|O_CREAT"), opens(5, "/", "O_RDONLY|O_DIRECTORY")}, times(40, small.with("4"), sync.with("4"), sync.with("5"), small.once(), sync.once(),
				act{n: 1, call: always(`unlink("/f-journal") = 0`), micros: 200})...),
			text: "The rollback journal of /f took 99.5 % of the run time (44.015 ms): 40 transactions of 3 syncs each (1 of the journal, 1 of the directory, 1 of the database).", share: 0.99, try: "sync=none",
			not: map[string][]act{
				"no file without -journal":  append([]act{opens(4, "/f-journal", "O_RDWR|O_CREAT")}, times(40, small.with("4"), sync.with("4"))...),
				"the journal is not synced": append([]act{file, opens(4, "/f-journal", "O_RDWR|O_CREAT")}, times(40, small.with("4"), small.once(), sync.once())...),
			},
		},
		{
			rule: "sync", fires: append([]act{file}, times(100, small.once(), sync.once())...),
			text:  "Syncs of /f took 99.0 % of the run time (30.000 ms): 100 calls of fdatasync, p50 300.0 µs, p99 300.0 µs; on average one follows 1.0 writes of 212 B.",
			share: 0.99, try: "sync=none",
			not: map[string][]act{"less than a twentieth": append([]act{file}, append(times(100, small.once(), sync.once()), pause(900_000))...)},
		},
		{
			rule: "synchronous-writes", fires: []act{synced, small.taking(300).times(100)},
			text: "each waits until it is durable (O_SYNC or O_DSYNC), 100 calls of 212 B on average.", share: 1, try: "sync=none",
			not: map[string][]act{
				"no O_DSYNC":                 {file, small.taking(300).times(100)},
				"through another descriptor": {synced, opens(4, "/f", "O_RDWR"), small.times(2), small.with("4").taking(300).times(100)},
			},
		},
		{
			rule: "direct-in-sequence", fires: []act{direct, reading.taking(100).times(200)},
			text: "Direct I/O of /f took 100.0 %", share: 1, try: "buffered --try coalesce=1MiB",
			not: map[string][]act{
				"not direct":  {file, reading.taking(100).times(200)},
				"at random":   {direct, jumping.times(200)},
				"large calls": {direct, act{call: at("pread64(3, 0x1000, 65536, %d) = 65536", 65536), micros: 100}.times(200)},
			},
		},
		{
			rule: "small-writes", fires: []act{file, small.times(9000)},
			text: "Small writes of /f took 100.0 % of the run time (27.000 ms): sequential, 9000 calls of 212 B on average.", share: 1, try: "coalesce=64KiB",
			not: map[string][]act{
				"of a page":             {file, act{call: always("write(3, 0x1000, 4096) = 4096"), micros: 3}.times(9000)},
				"at random":             {file, act{call: scattered("pwrite64(3, 0x1000, 8, %d) = 8"), micros: 3}.times(9000)},
				"a sync between":        append([]act{file}, times(2000, small.times(7), sync.taking(3).once())...),
				"each is synchronous":   {synced, small.times(9000)},
				"the rest is much more": {file, small.times(900), pause(900_000)},
			},
		},
		{
			rule: "small-reads", fires: []act{file, act{call: always("read(3, 0x1000, 100) = 100"), micros: 3}.times(9000)},
			text: "Small reads of /f took 100.0 %", share: 1, try: "coalesce=64KiB",
			not: map[string][]act{"of a page": {file, reading.times(9000)}},
		},
		{
			rule: "read-again", fires: append([]act{file}, times(8, reading.times(1000))...),
			text: "/f was read 8.0 times, 32.8 MB in total from a range of 4.10 MB.", share: 1,
			not: map[string][]act{
				"three times": append([]act{file}, times(3, reading.times(2000))...),
				"once":        {file, reading.times(8000)},
			},
		},
		{
			rule: "random-reads", fires: []act{file, jumping.times(1000)},
			text: "random, from storage, one at a time per thread, 1000 calls of 4.10 kB on average, 80.0 µs each.", share: 1,
			try: "prefetch=8 --try uring-batch=32 --try cache=warm",
			not: map[string][]act{
				"from the page cache":   {file, jumping.taking(4).times(9000)},
				"in sequence":           {file, reading.taking(80).times(1000)},
				"large, from the cache": {file, act{call: scattered("pread64(3, 0x1000, 1048576, %d) = 1048576"), micros: 200}.times(1000)},
			},
		},
		{
			rule: "reads-from-storage", fires: []act{file, reading.taking(80).times(1000)},
			text: "Reads of /f took 100.0 % of the run time (80.000 ms): from storage, 1000 calls of 4.10 kB on average, 80.0 µs each.", share: 1,
			try: "cache=warm --try readahead=1MiB",
			not: map[string][]act{"from the page cache": {file, reading.times(9000)}},
		},
		{
			rule: "mapped-faults", fires: []act{file, act{call: always("mmap(NULL, 1048576, PROT_READ, MAP_SHARED, 3, 0) = 0x10000000"), micros: 5}.once(), act{call: always("map_read(0x10000000, 4096, 0) = 4096"), micros: 100}.times(200)},
			text: "200 faults. Faults on pages in the page cache do not wait for storage. If the access is random, madvise(MADV_RANDOM)", share: 1, try: "cache=warm",
			not: map[string][]act{
				"a few":           {file, act{call: always("mmap(NULL, 1048576, PROT_READ, MAP_SHARED, 3, 0) = 0x10000000"), micros: 5}.once(), act{call: always("map_read(0x10000000, 4096, 0) = 4096"), micros: 2000}.times(10)},
				"without waiting": {file, act{call: always("mmap(NULL, 1048576, PROT_READ, MAP_SHARED, 3, 0) = 0x10000000"), micros: 5}.once(), act{call: always("map_read(0x10000000, 4096, 0) = 4096")}.times(200), pause(20_000)},
			},
		},
		{
			rule: "failing-names", fires: []act{act{call: func(i int) string {
				return fmt.Sprintf(`openat(AT_FDCWD, "/lib/a/%d", O_RDONLY) = -1 ENOENT (No such file or directory)`, i)
			}, micros: 20}.times(1000)},
			text: "1000 calls on 1000 names, mostly in /lib/a.", share: 1,
			not: map[string][]act{"names that are there": {act{call: func(i int) string { return fmt.Sprintf(`stat("/lib/a/%d", 0x1000) = 0`, i) }, micros: 20}.times(1000)}},
		},
		{
			rule: "metadata", fires: []act{act{call: func(i int) string { return fmt.Sprintf(`stat("/lib/a/%d", 0x1000) = 0`, i) }, micros: 20}.times(1000)},
			text: "Metadata calls of 1000 files took 100.0 % of the run time (20.000 ms): 1000 calls, mostly stat (1000 calls, 100.0 %).", share: 1, try: "backend=memory",
			not: map[string][]act{"a fifteenth": {act{call: always(`stat("/a", 0x1000) = 0`), micros: 20}.times(1000), pause(280_000)}},
		},
		{
			rule: "page-cache", fires: []act{file, reading.times(9000)},
			text: "Reads of /f took 100.0 % of the run time (27.000 ms): from the page cache (p99 3.0 µs), 9000 calls of 4.10 kB on average.", share: 1, try: "cache=cold",
			not: map[string][]act{"some wait": {file, reading.times(900), reading.taking(1000).times(100)}},
		},
		{
			rule: "tail", fires: []act{file, act{call: at("pwrite64(3, 0x1000, 4096, %d) = 4096", 8192), micros: 3}.times(4000), act{call: at("pwrite64(3, 0x1000, 4096, %d) = 4096", 4096), micros: 20_000}.times(5)},
			text: "The slowest 1 % of write calls took about 86.8 % of the run time (97.186 ms): p50 3.0 µs, p99 3.0 µs, max 20000.0 µs.", share: 0.87,
			not: map[string][]act{"all are alike": {file, act{call: at("pwrite64(3, 0x1000, 4096, %d) = 4096", 8192), micros: 30}.times(4000)}},
		},
		{
			rule: "idle", fires: []act{file, {call: always("fsync(3) = 0"), micros: 60_000, gap: 40_000, notes: "timer=30000000", n: 1}},
			text: "The critical path is idle for 30.0 % of the run time: sleeping on timers for 30.000 ms. All threads together spent 60.005 ms in I/O.", share: 0.3,
			not: map[string][]act{"a tenth": {file, {call: always("fsync(3) = 0"), micros: 60_000, gap: 40_000, notes: "timer=10000000", n: 1}}},
		},
		{
			rule: "no-processor", fires: []act{file, {call: always("fsync(3) = 0"), micros: 60_000, gap: 40_000, notes: "ready=30000000", n: 1}},
			text: "Waiting for a processor took 30.0 % of the run time (30.000 ms): mostly because other programs used it.", share: 0.3,
			not: map[string][]act{
				"a tenth":                               {file, {call: always("fsync(3) = 0"), micros: 60_000, gap: 40_000, notes: "ready=10000000", n: 1}},
				"all but sleep, and that is nearly all": {file, {call: always("fsync(3) = 0"), micros: 10, gap: 999_990, notes: "timer=996000000 ready=3000000", n: 1}},
			},
		},
		{
			rule: "compute", fires: []act{file, pause(90_000), sync.taking(1000).once()},
			text: "Compute took 98.9 % of the run time (90.000 ms): I/O takes 1.1 % of the run time (1.005 ms). A replay in memory predicts what faster storage saves.", share: 0.99, try: "backend=memory",
			not: map[string][]act{"a third": {file, pause(10_000), sync.taking(20_000).once()}},
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			found := of(t, recording("", test.fires...))
			require.Contains(t, found, test.rule)
			f := found[test.rule]
			require.Contains(t, f.Text, test.text)
			require.InDelta(t, test.share, f.Share, 0.011)
			if test.try == "" {
				require.Empty(t, f.Try)
			} else {
				require.Equal(t, "pianola lab trace.txt --try "+test.try, f.Try)
			}
			require.NotEmpty(t, test.not)
			for why, acts := range test.not {
				require.NotContains(t, of(t, recording("", acts...)), test.rule, why)
			}
		})
		tested[test.rule] = true
	}
	for _, r := range rules {
		require.True(t, tested[r.name], r.name)
	}
}

// tested are the rules that a test shows.
var tested = map[string]bool{"requests-one-at-a-time": true}

// Requests that are in flight one at a time are found, several at once are not.
func TestRequests(t *testing.T) {
	// A ring that reads n at a time.
	ring := func(n int) string {
		var b strings.Builder
		b.WriteString("# pianola script 1\n1 0.000010 openat(AT_FDCWD, \"/f\", O_RDONLY) = 3 <0.000005>\n")
		for range 200 {
			for i := range n {
				fmt.Fprintf(&b, "1 0.000001 io_uring:pread64(3, 0x1000, 4096, %d) = 4096 <0.000100> {ring=1 batch=1 reaped=0 submitted=0.000001}\n", i*4096)
			}
			fmt.Fprintf(&b, "1 -0.00000%d io_uring_enter(4, %d, %d, 1, NULL, 8) = %d <0.000110>\n1 0.000110 getpid() = 1 <0.000001>\n", n, n, n, n)
		}
		return b.String()
	}
	found := of(t, ring(1))
	require.Contains(t, found, "requests-one-at-a-time")
	require.NotContains(t, of(t, ring(4)), "requests-one-at-a-time")
}

// Without a critical path the time is that of all threads; what the profile does not
// tell apart by file is an upper bound.
func TestWithoutAPath(t *testing.T) {
	p := read(t, "# pianola script 1\n"+
		"1 0.000000 openat(AT_FDCWD, \"/f\", O_RDWR) = 3 <0.000010>\n"+
		"1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000010>\n"+
		"2 0.000010 fsync(3) = 0 <0.030000>\n"+
		"1 0.000000 fsync(3) = 0 <0.060000>\n")
	require.Empty(t, p.Critical)
	list := Of(p, Subject{})
	require.Len(t, list, 1)
	require.Contains(t, list[0].Text, "Syncs of /f took 100.0 % of the time in which threads did not wait (90.000 ms)")
	require.Empty(t, list[0].Try, "a profile without a file")

	p.Critical = []profile.Step{{Name: "fsync", Op: format.OpFsync, Category: profile.Syncs, Nanos: 50_000_000}, {Name: "compute", Category: profile.NumCategories, Nanos: 10_030_000}}
	s := newScene(p)
	e := s.on(s.where(func(*profile.File) bool { return true }), profile.Syncs)
	require.EqualValues(t, 50_000_000, e.nanos)
	require.Equal(t, "took up to 83.3 % of the run time (50.000 ms)", s.took(&e))
	s.claim(&e)
	require.Zero(t, s.on(s.where(func(*profile.File) bool { return true }), profile.Syncs).nanos)
}

// A recording that does not hold the I/O has one finding, which says so, and a run that
// is over at once none.
func TestSilence(t *testing.T) {
	syncing := func(micros int, remarks string) string {
		return recording(remarks, opens(3, "/f", "O_RDWR"), act{n: 1, call: always("fsync(3) = 0"), micros: micros})
	}
	p := read(t, syncing(900_000, "")+"# lost: 0\n# coverage: bytes=10 seconds=0.900000000\n# unsupported: mapped calls=3 bytes=1000000000 seconds=9.000000000 files=1\n")
	list := Of(p, Subject{Name: "trace.txt"})
	require.Len(t, list, 1)
	require.Equal(t, "coverage", list[0].Rule)
	require.Contains(t, list[0].Text, "The recording does not hold enough of the I/O for a diagnosis: the coverage is ")
	require.Empty(t, Of(read(t, syncing(9_000, "")), Subject{Name: "trace.txt"}))
	require.Len(t, Of(read(t, syncing(11_000, "")), Subject{Name: "trace.txt"}), 1)
	require.Empty(t, Of(new(profile.Profile), Subject{Name: "trace.txt"}))
}

// The command of a finding is one that the lab accepts.
func TestLab(t *testing.T) {
	for _, test := range []struct {
		of   Subject
		want string
	}{
		{Subject{Name: "trace.txt"}, "pianola lab trace.txt --try sync=none --try cache=warm"},
		{Subject{Name: "a b's.txt"}, `pianola lab 'a b'\''s.txt' --try sync=none --try cache=warm`},
		{Subject{Name: "-x"}, "pianola lab ./-x --try sync=none --try cache=warm"},
		{Subject{Name: "replay.log", Kind: Log}, ""},
		{Subject{}, ""},
	} {
		require.Equal(t, test.want, test.of.lab([]string{"sync=none", "cache=warm"}))
	}
	require.Empty(t, Subject{Name: "trace.txt"}.lab(nil))
}

// The findings with the most time are kept, in their order.
func TestMostFindings(t *testing.T) {
	var acts []act
	for i := range 7 {
		acts = append(acts, opens(3+i, fmt.Sprintf("/f%d", i), "O_RDWR"))
	}
	acts = append(acts,
		act{call: always("write(3, 0x1000, 20) = 20"), micros: 3}.times(10_000),
		act{call: always("read(4, 0x1000, 20) = 20"), micros: 3}.times(9_000),
		act{call: scattered("pread64(5, 0x1000, 4096, %d) = 4096"), micros: 80}.times(300),
		act{call: always("fsync(6) = 0"), micros: 7_000}.times(3),
		act{call: at("pread64(7, 0x1000, 4096, %d) = 4096", 4096), micros: 80}.times(200),
		act{call: always(`stat("/f", 0x1000) = 0`), micros: 15}.times(1000))
	list := Of(read(t, recording("", acts...)), Subject{Name: "trace.txt"})
	var names []string
	for _, f := range list {
		names = append(names, f.Rule)
	}
	require.Equal(t, []string{"small-writes", "small-reads", "random-reads", "sync", "reads-from-storage"}, names)
}

// The lab knows each candidate, also for a compiled trace, and changes has an entry for
// it.
func TestCandidates(t *testing.T) {
	var all []string
	for _, r := range rules {
		all = append(all, r.try...)
	}
	for _, c := range all {
		_, whole := changes[c]
		name, _, _ := strings.Cut(c, "=")
		_, known := changes[name]
		require.True(t, whole || known, "what does %s change?", c)
		if slices.Contains([]string{"backend=memory", "cache=warm", "cache=cold"}, c) {
			continue
		}
		_, err := transform.Builtin().ParseCompiled(c)
		require.NoError(t, err, c)
	}
}

// Findings about reads alone are told from those about writes.
func TestReadsOnly(t *testing.T) {
	file := opens(3, "/f", "O_RDWR|O_CREAT")
	small := func(call string) act { return act{call: func(int) string { return call }, micros: 20} }
	for call, reads := range map[string]bool{"read(3, 0x1000, 100) = 100": true, "write(3, 0x1000, 100) = 100": false} {
		for rule, f := range of(t, recording("", file, small(call).times(1000))) {
			require.Equal(t, reads, f.ReadsOnly, rule)
			risk := ChangeOf(&f, "coalesce=64KiB").Risk
			require.Equal(t, reads, risk == "", rule)
		}
	}
}
