package bin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// updates are events of a thread, which update registered files at places that differ.
func updates(n int) (events []format.Event) {
	for i := range int64(n) {
		events = append(events, format.Event{Op: format.OpRingFiles, TID: 1, Dur: 1, Args: [format.MaxArgs]int64{2},
			List: &format.List{Update: true, From: i * 7919 % format.MaxRegistered, Items: []int64{i % 100, format.Unchanged, -1}}})
	}
	timed(events, 0)
	return events
}

// A trace of an older version has the text of a list. Its readers return the same as those of
// a trace with numbers, and what they return can be written with numbers.
func TestListsOfOlderTraces(t *testing.T) {
	texts := []string{"8,-1,9", "2=8,-2,9", "", "4096+512,0+1", "3=4096+512", "7,x,8", "99999999=7"}
	want := []*format.List{
		{Items: []int64{8, -1, 9}}, {Update: true, From: 2, Items: []int64{8, -2, 9}}, {},
		{Of: format.ListPlaces, Items: []int64{4096, 512, 0, 1}}, {Of: format.ListPlaces, Update: true, From: 3, Items: []int64{4096, 512}},
		{Items: []int64{7}}, {Update: true, From: 99999999, Items: []int64{7}}, nil,
	}
	var all string
	var lengths, rows []uint64
	for i := range want {
		row := [maxWidth]uint64{wordOp: uint64(format.OpRingFiles), wordArgs: 2, wordArgs + 1: 1<<64 - 1}
		if i < len(texts) {
			all, lengths = all+texts[i], append(lengths, uint64(len(texts[i])))
			row[wordArgs+1] = uint64(i)
		}
		rows = append(rows, row[:]...)
	}
	tr := opened(t, craft(text(kindHeader, ""), table(kindLengths, 0, lengths...), text(kindBytes, all), table(kindRecords, 1, rows...)))
	events, err := every(tr.Events(), 3)
	require.NoError(t, err)
	tr = opened(t, compiled(t, &format.Header{}, events))
	again, err := every(tr.Events(), 3)
	require.NoError(t, err)
	require.Equal(t, events, again)
	for i := range want {
		require.Equal(t, want[i], events[i].List)
		require.Zero(t, events[i].Args[1])
	}
	require.Empty(t, tr.Strings())
}

// Lists can be left out, and a reader is used for one thread after another.
func TestListsOfThreads(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1}}}
	events := updates(2000)
	for i := range events {
		events[i].TID = int32(1 + i%2)
	}
	tr := opened(t, compiled(t, h, events))
	lists := tr.Lists(1)
	for thread := range int32(2) {
		records := make([]format.Record, 1000)
		n, err := tr.Records(thread + 1).Read(records)
		require.NoError(t, err)
		require.Len(t, records, n)
		for i := 0; i < n; i += 3 {
			l, err := lists.Read(int64(i), &records[i])
			require.NoError(t, err)
			require.Equal(t, events[2*i+int(thread)].List, l)
		}
		l, err := lists.Read(999, &format.Record{Op: format.OpFsync})
		require.NoError(t, err)
		require.Nil(t, l)
		lists.(interface{ Rewind(int32) }).Rewind(2)
	}
}

// Neither the table of strings nor the memory of a reader grows with the number of updates.
func TestUpdatesTakeNoMemory(t *testing.T) {
	held := func(n int) (bytes int64) {
		tr := opened(t, compiled(t, &format.Header{}, updates(n)))
		require.Empty(t, tr.Strings())
		lists, records, record := tr.Lists(1), tr.Records(1), make([]format.Record, 1)
		event := int64(0)
		read := func() {
			_, err := records.Read(record)
			require.NoError(t, err)
			l, err := lists.Read(event, &record[0])
			if err != nil || len(l.Items) != 3 {
				t.Fatal(err, l)
			}
			event++
		}
		for range n / 2 { // buffers grow
			read()
		}
		require.Zero(t, testing.AllocsPerRun(n/2-1, read))
		return tr.loader.budget.used.Load()
	}
	few, many := held(4*rowsPerPart), held(12*rowsPerPart)
	require.Less(t, many-few, int64(16<<10), fmt.Sprint(few, many)) // the index of the parts
}

// A batch of events with long lists ends early.
func TestLongListsEndABatch(t *testing.T) {
	long := make([]int64, format.MaxRegistered)
	events := updates(20)
	for i := range events {
		events[i].List = &format.List{Items: long}
	}
	r := opened(t, compiled(t, &format.Header{}, events)).Events()
	batch := make([]format.Event, 20)
	for range 10 {
		n, err := r.Read(batch)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, long, batch[1].List.Items)
	}
}
