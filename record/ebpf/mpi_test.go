package ebpf

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/layer"
	"pianola/record"
	"pianola/record/recordkit"
)

// mpis are implementations of MPI.
var mpis = []struct {
	name, compiler string
	launcher       []string

	status, source int   // integers of a status, and the place of the source; the tag follows it
	ignore         int64 // MPI_STATUS_IGNORE
	null           int64 // MPI_REQUEST_NULL; 0 if it differs between processes
}{
	{"MPICH", "mpicc", []string{"mpiexec"}, 5, 2, 1, 0x2c000000},
	{"Open MPI", "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe"}, 6, 0, 0, 0},
}

// The spans have all that is needed to pair the messages of MPI: requests as they are before
// a call completes them, and the source and tag of a message from any rank.
func TestSpansOfMPI(t *testing.T) {
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	l, err := layer.Load("mpi")
	require.NoError(t, err)
	for _, mpi := range mpis {
		t.Run(mpi.name, func(t *testing.T) {
			for _, name := range []string{mpi.compiler, mpi.launcher[0]} {
				if _, err := exec.LookPath(name); err != nil {
					t.Skip("not installed")
				}
			}
			if exec.Command(mpi.compiler, "-E", "-include", "mpi.h", "-x", "c", "/dev/null").Run() != nil {
				t.Skip("its headers are not installed")
			}
			program := filepath.Join(t.TempDir(), "mpi")
			out, err := exec.Command(mpi.compiler, "-o", program, "testdata/mpi.c").CombinedOutput()
			require.NoError(t, err, "%s", out)
			var c recordkit.Collect
			// Ranks that poll fill the ring while a busy machine gives the recorder no time.
			r, _ := recordLong(t, record.Options{Command: append(slices.Clone(mpi.launcher), "-n", "2", program), Layers: []*layer.Layer{l}, LayerForce: true, RingBytes: 64 << 20}, &c)
			require.Zero(t, r.Lost)

			ranks := map[int32]int64{} // by thread
			for _, e := range c.Of(format.OpNone) {
				if e.Span.Function == "MPI_Comm_rank" {
					require.Equal(t, format.ValuePointed, e.Span.Args[1].Kind)
					ranks[e.TID] = e.Span.Args[1].Int
				}
			}
			require.Len(t, ranks, 2)
			var calls [2]map[string][][]format.Value // by rank and function
			for rank := range calls {
				calls[rank] = map[string][][]format.Value{}
			}
			for _, e := range c.Of(format.OpNone) {
				of := calls[ranks[e.TID]]
				of[e.Span.Function] = append(of[e.Span.Function], e.Span.Args)
			}
			arg := func(rank int, function string, n, i int) format.Value {
				t.Helper()
				all := calls[rank][function]
				if n < 0 {
					n += len(all)
				}
				require.Greater(t, len(all), n, function)
				return all[n][i]
			}
			pointed := func(rank int, function string, n, i int) int64 {
				t.Helper()
				v := arg(rank, function, n, i)
				require.Equal(t, format.ValuePointed, v.Kind, function)
				return v.Int
			}
			numbers := func(rank int, function string, n, i int) []int64 {
				t.Helper()
				v := arg(rank, function, n, i)
				require.Equal(t, format.ValueNumbers, v.Kind, function)
				return v.Numbers
			}
			// from checks a status: a message of rank 1.
			from := func(tag int64, status []int64) {
				t.Helper()
				require.GreaterOrEqual(t, len(status), mpi.status)
				require.Equal(t, []int64{1, tag}, []int64{status[mpi.source], status[mpi.source+1]})
			}
			ignored := format.Value{Kind: format.ValueAddr, Int: mpi.ignore}

			require.EqualValues(t, 2, pointed(0, "MPI_Comm_size", 0, 1))
			require.Equal(t, []int64{2}, numbers(0, "MPI_Cart_create", 0, 2))
			require.Equal(t, pointed(0, "MPI_Cart_create", 0, 5), pointed(0, "MPI_Comm_free", 0, 0))

			sent := []int64{pointed(1, "MPI_Isend", 0, 6), pointed(1, "MPI_Isend", 1, 6)}
			require.Equal(t, sent, numbers(1, "MPI_Waitall", 0, 1))
			require.Equal(t, ignored, arg(1, "MPI_Waitall", 0, 2))
			kept := []int64{pointed(1, "MPI_Send_init", 0, 6), pointed(1, "MPI_Send_init", 1, 6)}
			require.Equal(t, kept[0], pointed(1, "MPI_Start", 0, 0))
			require.Equal(t, kept[0], pointed(1, "MPI_Wait", 0, 0))
			require.Equal(t, ignored, arg(1, "MPI_Wait", 0, 1))
			require.Equal(t, kept, numbers(1, "MPI_Startall", 0, 1))
			require.Equal(t, kept, numbers(1, "MPI_Waitall", 1, 1))
			require.Equal(t, kept[1], pointed(1, "MPI_Request_free", 1, 0))

			require.Equal(t, []int64{pointed(0, "MPI_Irecv", 0, 6), pointed(0, "MPI_Irecv", 1, 6)}, numbers(0, "MPI_Waitall", 0, 1))
			statuses := numbers(0, "MPI_Waitall", 0, 2)
			from(7, statuses)
			from(8, statuses[mpi.status:])
			for i := range 3 {
				require.Equal(t, pointed(0, "MPI_Recv_init", 0, 6), pointed(0, "MPI_Start", i, 0))
				from(9, numbers(0, "MPI_Wait", i, 1))
			}
			from(10, numbers(0, "MPI_Mprobe", 0, 4))
			require.Equal(t, pointed(0, "MPI_Mprobe", 0, 3), pointed(0, "MPI_Mrecv", 0, 3))
			require.Equal(t, ignored, arg(0, "MPI_Mrecv", 0, 4))
			require.EqualValues(t, 1, pointed(0, "MPI_Iprobe", -1, 3))
			from(11, numbers(0, "MPI_Iprobe", -1, 4))
			from(11, numbers(0, "MPI_Recv", 0, 6))

			null := cmp.Or(mpi.null, numbers(0, "MPI_Waitsome", 0, 1)[0])
			require.NotEqual(t, null, pointed(0, "MPI_Irecv", 2, 6))
			require.Equal(t, []int64{null, pointed(0, "MPI_Irecv", 2, 6)}, numbers(0, "MPI_Waitsome", 0, 1))
			require.EqualValues(t, 1, pointed(0, "MPI_Waitsome", 0, 2))
			require.Equal(t, []int64{1}, numbers(0, "MPI_Waitsome", 0, 3))
			from(12, numbers(0, "MPI_Waitsome", 0, 4))
			require.EqualValues(t, 1, pointed(0, "MPI_Testall", -1, 2))
			require.Equal(t, []int64{null, pointed(0, "MPI_Irecv", 3, 6)}, numbers(0, "MPI_Testall", -1, 1))
			require.Equal(t, ignored, arg(0, "MPI_Testall", -1, 3))
			require.Equal(t, []int64{null, pointed(0, "MPI_Irecv", 4, 6)}, numbers(0, "MPI_Waitany", 0, 1))
			require.EqualValues(t, 1, pointed(0, "MPI_Waitany", 0, 2))
			from(14, numbers(0, "MPI_Waitany", 0, 3))
		})
	}
}
