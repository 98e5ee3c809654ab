package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// A page of a recording with calls of libraries shows what they spent and caused. Names of
// functions come from strangers, too.
func TestBrowserLayers(t *testing.T) {
	r := &recording{Collector: &profile.Collector{}, t: t, slow: 1}
	span := func(function, kind string, from int64) {
		e := format.Event{TID: 1, Start: from, Dur: r.now[1] - from, Span: &format.Span{Layer: "hdf5", Function: function, Kind: kind, Bytes: format.Unknown}}
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

// The timeline shows calls of libraries above the system calls of their thread, by depth,
// down to sums of those that are too short.
func TestBrowserSpans(t *testing.T) {
	r := &recording{Collector: &profile.Collector{To: 1e18}, t: t, slow: 1}
	span := func(function, kind string, from, to int64) {
		e := format.Event{TID: 1, Start: from, Dur: to - from, Span: &format.Span{Layer: "hdf5", Function: function, Kind: kind, Bytes: format.Unknown}}
		if kind == "open" {
			e.Span.Args = []format.Value{{Kind: format.ValuePath, Text: []byte(evil)}}
		}
		require.NoError(t, r.Write([]format.Event{e}))
	}
	span("H5Fopen", "open", 0, 1e3) // the page has its layer from here on
	r.now[1] = 1e4
	from := r.now[1]
	r.file(1, "/data/out.h5", 300, 9)
	inner := r.now[1]
	span("H5Dwrite", "write", from+1e5, inner-1e5)
	span("H5Dclose", "close", from, inner)
	r.file(2, "/data/none", 3, 9)
	for i := range int64(2 * profile.MaxSpanCalls) {
		span("H5Pset_chunk", "setup", inner+10*i, inner+10*i+5)
	}
	r.now[1] += 20 * profile.MaxSpanCalls
	r.file(1, "/data/out.h5", 3, 9)

	p := open(t, write(t, []Run{{Name: "checkpoint", Profile: r.Profile()}}, nil), 1200, 900)
	p.do(t, chromedp.WaitReady(chromedp.CSS(`#timeline figure[data-spans="ready"]`)), chromedp.Focus(chromedp.CSS(`#timeline .chart`)))
	p.drawn(t)
	reading := func(key string) string {
		p.do(t, chromedp.KeyEvent(key))
		return value[string](t, p, `document.querySelector('#timeline output').textContent`)
	}
	require.Contains(t, reading(kb.ArrowRight), "thread 1, 0\u202fs to ")
	require.Contains(t, reading(kb.ArrowUp), "no short call of a library")
	require.Contains(t, reading(kb.End), "no short call of a library", "another key changes nothing")
	require.Contains(t, reading(kb.ArrowUp), "no call of a library")
	require.Contains(t, reading(kb.ArrowRight), "hdf5:H5Dwrite /data/out.h5, took ")
	require.Contains(t, reading(kb.ArrowUp), "hdf5:H5Dclose /data/out.h5, took ")
	require.Contains(t, reading(kb.ArrowUp), "all threads, ")
	reading(kb.ArrowDown)
	reading(kb.ArrowLeft)
	require.Contains(t, reading(kb.ArrowLeft), "hdf5:H5Fopen "+strings.ReplaceAll(evil, "\xff", `\xff`)+", took 1.000\u202fµs")
	require.Contains(t, reading(kb.ArrowRight), "took ")
	require.Contains(t, value[string](t, p, `document.querySelector('#timeline .legend').textContent`), "Calls of libraries:open, closewritesetup")
	require.Contains(t, value[string](t, p, `document.querySelector('#timeline').textContent`), "are sums, in the lowest of these rows")

	// Enter shows the time of a call. A button hides all.
	require.Contains(t, reading(kb.Enter), "")
	require.NotNil(t, value[any](t, p, `selection.now.from ?? null`))
	height := value[float64](t, p, `document.querySelector('#timeline canvas').height`)
	p.click(t, `#timeline .spans`)
	require.Less(t, value[float64](t, p, `document.querySelector('#timeline canvas').height`), height)
}
