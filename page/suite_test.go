package page

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// suiteFigures is a document as that of suite.Report.
const suiteFigures = `{
  "confidence": 0.95, "interrupted": false, "saved": false,
  "sides": [{"name": "disk", "to_recorded": {"run_time": {"ratio": 1.4, "workloads": 2}}}, {"name": "flash", "to_recorded": {"run_time": {"ratio": 1, "workloads": 2}}, "to_first": {"run_time": {"ratio": 0.7, "low": 0.69, "high": 0.71, "workloads": 2}}}],
  "workloads": [
    {"name": "base", "recorded_seconds": {"run_time": 1, "sync_p99": 0.0004}, "sides": [
      {"name": "disk", "runs": 3, "run_seconds": [2, 2, 2], "seconds": {"run_time": 2, "sync_p99": 0.0008}, "to_recorded": {"run_time": {"ratio": 2, "workloads": 1}, "sync_p99": {"ratio": 2, "workloads": 1}}, "failed": 0, "differed": 0},
      {"name": "flash", "runs": 3, "run_seconds": [1, 1, 1], "seconds": {"run_time": 1}, "to_recorded": {"run_time": {"ratio": 1, "workloads": 1}}, "to_first": {"run_time": {"ratio": 0.5, "low": 0.49, "high": 0.51, "workloads": 1}}, "failed": 0, "differed": 2, "example": "</script><script>alert(1)</script>"}]},
    {"name": "compile", "recorded_seconds": {"run_time": 0.5}, "sides": [
      {"name": "disk", "runs": 3, "run_seconds": [0.5], "seconds": {"run_time": 0.5}, "to_recorded": {"run_time": {"ratio": 1, "workloads": 1}}, "failed": 0, "differed": 0},
      {"name": "flash", "runs": 0, "run_seconds": [], "seconds": {}, "to_recorded": {}, "to_first": {}, "failed": 0, "differed": 0, "refused": "no room"}]}
  ]
}`

func suitePage(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteSuite(&b, &Suite{
		Facts:      []string{"disk: ext4 rw"},
		Conclusion: "flash is 1.43 times as fast as disk " + evil + "\nsecond line",
		Figures:    json.RawMessage(suiteFigures),
	}))
	return b.Bytes()
}

func TestSuite(t *testing.T) {
	html := string(suitePage(t))
	require.Contains(t, html, "Pianola</span> suite")
	require.NotContains(t, html, "uPlot", "what no chart needs is left out")
	require.NotContains(t, html, "<script>alert")
	require.NotRegexp(t, `(?i)(src|href)="?https?:`, html)
	require.ErrorIs(t, WriteSuite(brokenWriter{}, &Suite{}), errBroken)
}

func TestBrowserSuite(t *testing.T) {
	for _, width := range []int64{1280, 320} {
		p := open(t, suitePage(t), width, 900)
		require.Contains(t, value[string](t, p, `document.querySelector('.verdict').textContent`), "flash is 1.43 times as fast as disk")
		require.Contains(t, value[string](t, p, `document.querySelector('header').textContent`), "disk: ext4 rw")
		require.Equal(t, []string{"base", "compile"}, column(t, p, "run_time", 0))
		require.Equal(t, []string{"base"}, column(t, p, "sync_p99", 0))
		require.Contains(t, value[string](t, p, `document.querySelector('#run_time').textContent`), "Geometric mean of 2 workloads: disk 1.40 of the recording; flash 1.00 of the recording, 0.700 of disk (0.690 to 0.710).")
		require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('#times li')].map(e => e.textContent)`), 6)
		choose(t, p, `#times select`, "sync_p99")
		require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('#times li')].map(e => e.textContent)`), 3)
		require.Contains(t, value[string](t, p, `document.querySelector('#run_time').textContent`), "flash: left out: no room")
		require.LessOrEqual(t, value[int64](t, p, `document.documentElement.scrollWidth`), width, "the page is not wider than the screen")
	}
}
