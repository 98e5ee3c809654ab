package hub

import (
	"bufio"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// manage answers the requests of a process as a process manager does.
func manage(t *testing.T, answers ...string) *pmi {
	own, its := net.Pipe()
	t.Cleanup(func() { _ = own.Close() })
	go func() {
		in := bufio.NewReader(its)
		for _, answer := range answers {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			_, _ = its.Write([]byte(answer + "\n"))
		}
		_ = its.Close()
	}()
	return &pmi{conn: own, in: bufio.NewReader(own), kvs: "kvs_1"}
}

func TestPMI(t *testing.T) {
	p := manage(t, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", "cmd=my_kvsname kvsname=kvs_7",
		"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=16", "cmd=put_result rc=0 msg=success", "cmd=barrier_out",
		"cmd=get_result rc=0 msg=success value=word", "cmd=finalize_ack")
	got, err := newPMI(p.conn)
	require.NoError(t, err)
	require.Equal(t, "kvs_7", got.kvs)
	require.NoError(t, got.put("key", "word"))
	require.NoError(t, got.barrier())
	value, err := got.get("key")
	require.NoError(t, err)
	require.Equal(t, "word", value)
	require.NoError(t, got.finalize())
	require.ErrorContains(t, got.barrier(), "PMI:")
}

func TestPMIErrors(t *testing.T) {
	require.ErrorContains(t, manage(t, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4").put("key", "word"), "too long")
	_, err := manage(t, "cmd=get_result rc=-1 msg=key_not_found").get("key")
	require.ErrorContains(t, err, "key_not_found")
	require.ErrorContains(t, manage(t, "cmd=something").barrier(), `the answer to "cmd=barrier_in" is "cmd=something"`)
}

func TestWord(t *testing.T) {
	require.Equal(t, "a-1_2_b", sanitize("a-1.2/b"))
}
