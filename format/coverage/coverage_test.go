package coverage

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// server is the account of a server that writes its log by io_uring.
func server() *Account {
	a := &Account{Known: true, Recorded: Amount{92e6, 97e6}}
	a.Add(Missing{Kind: Mapped, Files: 2, Calls: 9, Amount: Amount{1e6, 0}})
	a.Add(Missing{Kind: Mapped, Files: 1, Calls: 1, Amount: Amount{5e5, 1e6}})
	a.Add(Missing{Kind: Mount, Calls: 3})
	a.Add(Missing{Kind: Uring, Calls: 2049, Writes: 2048, Amount: Amount{8388608, 3e6}})
	a.Add(Missing{Kind: Elsewhere})
	return a
}

func TestAccountInHeader(t *testing.T) {
	for _, a := range []*Account{server(), {Known: true}, {}} {
		var h format.Header
		if a.Known {
			a.Put(&h)
		}
		require.Equal(t, *a, Of(&h))
	}
	var h format.Header
	server().Put(&h)
	require.Equal(t, "# coverage: bytes=92000000 seconds=0.097000000\n"+
		"# unsupported: io_uring calls=2049 writes=2048 bytes=8388608 seconds=0.003000000; mapped calls=10 files=3 bytes=1500000 seconds=0.001000000; mount calls=3 bytes=0 seconds=0.000000000\n",
		string(h.Append(nil)))
}

// A recording that ended early, or has no end, says so in every account made of it.
func TestEarlyEnd(t *testing.T) {
	ended := format.Header{Meta: []format.Meta{{Key: format.MetaCoverage, Value: "bytes=1 seconds=1"}, {Key: format.MetaEnded, Value: "the disk is full"}}}
	a := Of(&ended)
	require.Equal(t, "the disk is full", a.Ended)
	require.Equal(t, a, a.WithoutRequests(nil))
	var b Account
	a.CopyTo(&b)
	require.Equal(t, a, b)

	endless := format.Header{Meta: []format.Meta{{Key: format.MetaTool, Value: "ebpf"}}}
	require.Equal(t, Account{Endless: true}, Of(&endless))
	endless.Set(format.MetaLost, "0")
	require.Equal(t, Account{}, Of(&endless))
}

func TestUncachedInHeader(t *testing.T) {
	var h format.Header
	(&Uncached{}).Put(&h)
	require.Empty(t, h.Meta)
	reads := Uncached{Files: 2, Bytes: 8192}
	reads.Put(&h)
	require.Equal(t, Account{Uncached: reads}, Of(&h))
	for _, text := range []string{"files", "bytes=-1", "bytes=99999999999999999999"} {
		h.Set(format.MetaUncached, text)
		require.Equal(t, Account{}, Of(&h), text)
	}
}

func TestUnreadableAccountIsUnknown(t *testing.T) {
	for _, text := range []string{"bytes", "bytes=-1", "bytes=x", "seconds=1:2", "bytes=99999999999999999999"} {
		h := format.Header{Meta: []format.Meta{{Key: format.MetaCoverage, Value: text}}}
		require.Equal(t, Account{}, Of(&h), text)
	}
	for _, text := range []string{"nosuch calls=1", "mapped calls", "mapped calls=1; mapped x"} {
		h := format.Header{Meta: []format.Meta{{Key: format.MetaCoverage, Value: "bytes=1"}, {Key: format.MetaUnsupported, Value: text}}}
		require.Equal(t, Account{}, Of(&h), text)
	}
	killed := format.Header{Meta: []format.Meta{{Key: format.MetaUnsupported, Value: "32-bit=3"}}}
	require.Equal(t, Account{}, Of(&killed))
	later := format.Header{Meta: []format.Meta{{Key: format.MetaCoverage, Value: "bytes=1 pages=2"}}}
	require.Equal(t, Account{Known: true, Recorded: Amount{Bytes: 1}}, Of(&later), "a later recorder says more")
}

func TestText(t *testing.T) {
	for _, test := range []struct {
		a    *Account
		want string
	}{
		{&Account{}, "coverage: unknown, because the recording does not state it"},
		{&Account{Known: true}, "coverage: 100 % of the bytes, 100 % of the I/O time"},
		{&Account{Endless: true}, "coverage: unknown, because the recording has no end"},
		{&Account{Known: true, Ended: "the disk is full"}, "coverage: unknown after the early end of the recording (the disk is full); until then 100 % of the bytes, 100 % of the I/O time"},
		{&Account{Known: true, Uncached: Uncached{1, 8192000}}, "coverage: 100 % of the bytes, 100 % of the I/O time; unknown whether 8.19 MB read from 1 file were in the page cache"},
		{server(), "coverage: 90.3 % of the bytes, 96 % of the I/O time; missing: io_uring (2048 writes, 1 other request, 8.39 MB), 3 mapped files (1.50 MB), mount (3 calls)"},
		{&Account{Known: true, Recorded: Amount{1e9, 1}, Missing: []Missing{{Kind: Mapped, Files: 1, Amount: Amount{Bytes: 1}}}},
			"coverage: 99.9 % of the bytes, 100 % of the I/O time; missing: 1 mapped file (1 B)"},
		{&Account{Known: true, Missing: []Missing{{Kind: AIO, Calls: 5, Amount: Amount{Unknown, Unknown}}, {Kind: Msync, Calls: 1, Amount: Amount{0, 2e6}}}},
			"coverage: 100 % of the bytes, 0 % of the I/O time; missing: libaio (5 requests, bytes unknown), msync (1 call, 2.000 ms)"},
	} {
		require.Equal(t, test.want, test.a.String())
	}
}

func TestWithheld(t *testing.T) {
	of := func(m ...Missing) *Account { return &Account{Known: true, Recorded: Amount{100e6, 100e6}, Missing: m} }
	for _, test := range []struct {
		name string
		a    *Account
		why  string
	}{
		{"unknown", &Account{}, ""},
		{"whole", of(), ""},
		{"small gap", &Account{Known: true, Recorded: Amount{1, 1}, Missing: []Missing{{Kind: Uring, Calls: 1, Amount: Amount{SmallBytes - 1, SmallNanos - 1}}}}, ""},
		{"small share", of(Missing{Kind: Uring, Calls: 1, Amount: Amount{5e6, 0}}), ""},
		{"bytes", of(Missing{Kind: Uring, Calls: 1, Amount: Amount{6e6, 0}}), "the coverage is 94.3 % of the bytes and 100 % of the I/O time"},
		{"time", of(Missing{Kind: Elsewhere, Amount: Amount{0, 100e6}}), "the coverage is 100 % of the bytes and 50 % of the I/O time"},
		{"no file", of(Missing{Kind: Memory, Calls: 1e6, Amount: Amount{Unknown, Unknown}}), ""},
		{"nobody can tell", of(Missing{Kind: AIO, Calls: 1, Amount: Amount{Unknown, 0}}),
			"libaio (1 request, bytes unknown) is missing, and its size is unknown"},
	} {
		require.Equal(t, test.why, test.a.Withheld(), test.name)
	}
}

func TestDocument(t *testing.T) {
	for _, test := range []struct {
		a    *Account
		want string
	}{
		{&Account{}, `{"bytes":null,"time":null,"missing":[]}`},
		{&Account{Known: true}, `{"bytes":1,"time":1,"missing":[]}`},
		{&Account{Known: true, Ended: "why", Uncached: Uncached{1, 4096}}, `{"bytes":1,"time":1,"missing":[],"ended":"why","cache_unknown":{"files":1,"bytes":4096}}`},
		{&Account{Known: true, Recorded: Amount{3, 1}, Missing: []Missing{{Kind: Compat, Calls: 7, Amount: Amount{1, Unknown}}}},
			`{"bytes":0.75,"time":1,"missing":[{"kind":"32-bit","calls":7,"bytes":1}]}`},
	} {
		text, err := json.Marshal(test.a.Document())
		require.NoError(t, err)
		require.Equal(t, test.want, string(text))
	}
}

// WithoutRequests moves the requests that are left out to Missing, with their share of
// the time, and changes nothing else.
func TestWithoutRequests(t *testing.T) {
	requests := Missing{Kind: Uring, Calls: 3, Reads: 1, Writes: 2, Amount: Amount{800, 60}}
	a := Account{Known: true, Recorded: Amount{1000, 100}, Missing: []Missing{{Kind: Mount, Calls: 1}}}
	a.AddRequests(requests)
	require.Equal(t, Share{1, 1}, a.Share(), "the recording holds them")

	var h format.Header
	a.Put(&h)
	value, _ := h.Value(format.MetaRequests)
	require.Equal(t, "io_uring calls=3 reads=1 writes=2 bytes=800 seconds=0.000000060", value)
	read := Of(&h)
	require.Equal(t, a, read)

	require.Equal(t, a, read.WithoutRequests(nil))
	b := read.WithoutRequests(map[Kind]Missing{Uring: {Calls: 5, Reads: 1, Writes: 2, Amount: Amount{900, 0}}})
	require.Equal(t, Account{Known: true, Recorded: Amount{200, 40}, Missing: []Missing{requests, {Kind: Mount, Calls: 1}}}, b)
	b = read.WithoutRequests(map[Kind]Missing{Uring: {Calls: 1, Reads: 1, Amount: Amount{Bytes: 100}}})
	require.Equal(t, Account{Known: true, Recorded: Amount{900, 80},
		Requests: []Missing{{Kind: Uring, Calls: 2, Writes: 2, Amount: Amount{700, 40}}},
		Missing:  []Missing{{Kind: Uring, Calls: 1, Reads: 1, Amount: Amount{100, 20}}, {Kind: Mount, Calls: 1}},
	}, b)
	require.Equal(t, a, read, "the account itself stays")
}

func TestSince(t *testing.T) {
	before := server()
	before.AddRequests(Missing{Kind: AIO, Calls: 2, Reads: 2, Amount: Amount{8192, 100}})
	now := server()
	now.AddRequests(Missing{Kind: AIO, Calls: 5, Reads: 4, Amount: Amount{20480, 250}})
	now.Recorded = Amount{100e6, 99e6}
	now.Add(Missing{Kind: Uring, Calls: 1, Writes: 1, Amount: Amount{4096, 50}})
	now.Add(Missing{Kind: Mapped, Amount: Amount{100, 0}})
	now.Add(Missing{Kind: Lost, Calls: 7, Amount: Amount{Unknown, 0}})
	require.Equal(t, Account{
		Known: true, Recorded: Amount{8e6, 2e6},
		Requests: []Missing{{Kind: AIO, Calls: 3, Reads: 2, Amount: Amount{12288, 150}}},
		Missing: []Missing{
			{Kind: Uring, Calls: 1, Writes: 1, Amount: Amount{4096, 50}},
			{Kind: Mapped, Files: 3, Amount: Amount{100, 0}},
			{Kind: Lost, Calls: 7, Amount: Amount{Unknown, 0}},
		},
	}, now.Since(before))
	require.Equal(t, Account{Known: true}, now.Since(now), "nothing came, not even of what has an unknown size")
	require.Equal(t, Account{Known: true}, before.Since(now), "a counter that is behind")
	require.Equal(t, *now, now.Since(&Account{Known: true}), "from the beginning")
	require.False(t, ptr(now.Since(&Account{})).Known)
}

func ptr[T any](v T) *T { return &v }
