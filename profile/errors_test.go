package profile

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestFailures(t *testing.T) {
	var c Collector
	fail := func(op format.Op, errno int64, n int) {
		for range n {
			require.NoError(t, c.Write([]format.Event{{Op: op, TID: 1, Ret: -errno, Dur: 1000}}))
		}
	}
	fail(format.OpOpenat, 2, 3)
	fail(format.OpOpenat, 13, 2)
	fail(format.OpUnlink, 2, 1)
	for errno := range int64(600) {
		fail(format.OpRead, 1000+errno, 1)
	}
	require.NoError(t, c.Write([]format.Event{{Op: format.OpRead, TID: 1, Ret: 5, Dur: 1000}}))
	p := c.Profile()
	var got []string
	for i := range p.Failures {
		got = append(got, p.Failures[i].Op.String()+" "+p.Failures[i].Name())
	}
	require.Equal(t, []string{"read other", "openat ENOENT", "openat EACCES", "unlink ENOENT"}, got, "errors without a name are one, so memory is bounded")
	require.Equal(t, int64(600), p.Failures[0].Calls)

	var b bytes.Buffer
	require.NoError(t, p.WriteText(&b, TextOptions{}))
	require.Contains(t, b.String(), "\nerrors       other (600 read), ENOENT (3 openat, 1 unlink), EACCES (2 openat)\n")
	table, err := p.Table("error")
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, table.WriteCSV(&b))
	require.Equal(t, "name,error,calls,seconds\nread,other,600,0.000600000\nopenat,ENOENT,3,0.000003000\nopenat,EACCES,2,0.000002000\nunlink,ENOENT,1,0.000001000\n", b.String())
}

// A profile without errors says nothing of them.
func TestNoFailures(t *testing.T) {
	var c Collector
	require.NoError(t, c.Write([]format.Event{{Op: format.OpRead, TID: 1, Ret: 5, Dur: 1000}}))
	var b bytes.Buffer
	require.NoError(t, c.Profile().WriteText(&b, TextOptions{}))
	require.NotContains(t, b.String(), "\nerrors ")
}
