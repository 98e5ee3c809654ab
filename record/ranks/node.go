package ranks

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pianola/internal/launcher"
)

// Patience is how long ranks and recorders wait for one another.
const Patience = 60 * time.Second

// retry is the pause between two attempts to reach a recorder that may not be there yet.
const retry = 20 * time.Millisecond

// socketName returns the name of the socket by which the ranks of a node find their recorder. It
// is in the abstract name space, so that nothing is left of a recorder that was killed. Others can
// take the name; so both sides check the user of the other one.
func socketName(dir string, p launcher.Place) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	sum := sha256.Sum256(fmt.Append(nil, os.Getuid(), "\x00", p.Node, "\x00", abs))
	return fmt.Sprintf("@pianola-ranks-%x", sum[:16]), nil
}

// Join registers the calling process with the recorder of its node and waits until the recorder
// follows it. The caller then executes the command. It has to be on the first thread of the
// process, the only one that is followed.
func Join(dir string, p launcher.Place) error {
	name, err := socketName(dir, p)
	if err != nil {
		return err
	}
	conn, err := dial(name)
	if err != nil {
		return fmt.Errorf("rank %d: no recorder on node %s: %w", p.Rank, p.Node, err)
	}
	defer conn.Close()
	if _, err := peer(conn); err != nil {
		return fmt.Errorf("rank %d: the recorder of node %s: %w", p.Rank, p.Node, err)
	}
	// The recorder reads in /proc which descriptors this process has. The kernel hides that from the
	// user of a program with file capabilities, unless the program permits it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	// From here on only the calling thread runs, in one call: the recording begins while it waits.
	raw, err := conn.File()
	if err != nil {
		return err
	}
	defer raw.Close()
	fd := int(raw.Fd()) // blocking from now on
	if _, err := unix.Write(fd, binary.BigEndian.AppendUint32(nil, uint32(p.Rank))); err != nil {
		return os.NewSyscallError("write", err)
	}
	var answer [1]byte
	for {
		n, err := unix.Read(fd, answer[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("rank %d: the recorder of node %s has ended, or has a rank %d already", p.Rank, p.Node, p.Rank)
		}
		return nil
	}
}

// dial connects to a recorder, which may not have begun yet, or has not taken the connections of
// others yet.
func dial(name string) (*net.UnixConn, error) {
	for until := time.Now().Add(Patience); ; time.Sleep(retry) {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: name, Net: "unix"})
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.EAGAIN) || time.Now().After(until) {
			return conn, err
		}
	}
}

// peer returns the process at the other end, which must be of the same user.
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) { who, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	switch {
	case cerr != nil:
		return 0, os.NewSyscallError("getsockopt", cerr)
	case int(who.Uid) != os.Getuid():
		return 0, fmt.Errorf("it belongs to user %d, not to %d", who.Uid, os.Getuid())
	case who.Pid <= 0:
		return 0, errors.New("it is in another PID namespace")
	}
	return int(who.Pid), nil
}

// member is a rank that has registered.
type member struct {
	rank int
	pid  int
	conn *net.UnixConn // closed once the rank may go
}

// host is the recorder's side of the registration.
type host struct {
	place    launcher.Place
	listener *net.UnixListener
	members  []member
}

func newHost(dir string, p launcher.Place) (*host, error) {
	name, err := socketName(dir, p)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, inUse(name, p.Node, dir)
	}
	if err != nil {
		return nil, err
	}
	return &host{place: p, listener: l}, nil
}

// inUse says why the socket of a node can't be made. Any user can take the name.
func inUse(name, node, dir string) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: name, Net: "unix"})
	if err == nil {
		defer conn.Close()
		if _, err := peer(conn); err != nil {
			return fmt.Errorf("the socket of node %s for %s is taken: %w", node, dir, err)
		}
	}
	return fmt.Errorf("another recorder of node %s writes to %s", node, dir)
}

// gather waits until the other ranks of the node have registered.
func (h *host) gather(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, errLate)
	registered, refused := make(chan member), make(chan error)
	d := &door{accept: h.accept, most: maxStrangers + h.place.LocalSize, wait: strangerWait}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		d.run(func(conn net.Conn) {
			m, err := h.admit(conn.(*net.UnixConn))
			if err == nil && d.admit(conn) {
				select {
				case registered <- m:
					return
				case <-ctx.Done():
				}
			}
			conn.Close()
			select {
			case refused <- err:
			case <-ctx.Done():
			}
		})
	}()
	defer func() {
		cancel()
		_ = h.listener.SetDeadline(time.Now())
		d.close()
		<-closed
		_ = h.listener.SetDeadline(time.Time{})
	}()
	var last error // of those who were refused
	for len(h.members) < h.place.LocalSize-1 {
		select {
		case m := <-registered:
			if i := slices.IndexFunc(h.members, func(other member) bool { return other.rank == m.rank }); i >= 0 {
				m.conn.Close()
				last = fmt.Errorf("processes %d and %d both say that they are rank %d", h.members[i].pid, m.pid, m.rank)
				continue
			}
			h.members = append(h.members, m)
		case last = <-refused:
		case <-ctx.Done():
			if context.Cause(ctx) != errLate {
				return ctx.Err()
			}
			err := fmt.Errorf("only %d of the %d ranks of node %s have registered within %v", len(h.members)+1, h.place.LocalSize, h.place.Node, Patience)
			if last != nil {
				err = fmt.Errorf("%w; the last process that was refused: %w", err, last)
			}
			return err
		}
	}
	return nil
}

// errLate ends a wait for others.
var errLate = errors.New("too late")

// accept returns the next connection of a process of this user.
func (h *host) accept() (net.Conn, error) {
	for {
		conn, err := h.listener.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if _, err := peer(conn); err == nil {
			return conn, nil
		}
		conn.Close()
	}
}

// admit reads the rank of a process that registers.
func (h *host) admit(conn *net.UnixConn) (m member, err error) {
	m.conn = conn
	if m.pid, err = peer(conn); err != nil {
		return m, err
	}
	var number [4]byte
	if _, err := io.ReadFull(conn, number[:]); err != nil {
		return m, fmt.Errorf("process %d does not say its rank: %w", m.pid, err)
	}
	m.rank = int(binary.BigEndian.Uint32(number[:]))
	if m.rank >= h.place.Size || m.rank == h.place.Rank {
		return m, fmt.Errorf("process %d says that it is rank %d of %d", m.pid, m.rank, h.place.Size)
	}
	return m, nil
}

// release lets the ranks go.
func (h *host) release() error {
	var errs []error
	for _, m := range h.members {
		if _, err := m.conn.Write([]byte{1}); err != nil {
			errs = append(errs, fmt.Errorf("rank %d: %w", m.rank, err))
		}
	}
	return errors.Join(errs...)
}

// close ends the registration; ranks that wait still fail.
func (h *host) close() {
	h.listener.Close()
	for _, m := range h.members {
		m.conn.Close()
	}
}
