package console

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1000, 0)
	p := new(Console).Bytes("reading")
	p.w, p.begun, p.due = &out, now, now.Add(progressDelay)
	p.now, p.columns = func() time.Time { return now }, func() int { return 80 }
	drawn := func() string {
		t.Helper()
		defer out.Reset()
		return out.String()
	}

	p.Set(1e6, 10e6)
	require.Empty(t, drawn(), "short work shows nothing")
	now = now.Add(2 * time.Second)
	p.Set(2e6, 10e6)
	require.Equal(t, clearLine+"reading: 2.00 MB of 10.0 MB, 8s left", drawn())
	p.Set(3e6, 10e6)
	require.Empty(t, drawn(), "not again so soon")
	now = now.Add(progressPeriod)
	p.Describe("reading %s", "a\x1bb")
	require.Equal(t, clearLine+`reading a\33b: 3.00 MB of 10.0 MB, 5s left`, drawn())
	now = now.Add(progressPeriod)
	p.Set(3e6, -1)
	require.Equal(t, clearLine+`reading a\33b: 3.00 MB`, drawn())
	now = now.Add(progressPeriod)
	p.columns = func() int { return 10 }
	p.Set(10e6, 10e6)
	require.Equal(t, clearLine+"reading a", drawn())
	p.Finish()
	require.Equal(t, clearLine, drawn())
	now = now.Add(time.Minute)
	p.Set(10e6, 10e6)
	p.Finish()
	require.Empty(t, drawn())
}
