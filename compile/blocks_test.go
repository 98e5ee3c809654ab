package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A part that was written before the recorder looked gets the allocation of its
// neighbours.
func TestBlocksAtTheStart(t *testing.T) {
	for _, test := range []struct {
		name, found string
		doubts      []doubt
		want        string
	}{
		{"nothing was written", "data:8192,reserved:8192", nil, "data:8192,reserved:8192"},
		{"within reserved blocks", "reserved:8192,data:4096,reserved:8192", []doubt{{8192, 12288}}, "reserved:20480"},
		{"within data", "data:65536,hole:4096", []doubt{{8192, 12288}}, "data:65536,hole:4096"},
		{"at a border", "data:32768,reserved:8192", []doubt{{16384, 32768}}, "data:24576,reserved:16384"},
		{"at the start", "data:4096,reserved:8192", []doubt{{0, 4096}}, "reserved:12288"},
		{"at the end", "reserved:8192,data:4096", []doubt{{8192, 12288}}, "reserved:12288"},
		{"in any order, twice, and beyond", "reserved:4096,data:16384,reserved:4096", []doubt{{12288, 20480}, {4096, 12288}, {8192, 1 << 40}}, "reserved:24576"},
		{"in two stretches", "hole:4096,data:4096,hole:4096,data:4096,hole:4096", []doubt{{4096, 16384}}, "hole:20480"},
		{"everything", "data:8192", []doubt{{0, 8192}}, "data:8192"},
		{"what was not there", "hole:4096,data:4096", []doubt{{0, 4096}}, "hole:4096,data:4096"},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, ok := format.ParseBlocks([]byte(test.found))
			require.True(t, ok)
			b := blocks{all: all, until: 100}
			for _, d := range test.doubts {
				b.doubt(99, d.from, d.to)
			}
			b.doubt(100, 0, 1<<40) // after the recorder looked
			require.Equal(t, test.want, string(format.AppendBlocks(nil, b.start())))
		})
	}
}
