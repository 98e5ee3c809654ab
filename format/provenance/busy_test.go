package provenance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestBusy(t *testing.T) {
	run := func(pairs ...string) (meta []format.Meta) {
		for i := 0; i < len(pairs); i += 2 {
			meta = append(meta, format.Meta{Key: pairs[i], Value: pairs[i+1]})
		}
		return meta
	}
	quiet := run("pressure", "cpu=1.25 io=80.00 memory=0.00", "load", "9.00 9.00 9.00", "cpus", "2")
	for _, test := range []struct {
		name string
		runs [][]format.Meta
		want []string
	}{
		{"none", nil, nil},
		{"nothing known", [][]format.Meta{nil, run("kernel", "6.1")}, nil},
		{"waits for storage are the run's own, and pressure says more than the load", [][]format.Meta{quiet}, nil},
		{"before", [][]format.Meta{run("pressure", "cpu=20.00 io=0.00")},
			[]string{"sata: the machine was busy before or after the run: tasks waited for a processor in 20 % of the time"}},
		{"after", [][]format.Meta{quiet, run("pressure", "cpu=0.00", "pressure after", "cpu=83.39 io=0.00 memory=1.00")},
			[]string{"sata: the machine was busy before or after 1 of 2 runs: tasks waited for a processor in 83 % of the time"}},
		{"memory", [][]format.Meta{run("pressure", "cpu=1.00 memory=11.00"), run("pressure", "cpu=1.00 memory=12.00")},
			[]string{"sata: the machine was busy before or after 2 of 2 runs: tasks waited for memory in 12 % of the time"}},
		{"an old kernel", [][]format.Meta{run("load", "5.20 1.00 1.00", "cpus", "2")},
			[]string{"sata: the machine was busy before or after the run: a load of 5.2 on 2 processors"}},
		{"an old kernel, idle", [][]format.Meta{run("load", "1.90 5.00 5.00", "cpus", "2")}, nil},
		{"headers are untrusted", [][]format.Meta{run("pressure", "cpu=NaN memory=1e9 cpu"), run("load", "Inf", "cpus", "0"), run("load", "1e300", "cpus", "1")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, Busy([2]string{"nvme", "sata"}, nil, test.runs))
		})
	}
	both := run("pressure", "cpu=50.00")
	require.Len(t, Busy([2]string{"nvme", "sata"}, [][]format.Meta{both}, [][]format.Meta{both}), 2)
}

func TestEnd(t *testing.T) {
	require.Equal(t, []format.Meta{{Key: "pressure after", Value: "cpu=1.25 io=0.50"}}, machine(t, disks).end())
	require.Empty(t, machine(t, nil).end())
}
