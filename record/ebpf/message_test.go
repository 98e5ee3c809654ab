package ebpf

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record/recordkit"
)

// channel identifies a direction of a connection.
type channel struct {
	kind format.ChannelKind
	id   uint64
}

// behind returns by how much a position lies behind another one. They wrap.
func behind(a, b uint32) int32 { return int32(a - b) }

// In a program with one thread, each receive gets the bytes of the newest sends of its
// channel, whichever calls sent and received them.
func TestMessages(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, socket",
		"data = os.open('data', os.O_RDWR | os.O_CREAT); os.write(data, b'x' * 100000)",
		"def talk(a, b):",
		"  a.send(bytes(10)); b.recv(100, socket.MSG_PEEK); b.recv(100)",
		"  a.send(bytes(20)); a.send(bytes(3)); b.recv(18); b.recv(5)",
		"  os.write(b.fileno(), bytes(7)); os.read(a.fileno(), 100)",
		"  os.writev(b.fileno(), [bytes(7), bytes(8)]); os.readv(a.fileno(), [bytearray(6), bytearray(9)])",
		"  a.sendmsg([bytes(4), bytes(5)]); b.recvmsg(4); b.settimeout(0)",
		"  try: b.recv(9)",
		"  except BlockingIOError: pass",
		"  b.settimeout(None); os.sendfile(a.fileno(), data, 0, 30)",
		"  a.close(); b.recv(100); b.recv(100); b.close()",
		"def connect(family, host, to):",
		"  s = socket.socket(family)",
		"  if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)",
		"  s.bind((host, 0)); s.listen()",
		"  talk(socket.create_connection((to, s.getsockname()[1])), s.accept()[0]); s.close()",
		"connect(socket.AF_INET, '127.0.0.1', '127.0.0.1')",
		"connect(socket.AF_INET6, '::', '127.0.0.1')",
		"if socket.has_ipv6: connect(socket.AF_INET6, '::1', '::1')",
		"talk(*socket.socketpair())",
		"talk(*socket.socketpair(type=socket.SOCK_SEQPACKET))",
		"s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); a = socket.socket(socket.AF_UNIX); a.connect('s')",
		"a.send(bytes(50)); talk(a, s.accept()[0])",
		"a, b = socket.socketpair(type=socket.SOCK_DGRAM); a.send(b'x'); b.recv(1)",
		"u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0)); u.sendto(b'x', u.getsockname()); u.recv(1)",
		"print(a.fileno(), b.fileno(), u.fileno())")
	o.Dir = t.TempDir()
	_, out := recordLong(t, o, &c)
	var quiet [3]int64
	_, err := fmt.Sscan(out, &quiet[0], &quiet[1], &quiet[2])
	require.NoError(t, err)

	sent, got, first := map[channel]uint32{}, map[channel]uint32{}, map[channel]uint32{}
	asks := map[bool]map[channel]bool{true: {}, false: {}} // channels of which the end that sends, or that receives, did not come from accept
	noted, without := 0, 0
	for i := range c.Events {
		e := &c.Events[i]
		flags := e.Word(format.MessageFlags)
		require.NotEqual(t, [2]int64{int64(format.EffectReceive), -11}, [2]int64{int64(e.Op.Info().Effect), e.Ret}, "a receive that found nothing is not recorded")
		if !e.Notes.Known(format.NotedMessage) {
			if e.FileType() == format.TypeSock && e.Ret > 0 && flags&2 == 0 {
				require.Contains(t, quiet, e.FD(), "%s is a datagram", e.Op)
				without++
			}
			continue
		}
		require.Positive(t, e.Ret)
		require.Zero(t, flags&2, "MSG_PEEK takes nothing")
		at := channel{e.Notes.ChannelKind, e.Notes.Channel}
		pos := e.Notes.Pos
		if e.Notes.Known(format.NotedConnected) {
			asks[e.Sends()][at] = true
		}
		if noted++; e.Sends() {
			if _, ok := first[at]; !ok {
				first[at], got[at] = pos, pos-uint32(e.Ret)
			}
			sent[at] = pos
			continue
		}
		require.Contains(t, sent, at, "%s of what nobody has sent", e.Op)
		require.Positive(t, behind(pos, got[at]))
		require.GreaterOrEqual(t, behind(sent[at], pos), int32(0), "%s = %d", e.Op, e.Ret)
		got[at] = pos
	}
	require.Equal(t, 4, without, "two datagrams")
	require.Greater(t, noted, 6*10)
	require.GreaterOrEqual(t, len(sent), 2*5)
	for at, pos := range sent {
		require.Zero(t, behind(pos, got[at]), "%v: all was received", at)
	}
	const pairs = 2 // of which no end came from accept
	require.Len(t, asks[true], len(sent)/2+pairs)
	require.Len(t, asks[false], len(sent)/2+pairs)
	both := 0
	for at := range asks[true] {
		if asks[false][at] {
			both++
		}
	}
	require.Equal(t, 2*pairs, both)
	require.NotEmpty(t, c.Of(format.OpSendfile))
	for _, e := range c.Of(format.OpSendfile) {
		require.True(t, e.Notes.Known(format.NotedMessage))
	}
}

// BenchmarkMessages measures what the note of a message adds to a send and a
// receive of a byte, each a recorded call, and to those of processes that are
// not followed. The rounds of the variants take turns; the fastest counts.
//
//	go test ./record/ebpf -run '^$' -bench Messages -benchtime 9x
func BenchmarkMessages(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fastest := map[string]float64{}
	for b.Loop() {
		for _, followed := range []bool{true, false} {
			for _, messages := range []bool{false, true} {
				p, err := load(config{RingBytes: 8 << 20, Type: true, Faults: true, Off: true, Messages: messages})
				require.NoError(b, err)
				require.NoError(b, p.attach())
				require.NoError(b, p.attachAdditional())
				if followed {
					require.NoError(b, p.followSelf())
				}
				for name, connect := range map[string]func(testing.TB) [2]int{"unix": unixPair, "tcp": tcpPair} {
					name = fmt.Sprintf("%s,followed=%t,messages=%t", name, followed, messages)
					for range 5 {
						if n := messageNanos(b, connect(b), 2000); fastest[name] == 0 || n < fastest[name] {
							fastest[name] = n
						}
					}
				}
				require.NoError(b, p.close())
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, n := range fastest {
		b.ReportMetric(n, name+"-ns/message")
	}
}

func unixPair(tb testing.TB) [2]int {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(tb, err)
	return pair
}

func tcpPair(tb testing.TB) (pair [2]int) {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(tb, err)
	defer unix.Close(l)
	require.NoError(tb, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(tb, unix.Listen(l, 1))
	to, err := unix.Getsockname(l)
	require.NoError(tb, err)
	pair[0], err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(tb, err)
	require.NoError(tb, unix.Connect(pair[0], to))
	pair[1], _, err = unix.Accept(l)
	require.NoError(tb, err)
	return pair
}

// messageNanos returns how long half of a send and a receive takes, and closes the
// pair.
func messageNanos(tb testing.TB, pair [2]int, n int) float64 {
	var buf [1]byte
	start := time.Now()
	for range n {
		if _, err := unix.Write(pair[0], buf[:]); err != nil {
			tb.Fatal(err)
		}
		if _, err := unix.Read(pair[1], buf[:]); err != nil {
			tb.Fatal(err)
		}
	}
	nanos := float64(time.Since(start).Nanoseconds()) / float64(2*n)
	require.NoError(tb, unix.Close(pair[0]))
	require.NoError(tb, unix.Close(pair[1]))
	return nanos
}
