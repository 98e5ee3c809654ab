package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/coverage"
)

// ErrOtherRun says that recordings are of several runs.
var ErrOtherRun = errors.New("of another run")

// Source is a recording of a node that can be read several times.
type Source struct {
	Name string // of the file, for messages
	Open func() (ReadCloser, error)
}

// ReadCloser is a reader of a file.
type ReadCloser interface {
	format.Reader
	io.Closer
}

// Run is a run of a parallel program, of which each node has a recording.
type Run struct {
	Missing []int32  // ranks without a recording
	Endless []string // nodes whose recordings have no end, as if their recorders had been killed
	Moved   []Moved  // clocks that messages moved
	Unclear []Pair   // nodes whose messages contradict one another, whatever the clocks

	nodes  []*node
	header format.Header
}

// Moved is a clock that messages have shown to be wrong.
type Moved struct {
	Node  string
	Nanos int64 // that were added
}

// Pair is two nodes, of which one sends to the other.
type Pair struct{ From, To string }

// node is a node with its recording.
type node struct {
	Source
	number  int
	name    string
	head    format.Header // of its recording, complete
	first   int32         // the thread of the first event; 0 without events
	end     int64         // of the last event
	program format.Program
	lowest  int32 // rank
	clock   clock
	rename  func(string) string // nil: its files are those of the first node
	shares  bool                // its machine is that of another node
}

// Inspect reads recordings of the nodes of one run.
func Inspect(sources []Source) (*Run, error) {
	if len(sources) == 0 {
		return nil, errors.New("no recordings")
	}
	if len(sources) > transform.MaxNodes {
		return nil, fmt.Errorf("%d recordings, more than %d", len(sources), transform.MaxNodes)
	}
	r := &Run{}
	for _, s := range sources {
		n := &node{Source: s}
		if err := n.survey(); err != nil {
			return nil, err
		}
		r.nodes = append(r.nodes, n)
	}
	slices.SortFunc(r.nodes, func(a, b *node) int { return cmp.Compare(a.lowest, b.lowest) })
	if err := r.belong(); err != nil {
		return nil, err
	}
	machines := map[string]int{} // nodes of each
	for _, n := range r.nodes {
		machines[n.program.Machine]++
	}
	for i, n := range r.nodes {
		n.number, n.shares = i, machines[n.program.Machine] > 1
		first := r.nodes[0]
		if n.program.Machine != first.program.Machine {
			n.rename = ownFiles(n.name, n.head.Value)
		} else if i > 0 { // nodes that share a machine share its clock
			n.clock = first.clock
			n.clock.from -= n.program.Begun - first.program.Begun
			n.clock.offset += n.program.Begun - first.program.Begun
		}
	}
	if err := r.describe(); err != nil {
		return nil, err
	}
	if err := r.synchronize(); err != nil {
		return nil, err
	}
	return r, r.measure()
}

// read reads the header of a recording, which ends with the last line.
func (n *node) read() error {
	r, err := n.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	err = format.Each(r, func(e *format.Event) error {
		if n.first == 0 {
			n.first = e.TID
		}
		n.end = max(n.end, e.End())
		return nil
	})
	n.head = *r.Header()
	return err
}

// survey reads the header of a recording of ranks.
func (n *node) survey() error {
	if err := n.read(); err != nil {
		return err
	}
	var ok bool
	if n.program, ok = n.head.Program(); !ok || len(n.head.Ranks) == 0 {
		return fmt.Errorf("%s: not a recording of ranks, which record --ranks makes", n.Name)
	}
	if b := n.program.Begun; b < 0 || b > maxOffset {
		return fmt.Errorf("%s: the recording began at a time that is out of range", n.Name)
	}
	n.name = n.head.Ranks[0].Node
	n.lowest = slices.MinFunc(n.head.Ranks, func(a, b format.Rank) int { return cmp.Compare(a.Rank, b.Rank) }).Rank
	clocks, err := n.head.Clocks()
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	if n.lowest > 0 && len(clocks) == 0 {
		return fmt.Errorf("%s: no line with a measurement of the clock", n.Name)
	}
	n.clock, err = newClock(clocks)
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	return nil
}

// belong checks that the recordings are of one run, each rank in one of them.
func (r *Run) belong() error {
	first := r.nodes[0]
	there := map[int32]*node{}
	for _, n := range r.nodes {
		if n.program.Run != first.program.Run || n.program.Ranks != first.program.Ranks {
			return fmt.Errorf("%s: %w than %s", n.Name, ErrOtherRun, first.Name)
		}
		for _, rank := range n.head.Ranks {
			if rank.Rank >= n.program.Ranks {
				return fmt.Errorf("%s: rank %d, of %d", n.Name, rank.Rank, n.program.Ranks)
			}
			if other := there[rank.Rank]; other != nil {
				return fmt.Errorf("%s: rank %d, which is in %s as well", n.Name, rank.Rank, other.Name)
			}
			there[rank.Rank] = n
		}
	}
	for rank := int32(0); rank < first.program.Ranks && len(r.Missing) < maxMissing; rank++ {
		if there[rank] == nil {
			r.Missing = append(r.Missing, rank)
		}
	}
	return nil
}

// maxMissing bounds Run.Missing: the number of ranks comes from a file.
const maxMissing = 1 << 16

// apartKeys are the remarks of a node's recording that the merged one does not take from the
// first node.
var apartKeys = []string{
	format.MetaProcess, format.MetaCwd, format.MetaUmask, format.MetaClock, format.MetaLost, format.MetaElapsed, format.MetaExit, format.MetaEnded,
	format.MetaCoverage, format.MetaRequests, format.MetaUnsupported, format.MetaCost,
}

// describe makes the header of the merged recording.
func (r *Run) describe() error {
	h := &r.header
	if slices.ContainsFunc(r.nodes, func(n *node) bool { return n.has(format.MetaCost) }) {
		for _, n := range slices.Backward(r.nodes) { // the last line is that of the first node
			h.AddCost(n.head.Cost(), transform.NodeIDs(n.number))
		}
	}
	for _, meta := range r.nodes[0].head.Meta {
		if !slices.Contains(apartKeys, meta.Key) {
			h.Meta = append(h.Meta, meta)
		}
	}
	held := coverage.Account{Known: true}
	var lost int64
	exit := ""
	for _, n := range r.nodes {
		own := transform.NodeHeader(&n.head, n.number, n.rename)
		h.Meta = append(h.Meta, own.Meta...)
		h.Ranks, h.Descriptors, h.Files = append(h.Ranks, own.Ranks...), append(h.Descriptors, own.Descriptors...), append(h.Files, own.Files...)
		text, ended := n.head.Value(format.MetaLost)
		switch {
		case !ended && n.has(format.MetaTool):
			r.Endless = append(r.Endless, n.name)
		case ended:
			text, _, _ = strings.Cut(text, " ")
			count, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%s: lost: %w", n.Name, err)
			}
			lost += count
		}
		if why, early := n.head.Value(format.MetaEnded); early {
			h.Set(format.MetaEnded, why)
		}
		if status, ok := n.head.Value(format.MetaExit); ok && (exit == "" || status != "0") {
			exit = status
		}
		a := coverage.Of(&n.head)
		held.Known = held.Known && a.Known
		held.Recorded.Bytes += a.Recorded.Bytes
		held.Recorded.Nanos += a.Recorded.Nanos
		for _, m := range a.Requests {
			held.AddRequests(m)
		}
		for _, m := range a.Missing {
			held.Add(m)
		}
	}
	slices.SortFunc(h.Ranks, func(a, b format.Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	if len(r.Endless) == 0 && r.nodes[0].has(format.MetaLost) {
		h.Set(format.MetaLost, fmt.Sprint(lost))
	}
	if exit != "" {
		h.Set(format.MetaExit, exit)
	}
	if held.Known {
		held.Put(h)
	}
	return nil
}

// has reports whether the recording has a remark.
func (n *node) has(key string) bool {
	_, ok := n.head.Value(key)
	return ok
}

// measure adds to the header how long the run took, on the clock of all.
func (r *Run) measure() error {
	var elapsed int64
	for _, n := range r.nodes {
		if text, ok := n.head.Value(format.MetaElapsed); ok {
			nanos, err := format.ParseSeconds([]byte(text))
			if err != nil {
				return fmt.Errorf("%s: elapsed: %w", n.Name, err)
			}
			elapsed = max(elapsed, n.clock.at(nanos))
		}
	}
	if elapsed > 0 {
		r.header.Set(format.MetaElapsed, string(format.AppendSeconds(nil, elapsed)))
	}
	return nil
}
