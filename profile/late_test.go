package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rank for which the others wait in MPI is named, with what it does meanwhile.
func TestLateRank(t *testing.T) {
	const ms = 1_000_000
	of := func(late Times, mpi int64) *Profile {
		p := &Profile{RunTime: 100 * ms}
		for rank := range int32(4) {
			r := Rank{Rank: rank, MPI: 80 * ms, Times: Times{IO: 5 * ms, Compute: 95 * ms}} // they poll
			if rank == 2 {
				r.MPI, r.Times = mpi, late
			}
			p.Ranks = append(p.Ranks, r)
		}
		return p
	}
	for _, test := range []struct {
		name string
		late Times
		mpi  int64
		want string
	}{
		{"compute", Times{IO: 5 * ms, Compute: 95 * ms}, 10 * ms, "rank 2 is late, mostly by compute: it waited 10.000 ms in MPI, the others 80.000 ms on average"},
		{"I/O", Times{IO: 60 * ms, Compute: 40 * ms}, 10 * ms, "rank 2 is late, mostly by I/O: it waited 10.000 ms in MPI, the others 80.000 ms on average"},
		{"timers", Times{IO: 5 * ms, Timer: 60 * ms}, 10 * ms, "rank 2 is late, mostly by timers: it waited 10.000 ms in MPI, the others 80.000 ms on average"},
		{"hardly", Times{IO: 5 * ms, Compute: 95 * ms}, 76 * ms, ""},
	} {
		require.Equal(t, test.want, of(test.late, test.mpi).late(), test.name)
	}
	require.Contains(t, of(Times{}, 10*ms).RankNotes(), "rank 2 is late, mostly by compute: it waited 10.000 ms in MPI, the others 80.000 ms on average")
	require.Empty(t, (&Profile{RunTime: ms, Ranks: []Rank{{MPI: 9}}}).late())
}
