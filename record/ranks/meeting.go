package ranks

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pianola/internal/ownfile"
)

// meetingFile is the file in the directory of the recordings by which the recorders of the nodes
// find that of rank 0: JSON of an invitation. Only the user can read it.
const meetingFile = ".meeting"

// invitation is what a recorder must know to join the one of rank 0.
type invitation struct {
	Run       string   `json:"run"`       // identifies the run of the program
	Job       string   `json:"job"`       // the launcher's name of it, which all recorders know; can be empty
	Token     []byte   `json:"token"`     // who has it belongs to the run
	Addresses []string `json:"addresses"` // HOST:PORT, in the order in which to try them
}

// greeting is what a recorder says when it joins.
type greeting struct {
	Node  string `json:"node"`
	Ranks []int  `json:"ranks"`
	Size  int    `json:"size"`
}

const (
	maxGreeting   = 1 << 20  // bytes
	maxInvitation = 64 << 10 // bytes
	nonceBytes    = 16
	rounds        = 100 // of a measurement of clocks
)

// The requests of a recorder to the one of rank 0, a byte each.
const (
	askTime  = 't' // answered by 8 bytes: the time on the recording's clock, in nanoseconds
	askStart = 's' // answered by a byte once all ranks are there
	askEnd   = 'e' // answered by a byte; nothing comes after it
)

// offset is what is to be added to a time of the own recording for that of the recording of
// rank 0, with the round trip of the measurement and when it was on the own clock. All are
// nanoseconds.
type offset struct{ nanos, round, at int64 }

// measure returns the offset of the best of several round trips.
func measure(clock func() int64, ask func() (int64, error)) (best offset, err error) {
	for i := range rounds {
		before := clock()
		there, err := ask()
		if err != nil {
			return best, err
		}
		after := clock()
		if round := after - before; i == 0 || round < best.round {
			middle := before + round/2
			best = offset{there - middle, round, middle}
		}
	}
	return best, nil
}

// server is the recorder of rank 0, whose clock is that of the run.
type server struct {
	invitation
	file     string
	listener net.Listener
	clock    func() int64
	size     int // ranks of the program

	mu     sync.Mutex
	node   map[int]string // of the ranks that are there
	faults []error

	complete chan struct{} // closed once all ranks are there
	door     door
	served   chan struct{} // closed once no connection is served any more
}

// newServer invites the recorders of the other nodes.
func newServer(dir, job string, g greeting, clock func() int64) (*server, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return nil, err
	}
	s := &server{
		file: filepath.Join(dir, meetingFile), listener: l, clock: clock, size: g.Size,
		node: map[int]string{}, complete: make(chan struct{}), served: make(chan struct{}),
		door: door{accept: l.Accept, most: maxStrangers, wait: strangerWait},
	}
	s.Token = make([]byte, sha256.Size)
	run := make([]byte, 8)
	_, _ = rand.Read(s.Token) // never fails
	_, _ = rand.Read(run)
	s.Run, s.Job = hex.EncodeToString(run), job
	s.Addresses = addresses(l.Addr().(*net.TCPAddr).Port)
	if err := s.add(g); err != nil {
		l.Close()
		return nil, err
	}
	text, err := json.Marshal(&s.invitation)
	if err != nil {
		l.Close()
		return nil, err
	}
	if err := writeNew(s.file, text); err != nil {
		l.Close()
		return nil, err
	}
	go func() {
		s.door.run(s.serve)
		close(s.served)
	}()
	return s, nil
}

// writeNew puts a file that only the user can read in the place of the one that is there.
func writeNew(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// addresses returns where other machines may reach a port of this one, and at the end where the
// same machine does.
func addresses(port int) []string {
	var all, local []string
	nets, _ := net.InterfaceAddrs()
	for _, a := range nets {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLinkLocalUnicast() {
			continue
		}
		address := net.JoinHostPort(n.IP.String(), fmt.Sprint(port))
		if n.IP.IsLoopback() {
			local = append(local, address)
		} else {
			all = append(all, address)
		}
	}
	return append(all, local...)
}

// add notes the ranks of a node.
func (s *server) add(g greeting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.Size != s.size {
		return fmt.Errorf("node %s belongs to a program of %d ranks, not %d", g.Node, g.Size, s.size)
	}
	for _, r := range g.Ranks {
		if r < 0 || r >= s.size {
			return fmt.Errorf("node %s has rank %d, of %d", g.Node, r, s.size)
		}
		if other, there := s.node[r]; there {
			return fmt.Errorf("nodes %s and %s both have rank %d", other, g.Node, r)
		}
	}
	for _, r := range g.Ranks {
		s.node[r] = g.Node
	}
	if len(s.node) == s.size {
		close(s.complete)
	}
	return nil
}

// missing returns the ranks that are not there.
func (s *server) missing() (ranks []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.size {
		if _, there := s.node[r]; !there {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// serve answers the recorder of a node until it ends.
func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	g, proof, err := s.greet(conn)
	if err != nil || !s.door.admit(conn) {
		return // a stranger, who is told nothing
	}
	if err := s.add(g); err != nil {
		_, _ = fmt.Fprintf(conn, "%s%v\n", proof, err) // the other recorder says it
		return
	}
	if _, err := fmt.Fprintf(conn, "%s%s", proof, welcome); err != nil {
		return
	}
	if err := s.answer(conn); err != nil {
		s.mu.Lock()
		s.faults = append(s.faults, fmt.Errorf("the recorder of node %s is gone: %w", g.Node, err))
		s.mu.Unlock()
	}
}

// greet lets a recorder prove that it has the token, and reads its greeting. It returns the own
// proof for the recorder.
func (s *server) greet(conn net.Conn) (g greeting, own []byte, err error) {
	nonce := newNonce()
	if _, err := conn.Write(nonce); err != nil {
		return g, nil, err
	}
	var head [sha256.Size + nonceBytes + 4]byte // the proof, a nonce, and the length of the greeting
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return g, nil, err
	}
	proof, theirs, length := head[:sha256.Size], head[sha256.Size:][:nonceBytes], head[sha256.Size+nonceBytes:]
	if !hmac.Equal(proof, s.proof(guestRole, nonce)) {
		return g, nil, errors.New("the token is wrong")
	}
	n := binary.BigEndian.Uint32(length)
	if n > maxGreeting {
		return g, nil, fmt.Errorf("a greeting of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(conn, text); err != nil {
		return g, nil, err
	}
	return g, s.proof(serverRole, theirs), json.Unmarshal(text, &g)
}

func newNonce() []byte {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // never fails
	return nonce
}

// Who proves that it has the token: the answer of one is none of the other.
const (
	guestRole  = "guest"
	serverRole = "server"
)

// welcome is the line by which a recorder is let in. Another one says why it is not.
const welcome = "ok\n"

// proof returns what only the owner of the token can answer to a nonce.
func (i *invitation) proof(role string, nonce []byte) []byte {
	mac := hmac.New(sha256.New, i.Token)
	io.WriteString(mac, role)
	mac.Write(nonce)
	return mac.Sum(nil)
}

func (s *server) answer(conn net.Conn) error {
	var what [1]byte
	reply := make([]byte, 0, 8)
	for {
		if _, err := io.ReadFull(conn, what[:]); err != nil {
			return err
		}
		reply = reply[:1]
		switch what[0] {
		case askTime:
			reply = binary.BigEndian.AppendUint64(reply[:0], uint64(s.clock()))
		case askStart:
			<-s.complete
		case askEnd:
			_, err := conn.Write(reply)
			return err
		default:
			return fmt.Errorf("request %q", what[0])
		}
		if _, err := conn.Write(reply); err != nil {
			return err
		}
	}
}

// await waits until all ranks are there.
func (s *server) await(ctx context.Context) error {
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-s.complete:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("no recorder of rank %s connected within %v", list(s.missing()), Patience)
	}
}

// finish waits for the ends of the other recorders, and returns what went wrong with them.
func (s *server) finish(ctx context.Context) error {
	s.listener.Close()
	s.door.close()
	select {
	case <-s.served:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.faults...)
}

func (s *server) close() {
	s.listener.Close()
	s.door.close()
	if text, err := ownfile.Read(s.file, maxInvitation); err == nil && strings.Contains(string(text), s.Run) {
		os.Remove(s.file)
	}
}

// list prints numbers as 1, 2, 5.
func list(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, ", ")
}

// guest is the recorder of a node without rank 0.
type guest struct {
	run  string
	conn net.Conn
}

// join finds the recorder of rank 0 of a job and joins it.
func join(ctx context.Context, dir, job string, g greeting) (*guest, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var last error
	for {
		c, err := attempt(ctx, filepath.Join(dir, meetingFile), job, g)
		if err == nil {
			return c, nil
		}
		if refused, ok := errors.AsType[*refusal](err); ok {
			return nil, refused
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("find the recorder of rank 0: %w", last)
		case <-time.After(retry):
		}
	}
}

// refusal is what the recorder of rank 0 says to one that it does not take.
type refusal struct{ text string }

func (r *refusal) Error() string { return "the recorder of rank 0: " + r.text }

// attempt joins by the file that is there, which can be left from an earlier run, or come from
// another one.
func attempt(ctx context.Context, file, job string, g greeting) (*guest, error) {
	text, err := ownfile.Read(file, maxInvitation)
	if err != nil {
		return nil, err
	}
	var i invitation
	if err := json.Unmarshal(text, &i); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if i.Job != job {
		return nil, fmt.Errorf("%s is of job %q, not of %q", file, i.Job, job)
	}
	hello, err := json.Marshal(&g)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, address := range i.Addresses {
		d := net.Dialer{Timeout: 2 * time.Second}
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			if err = i.introduce(conn, hello); stop() && err == nil {
				return &guest{i.Run, conn}, nil
			}
			conn.Close()
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (i *invitation) introduce(conn net.Conn, hello []byte) error {
	_ = conn.SetDeadline(time.Now().Add(strangerWait)) // the address can be that of a stranger by now
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(conn, nonce); err != nil {
		return err
	}
	own := newNonce()
	message := slices.Concat(i.proof(guestRole, nonce), own, binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello)
	if _, err := conn.Write(message); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(conn, 4096))
	var proof [sha256.Size]byte
	if _, err := io.ReadFull(in, proof[:]); err != nil {
		return err
	}
	if !hmac.Equal(proof[:], i.proof(serverRole, own)) {
		return errors.New("it is not the recorder of rank 0: it has another token")
	}
	answer, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	if answer != welcome {
		return &refusal{strings.TrimSpace(answer)}
	}
	return conn.SetDeadline(time.Time{})
}

// ask sends a request and reads an answer of n bytes.
func (c *guest) ask(what byte, answer []byte) error {
	if _, err := c.conn.Write([]byte{what}); err != nil {
		return err
	}
	_, err := io.ReadFull(c.conn, answer)
	return err
}

// time returns the time of the recording of rank 0.
func (c *guest) time() (int64, error) {
	var answer [8]byte
	err := c.ask(askTime, answer[:])
	return int64(binary.BigEndian.Uint64(answer[:])), err
}
