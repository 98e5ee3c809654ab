package bin

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// extended adds kinds to the table, as a later version does, while f runs.
func extended(f func(), more ...layout) {
	known := kinds
	defer func() { kinds = known }()
	kinds = append(slices.Clone(known), more...)
	f()
}

func noted(e *format.Event) string {
	if e.Notes == nil {
		return ""
	}
	return string(e.Notes.Text)
}

// marks attaches the notes of an event, as a string, to it.
func marks(required bool) layout {
	return layout{tag: "mark", name: "marks", required: required, scope: someEvents, width: 2,
		encode: func(w *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
			if e.Notes == nil {
				return dst
			}
			return append(dst, uint64(n), uint64(w.id(e.Notes.Text)))
		},
		decode:  func(m *merged, e *format.Event, row []uint64) { e.Notes = &format.Notes{Text: m.string(int64(row[1]))} },
		strings: func([]uint64) uint16 { return 0b10 },
	}
}

// sizes holds the length of the notes of each event, and gives it back as text.
var sizes = layout{tag: "size", name: "sizes", scope: eachEvent, width: 1,
	encode: func(_ *Writer, e *format.Event, _ int64, dst []uint64) []uint64 {
		return append(dst, uint64(len(noted(e))))
	},
	decode: func(m *merged, e *format.Event, row []uint64) { e.Notes = &format.Notes{Text: fmt.Append(nil, row[0])} },
	check: func(_ *Trace, _ int32, row []uint64) string {
		if row[0] > 100 {
			return fmt.Sprintf("size %d", row[0])
		}
		return ""
	},
}

// remark is a part of the whole trace. read stores its text in got.
func remark(text string, got *string) layout {
	return layout{tag: "memo", name: "remark",
		write: func(*Writer, *format.Header) content { return content{text: []byte(text)} },
		read: func(t *Trace, p *part) error {
			b, err := t.loader.text(p)
			*got = string(b)
			return err
		},
	}
}

// notes returns the notes of all events in the order of a reader.
func notes(t *testing.T, tr *Trace) (all []string) {
	t.Helper()
	r, batch := tr.Events(), make([]format.Event, 50)
	for n := 1; n > 0; {
		n, _ = r.Read(batch)
		for _, e := range batch[:n] {
			all = append(all, noted(&e))
		}
	}
	return all
}

// annotated returns events of three threads. Some events of the second thread have
// notes.
func annotated(n int) (*format.Header, [][]format.Event) {
	h, threads := orchestra(n)
	h.Threads, threads = h.Threads[:3], threads[:3]
	for i := range threads[1] {
		if i%3 == 1 {
			threads[1][i].Notes = &format.Notes{Text: fmt.Appendf(nil, "file %d", i%50)}
		}
	}
	return h, threads
}

func tagsOf(t *testing.T, file []byte) (tags []string) {
	for _, p := range pieces(t, file) {
		tags = append(tags, fmt.Sprintf("%s %d", p.tag, p.thread))
	}
	return slices.Compact(tags)
}

// A reader that knows the parts gets what is in them, one that does not gets
// the rest.
func TestOptionalPartsAreSkipped(t *testing.T) {
	h, threads := annotated(2 * rowsPerPart)
	events := slices.Concat(threads...)
	var got string
	more := []layout{marks(false), remark("of the trace", &got)}
	plain := compiled(t, h, events)
	var file []byte
	var marked []string
	extended(func() {
		file = compiled(t, h, events)
		tr := opened(t, file)
		require.Equal(t, "of the trace", got)
		marked = notes(t, tr)
		require.Equal(t, []string{"head 0", "slen 0", "strs 0", "memo 0", "recs 1", "durs 1", "recs 2", "durs 2", "edge 2", "mark 2", "recs 3", "durs 3", "edge 3"}, tagsOf(t, file))
	}, more...)
	n := 0
	for _, e := range threads[1] {
		if e.Notes != nil {
			n++
		}
	}
	require.Equal(t, n, len(marked)-countOf(marked, ""))
	require.Contains(t, marked, "file 49")

	require.NotEqual(t, plain, file)
	want, err := every(opened(t, plain).Events(), 100)
	require.NoError(t, err)
	got2, err := every(opened(t, file).Events(), 100)
	require.NoError(t, err)
	require.Equal(t, want, got2)

	// The new reader finds none of the new parts in the old file.
	extended(func() {
		got = ""
		require.Equal(t, len(want), countOf(notes(t, opened(t, plain)), ""))
		require.Empty(t, got)
	}, more...)
}

func countOf(all []string, s string) (n int) {
	for _, v := range all {
		if v == s {
			n++
		}
	}
	return n
}

func TestRequiredPartIsRefused(t *testing.T) {
	h, threads := annotated(100)
	var file []byte
	extended(func() { file = compiled(t, h, slices.Concat(threads...)) }, marks(true))
	parts := pieces(t, file)
	at := parts[slices.IndexFunc(parts, func(p piece) bool { return string(p.tag[:]) == "mark" })].offset
	_, err := Open(bytes.NewReader(file), int64(len(file)), DefaultLimit)
	require.ErrorIs(t, err, ErrPart)
	require.EqualError(t, err, fmt.Sprintf(`byte %d: requires part "mark", which this version does not know`, at))
}

// Rows of each event are left out of threads where they say nothing, and their
// readers get what absent says.
func TestAbsentRows(t *testing.T) {
	h, threads := annotated(2 * rowsPerPart)
	for i := range threads[2] {
		threads[2][i].Dur = format.Unknown
	}
	events := slices.Concat(threads...)
	file := compiled(t, h, events)
	require.Equal(t, []string{"head 0", "slen 0", "strs 0", "recs 1", "durs 1", "recs 2", "durs 2", "edge 2", "recs 3", "edge 3"}, tagsOf(t, file))
	tr := opened(t, file)
	n := 0
	for r, batch := tr.Durations(3), make([]int64, 100); ; {
		k, err := r.Read(batch)
		if err != nil {
			break
		}
		require.Equal(t, slices.Repeat([]int64{format.Unknown}, k), batch[:k])
		n += k
	}
	require.Len(t, threads[2], n)
	got, err := every(tr.Events(), 100)
	require.NoError(t, err)
	for _, e := range got {
		require.Equal(t, e.TID == 3, e.Dur == format.Unknown)
	}

	extended(func() {
		file := compiled(t, h, events)
		require.Equal(t, []string{"head 0", "slen 0", "strs 0", "recs 1", "durs 1", "recs 2", "durs 2", "edge 2", "size 2", "recs 3", "edge 3"}, tagsOf(t, file))
		all := notes(t, opened(t, file))
		require.Equal(t, len(events)-len(threads[1]), countOf(all, ""))
		require.Greater(t, countOf(all, "6"), 0)
		require.Greater(t, countOf(all, "0"), countOf(all, "7"))
	}, sizes)
}

// Strings of several kinds of parts are numbered alike, however the threads
// are interleaved.
func TestInterleavingOfMorePartsLeavesNoMark(t *testing.T) {
	h, threads := annotated(2 * rowsPerPart)
	extended(func() {
		file := compiled(t, h, slices.Concat(threads...))
		r := rand.New(rand.NewSource(1))
		for _, words := range []int{heldWords, 20_000} {
			require.Equal(t, file, interleaved(t, h, threads, words, func(left [][]format.Event) int { return r.Intn(len(left)) }))
		}
	}, marks(true), sizes)
}

func TestRowsOfLaterPartsAreChecked(t *testing.T) {
	head, lengths, contents := text(kindHeader, ""), table(kindLengths, 0, 4), text(kindBytes, "path")
	record, duration := table(kindRecords, 1, append([]uint64{uint64(format.OpFsync)}, make([]uint64, maxWidth-1)...)...), table(kindDurations, 1, 5)
	extended(func() {
		mark, size := kindOf("mark"), kindOf("size")
		for _, c := range []struct {
			name string
			part piece
			says string
		}{
			{"string after the last", table(mark, 1, 0, 1), "marks of thread 1 at byte 102: malformed trace: row 0: string 1 of 1"},
			{"string below none", table(mark, 1, 0, 1<<64-2), "row 0: string -2 of 1"},
			{"event after the last", table(mark, 1, 1, 0), "row 0: event 1 after event 0 of 1"},
			{"rows too many", table(size, 1, 1, 2), "thread 1 has 2 sizes of 1 events"},
			{"row", table(size, 1, 101), "row 0: size 101"},
		} {
			t.Run(c.name, func(t *testing.T) {
				err := tasted(craft(head, lengths, contents, record, duration, c.part), DefaultLimit, 1000)
				require.ErrorIs(t, err, ErrMalformed)
				require.ErrorContains(t, err, c.says)
			})
		}
	}, marks(true), sizes)
}

// An event can have more rows than a part.
func TestRowsOfAnEventInSeveralParts(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1}}}
	events := []format.Event{
		{Op: format.OpFsync, TID: 1},
		{Op: format.OpFsync, TID: 2, Edges: make([]format.Edge, 2*rowsPerPart+5)},
		{Op: format.OpFsync, TID: 2, Edges: []format.Edge{{Thread: 1}}},
	}
	for i := range events[1].Edges {
		events[1].Edges[i].Thread = 1
	}
	file := compiled(t, h, events)
	tr := opened(t, file)
	var counts []int64
	for _, p := range tr.threads[1].of(kindEdges) {
		counts = append(counts, p.count)
	}
	require.Equal(t, []int64{rowsPerPart, rowsPerPart, 6}, counts)
	got, err := every(tr.Events(), 10)
	require.NoError(t, err)
	require.Equal(t, events, got)
	require.Equal(t, file, interleaved(t, h, [][]format.Event{events[:1], events[1:]}, 1000, func([][]format.Event) int { return 0 }))
}

// The table is what files depend on.
func TestTable(t *testing.T) {
	for i, l := range kinds {
		require.Len(t, l.tag, 4)
		require.Equal(t, kind(i), kindOf(l.tag), "a tag is unique")
		require.Equal(t, l.scope == whole, l.write != nil && l.read != nil, l.tag)
		require.Equal(t, l.scope != whole && !l.after, l.encode != nil, l.tag) // Writer.span has those of spans
		require.LessOrEqual(t, l.width, maxWidth)
	}
}
