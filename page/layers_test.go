package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// A page of a recording with calls of libraries shows what they spent and caused. Names of
// functions come from strangers, too.
func TestBrowserLayers(t *testing.T) {
	r := &recording{Collector: &profile.Collector{}, t: t, slow: 1}
	span := func(function, kind string, from int64) {
		e := format.Event{Op: format.OpSpan, TID: 1, Start: from, Dur: r.now[1] - from, Span: &format.Span{Layer: "hdf5", Function: function, Kind: kind, Bytes: format.Unknown}}
		require.NoError(t, r.Write([]format.Event{e}))
	}
	span("H5Dwrite", "write", 0) // the page has its layer from here on
	from := r.now[1]
	r.file(1, "/data/out.h5", 300, 9)
	span("H5Dclose", "close", from)
	p := open(t, write(t, []Run{{Name: "checkpoint", Profile: r.Profile()}}, nil), 1200, 900)
	text := value[string](t, p, `document.getElementById('layers').textContent`)
	require.Contains(t, text, "hdf5: ")
	require.Contains(t, text, "in 2 calls, which caused 603 system calls")
	require.Contains(t, text, "300 pread64, 300 pwrite64, 1 openat, 2 more")
	require.Equal(t, []string{"hdf5:H5Dclose", "hdf5:H5Dwrite"}, value[[]string](t, p, `[...document.querySelectorAll('#span tbody th')].map(c => c.textContent)`))
	// The selection of a file has no part of these.
	require.Contains(t, value[string](t, p, `selection.change({file: '/data/out.h5'}), document.getElementById('span').textContent`), "for the whole run only")

	// A page of a recording without such calls has no such section.
	p = open(t, write(t, []Run{made(t, "application", 1)}, nil), 1200, 900)
	require.True(t, value[bool](t, p, `document.getElementById('layers') === null`))
}
