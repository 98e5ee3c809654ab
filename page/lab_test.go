package page

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// figures is a document as that of lab.Report.
const figures = `{
  "trace": "trace.txt", "options": {"cache": "cold"}, "interrupted": false, "confidence": 0.95, "min_runs": 6,
  "application": {"elapsed_seconds": 1.1, "read_seconds": 0.5},
  "baseline": {"name": "baseline", "steps": [], "runs": 6, "elapsed_seconds": 1, "read_seconds": 0.5, "run_seconds": [1], "failed": 0, "differed": 0, "breaks_results": false},
  "candidates": [
    {"name": "prefetch=4", "steps": ["prefetch=4"], "runs": 6, "elapsed_seconds": 0.6, "read_seconds": 0.1, "run_seconds": [0.6], "failed": 0, "differed": 0, "breaks_results": false,
     "gain": 0.4, "gain_low": 0.35, "gain_high": 0.45, "ratio": {"elapsed": 0.6, "read": 0.2}, "interval_low": {"elapsed": 0.55, "read": 0.1}, "interval_high": {"elapsed": 0.65, "read": 0.3},
     "finding": {"elapsed": "differs", "read": "differs"}},
    {"name": "drop=write", "steps": ["drop=write"], "runs": 6, "elapsed_seconds": 0.3, "read_seconds": 0.1, "run_seconds": [0.3], "failed": 0, "differed": 2, "breaks_results": true,
     "example": "2 × write: </script><script>alert(1)</script>", "gain": 0.7, "ratio": {"elapsed": 0.3}, "interval_low": {}, "interval_high": {}, "finding": {"elapsed": "differs"}},
    {"name": "backend=memory", "steps": ["backend=memory"], "runs": 0, "run_seconds": [], "failed": 0, "differed": 0, "breaks_results": false, "error": "limit exceeded"},
    {"name": "sync=none", "steps": ["sync=none"], "unchanged": true, "runs": 6, "elapsed_seconds": 1, "read_seconds": 0.5, "run_seconds": [1], "failed": 0, "differed": 0, "breaks_results": false,
     "gain": 0, "ratio": {"elapsed": 1}, "interval_low": {}, "interval_high": {}, "finding": {"elapsed": "no_difference_found"}}
  ]
}`

func labPage(t *testing.T, figures, conclusion string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteLab(&b, &Lab{
		Meta:       []format.Meta{{Key: format.MetaCommand, Value: "app " + evil}},
		Conclusion: conclusion,
		Figures:    json.RawMessage(figures),
	}))
	return b.Bytes()
}

func TestLab(t *testing.T) {
	html := string(labPage(t, figures, "most gained: prefetch=4"))
	require.Contains(t, html, "Pianola</span> laboratory")
	require.NotContains(t, html, "uPlot", "what no chart needs is left out")
	require.NotContains(t, html, "<script>alert")
	require.NotRegexp(t, `(?i)(src|href)="?https?:`, html)
	require.ErrorIs(t, WriteLab(brokenWriter{}, &Lab{}), errBroken)
}

func TestBrowserLab(t *testing.T) {
	for _, width := range []int64{1280, 320} {
		p := open(t, labPage(t, figures, "most gained: prefetch=4"), width, 900)
		require.Contains(t, value[string](t, p, `document.querySelector('.verdict.within').textContent`), "Most gained: prefetch=4")
		require.Equal(t, []string{"drop=write", "prefetch=4", "sync=none", "baseline", "backend=memory"}, column(t, p, "candidates", 0))
		require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('#times li')].map(e => e.textContent)`), 6)
		require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('.between')].map(e => e.style.width)`), 1)
		require.Greater(t, value[int64](t, p, `Math.round(document.querySelector('.track').getBoundingClientRect().width)`), width/4, "a bar can be seen")
		require.Equal(t, []string{"breaks results: 2 × write: </script><script>alert(1)</script>", "–", "the trace is that of the baseline", "–", "given up: limit exceeded"}, column(t, p, "candidates", 5))
		choose(t, p, `#times select`, "read")
		require.Contains(t, value[string](t, p, `document.querySelector('#times').textContent`), "100.0\u202fms")
		require.Contains(t, value[string](t, p, `document.querySelector('#candidates').textContent`), "given up: limit exceeded")
		p.click(t, `#candidates th[data-key="elapsed"] button`)
		require.LessOrEqual(t, value[int64](t, p, `document.documentElement.scrollWidth`), width)
	}
}

// Where only roots are compared they go by their names, or their directories, and
// that none is faster than the first is no failure.
func TestBrowserRoots(t *testing.T) {
	p := open(t, labPage(t, `{
  "options": {"cache": "cold"}, "interrupted": false, "confidence": 0.95, "min_runs": 6,
  "baseline": {"name": "baseline", "steps": [], "root": "/a", "root_name": "nvme", "runs": 6, "elapsed_seconds": 1, "run_seconds": [1], "failed": 0, "differed": 0, "breaks_results": false},
  "candidates": [{"name": "baseline", "steps": [], "root": "/b", "runs": 6, "elapsed_seconds": 2, "run_seconds": [2], "failed": 0, "differed": 0, "breaks_results": false,
     "gain": -1, "ratio": {"elapsed": 2}, "interval_low": {"elapsed": 1.9}, "interval_high": {"elapsed": 2.1}, "finding": {"elapsed": "differs"}}]
}`, "no root is found to be faster than nvme"), 1280, 900)
	require.Equal(t, []string{"/b", "nvme"}, column(t, p, "candidates", 0))
	require.Equal(t, "root", value[string](t, p, `document.querySelector('#candidates th[data-key="name"]').textContent.trim()`))
	require.Equal(t, []string{"nvme", "/b"}, value[[]string](t, p, `[...document.querySelectorAll('#times .what')].map(e => e.textContent)`))
	require.Contains(t, value[string](t, p, `document.querySelector('#times').textContent`), "set against nvme.")
	require.Equal(t, "No root is found to be faster than nvme", value[string](t, p, `document.querySelector('.verdict.inconclusive').textContent`))
	require.Equal(t, "cache cold", value[string](t, p, `document.querySelector('header .note').textContent`))
	require.NotContains(t, value[string](t, p, `document.querySelector('#candidates').textContent`), "on its root")
}
