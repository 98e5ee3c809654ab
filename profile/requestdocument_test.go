package profile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	scripts "pianola/format/script"
)

// Two clients ask the thread of a server, one of them twice.
const clients = `# pianola script 1
1 0.000000000 openat(AT_FDCWD, "/w/db", O_RDWR, 0) = 3 <0.000010000>
1 0.000010000 client_request(1, 64) = 0
1 0.000000000 fsync(3) = 0 <0.001000000>
1 0.001000000 client_reply(1, 5) = 0
1 0.000100000 client_request(2, 64) = 0
1 0.000000000 pread64(3, 0x10, 100, 0) = 100 <0.002000000>
1 0.002000000 client_reply(2, 100) = 0
1 0.000100000 client_request(1, 64) = 0
1 0.000000000 fsync(3) = 0 <0.003000000>
1 0.003000000 client_reply(1, 5) = 0
`

func servedClients(t *testing.T) *Profile {
	t.Helper()
	p, err := Read(scripts.NewReader(strings.NewReader(clients), "trace.txt"))
	require.NoError(t, err)
	return p
}

func TestRequestsDocument(t *testing.T) {
	p := servedClients(t)
	text, err := json.Marshal(p.FullDocument(Sums))
	require.NoError(t, err)
	var d struct {
		Requests struct {
			Clients, Requests int64
			Bytes             int64
			Replied           int64   `json:"reply_bytes"`
			Rate              float64 `json:"per_second"`
			Max               float64 `json:"max_seconds"`
			Seconds           float64
			Spent             map[string]float64
			Kinds             []struct {
				Name     string
				Requests int64
				Sync     float64 `json:"sync_seconds"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &d))
	r := d.Requests
	require.Equal(t, []int64{2, 3, 192, 110}, []int64{r.Clients, r.Requests, r.Bytes, r.Replied})
	require.InDelta(t, 0.006, r.Seconds, 1e-9)
	require.InDelta(t, 0.003, r.Max, 1e-9)
	require.InDelta(t, p.Requests.Rate, r.Rate, 0)
	require.InDelta(t, 0.004, r.Spent["sync_seconds"], 1e-9)
	require.InDelta(t, 0.002, r.Spent["read_seconds"], 1e-9)
	require.Len(t, r.Spent, int(NumActivities))
	require.Len(t, r.Kinds, 2)
	require.Equal(t, "fsync", r.Kinds[0].Name)
	require.EqualValues(t, 2, r.Kinds[0].Requests)
	require.InDelta(t, 0.004, r.Kinds[0].Sync, 1e-9)

	text, err = json.Marshal(new(Profile).FullDocument(Sums))
	require.NoError(t, err)
	require.NotContains(t, string(text), `"requests":{`)
}

func TestRequestsMeasure(t *testing.T) {
	r := servedClients(t).Requests
	m := r.Measure()
	require.Equal(t, []int64{3, 302}, []int64{m.Calls, m.Bytes})
	require.InDelta(t, r.Rate, *m.Rate, 0)
	require.InDelta(t, 0.003, m.Max, 1e-9)
	require.Nil(t, m.Seconds)
	require.Equal(t, Measure{}, (*Requests)(nil).Measure())
	r.Rate = 0
	require.Nil(t, r.Measure().Rate, "it is not known")
}
