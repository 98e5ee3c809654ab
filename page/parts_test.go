package page

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// Records leave out what is as in the one before, and counts that follow from the
// number of calls.
func TestPartRecords(t *testing.T) {
	part := func(file int, thread int32, op format.Op, piece int, calls int64, first int, durations ...int64) profile.Part {
		return profile.Part{File: file, Thread: thread, Op: op, Category: profile.CategoryOf(op), Piece: piece, Calls: calls, Bytes: 40, Nanos: 100, First: first, Durations: durations}
	}
	got := newParts(&profile.Profile{
		Files: []profile.File{{Name: "a"}, {Name: "b"}},
		Parts: profile.Parts{Nanos: 1 << 14, List: []profile.Part{
			part(profile.PartNone, -1, format.OpSync, 0, 1, 2, 1),
			part(profile.PartOthers, 7, format.OpRead, 0, 1, 0),
			part(1, 7, format.OpRead, 0, 3, 2, 3),
			part(1, 7, format.OpRead, 37, 3, 2, 1, 2),
			part(1, 8, format.OpRead, 37, 3, 2, 2),
		}},
	})
	require.Equal(t, []string{"b"}, got.Files)
	require.Equal(t, []int32{7, 8}, got.Threads)
	require.Equal(t, []string{"sync", "read"}, got.Ops)
	require.Equal(t, "-.0.1.2.0.1.0.14.2s.2,0.1.2.0.0.1.0.14.2s.0.0,1...0.0.3.0.14.2s.2,...0.11.3.0.14.2s.2.1.2,.2..0.11.3.0.14.2s.2.2", got.Records)
}

// The names of files in parts are bounded. Later names are among the others.
func TestPartNames(t *testing.T) {
	p := &profile.Profile{}
	for i := range 1000 {
		p.Files = append(p.Files, profile.File{Name: strings.Repeat("x", 1000) + strconv.Itoa(i)})
		p.Parts.List = append(p.Parts.List, profile.Part{File: i, Calls: 1})
	}
	got := newParts(p)
	require.Len(t, got.Files, maxPartNames/1000)
	require.Contains(t, got.Records, ",0..")
}
