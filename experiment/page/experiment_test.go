package page

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/coverage"
)

// figures is a document as that of experiment.Report.
const figures = `{
  "conclusion": "most gained: prefetch=4", "options": {"cache": "cold"}, "interrupted": false, "confidence": 0.95, "min_runs": 6,
  "subjects": [{"name": "trace.txt", "coverage": {}, "sides": [
    {"name": "application", "kind": "recorded", "steps": [], "runs": 1, "elapsed_seconds": 1.1, "read_seconds": 0.5, "latency": {}, "run_seconds": [1.1], "failed": 0, "differed": 0, "breaks_results": false},
    {"name": "baseline", "kind": "replayed", "steps": [], "runs": 6, "storage": "ext4 rw, vda", "elapsed_seconds": 1, "read_seconds": 0.5, "run_seconds": [1], "failed": 0, "differed": 0, "breaks_results": false},
    {"name": "prefetch=4", "kind": "replayed", "steps": ["prefetch=4"], "runs": 6, "elapsed_seconds": 0.6, "read_seconds": 0.1, "run_seconds": [0.6], "failed": 0, "differed": 0, "breaks_results": false,
     "base": "baseline", "gain": 0.4, "gain_low": 0.35, "gain_high": 0.45, "ratio": {"elapsed": 0.6, "read": 0.2}, "interval_low": {"elapsed": 0.55, "read": 0.1}, "interval_high": {"elapsed": 0.65, "read": 0.3},
     "finding": {"elapsed": "differs", "read": "differs"}},
    {"name": "drop=write", "kind": "replayed", "steps": ["drop=write"], "runs": 6, "elapsed_seconds": 0.3, "read_seconds": 0.1, "run_seconds": [0.3], "failed": 0, "differed": 2, "breaks_results": true,
     "base": "baseline", "example": "2 × write: </script><script>alert(1)</script>", "gain": 0.7, "ratio": {"elapsed": 0.3}, "interval_low": {}, "interval_high": {}, "finding": {"elapsed": "differs"}},
    {"name": "backend=memory", "kind": "replayed", "steps": ["backend=memory"], "runs": 0, "run_seconds": [], "failed": 0, "differed": 0, "breaks_results": false, "error": "limit exceeded"},
    {"name": "sync=none", "kind": "replayed", "steps": ["sync=none"], "unchanged": true, "runs": 6, "elapsed_seconds": 1, "read_seconds": 0.5, "run_seconds": [1], "failed": 0, "differed": 0, "breaks_results": false,
     "base": "baseline", "gain": 0, "ratio": {"elapsed": 1}, "interval_low": {}, "interval_high": {}, "finding": {"elapsed": "no_difference_found"}}
  ]}],
  "findings": [{"rule": "sync", "text": "Syncs take the time.", "candidates": [{"name": "prefetch=4", "outcome": "worth_doing", "risk": "nothing", "bound": false}]}]
}`

func experimentPage(t *testing.T, figures string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteExperiment(&b, &Experiment{
		Meta:     []format.Meta{{Key: format.MetaCommand, Value: "app " + evil}},
		Coverage: &coverage.Account{},
		Figures:  json.RawMessage(figures),
	}))
	return b.Bytes()
}

func TestExperiment(t *testing.T) {
	html := string(experimentPage(t, figures))
	require.Contains(t, html, "Pianola</span> experiment")
	require.NotContains(t, html, "uPlot", "what no chart needs is left out")
	require.NotContains(t, html, "<script>alert")
	require.NotRegexp(t, `(?i)(src|href)="?https?:`, html)
	require.ErrorIs(t, WriteExperiment(brokenWriter{}, &Experiment{}), errBroken)
}

func TestBrowserExperiment(t *testing.T) {
	for _, width := range []int64{1280, 320} {
		p := open(t, experimentPage(t, figures), width, 900)
		require.Contains(t, value[string](t, p, `document.querySelector('.verdict.within').textContent`), "Most gained: prefetch=4")
		require.Contains(t, value[string](t, p, `document.querySelector('header').textContent`), "baseline: ext4 rw, vda")
		require.Equal(t, []string{"drop=write", "prefetch=4", "sync=none", "application", "baseline", "backend=memory"}, column(t, p, "sides", 0))
		require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('#times li')].map(e => e.textContent)`), 5)
		require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('.between')].map(e => e.style.width)`), 1)
		require.Greater(t, value[int64](t, p, `Math.round(document.querySelector('.track').getBoundingClientRect().width)`), width/4, "a bar can be seen")
		require.Equal(t, []string{"breaks results: 2 × write: </script><script>alert(1)</script>", "–", "the trace is that of the baseline", "–", "–", "left out: limit exceeded"}, column(t, p, "sides", 7))
		require.Contains(t, value[string](t, p, `document.querySelector('#advice').textContent`), "prefetch=4 worth doing: 40")
		choose(t, p, `#times select`, "read")
		require.Contains(t, value[string](t, p, `document.querySelector('#times').textContent`), "100.0\u202fms")
		p.click(t, `#sides th[data-key="elapsed"] button`)
		require.LessOrEqual(t, value[int64](t, p, `document.documentElement.scrollWidth`), width)
	}
}

// Several workloads have bars of their own, a column of the table and geometric means. That
// none is faster than the first is not a failure.
func TestBrowserSubjects(t *testing.T) {
	p := open(t, experimentPage(t, `{
  "conclusion": "flash is 1.43 times as fast as disk\nsecond line", "options": {}, "interrupted": true, "confidence": 0.95, "min_runs": 6,
  "subjects": [{"name": "base", "coverage": {}, "sides": [
     {"name": "disk", "kind": "replayed", "root_name": "disk", "storage": "ext4", "steps": [], "runs": 3, "elapsed_seconds": 2, "differed": 0},
     {"name": "flash", "kind": "replayed", "steps": [], "runs": 3, "elapsed_seconds": 1, "differed": 2, "example": "</script><script>alert(1)</script>", "base": "disk", "gain": 0.5, "ratio": {"elapsed": 0.5}}]},
   {"name": "compile", "sides": [
     {"name": "disk", "kind": "replayed", "steps": [], "runs": 3, "elapsed_seconds": 0.5, "bound": "compute binds", "differed": 0},
     {"name": "flash", "kind": "replayed", "steps": [], "runs": 0, "error": "no room", "differed": 0}]}],
  "geometric_means": [{"side": "flash", "base": "disk", "ratio": 0.7, "interval_low": 0.69, "interval_high": 0.71, "subjects": 2}]
}`), 1280, 900)
	require.Equal(t, "Flash is 1.43 times as fast as diskSecond lineIncomplete: some runs are missing.", value[string](t, p, `document.querySelector('.verdict.inconclusive').textContent`))
	require.Contains(t, value[string](t, p, `document.querySelector('header').textContent`), "disk: ext4")
	require.ElementsMatch(t, []string{"base", "base", "compile", "compile"}, column(t, p, "sides", 0))
	require.Equal(t, []string{"disk", "flash", "disk"}, value[[]string](t, p, `[...document.querySelectorAll('#times .what')].map(e => e.textContent)`))
	require.Contains(t, value[string](t, p, `document.querySelector('#means').textContent`), "flash: 0.700 of disk (0.690 to 0.710), 2 workloads")
	text := value[string](t, p, `document.querySelector('#sides').textContent`)
	require.Contains(t, text, "left out: no room")
	require.Contains(t, text, "compute binds it, so its run time does not show how fast the storage is")
	require.Contains(t, text, "2 events differed: </script>")
}
