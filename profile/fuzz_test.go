package profile

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// FuzzFollow feeds events whose arguments are small numbers and whose names are
// few, so that threads, descriptors and files are met again. Whatever they do,
// every call counts for one file and one thread.
func FuzzFollow(f *testing.F) {
	f.Add([]byte("\x03\x01\x00\x03\x00\x00\x00\x00\x08\x01\x00\x05\x03\x00\x00\x00\x39\x01\x00\x02\x00\x00\x00\x00"), false)
	f.Add([]byte("\x3b\x01\x00\x02\x04\x00\x00\x00\x03\x02\x00\x04\x00\x00\x00\x00\x40\x01\x00\x00\x00\x00\x00\x00\x08\x02\x00\x07\x04\x00\x00\x00"), true)
	f.Fuzz(func(t *testing.T, data []byte, trace bool) {
		names := []string{"", "/a", "b", "../c/", "/d/e", "."}
		var events []format.Event
		for now := int64(0); len(data) >= 8; data = data[8:] {
			small := func(i int) int64 { return int64(int8(data[i])) }
			e := format.Event{
				Op: format.Op(data[0])%format.Op(format.NumOps-1) + 1, TID: int32(data[1] % 8),
				Start: now + small(2), Dur: small(2), Ret: small(3),
				Args: [6]int64{small(4), small(5), small(6) << 8, small(7), 1 << (data[5] % 64), small(6)},
			}
			now += int64(data[2])
			for i := range e.Str {
				if n := int(data[6+i]) % (len(names) + 1); n < len(names) {
					e.Str[i] = []byte(names[n])
				}
			}
			if data[7]&1 != 0 {
				e.Off = format.Off{Wait: 7}
				e.Notes = &format.Notes{Has: format.NotedWas | format.NotedSize | format.NotedType, Was: 1, Size: int64(data[6]), Type: format.TypeSock}
			}
			events = append(events, e)
		}
		h := format.Header{Descriptors: []format.Descriptor{{Process: 1, FD: 0, Path: "/in"}}}
		if trace {
			h.Threads = []format.Thread{{Process: 1}, {Process: 1, Parent: 1}, {Process: 2}, {Process: 1}}
		}
		p, err := Read(&testkit.Reader{Events: events, Batch: 7, Err: io.EOF, Head: h})
		if err != nil {
			return
		}
		var files, threads Total
		for _, file := range p.files() {
			sum := file.All()
			files.add(&sum)
		}
		for _, one := range p.threads() {
			sum := one.All()
			threads.add(&sum)
			require.GreaterOrEqual(t, one.Times.Compute, int64(0))
		}
		require.Equal(t, p.All, files)
		require.Equal(t, p.All, threads)
		require.NoError(t, p.WriteText(io.Discard, true))
		for _, extent := range []Extent{Charts, Page} {
			_, err = json.Marshal(p.FullDocument(extent))
			require.NoError(t, err)
		}
	})
}
