package ranks

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/launcher"
)

// Errors of accept end the door only with the listener.
func TestDoorStaysOpen(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	errs := []error{unix.EMFILE, unix.ECONNABORTED, unix.ENOBUFS}
	conns := []net.Conn{here}
	d := &door{most: 1, wait: time.Hour, accept: func() (net.Conn, error) {
		switch {
		case len(errs) > 0:
			err := errs[0]
			errs = errs[1:]
			return nil, err
		case len(conns) > 0:
			conn := conns[0]
			conns = nil
			return conn, nil
		}
		return nil, net.ErrClosed
	}}
	served := 0
	d.run(func(conn net.Conn) { served++ })
	require.Equal(t, 1, served)
}

// A silent connection is closed after a time, or when others arrive. A connection of the
// run stays.
func TestDoorDropsStrangers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	serve := func(d *door) (ended chan struct{}) {
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			d.run(func(conn net.Conn) {
				defer conn.Close()
				var b [1]byte
				for {
					if _, err := io.ReadFull(conn, b[:]); err != nil || !d.admit(conn) && b[0] != '2' {
						return
					}
					_, _ = conn.Write(b[:])
				}
			})
		}()
		return ended
	}
	isClosed := func(conn net.Conn) {
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
	}
	say := func(conn net.Conn, text string) {
		_, err := conn.Write([]byte(text))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1))
		require.NoError(t, err)
	}
	timed := &door{accept: l.Accept, most: 3, wait: time.Millisecond}
	ended := serve(timed)
	isClosed(connect())
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now()))
	<-ended
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Time{}))

	crowded := &door{accept: l.Accept, most: 3, wait: time.Hour}
	ended = serve(crowded)
	member := connect()
	say(member, "1")
	var silent []net.Conn
	for range 10 {
		silent = append(silent, connect())
	}
	for _, conn := range silent[:7] {
		isClosed(conn)
	}
	late := connect()
	say(late, "1")
	late.Close()
	say(member, "2")
	crowded.close()
	for _, conn := range silent {
		isClosed(conn)
	}
	isClosed(connect())
	say(member, "2")
	member.Close()
	l.Close()
	<-ended
}

// Strangers at the port of rank 0 don't affect the recorders of the run.
func TestStrangersAtThePort(t *testing.T) {
	defer func(d time.Duration) { strangerWait = d }(strangerWait)
	strangerWait = time.Hour
	dir := t.TempDir()
	s, err := newServer(dir, "7.0", greeting{"n1", []int{0}, 2}, clockOf(0))
	require.NoError(t, err)
	defer s.close()
	address := s.Addresses[len(s.Addresses)-1]
	for i, text := range []string{"", "half", string(make([]byte, 4<<20)), "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, _ = io.WriteString(conn, text) // it may be closed in the middle
		if i%2 == 1 {
			conn.Close()
		}
	}
	for range 1000 { // silent
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
	}
	guest, err := join(t.Context(), dir, "7.0", greeting{"n2", []int{1}, 2})
	require.NoError(t, err)
	require.NoError(t, s.await(t.Context()))
	s.door.mu.Lock()
	require.LessOrEqual(t, len(s.door.strangers), maxStrangers)
	s.door.mu.Unlock()
	require.NoError(t, guest.ask(askEnd, make([]byte, 1)))
	require.NoError(t, s.finish(t.Context()), "without a wait for the strangers")
}

// asSquatter calls f on a thread of another user.
func asSquatter(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, because its user is another one
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, squatter, squatter, squatter); e != 0 {
			done <- e
			return
		}
		done <- f()
	}()
	require.NoError(t, <-done)
}

// asStranger connects to a socket as another user.
func asStranger(t *testing.T, name string, times int) {
	t.Helper()
	asSquatter(t, func() error {
		for range times {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				t.Cleanup(func() { unix.Close(fd) })
				err = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

const squatter = 65534

// The error for a name that another user has taken names that user.
func TestSocketOfAStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to be another user")
	}
	dir, place := t.TempDir(), launcher.Place{Size: 1, LocalSize: 1, Node: "n"}
	name, err := socketName(dir, place)
	require.NoError(t, err)
	asSquatter(t, func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		t.Cleanup(func() { unix.Close(fd) })
		return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: name}), unix.Listen(fd, 1))
	})
	_, err = NewNode(dir, "n", place, nil)
	require.ErrorContains(t, err, "is taken: it belongs to user 65534, not to 0")
}

// Connections to the socket of a node don't affect its ranks: those of other users are
// closed, and others are refused.
func TestStrangersAtTheSocket(t *testing.T) {
	dir := t.TempDir()
	place := func(rank int) launcher.Place {
		return launcher.Place{Rank: rank, Size: 4, Local: rank, LocalSize: 3, Node: "n"}
	}
	n, err := NewNode(dir, "n", place(0), nil)
	require.NoError(t, err)
	defer n.Close()
	name, err := socketName(dir, place(0))
	require.NoError(t, err)
	gathered := make(chan error, 1)
	go func() {
		_, err := n.Gather(t.Context(), 1)
		gathered <- err
	}()
	if os.Geteuid() == 0 {
		asStranger(t, name, 1000)
	}
	say := func(text []byte) net.Conn {
		conn, err := net.Dial("unix", name)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = conn.Write(text)
		require.NoError(t, err)
		return conn
	}
	for range 2 * maxStrangers {
		say(nil) // silent
	}
	say([]byte("ab")).Close()
	say(binary.BigEndian.AppendUint32(nil, 4))
	say(binary.BigEndian.AppendUint32(nil, 0))
	say(binary.BigEndian.AppendUint32(nil, 1<<31))
	joined := make(chan error, 3)
	for _, rank := range []int{1, 1} {
		go func() { joined <- Join(dir, place(rank)) }()
	}
	require.EqualError(t, <-joined, "rank 1: the recorder of node n has ended, or has a rank 1 already")
	go func() { joined <- Join(dir, place(2)) }()
	require.NoError(t, <-gathered)
	require.NoError(t, n.Release())
	require.NoError(t, <-joined)
	require.NoError(t, <-joined)
}

// A program at the address of an earlier run can't make a recorder believe that it is refused.
// A silent one doesn't delay a signal.
func TestStrangerAtAnOldAddress(t *testing.T) {
	dir := t.TempDir()
	s, err := newServer(dir, "7.0", greeting{"n1", []int{0}, 2}, clockOf(0))
	require.NoError(t, err)
	s.listener.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	s.Addresses = []string{l.Addr().String()}
	hello := []byte("{}")

	conn, err := net.Dial("tcp", s.Addresses[0])
	require.NoError(t, err)
	defer conn.Close()
	answered := make(chan error)
	go func() { answered <- s.introduce(conn, hello) }()
	stranger := <-accepted
	nonce := make([]byte, nonceBytes)
	_, err = stranger.Write(nonce)
	require.NoError(t, err)
	proof := make([]byte, len(s.proof(guestRole, nonce)))
	_, err = io.ReadFull(stranger, proof)
	require.NoError(t, err)
	_, err = stranger.Write(append(proof, "no\n"...)) // the proof of another is not its own
	require.NoError(t, err)
	err = <-answered
	require.EqualError(t, err, "it is not the recorder of rank 0: it has another token")
	_, refused := errors.AsType[*refusal](err)
	require.False(t, refused)

	file := filepath.Join(dir, "invitation")
	require.NoError(t, writeNew(file, []byte(`{"job": "7.0", "addresses": ["`+s.Addresses[0]+`"]}`)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := attempt(ctx, file, "7.0", greeting{})
		answered <- err
	}()
	silent := <-accepted
	cancel()
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
	require.Error(t, <-answered)
}

// The invitation is read only if this user has written it.
func TestInvitationOfAnother(t *testing.T) {
	dir := t.TempDir()
	s, err := newServer(dir, "7.0", greeting{"n1", []int{0}, 2}, clockOf(0))
	require.NoError(t, err)
	defer s.close()
	at := func(name string) error {
		_, err := attempt(t.Context(), filepath.Join(dir, name), "7.0", greeting{"n2", []int{1}, 2})
		return err
	}
	require.NoError(t, os.Symlink(meetingFile, filepath.Join(dir, "link")))
	require.ErrorIs(t, at("link"), unix.ELOOP)
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.ErrorIs(t, at("pipe"), os.ErrPermission)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "huge"), make([]byte, maxInvitation+1), 0o600))
	require.ErrorContains(t, at("huge"), "is larger than 65536 bytes")
	require.NoError(t, at(meetingFile))
}
