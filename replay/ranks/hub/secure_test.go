package hub

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"pianola/replay/ranks"
)

// The server of rank 0 takes encrypted connections only, from clients with its token.
func TestServerIsSecure(t *testing.T) {
	m := &meeting{join: &ranks.Join{Size: 2}}
	defer m.close()
	p, err := m.serve("secret", "127.0.0.1:0")
	require.NoError(t, err)
	at := p.URLs[len(p.URLs)-1]

	connect := func(server, token string) error {
		config, err := clientTLS(server)
		require.NoError(t, err)
		conn, err := nats.Connect(at, nats.Secure(config), nats.Token(token), nats.Timeout(time.Minute))
		if err == nil {
			require.NoError(t, conn.Flush())
			conn.Close()
		}
		return err
	}
	require.NoError(t, connect("secret", "secret"))
	require.ErrorIs(t, connect("guess", "guess"), errOther)
	require.ErrorIs(t, connect("secret", "guess"), nats.ErrAuthorization)
	_, err = nats.Connect(at, nats.Token("secret"), nats.Timeout(time.Minute))
	require.True(t, isRefusal(err), "no authority knows its certificate: %v", err)

	// A stranger that says nothing does not count as a rank.
	silent, err := net.Dial("tcp", m.server.Load().Addr().String())
	require.NoError(t, err)
	defer silent.Close()
	require.Eventually(t, func() bool { return m.server.Load().NumClients() == 1 }, time.Minute, time.Millisecond)
	here, err := connected(m.server.Load())
	require.NoError(t, err)
	require.Empty(t, here)

	// Without encryption, the token opens nothing.
	u, err := url.Parse(at)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "CONNECT {\"auth_token\":\"secret\"}\r\nPING\r\n")
	require.NoError(t, err)
	answer := make([]byte, 1<<16)
	n := 0
	for err == nil {
		var k int
		k, err = conn.Read(answer[n:])
		n += k
	}
	require.NotContains(t, string(answer[:n]), "PONG")
}

// All ranks derive the same key from a token, and another one from another token.
func TestKeyOfToken(t *testing.T) {
	one, err := keyOf("one")
	require.NoError(t, err)
	again, err := keyOf("one")
	require.NoError(t, err)
	other, err := keyOf("other")
	require.NoError(t, err)
	require.Equal(t, one, again)
	require.NotEqual(t, one, other)
	config, err := clientTLS("one")
	require.NoError(t, err)
	require.ErrorIs(t, config.VerifyConnection(tls.ConnectionState{}), errOther)
}
