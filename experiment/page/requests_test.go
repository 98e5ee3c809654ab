package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/profile"
)

// served returns a server that answers four requests of a client, slow times as long as usual.
func served(t *testing.T, slow float64) *profile.Profile {
	t.Helper()
	r := &recording{Collector: &profile.Collector{}, t: t, slow: slow}
	message := func(op format.Op) {
		require.NoError(t, r.Write([]format.Event{{Op: op, TID: 1, Start: r.now[1], Args: [6]int64{1, 64}}}))
	}
	for range 4 {
		message(format.OpClientRequest)
		r.file(1, "/data/db", 3, 9)
		message(format.OpClientReply)
	}
	return r.Profile()
}

// A page of a server shows the requests of its clients: their rate over time and their kinds.
func TestBrowserRequests(t *testing.T) {
	p := open(t, write(t, []Run{{Name: "server", Profile: served(t, 1)}}, nil), 1200, 900)
	require.Contains(t, value[string](t, p, `document.getElementById('rates').textContent`), "Requests of clients per second")
	require.Contains(t, value[string](t, p, `document.getElementById('request').textContent`), "4 requests of 1 client, ")
	require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('#request tbody th')].map(c => c.textContent)`), 1)
	require.Contains(t, value[string](t, p, `document.querySelector('.tiles').textContent`), "Requests")
	require.Contains(t, value[string](t, p, `selection.change({file: '/data/db'}), document.getElementById('request').textContent`), "for the whole run only")

	p = open(t, write(t, []Run{made(t, "application", 1)}, nil), 1200, 900)
	require.True(t, value[bool](t, p, `document.getElementById('request') === null`))
	require.NotContains(t, value[string](t, p, `document.getElementById('rates').textContent`), "clients")
}

// A page of a comparison of servers has their rates beside the times, and does not judge the run
// time.
func TestBrowserRequestsCompared(t *testing.T) {
	runs := []Run{{Name: "application", Profile: served(t, 1)}, {Name: "replay", Profile: served(t, 3)}}
	c := compare.Profiles([]*profile.Profile{runs[0].Profile}, []*profile.Profile{runs[1].Profile})
	p := open(t, write(t, runs, &Comparison{Comparison: c, Tolerance: 0.1}), 1200, 900)
	require.Contains(t, value[string](t, p, `document.querySelector('.verdict').textContent`), "fewer requests than the application")
	row := func(name string) string {
		return value[string](t, p, `[...document.querySelectorAll('#compared tbody tr')].find(r => r.textContent.startsWith('`+name+`')).textContent`)
	}
	require.Contains(t, row("requests/s"), "outside the tolerance")
	require.Contains(t, row("run time"), "not judged")
}
