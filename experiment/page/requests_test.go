package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// A page of a server shows the requests of its clients: their rate over time and their kinds.
func TestBrowserRequests(t *testing.T) {
	r := &recording{Collector: &profile.Collector{}, t: t, slow: 1}
	message := func(op format.Op) {
		require.NoError(t, r.Write([]format.Event{{Op: op, TID: 1, Start: r.now[1], Args: [6]int64{1, 64}}}))
	}
	for range 4 {
		message(format.OpClientRequest)
		r.file(1, "/data/db", 3, 9)
		message(format.OpClientReply)
	}
	p := open(t, write(t, []Run{{Name: "server", Profile: r.Profile()}}, nil), 1200, 900)
	require.Contains(t, value[string](t, p, `document.getElementById('rates').textContent`), "Requests of clients per second")
	require.Contains(t, value[string](t, p, `document.getElementById('request').textContent`), "4 requests of 1 client, ")
	require.Len(t, value[[]string](t, p, `[...document.querySelectorAll('#request tbody th')].map(c => c.textContent)`), 1)
	require.Contains(t, value[string](t, p, `document.querySelector('.tiles').textContent`), "Requests")
	require.Contains(t, value[string](t, p, `selection.change({file: '/data/db'}), document.getElementById('request').textContent`), "for the whole run only")

	p = open(t, write(t, []Run{made(t, "application", 1)}, nil), 1200, 900)
	require.True(t, value[bool](t, p, `document.getElementById('request') === null`))
	require.NotContains(t, value[string](t, p, `document.getElementById('rates').textContent`), "clients")
}
