package bin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// small is a trace of two threads with strings and waits.
func small(t testing.TB) []byte {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1}}}
	path := [format.MaxStrings][]byte{[]byte("some/file")}
	return compiled(t, h, []format.Event{
		{Op: format.OpOpenm, TID: 1, Compute: 100, Dur: 7, Ret: 3, Str: path, Args: [format.MaxArgs]int64{0, format.RDWR | format.CREAT, 0o600}},
		{Op: format.OpClone, TID: 1, Compute: 50, Dur: 9, Ret: 2},
		{Op: format.OpStat, TID: 2, Compute: 10, Dur: format.Unknown, Str: path, Edges: []format.Edge{{Thread: 1, Event: 0}}},
		{Op: format.OpClose, TID: 1, Compute: 3, Dur: 2, Args: [format.MaxArgs]int64{3}},
	})
}

// tasted opens a file and reads up to n events in every way there is.
func tasted(file []byte, limit int64, n int) error {
	t, err := Open(bytes.NewReader(file), int64(len(file)), limit)
	if err != nil {
		return err
	}
	var errs []error
	note := func(err error) bool {
		if err != nil && err != io.EOF {
			errs = append(errs, err)
		}
		return err == nil
	}
	records, durations, events := make([]format.Record, 100), make([]int64, 100), make([]format.Event, 100)
	for i := range t.Header().Threads {
		thread := int32(i + 1)
		r, d, l, event := t.Records(thread), t.Durations(thread), t.Lists(thread), int64(0)
		for range n/100 + 1 {
			got, err := r.Read(records)
			_, err2 := d.Read(durations)
			for k := range got {
				if _, err := l.Read(event, &records[k]); !note(err) {
					break
				}
				event++
			}
			if !note(err) || !note(err2) {
				break
			}
		}
		_, err := t.Waits(thread)
		note(err)
		if n -= 100; n < 0 {
			break
		}
	}
	paced, err := t.EventsAt(format.Pace{Speed: 2, Schedule: len(file)%2 == 0})
	if note(err) {
		for left := n; left > 0; left -= 100 {
			if _, err := paced.Read(events); !note(err) {
				break
			}
		}
	}
	for r := t.Events(); n > 0; n -= 100 {
		if _, err := r.Read(events); !note(err) {
			break
		}
	}
	return errors.Join(errs...)
}

// withUnknown runs a test on the small trace, as it is and with parts that are not known.
func withUnknown(t *testing.T, test func(t *testing.T, file []byte)) {
	file := small(t)
	parts := pieces(t, file)
	require.Equal(t, file, craft(parts...))
	later := slices.Insert(slices.Clone(parts), 4, strange("xyzw", 0, 1))
	t.Run("known", func(t *testing.T) { test(t, file) })
	t.Run("later", func(t *testing.T) { test(t, craft(append(later, strange("zzzz", 0, 9))...)) })
}

func TestCutAtEveryLength(t *testing.T) { withUnknown(t, cutAtEveryLength) }

func cutAtEveryLength(t *testing.T, file []byte) {
	require.NoError(t, tasted(file, DefaultLimit, 1000))
	for n := range file {
		require.ErrorIs(t, tasted(file[:n], DefaultLimit, 1000), io.ErrUnexpectedEOF, "%d of %d bytes", n, len(file))
	}
}

func TestEveryByteCounts(t *testing.T) { withUnknown(t, everyByteCounts) }

func everyByteCounts(t *testing.T, file []byte) {
	for i := range file {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := slices.Clone(file)
			bad[i] ^= flip
			err := tasted(bad, DefaultLimit, 1000)
			switch {
			case i < 8:
				require.ErrorIs(t, err, ErrMagic)
			case i < 12:
				require.ErrorIs(t, err, ErrVersion)
			default:
				require.ErrorIs(t, err, ErrChecksum, "byte %d", i)
			}
		}
	}
}

func TestDamage(t *testing.T) { withUnknown(t, damage) }

func damage(t *testing.T, file []byte) {
	with := func(at int, b ...byte) []byte {
		bad := slices.Clone(file)
		copy(bad[at:], b)
		return bad
	}
	for _, c := range []struct {
		name string
		file []byte
		is   error
		says string
	}{
		{"a script", []byte("# pianola script 1\n"), ErrMagic, "byte 0: not a compiled trace"},
		{"nothing", nil, io.ErrUnexpectedEOF, "byte 0: header cut off: unexpected EOF"},
		{"cut in the header", file[:20], io.ErrUnexpectedEOF, "byte 20: header cut off: unexpected EOF"},
		{"cut at the end", file[:len(file)-3], io.ErrUnexpectedEOF, "3 bytes cut off: unexpected EOF"},
		{"newer", with(8, 3), ErrVersion, "byte 8: unknown version of the compiled trace: 3, not 2"},
		{"version 0", with(8, 0), ErrVersion, "byte 8: unknown version of the compiled trace: 0, not 2"},
		{"header", with(17, 9), ErrChecksum, "byte 40: header: checksum mismatch"},
		{"first part", with(headerSize, 9), ErrChecksum, "header at byte 44: checksum mismatch"},
		{"index", with(len(file)-1, 9), ErrChecksum, "checksum mismatch"},
		{"more", append(slices.Clone(file), 0), ErrTrailing, "bytes after the end of the trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := tasted(c.file, DefaultLimit, 1000)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// A file that changes after it was opened is found out when it is read.
func TestDamageAfterOpen(t *testing.T) {
	file := small(t)
	tr := opened(t, file)
	records := tr.threads[0].of(kindRecords)[0]
	file[records.offset+3] ^= 1
	_, err := tr.Records(1).Read(make([]format.Record, 1))
	require.ErrorIs(t, err, ErrChecksum)
	require.ErrorContains(t, err, "records of thread 1 at byte")
}

// piece is a part of a crafted file; its checksum and place are right.
type piece struct {
	part
	packed []byte
}

func table(k kind, thread int32, rows ...uint64) piece {
	return piece{k.part(thread, int64(len(rows)/kinds[k].width)), packer.rows(nil, rows, kinds[k].width)}
}

func text(k kind, s string) piece {
	return piece{k.part(0, int64(len(s))), packer.text(nil, []byte(s))}
}

// alike is a table of count rows that are all zero, whatever the count.
func alike(k kind, thread int32, count int64) piece {
	p := table(k, thread, make([]uint64, kinds[k].width)...)
	p.count = count
	return p
}

// strange is a part whose tag is not in the table.
func strange(tag string, flags uint8, thread int32) piece {
	p := piece{part{kind: kindUnknown, flags: flags, thread: thread, count: 1 << 60}, []byte("of a later version")}
	copy(p.tag[:], tag)
	return p
}

// craft makes a file of pieces that Open finds no fault with unless their contents are at
// fault.
func craft(pieces ...piece) []byte {
	f := fixed{index: part{offset: headerSize, count: int64(len(pieces))}}
	var body []byte
	var rows []uint64
	for _, p := range pieces {
		p.length, p.crc = int64(len(p.packed)), checksum(p.packed)
		r := p.row()
		rows = append(rows, r[:]...)
		body = append(body, p.packed...)
	}
	index := packer.rows(nil, rows, indexWidth)
	f.index.crc = checksum(index)
	f.index.offset += int64(len(body))
	f.length = f.index.offset + int64(len(index))
	return slices.Concat(f.append(nil), body, index)
}

// pieces takes a file apart.
func pieces(t testing.TB, file []byte) (all []piece) {
	t.Helper()
	f, err := readFixed(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	tr := &Trace{loader: newLoader(bytes.NewReader(file), DefaultLimit)}
	parts, err := tr.readIndex(f)
	require.NoError(t, err)
	for _, p := range parts {
		all = append(all, piece{p, file[p.offset:][:p.length]})
	}
	return all
}

// allocated returns the bytes that the program has allocated since its start.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestHostile(t *testing.T) {
	const big = math.MaxInt64
	head, lengths, contents := text(kindHeader, ""), table(kindLengths, 0, 4), text(kindBytes, "path")
	records := func(words ...uint64) piece {
		return table(kindRecords, 1, append(words, make([]uint64, maxWidth-len(words))...)...)
	}
	fsync, duration := records(uint64(format.OpFsync)), table(kindDurations, 1, 5)
	listed := func(word int64) piece { return records(uint64(format.OpRingFiles), 0, 0, 0, 1, uint64(word)) }
	two := text(kindHeader, "# thread: 1 process=1 parent=0 start=0.0\n# thread: 2 process=1 parent=1 start=0.0\n")
	second := []piece{table(kindRecords, 2, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0), table(kindDurations, 2, 0)}
	waiting := func(event, thread, of uint64) []piece {
		return slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindEdges, 1, event, thread, 0, of, 0)}, second)
	}
	counted := func(p piece, count int64) piece { p.count = count; return p }
	bomb := text(kindBytes, string(make([]byte, 1<<20)))
	grown := "" // each name is that of a long directory
	for i := range 70 {
		grown += fmt.Sprintf("%s%02d/\x00x\x00", strings.Repeat("d", 100_000), i)
	}

	for _, c := range []struct {
		name   string
		pieces []piece
		is     error
		says   string
	}{
		{"sound", []piece{head, lengths, contents, fsync, duration}, nil, ""},
		{"sound with a wait", waiting(0, 2, 0), nil, ""},

		{"part missing", []piece{head, lengths}, ErrMalformed, `no part "strs"`},
		{"header missing", []piece{lengths, contents, fsync, duration}, ErrMalformed, `no part "head"`},
		{"parts in another order", []piece{lengths, head, contents}, ErrMalformed, "part 1"},
		{"second header", []piece{head, lengths, contents, head}, ErrMalformed, "part 3"},
		{"threads in another order", append(second, head, lengths, contents), ErrMalformed, "part 2"},
		{"thread before the one before", slices.Concat([]piece{two, lengths, contents}, second, []piece{fsync, duration}), ErrMalformed, "part 5"},
		{"durations before records", []piece{head, lengths, contents, duration, fsync}, ErrMalformed, "part 4"},
		{"no such thread", slices.Concat([]piece{head, lengths, contents}, second), ErrMalformed, "thread 2 of 1"},
		{"thread below 1", []piece{head, lengths, contents, table(kindRecords, -1, make([]uint64, maxWidth)...)}, ErrMalformed, "part 3"},
		{"empty part", []piece{head, lengths, contents, counted(fsync, 0), duration}, ErrMalformed, "part 3"},
		{"long part", []piece{head, lengths, contents, counted(fsync, maxRows+1), duration}, ErrMalformed, "part 3"},
		{"durations absent", []piece{head, lengths, contents, fsync}, nil, ""},
		{"fewer durations than records", []piece{head, lengths, contents, fsync, fsync, duration}, ErrMalformed, "1 durations of 2 events"},
		{"durations without records", []piece{head, lengths, contents, duration}, ErrMalformed, "1 durations of 0 events"},
		{"waits without records", slices.Concat([]piece{two, lengths, contents, table(kindEdges, 1, 0, 2, 0, 0, 0)}, second), ErrMalformed, "event 0 after event 0 of 0"},

		{"negative count of strings", []piece{head, counted(lengths, -1), contents}, ErrMalformed, "part 1"},
		{"2^63-1 strings", []piece{head, alike(kindLengths, 0, big), contents}, ErrLimit, "limit of"},
		{"2^63-1 bytes of header", []piece{counted(head, big), lengths, contents}, ErrLimit, "limit of"},
		{"2^63-1 bytes of strings", []piece{head, lengths, counted(contents, big)}, ErrLimit, "limit of"},
		{"many waits", append([]piece{head, lengths, contents, fsync, duration}, slices.Repeat([]piece{alike(kindEdges, 1, maxRows)}, 20)...), ErrLimit, "limit of"},
		{"long header", []piece{text(kindHeader, string(bytes.Repeat([]byte("# a: b\n"), 1<<17))), lengths, contents}, ErrLimit, "limit of"},
		{"bomb", []piece{head, lengths, counted(bomb, 4)}, ErrMalformed, "decompressed size"},
		{"bomb of its size", []piece{head, lengths, bomb}, ErrMalformed, "belong to no string"},
		{"text shorter than said", []piece{head, lengths, counted(contents, 5)}, ErrMalformed, "4 bytes instead of 5"},
		{"planes shorter than said", []piece{head, counted(table(kindLengths, 0, 1, 3, 0), 4), contents}, ErrMalformed, "3 bytes instead of 4"},
		{"string too long", []piece{head, table(kindLengths, 0, 5), contents}, ErrMalformed, "string 0 ends after"},
		{"strings too short", []piece{head, table(kindLengths, 0, 3), contents}, ErrMalformed, "1 bytes belong to no string"},
		{"lengths that wrap", []piece{head, table(kindLengths, 0, 1<<63, 1<<63, 4), contents}, ErrMalformed, "string 0 ends after"},

		{"header without an end", []piece{text(kindHeader, "# a: b"), lengths, contents}, ErrMalformed, "line 1 does not end"},
		{"header line", []piece{text(kindHeader, "# a: b\n# thread: x\n"), lengths, contents}, ErrMalformed, "line 2"},
		{"parent", []piece{text(kindHeader, "# thread: 1 process=1 parent=7 start=0.0\n"), lengths, contents}, ErrMalformed, "created by thread 7"},
		{"own parent", []piece{text(kindHeader, "# thread: 1 process=1 parent=1 start=0.0\n"), lengths, contents}, ErrMalformed, "created by thread 1"},
		{"ranks of a process", []piece{text(kindHeader, "# thread: 1 process=1 parent=0 rank=1 start=0.0\n# thread: 2 process=1 parent=1 start=0.0\n"), lengths, contents}, ErrMalformed, "threads of process 1 are of the ranks 1 and -1"},
		{"process", []piece{text(kindHeader, "# thread: 1 process=0 parent=0 start=0.0\n"), lengths, contents}, ErrMalformed, "process 0"},
		{"descriptor", []piece{text(kindHeader, "# fd: 9 3 O_RDWR 0 \"x\"\n"), lengths, contents}, ErrMalformed, "process 9"},

		{"no operation", []piece{head, lengths, contents, records(0), duration}, ErrMalformed, "row 0: unknown operation"},
		{"operation after the last", []piece{head, lengths, contents, records(uint64(format.NumOps)), duration}, ErrMalformed, "row 0: unknown operation"},
		{"operation of 64 bits", []piece{head, lengths, contents, records(1<<16 + uint64(format.OpFsync)), duration}, ErrMalformed, "row 0: unknown operation"},
		{"string after the last", []piece{head, lengths, contents, records(uint64(format.OpUnlink), 0, 0, 0, 1), duration}, ErrMalformed, "row 0: string 1 of 1"},
		{"string below none", []piece{head, lengths, contents, records(uint64(format.OpRename), 0, 0, 0, 0, 1<<64-2), duration}, ErrMalformed, "row 0: string -2 of 1"},
		{"duration", []piece{head, lengths, contents, fsync, table(kindDurations, 1, 1<<64-2)}, ErrMalformed, "row 0: negative duration"},
		{"edge of an unknown kind", slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindEdges, 1, 0, 2, uint64(format.NumEdgeKinds), 0, 0)}, second), ErrMalformed, "waits for event 0 of thread 2"},
		{"edge with a negative delay", slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindEdges, 1, 0, 2, 0, 0, big+1)}, second), ErrMalformed, "waits for event 0 of thread 2"},
		{"edge to itself", slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindEdges, 1, 0, 1, 0, 0, 0)}, second), ErrMalformed, "waits for event 0 of thread 1"},
		{"edge to the start that is none", slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindEdges, 1, 0, 0, 0, 0, 0)}, second), ErrMalformed, "waits for event 0 of thread 0"},
		{"negative held", slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindHeld, 1, 0, big+1, 0)}, second), ErrMalformed, "row 0: "},
		{"negative expired", slices.Concat([]piece{two, lengths, contents, fsync, duration, table(kindHeld, 1, 0, 1, big+1)}, second), ErrMalformed, "row 0: "},
		{"wait after the last event", waiting(1, 2, 0), ErrMalformed, "row 0: event 1 after event 0 of 1"},
		{"wait of a negative event", waiting(1<<63, 2, 0), ErrMalformed, "after event 0 of 1"},
		{"wait for an event after the last", waiting(0, 2, 1), ErrMalformed, "waits for event 1 of thread 2"},
		{"wait for a thread after the last", waiting(0, 3, 0), ErrMalformed, "waits for event 0 of thread 3"},
		{"wait for no thread", waiting(0, 1<<32+2, 0), ErrMalformed, "waits for event 0"},
		{"wait for itself", waiting(0, 1, 0), ErrMalformed, "waits for event 0 of thread 1"},

		{"sound list of an older version", []piece{head, lengths, contents, listed(0), duration}, nil, ""},
		{"sound list", []piece{head, lengths, contents, listed(-5), duration, table(kindNumbers, 1, 0, 7, 0, 4096, 0, 512)}, nil, ""},
		{"list beyond the strings", []piece{head, lengths, contents, listed(1), duration}, ErrMalformed, "event 0 of thread 1 has list 1"},
		{"list that is nothing", []piece{head, lengths, contents, listed(-8), duration}, ErrMalformed, "event 0 of thread 1 has list -8"},
		{"list that is far from anything", []piece{head, lengths, contents, listed(math.MinInt64), duration}, ErrMalformed, "has list -9223372036854775808"},
		{"update of nothing", []piece{head, lengths, contents, listed(-3), duration}, ErrMalformed, "event 0 updates no place"},
		{"half a buffer", []piece{head, lengths, contents, listed(-6), duration, table(kindNumbers, 1, 0, 7)}, ErrMalformed, "event 0 has half an item"},
		{"long list of buffers", []piece{head, lengths, contents, listed(-5), duration, alike(kindNumbers, 1, maxRows), alike(kindNumbers, 1, 2)}, ErrMalformed, "more than 65537 numbers of event 0"},
		{"long list", []piece{head, lengths, contents, listed(-2), duration, alike(kindNumbers, 1, maxRows), alike(kindNumbers, 1, 2)}, ErrMalformed, "more than 32768 numbers of event 0"},
		{"list of a billion", append([]piece{head, lengths, contents, listed(-2), duration}, slices.Repeat([]piece{alike(kindNumbers, 1, maxRows)}, 1<<30/maxRows)...), ErrMalformed, "more than 32768 numbers of event 0"},
		{"list after the last event", []piece{head, lengths, contents, listed(-2), duration, table(kindNumbers, 1, 1, 7)}, ErrMalformed, "event 1 after event 0 of 1"},

		{"sound with names", []piece{head, lengths, contents, text(kindNames, ".\x00/\x00w/t1\x00db\x00w/t2\x00/x\x00"), fsync, duration}, nil, ""},
		{"name without an end", []piece{head, lengths, contents, text(kindNames, "a\x00/b"), fsync, duration}, ErrMalformed, "the last name does not end"},
		{"path without a name", []piece{head, lengths, contents, text(kindNames, "a"), fsync, duration}, ErrMalformed, "the last name does not end"},
		{"no name", []piece{head, lengths, contents, text(kindNames, "a\x00\x00"), fsync, duration}, ErrMalformed, "name 0: the application's name is not absolute"},
		{"no path", []piece{head, lengths, contents, text(kindNames, "\x00/a\x00"), fsync, duration}, ErrMalformed, "name 0: the path is not below the root"},
		{"two names", []piece{head, lengths, contents, text(kindNames, "a\x00/b\x00a\x00/c\x00"), fsync, duration}, ErrMalformed, `name 1: "a" after "a"`},
		{"names out of order", []piece{head, lengths, contents, text(kindNames, "b\x00/b\x00a\x00/c\x00"), fsync, duration}, ErrMalformed, `name 1: "a" after "b"`},
		{"names in the header too", []piece{text(kindHeader, "# name: \"a\" \"/b\"\n"), lengths, contents, text(kindNames, "a\x00/b\x00"), fsync, duration}, ErrMalformed, "the header has names as well"},
		{"many names", []piece{head, lengths, contents, text(kindNames, strings.Repeat("\x00", 1<<21)), fsync, duration}, ErrLimit, "limit of"},
		{"2^63-1 bytes of names", []piece{head, lengths, contents, counted(text(kindNames, "a\x00/b\x00"), big), fsync, duration}, ErrLimit, "limit of"},
		{"names that grow", []piece{head, lengths, contents, text(kindNames, grown), fsync, duration}, ErrLimit, "limit of"},

		{"unknown mode", []piece{head, {kindLengths.part(0, 1), []byte{2, 0, 0}}, contents}, ErrMalformed, "word 0"},
		{"description cut", []piece{head, {kindLengths.part(0, 1), []byte{0, 0}}, contents}, ErrMalformed, "word 0"},
		{"start cut", []piece{head, {kindLengths.part(0, 1), []byte{1, 0, 0}}, contents}, ErrMalformed, "word 0"},
		{"bytes after constant rows", []piece{head, {kindLengths.part(0, 1), []byte{0, 0, 8, 1}}, contents}, ErrMalformed, "1 bytes too many"},
		{"planes that are no zstd", []piece{head, {kindLengths.part(0, 1), []byte{0, 1, 0, 1, 2, 3, 4}}, contents}, ErrMalformed, "magic number mismatch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const limit = 16 << 20
			file := craft(c.pieces...)
			before := allocated()
			err := tasted(file, limit, 1000)
			require.Less(t, allocated()-before, uint64(limit+2<<20))
			if c.is == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestHostileHeader(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int
		value  uint64
		is     error
	}{
		{"length 2^63", 16, 1 << 63, ErrMalformed},
		{"length 2^63-1", 16, math.MaxInt64, io.ErrUnexpectedEOF},
		{"length 0", 16, 0, ErrMalformed},
		{"index at 0", 24, 0, ErrMalformed},
		{"index at 2^63", 24, 1 << 63, ErrMalformed},
		{"index at 2^63-1", 24, math.MaxInt64, ErrMalformed},
		{"2^63 parts", 32, 1 << 63, ErrMalformed},
		{"2^63-1 parts", 32, math.MaxInt64, ErrMalformed},
		{"no parts", 32, 0, ErrMalformed},
		{"more parts than there are", 32, 12, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := small(t)
			binary.LittleEndian.PutUint64(file[c.offset:], c.value)
			binary.LittleEndian.PutUint32(file[40:], checksum(file[:40]))
			require.ErrorIs(t, tasted(file, 16<<20, 1000), c.is)
		})
	}
}

// Valid data before a fault are returned first, and the fault is permanent.
func TestFaultComesAfterWhatIsSound(t *testing.T) {
	rows := make([]uint64, 0, 300*maxWidth)
	for i := range 300 {
		op := format.OpFsync
		if i == 270 {
			op = format.OpNone
		}
		rows = append(rows, append([]uint64{uint64(op)}, make([]uint64, maxWidth-1)...)...)
	}
	file := craft(text(kindHeader, ""), table(kindLengths, 0), text(kindBytes, ""),
		table(kindRecords, 1, rows...), table(kindDurations, 1, make([]uint64, 300)...))
	tr := opened(t, file)
	r := tr.Records(1)
	n, err := r.Read(make([]format.Record, 300))
	require.NoError(t, err)
	require.Equal(t, 270, n)
	for range 2 {
		n, err = r.Read(make([]format.Record, 300))
		require.ErrorIs(t, err, ErrMalformed)
		require.ErrorContains(t, err, "row 270")
		require.Zero(t, n)
	}
	events, err := every(tr.Events(), 100)
	require.ErrorContains(t, err, "row 270")
	require.Len(t, events, 270)
}

// What Open counts against the limit is no less than what it keeps.
func TestOpenCountsWhatItKeeps(t *testing.T) {
	h := &format.Header{}
	var events []format.Event
	for i := range 20_000 {
		h.Threads = append(h.Threads, format.Thread{Process: 1})
		h.Files = append(h.Files, format.File{Path: strconv.Itoa(i), Type: format.TypeReg})
		events = append(events, format.Event{Op: format.OpUnlink, TID: int32(i + 1), Str: [format.MaxStrings][]byte{[]byte(h.Files[i].Path)}})
	}
	file := compiled(t, h, events)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tr := opened(t, file)
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := tr.loader.budget.used.Load()
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), used+1<<20)
	_, err := Open(bytes.NewReader(file), int64(len(file)), used-1)
	require.ErrorIs(t, err, ErrLimit)
	runtime.KeepAlive(tr)
}

// Readers take their buffers from the limit.
func TestReadersKeepToTheLimit(t *testing.T) {
	file := compiled(t, &format.Header{}, mixed(rowsPerPart))
	tr, err := Open(bytes.NewReader(file), int64(len(file)), 1<<20)
	require.NoError(t, err)
	var left []format.RecordReader
	for err == nil {
		require.Less(t, len(left), 20)
		left = append(left, tr.Records(1))
		_, err = left[len(left)-1].Read(make([]format.Record, 1))
	}
	require.ErrorIs(t, err, ErrLimit)
	require.ErrorContains(t, err, "1048576 bytes")

	batch := make([]format.Record, 256)
	for err = nil; err == nil; { // one that has ended leaves room for another
		_, err = left[0].Read(batch)
	}
	require.Equal(t, io.EOF, err)
	_, err = tr.Records(1).Read(batch)
	require.NoError(t, err)
}
