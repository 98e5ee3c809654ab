package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/profile"
)

// findings are two: one with a command to try, and one with a hostile name.
func findings() []profile.Finding {
	return []profile.Finding{
		{Rule: "sync", Text: "Syncs of wal took 58.7 % of the run time.", Seconds: 0.5, Share: 0.587, Try: "pianola lab trace.txt --try sync=none"},
		{Rule: "read-again", Text: "Reads of " + evil, Seconds: 0.1, Share: 0.1},
	}
}

func TestDiagnosis(t *testing.T) {
	run := made(t, "application", 1)
	require.Empty(t, parse(t, write(t, []Run{run}, nil)).Runs[0].Profile.Diagnosis)
	run.Profile.Diagnosis = findings()
	html := write(t, []Run{run}, nil)
	require.NotContains(t, string(html), evil)
	require.Equal(t, findings()[0], parse(t, html).Runs[0].Profile.Diagnosis[0])
}

// The page has the findings as text, in their order.
func TestBrowserDiagnosis(t *testing.T) {
	run := made(t, "application", 1)
	run.Profile.Diagnosis = findings()
	p := open(t, write(t, []Run{run}, nil), 1200, 900)
	items := value[[]string](t, p, `[...document.querySelectorAll('.diagnosis li')].map(li => li.textContent)`)
	require.Len(t, items, 2)
	require.Equal(t, "Syncs of wal took 58.7 % of the run time.pianola lab trace.txt --try sync=none", items[0])
	require.Contains(t, items[1], "<script>alert(1)</script>")
}
