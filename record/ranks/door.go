package ranks

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// maxStrangers is how many connections can be open that have not shown yet that they belong to the
// run. With one more, the oldest is closed.
const maxStrangers = 128

// strangerWait is how long such a connection may take to show it. Tests change it.
var strangerWait = 10 * time.Second

// door takes the connections at a listener, to which strangers can connect, too. A connection that
// is refused, silent or broken is closed, and changes nothing for others.
type door struct {
	accept func() (net.Conn, error)
	most   int           // strangers
	wait   time.Duration // for a stranger

	mu        sync.Mutex
	strangers []net.Conn // the oldest first
	closed    bool
}

// run calls serve in a goroutine for each connection, which is a stranger until serve calls admit.
// It returns when the listener is closed or its deadline has passed, and all calls have returned.
func (d *door) run(serve func(net.Conn)) {
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		conn, err := d.accept()
		switch {
		case errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err != nil: // too many open files, for example
			d.mu.Lock()
			d.drop()
			d.mu.Unlock()
			time.Sleep(retry)
		case d.enter(conn):
			serving.Go(func() {
				defer d.admit(conn)
				serve(conn)
			})
		}
	}
}

// enter notes a stranger, unless the door is closed.
func (d *door) enter(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(d.wait))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		conn.Close()
		return false
	}
	d.strangers = append(d.strangers, conn)
	if len(d.strangers) > d.most {
		d.drop()
	}
	return true
}

// drop closes the oldest stranger. The caller holds d.mu.
func (d *door) drop() {
	if len(d.strangers) > 0 {
		d.strangers[0].Close()
		d.strangers = slices.Delete(d.strangers, 0, 1)
	}
}

// admit says that a connection belongs to the run, and lets it take as long as it wants. It
// reports whether the connection was still open.
func (d *door) admit(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.strangers, conn)
	if i < 0 {
		return false
	}
	d.strangers = slices.Delete(d.strangers, i, i+1)
	return conn.SetDeadline(time.Time{}) == nil
}

// close closes all strangers, and those to come. The listener is the caller's.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for len(d.strangers) > 0 {
		d.drop()
	}
}
