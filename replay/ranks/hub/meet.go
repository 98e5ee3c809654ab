package hub

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"pianola/internal/ownfile"
	"pianola/replay/ranks"
)

// place is the server where the carriers of a run meet.
type place struct {
	URLs  []string // of the NATS server, to be tried in order
	Token string   // empty for a server of others without one
	Run   string   // name of the run: a word

	foreign bool // the server is not that of rank 0
}

// tokenVariable is the environment variable with the token, if rank 0 can't publish one.
const tokenVariable = "PIANOLA_TOKEN"

// retryEvery is how long a rank waits between attempts to find the others.
const retryEvery = 50 * time.Millisecond

// maxPayload is the maximum size of a message on the own server, in bytes.
const maxPayload = 1 << 20

// meeting is the way in which the carriers meet.
type meeting struct {
	join   *ranks.Join
	pmi    *pmi                          // nil without
	server atomic.Pointer[server.Server] // of rank 0; nil for other ranks, and with a server of others
	file   string                        // with the address; empty without

	mu        sync.Mutex
	published bool // this is rank 0, and has made the file
}

// find returns the places where the others may be. At rank 0 it starts the server, unless
// others have one. Connecting to one that was left by an earlier run fails: then the caller
// calls find again.
func (m *meeting) find() (place, error) {
	switch target := m.join.Rendezvous; {
	case strings.Contains(target, "://"):
		return m.atServer(target)
	case target != "":
		return m.inDirectory(target)
	case m.pmi != nil:
		return m.byPMI()
	case os.Getenv("MASTER_ADDR") != "" && os.Getenv("MASTER_PORT") != "":
		return m.atMaster()
	}
	return place{}, errors.New("the launcher offers no PMI-1 (srun does with --mpi=pmi2), and neither --rendezvous nor MASTER_ADDR says where to meet")
}

func (m *meeting) atServer(url string) (place, error) {
	if m.join.Job == "" {
		return place{}, errors.New("the launcher gives the job no number: set PIANOLA_RUN to the same new word for all ranks")
	}
	return place{URLs: []string{url}, Token: os.Getenv(tokenVariable), Run: sanitize(m.join.Job), foreign: true}, nil
}

// sanitize returns a name as a part of a subject or a file name.
func sanitize(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '-' {
			return c
		}
		return '_'
	}, name)
}

// finalError is a permanent error, after which no attempt can succeed.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

func (m *meeting) inDirectory(dir string) (p place, err error) {
	m.file = filepath.Join(dir, "pianola-ranks")
	if m.join.Job != "" {
		m.file += "-" + sanitize(m.join.Job)
	}
	if entry, err := os.Stat(dir); err != nil || !entry.IsDir() {
		if err == nil {
			err = fmt.Errorf("%s is not a directory", dir)
		}
		return p, &finalError{fmt.Errorf("rendezvous: %w", err)}
	}
	if m.join.Rank != 0 {
		return readPlace(m.file)
	}
	if p, err = m.serve(rand.Text(), ":0"); err == nil {
		err = m.publish(p)
	}
	if err != nil {
		return p, &finalError{fmt.Errorf("rendezvous: %w", err)}
	}
	return p, nil
}

// readPlace reads the file of rank 0, which may be missing or incomplete.
func readPlace(file string) (p place, err error) {
	text, err := ownfile.Read(file, maxPlace)
	switch {
	case errors.Is(err, os.ErrPermission):
		return p, &finalError{fmt.Errorf("rendezvous: %w", err)}
	case err != nil:
		return p, fmt.Errorf("rendezvous: %w", err)
	case json.Unmarshal(text, &p) != nil || len(p.URLs) == 0:
		return place{}, fmt.Errorf("rendezvous: %s is not from rank 0", file)
	}
	return p, nil
}

// maxPlace is the maximum size of the file of rank 0, in bytes.
const maxPlace = 64 << 10

// publish writes the file that the others read. It replaces that of an earlier run whose
// rank 0 was killed.
func (m *meeting) publish(p place) error {
	text, err := json.Marshal(&p)
	if err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := os.OpenFile(m.file, flags, 0o600) // only the same user reads the token
	if errors.Is(err, os.ErrExist) {
		if m.isTaken() {
			return fmt.Errorf("another replay meets at %s now: use another directory, or set PIANOLA_RUN to another word for each replay", m.file)
		}
		if err = os.Remove(m.file); err == nil {
			f, err = os.OpenFile(m.file, flags, 0o600)
		}
	}
	if err != nil {
		return err
	}
	m.published = true
	err = f.Chmod(0o600) // for any umask
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

// isTaken reports whether the file is that of a rank 0 that still waits for others.
func (m *meeting) isTaken() bool {
	p, err := readPlace(m.file)
	if err != nil {
		return false
	}
	encryption, err := clientTLS(p.Token)
	if err != nil {
		return false
	}
	conn, err := nats.Connect(strings.Join(p.URLs, ","), nats.Token(p.Token), nats.Secure(encryption), nats.NoReconnect(), nats.DontRandomize(), nats.Timeout(time.Second))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// removeFile removes the file of this run, once all ranks have read it.
func (m *meeting) removeFile() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.published {
		_ = os.Remove(m.file)
		m.published = false
	}
}

func (m *meeting) byPMI() (p place, err error) {
	const key = "pianola-ranks"
	if m.join.Rank == 0 {
		if p, err = m.serve(rand.Text(), ":0"); err != nil {
			return p, err
		}
		if err := m.pmi.put(key, strings.Join(append([]string{p.Token, p.Run}, p.URLs...), ",")); err != nil {
			return p, err
		}
	}
	if err := m.pmi.barrier(); err != nil || m.join.Rank == 0 {
		return p, err
	}
	value, err := m.pmi.get(key)
	if err != nil {
		return p, err
	}
	fields := strings.Split(value, ",")
	if len(fields) < 3 {
		return p, fmt.Errorf("PMI: %q is not from rank 0", value)
	}
	return place{Token: fields[0], Run: fields[1], URLs: fields[2:]}, nil
}

func (m *meeting) atMaster() (p place, err error) {
	token, port := os.Getenv(tokenVariable), os.Getenv("MASTER_PORT")
	if token == "" {
		return p, fmt.Errorf("MASTER_ADDR needs a secret that all ranks share: set %s", tokenVariable)
	}
	if m.join.Rank == 0 {
		p, err = m.serve(token, ":"+port)
	}
	p.Token, p.Run = token, "master"
	if m.join.Rank != 0 {
		p.URLs = []string{"nats://" + net.JoinHostPort(os.Getenv("MASTER_ADDR"), port)}
	}
	return p, err
}

// serve starts the server of rank 0.
func (m *meeting) serve(token, listen string) (p place, err error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return p, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return p, fmt.Errorf("port %s: %w", port, err)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	encryption, err := serverTLS(token)
	if err != nil {
		return p, err
	}
	s, err := server.NewServer(&server.Options{
		Host: host, Port: number, Authorization: token, NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		PingInterval: pingEvery, MaxPingsOut: maxPings, MaxPending: 1 << 30,
		TLSConfig: encryption, TLSTimeout: aliveTimeout.Seconds(), AuthTimeout: aliveTimeout.Seconds(),
	})
	if err != nil {
		return p, fmt.Errorf("start the NATS server: %w", err)
	}
	go s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return p, fmt.Errorf("the NATS server does not listen on %s", listen)
	}
	m.server.Store(s)
	at := s.Addr().(*net.TCPAddr).Port
	p = place{Token: token, Run: rand.Text()}
	for _, ip := range addresses() {
		p.URLs = append(p.URLs, "nats://"+net.JoinHostPort(ip, strconv.Itoa(at)))
	}
	return p, nil
}

// maxAddresses bounds the addresses that rank 0 publishes: a value of PMI is short.
const maxAddresses = 8

// addresses returns the addresses of this node, the loopback one last.
func addresses() (list []string) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && len(list) < maxAddresses {
			list = append(list, ip.IP.String())
		}
	}
	return append(list, "127.0.0.1")
}

// clientName is the name of a rank at the server of rank 0.
func clientName(rank int) string { return "rank-" + strconv.Itoa(rank) }

// connected returns the names of the clients of the server of rank 0. Other clients have none: the
// server closes a connection whose first message has another token.
func connected(s *server.Server) (map[string]bool, error) {
	open, err := s.Connz(&server.ConnzOptions{Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	here := make(map[string]bool)
	for _, conn := range open.Conns {
		if conn.Name != "" {
			here[conn.Name] = true
		}
	}
	return here, nil
}

// awaitOthers waits until the other ranks have left the server of rank 0, because its last
// messages can be in flight.
func (m *meeting) awaitOthers() {
	s := m.server.Load()
	if s == nil {
		return
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if here, err := connected(s); err != nil || len(here) <= 1 {
			return
		}
	}
}

// close ends what find began. The server may still be in use.
func (m *meeting) close() {
	m.removeFile()
	if m.pmi != nil {
		_ = m.pmi.finalize()
	}
	if s := m.server.Load(); s != nil {
		s.Shutdown()
	}
}
