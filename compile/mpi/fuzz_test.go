package mpi_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile/mpi"
	"pianola/format"
	"pianola/format/script"
)

// FuzzPairer pairs hostile calls: numbers that are huge or negative, handles that repeat, and
// requests that nothing completes. Each wait must be of a call that was added.
func FuzzPairer(f *testing.F) {
	for _, calls := range []string{
		"1 0.1 mpi:MPI_Irecv(0x1, 1, 1, -2, -1, 1140850688, &5) = 0 <0.1>\n1 0.2 mpi:MPI_Waitany(2, [5, 5], &1, [0, 0, 9, 7, 0, 0]) = 0 <0.1>\n",
		"1 0.1 mpi:MPI_Waitsome(9223372036854775807, [1], &9223372036854775807, [-1, 5], [1]) = 0 <0.1>\n",
		"2 0.1 mpi:MPI_Waitall(-1, [1, 1, 1], 0x1) = 0 <0.1>\n2 0 mpi:MPI_Waitall(9223372036854775807, 0x1, 0x1) = 0 <0.1>\n",
		"1 0.1 mpi:MPI_Send_init(0x1, -5, 1, 9223372036854775807, 7, 1140850688, &5) = 0 <0.1>\n1 0 mpi:MPI_Startall(3, [5, 5, 5]) = 0 <0>\n1 0 mpi:MPI_Start(&5) = 0 <0>\n",
		"1 0.1 mpi:MPI_Comm_split(1140850688, -32766, 0, &67108864) = 0 <0.1>\n2 0.1 mpi:MPI_Comm_split(1140850688, 9223372036854775807, -1, &77) = 0 <0.1>\n2 0 mpi:MPI_Comm_rank(77, &9223372036854775807) = 0 <0>\n",
		"1 0.1 mpi:MPI_Comm_create(1140850688, 1, &77) = 0 <0.1>\n1 0 mpi:MPI_Comm_rank(77, &0) = 0 <0>\n2 0.1 mpi:MPI_Comm_create(1140850688, 1, &77) = 0 <0.1>\n2 0 mpi:MPI_Comm_rank(77, &0) = 0 <0>\n1 0 mpi:MPI_Barrier(77) = 0 <0>\n",
		"1 0.1 mpi:MPI_Comm_dup(1140850688, &77) = 0 <0.1>\n1 0.1 mpi:MPI_Comm_dup(77, &77) = 0 <0.1>\n1 0 mpi:MPI_Comm_free(&77) = 0 <0>\n2 0.1 mpi:MPI_Comm_dup(1140850688, &77) = 0 <0.1>\n2 0 mpi:MPI_Send(0x1, 1, 1, 0, 7, 77) = 0 <0>\n",
		"1 0.1 mpi:MPI_Bcast(0x1, 1, 1, -1, 0x7f0000000000) = 0 <0.1>\n2 0.1 mpi:MPI_Exscan(0x1, 0x1, 1, 1, 1, 1140850688) = 0 <0.1>\n3 0 mpi:MPI_Gather(0x1, 1, 1, 0x1, 1, 1, 5, 1140850688) = 0 <?>\n",
		"1 0.1 mpi:MPI_Iprobe(-2, 7, 1140850688, &1, [1, 2, 3]) = 0 <0.1>\n1 0.1 mpi:MPI_Improbe(1, 7, 1140850688, ?, ?, ?) = 0 <0.1>\n1 0 mpi:MPI_Cancel(&5) = 0 <0>\n",
	} {
		f.Add(calls)
	}
	f.Fuzz(func(t *testing.T, calls string) {
		r := script.NewReader(strings.NewReader("# pianola script 1\n# layer: mpi libmpi.so functions=78 missing=0 stepped=0\n"+calls), "test")
		var added int64
		told, ends := map[int64]bool{}, map[int64]int64{}
		var waits []mpi.Wait
		p := mpi.New(header("n", "n", "m"), func(w *mpi.Wait) {
			require.NotEmpty(t, w.Calls)
			require.NotEmpty(t, w.On)
			for _, c := range w.Calls {
				require.LessOrEqual(t, c.From, c.Start)
				require.GreaterOrEqual(t, c.Polls, int32(0))
				told[c.Number] = true
				ends[c.Number] = c.End
			}
			waits = append(waits, *w)
		})
		batch := make([]format.Event, 8)
		calling := map[int64]int64{}
		for {
			n, err := r.Read(batch)
			for i := range batch[:n] {
				e := &batch[i]
				if e.Span == nil || e.Span.Layer != mpi.Layer {
					continue
				}
				require.Equal(t, added, p.Add(e.TID, e.TID&7, e))
				calling[added] = e.End()
				added++
			}
			if err != nil {
				if err != io.EOF {
					return
				}
				break
			}
		}
		p.End()
		for number := range told {
			require.Less(t, number, added)
			require.Equal(t, calling[number], ends[number], "the call that was added with this number")
		}
		for _, n := range []int64{p.Stats.Messages, p.Stats.Collectives, p.Stats.Guessed, p.Stats.Unpaired, p.Stats.Unknown} {
			require.GreaterOrEqual(t, n, int64(0))
		}
		for _, w := range waits {
			if w.Kind == mpi.Sent {
				require.False(t, p.Sends.Early(&w.Message) && p.Sends.Waits(&w.Message))
			}
		}
	})
}
