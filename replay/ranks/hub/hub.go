package hub

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"pianola/internal/stats"
	"pianola/replay/ranks"
)

// reportAfter is how long rank 0 waits before it names the missing ranks.
const reportAfter = 20 * time.Second

// roundTrips is how many messages measure a clock. The fastest one counts.
const roundTrips = 100

// carrier is the state of a carrier.
type carrier struct {
	link   *ranks.Link
	memory int // file of the board
	join   ranks.Join
	met    meeting
	at     place
	conn   atomic.Pointer[nats.Conn] // nil before there is a connection
	nodes  []string

	measured chan measured // the offset of the clock

	wired atomic.Pointer[wired] // nil before the player has wired its board
	start atomic.Int64          // CLOCK_MONOTONIC of the replay's start; 0 before

	mu      sync.Mutex // of what follows
	failed  bool       // the player knows why the replay fails
	leaving bool       // a lost connection is not a failure
	edges   int64
	latency stats.Histogram
	alive   []time.Time // of each rank: when its last message arrived; zero if none is expected
}

// Run runs a carrier until its player has left or died. link is the connection to the
// player, and memory is the file of the board.
func Run(link *ranks.Link, memory int, pmiConn io.ReadWriter) error {
	c := &carrier{link: link, memory: memory, measured: make(chan measured, 1)}
	kind, b, err := link.Receive()
	if err != nil || kind != ranks.FrameJoin || json.Unmarshal(b, &c.join) != nil {
		return errors.New("pianola starts this program; it has no use without it")
	}
	c.met.join = &c.join
	c.alive = make([]time.Time, c.join.Size)
	begun := make(chan error, 1)
	go func() {
		err := c.begin(pmiConn)
		if err != nil {
			c.fail(err)
		}
		begun <- err
	}()
	left := c.serve()
	select {
	case err := <-begun:
		if err == nil {
			c.leave(left)
		}
		c.met.awaitOthers()
		c.met.close()
	default: // the others may never come
		if !left {
			c.publishDeath()
		}
		c.met.awaitOthers()
		c.met.removeFile()
	}
	return nil
}

// begin joins the others.
func (c *carrier) begin(pmiConn io.ReadWriter) (err error) {
	if c.join.PMI {
		if c.met.pmi, err = newPMI(pmiConn); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(time.Duration(c.join.Wait))
	if err := c.connect(deadline); err != nil {
		return err
	}
	// Rank 0 monitors all, and the others monitor rank 0.
	heard := "*"
	if c.join.Rank != 0 {
		heard = "0"
	}
	for subject, take := range map[string]nats.MsgHandler{
		c.subject("message", c.join.Rank):         c.takeMessage,
		c.subject("edge", c.join.Rank):            c.takeEdges,
		c.subject("measure", c.join.Rank):         c.takeMeasure,
		"pianola." + c.at.Run + ".failure":        c.takeFailure,
		"pianola." + c.at.Run + ".alive." + heard: c.takeAlive,
		"pianola." + c.at.Run + ".left." + heard:  c.takeLeft,
	} {
		if err := c.subscribe(subject, take); err != nil {
			return err
		}
	}
	if err := c.meet(deadline); err != nil {
		return err
	}
	go c.monitor() // measuring the clocks of many ranks takes longer than a silence
	joined := ranks.Joined{Run: c.at.Run, Nodes: c.nodes}
	if c.join.Rank == 0 {
		err = c.measureAll()
	} else {
		m := <-c.measured
		joined.Offset, joined.Error, err = m.offset, m.off, m.err
	}
	if err != nil {
		return err
	}
	return c.link.SendJSON(ranks.FrameJoined, &joined)
}

func (c *carrier) subject(kind string, rank int) string {
	return "pianola." + c.at.Run + "." + kind + "." + strconv.Itoa(rank)
}

func (c *carrier) subscribe(subject string, take nats.MsgHandler) error {
	sub, err := c.conn.Load().Subscribe(subject, take)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1) // senders wait for answers
	}
	return err
}

// connect connects with the server of the run.
func (c *carrier) connect(deadline time.Time) (err error) {
	for first := true; ; first = false {
		if first || c.met.file != "" && c.join.Rank != 0 {
			c.at, err = c.met.find()
		}
		if final := (*finalError)(nil); errors.As(err, &final) {
			return err
		}
		if len(c.at.URLs) > 0 {
			if err = c.dial(); err == nil {
				return nil
			}
		}
		// The file of an earlier run can lead to the server of another one.
		if c.met.file == "" && (len(c.at.URLs) == 0 || isRefusal(err)) {
			return explain(err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no connection with rank 0 after %v: %w", time.Duration(c.join.Wait), err)
		}
		time.Sleep(retryEvery)
	}
}

// isRefusal reports whether another attempt to connect would fail in the same way.
func isRefusal(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	return unverified || errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrSecureConnWanted) || errors.Is(err, errOther)
}

// explain adds a hint for the user to an error.
func explain(err error) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w: SSL_CERT_FILE can name a file with the certificate of that authority", err)
	}
	return err
}

func (c *carrier) dial() (err error) {
	options := []nats.Option{
		nats.Name(clientName(c.join.Rank)), nats.NoReconnect(), nats.NoEcho(), nats.DontRandomize(), nats.Timeout(5 * time.Second),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(maxPings), nats.ClosedHandler(c.disconnected),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.fail(fmt.Errorf("NATS: %w", err)) }),
	}
	if c.at.Token != "" {
		options = append(options, nats.Token(c.at.Token))
	}
	switch {
	case c.met.server.Load() != nil:
		options = append(options, nats.InProcessServer(c.met.server.Load()))
	case !c.at.foreign:
		encryption, err := clientTLS(c.at.Token)
		if err != nil {
			return err
		}
		options = append(options, nats.Secure(encryption))
	}
	conn, err := nats.Connect(strings.Join(c.at.URLs, ","), options...)
	if err == nil {
		c.conn.Store(conn)
	}
	return err
}

// hello introduces a rank to rank 0.
type hello struct {
	Rank, Size int
	Node       string
}

// meet waits until all ranks have joined.
func (c *carrier) meet(deadline time.Time) error {
	subject := "pianola." + c.at.Run + "."
	if c.join.Rank == 0 {
		return c.welcome(subject, deadline)
	}
	all := make(chan []string, 1)
	err := c.subscribe(subject+"all", func(m *nats.Msg) {
		var nodes []string
		if json.Unmarshal(m.Data, &nodes) == nil && len(nodes) == c.join.Size {
			all <- nodes
		}
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(&hello{c.join.Rank, c.join.Size, c.join.Node})
	if err != nil {
		return err
	}
	for {
		answer, err := c.conn.Load().Request(subject+"join", text, 2*time.Second)
		if err == nil && len(answer.Data) > 0 {
			return errors.New(string(answer.Data))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout) {
			return fmt.Errorf("join the others: %w", err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("rank 0 has not joined after %v", time.Duration(c.join.Wait))
		}
		time.Sleep(retryEvery)
	}
	select {
	case c.nodes = <-all:
		return nil
	case <-time.After(time.Until(deadline) + 5*time.Second): // rank 0 knows who is missing, and says so first
		return fmt.Errorf("not all ranks have joined after %v", time.Duration(c.join.Wait))
	}
}

// welcome makes rank 0 wait for the others.
func (c *carrier) welcome(subject string, deadline time.Time) error {
	c.nodes = make([]string, c.join.Size)
	c.nodes[0] = c.join.Node
	here := make([]bool, c.join.Size)
	here[0] = true
	missing := c.join.Size - 1
	done := make(chan error, 1)
	err := c.subscribe(subject+"join", func(m *nats.Msg) {
		var h hello
		if json.Unmarshal(m.Data, &h) != nil || h.Rank < 1 || h.Rank >= c.join.Size || h.Size != c.join.Size || len(h.Node) == 0 {
			_ = m.Respond(fmt.Appendf(nil, "rank 0 expects ranks of %d, not rank %d of %d", c.join.Size, h.Rank, h.Size))
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if missing == 0 || here[h.Rank] {
			_ = m.Respond(fmt.Appendf(nil, "there is a rank %d already: is it one of another replay that meets at the same place?", h.Rank))
			return
		}
		here[h.Rank], c.nodes[h.Rank] = true, h.Node
		_ = m.Respond(nil)
		if missing--; missing == 0 {
			done <- nil
		}
	})
	if err != nil {
		return err
	}
	err = c.subscribe(subject+"clock", func(m *nats.Msg) {
		_ = m.Respond(binary.LittleEndian.AppendUint64(nil, uint64(ranks.Monotonic())))
	})
	if err != nil {
		return err
	}
	if c.join.Size == 1 {
		done <- nil
	}
	absent := func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		var list []int32
		for rank, there := range here {
			if !there {
				list = append(list, int32(rank))
			}
		}
		return ranks.List(list)
	}
	late := time.NewTimer(reportAfter)
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-late.C:
			fmt.Fprintf(os.Stderr, "pianola: replay: waiting for these ranks: %s\n", absent())
		case <-time.After(time.Until(deadline)):
			err := fmt.Errorf("after %v these ranks have not joined: %s", time.Duration(c.join.Wait), absent())
			c.publishFailure(ranks.FromPeer, err.Error())
			return err
		}
	}
	c.met.removeFile()
	text, err := json.Marshal(c.nodes)
	if err != nil {
		return err
	}
	return c.conn.Load().Publish(subject+"all", text)
}

// measured is the offset from this clock to that of rank 0, and its maximum error, in
// nanoseconds.
type measured struct {
	offset, off int64
	err         error
}

// measureAll makes the other ranks measure their clocks, one after the other, so that they
// don't delay each other's messages.
func (c *carrier) measureAll() error {
	for rank := 1; rank < c.join.Size; rank++ {
		if _, err := c.conn.Load().Request(c.subject("measure", rank), nil, aliveTimeout); err != nil {
			return fmt.Errorf("measure the clock of rank %d on %s: %w", rank, c.nodes[rank], err)
		}
	}
	return nil
}

// takeMeasure measures the clock. The shortest round trip is the most precise.
func (c *carrier) takeMeasure(m *nats.Msg) {
	best := measured{off: 1 << 62}
	for range roundTrips {
		before := ranks.Monotonic()
		answer, err := c.conn.Load().Request("pianola."+c.at.Run+".clock", nil, aliveTimeout)
		if err == nil && len(answer.Data) != 8 {
			err = fmt.Errorf("want 8 bytes, got %d", len(answer.Data))
		}
		if err != nil {
			best.err = fmt.Errorf("read the clock of rank 0: %w", err)
			break
		}
		took := ranks.Monotonic() - before
		if took/2 < best.off {
			best.off, best.offset = took/2, int64(binary.LittleEndian.Uint64(answer.Data))-before-took/2
		}
	}
	_ = m.Respond(nil)
	select {
	case c.measured <- best:
	default: // asked twice
	}
}

// serve executes the commands of the player until it leaves or dies, and reports whether it
// left.
func (c *carrier) serve() (left bool) {
	for {
		kind, b, err := c.link.Receive()
		if err != nil || kind == ranks.FrameLeave {
			return err == nil
		}
		switch kind {
		case ranks.FrameMessage:
			var m ranks.Message
			if m, err = ranks.ParseMessage(b); err == nil {
				to := m.Peer
				m.Peer = c.join.Rank
				err = c.conn.Load().Publish(c.subject("message", to), append(m.AppendHead(nil), m.Payload...))
			}
		case ranks.FrameWiring:
			err = c.wire(b)
		case ranks.FrameStart:
			var s ranks.Start
			if err = json.Unmarshal(b, &s); err == nil {
				c.start.Store(s.Monotonic)
			}
		case ranks.FrameEnd:
			err = c.end()
		case ranks.FrameFailure:
			c.publishFailure(ranks.FromPeer, fmt.Sprintf("%s: %s", c.name(), b))
			c.mu.Lock()
			c.failed = true
			c.mu.Unlock()
		}
		if err != nil {
			c.fail(err)
		}
	}
}

// name returns the name of the own player in messages.
func (c *carrier) name() string { return fmt.Sprintf("rank %d on %s", c.join.Rank, c.join.Node) }

// fail ends the replay of all players.
func (c *carrier) fail(err error) {
	c.publishFailure(ranks.FromPeer, fmt.Sprintf("%s: %v", c.name(), err))
	c.tellFailure(ranks.FromCarrier, err.Error())
}

// publishFailure sends the reason of the failure to the others. from is the origin that their
// players get.
func (c *carrier) publishFailure(from byte, text string) {
	c.mu.Lock()
	over := c.failed || c.leaving
	c.mu.Unlock()
	if conn := c.conn.Load(); conn != nil && !over {
		_ = conn.Publish("pianola."+c.at.Run+".failure", append([]byte{from}, text...))
		_ = conn.FlushTimeout(time.Second)
	}
}

// tellFailure sends the reason of the failure to the player, once.
func (c *carrier) tellFailure(from byte, text string) {
	c.mu.Lock()
	over := c.failed || c.leaving
	c.failed = true
	c.mu.Unlock()
	if !over {
		_ = c.link.Send(ranks.FrameFailure, []byte{from}, []byte(text))
	}
}

func (c *carrier) takeFailure(m *nats.Msg) {
	if len(m.Data) > 0 {
		c.tellFailure(m.Data[0], string(m.Data[1:]))
	}
}

// disconnected is called when the connection has ended. Rank 0 has its server with it.
func (c *carrier) disconnected(conn *nats.Conn) {
	if conn != c.conn.Load() {
		return // an attempt
	}
	c.tellFailure(ranks.FromCarrier, "the connection with rank 0 has ended: it has died, or the network is down")
}

func (c *carrier) takeMessage(m *nats.Msg) {
	if err := c.link.Send(ranks.FrameMessage, m.Data); err != nil {
		c.fail(err)
	}
}

// end ends the carrying of edges, and sends what was carried to the player.
func (c *carrier) end() error {
	if w := c.wired.Load(); w != nil {
		w.over.Store(true)
		w.Sleeper.Wake()
		<-w.done
	}
	c.mu.Lock()
	done := ranks.Carried{Edges: c.edges, Latency: c.latency.Counts(), Memory: peakMemory()}
	c.mu.Unlock()
	return c.link.SendJSON(ranks.FrameEnd, &done)
}

// peakMemory returns the maximum of this process's resident memory, in bytes.
func peakMemory() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Maxrss << 10
}

// Main is the program. Its descriptors come from a Session. It ends the process.
func Main() {
	runtime.GOMAXPROCS(max(2, min(runtime.NumCPU(), 4))) // it mostly waits
	// A launcher that ends a job signals this process, too. The player ends it, once all
	// have heard why. A standard error without a reader does not end this process, either.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	unix.CloseOnExec(3)
	link := ranks.NewLink(os.NewFile(3, "link"))
	var manager io.ReadWriter
	if os.Getenv("PMI_FD") != "" {
		manager = os.NewFile(5, "PMI_FD")
	}
	if err := Run(link, 4, manager); err != nil {
		fmt.Fprintln(os.Stderr, "pianola-ranks:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
