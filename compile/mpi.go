package compile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"pianola/format"
	"pianola/table"
)

// Messages and collectives of MPI are found in the spans of the layer mpi. Ranks on one machine
// exchange messages in shared memory, where a rank that waits polls: that looks like compute. A
// span says what it waits for:
//
//   - a receive ends after the begin of its send. The two are paired by communicator, source,
//     destination, tag and order.
//   - a send that was still under way when its receive began waited for that.
//   - a collective ends after all ranks of the communicator have entered it, or the root. It is
//     paired by communicator and order.
//   - an operation that returns at once ends when its request is waited for.
//
// The passes before the last pair the operations: the line of a partner can come later, because a
// span stands where it ends. The last pass makes edges.

// mpiOp is a message or a collective under way, or what it is paired with.
type mpiOp struct {
	kind  mpiKind
	index int // of a message: its number. Of a collective: its number in the communicator
	comm  int // of a collective
	root  int32
}

// mpiKind is what an operation waits for.
type mpiKind uint8

const (
	mpiNone    mpiKind = iota
	mpiSend            // its receive, if that begins later
	mpiReceive         // its send
	mpiAll             // all ranks
	mpiToRoot          // the root waits for all
	mpiOfRoot          // all wait for the root
)

// mpiCall says where a function has its arguments; -1 stands for none.
type mpiCall struct {
	kind            mpiKind
	peer, tag, comm int8
	source, recvTag int8 // of a function that sends and receives
	root, request   int8
}

// mpiCalls are the functions that messages and collectives are found in.
var mpiCalls = func() map[string]mpiCall {
	calls := map[string]mpiCall{
		"MPI_Sendrecv":         {mpiSend, 3, 4, 10, 8, 9, -1, -1},
		"MPI_Sendrecv_replace": {mpiSend, 3, 4, 7, 5, 6, -1, -1},
		"MPI_Recv":             {mpiReceive, 3, 4, 5, -1, -1, -1, -1},
		"MPI_Irecv":            {mpiReceive, 3, 4, 5, -1, -1, -1, 6},
		"MPI_Init":             {mpiAll, -1, -1, -1, -1, -1, -1, -1},
		"MPI_Init_thread":      {mpiAll, -1, -1, -1, -1, -1, -1, -1},
		"MPI_Finalize":         {mpiAll, -1, -1, -1, -1, -1, -1, -1},
	}
	for _, name := range []string{"send", "bsend", "ssend", "rsend"} {
		calls["MPI_"+capital(name)] = mpiCall{mpiSend, 3, 4, 5, -1, -1, -1, -1}
		calls["MPI_I"+name] = mpiCall{mpiSend, 3, 4, 5, -1, -1, -1, 6}
	}
	for _, c := range []struct {
		name string
		kind mpiKind
		comm int8 // the root, if any, stands before it, and the request after it
	}{
		{"barrier", mpiAll, 0}, {"allreduce", mpiAll, 5}, {"allgather", mpiAll, 6}, {"allgatherv", mpiAll, 7}, {"alltoall", mpiAll, 6}, {"alltoallv", mpiAll, 8},
		{"alltoallw", mpiAll, 8}, {"reduce_scatter", mpiAll, 5}, {"reduce_scatter_block", mpiAll, 5},
		{"bcast", mpiOfRoot, 4}, {"scatter", mpiOfRoot, 7}, {"scatterv", mpiOfRoot, 8},
		{"reduce", mpiToRoot, 6}, {"gather", mpiToRoot, 7}, {"gatherv", mpiToRoot, 8},
	} {
		root := int8(-1)
		if c.kind != mpiAll {
			root = c.comm - 1
		}
		calls["MPI_"+capital(c.name)] = mpiCall{c.kind, -1, -1, c.comm, -1, -1, root, -1}
		calls["MPI_I"+c.name] = mpiCall{c.kind, -1, -1, c.comm, -1, -1, root, c.comm + 1}
	}
	return calls
}()

// capital returns a name with a capital letter: MPI_Send, but MPI_Isend.
func capital(name string) string { return string(name[0]-'a'+'A') + name[1:] }

// mpiMakers are the functions that make a communicator of another one, which all of its ranks
// call, with the place of the new one. Those with a color split it.
var mpiMakers = map[string]struct{ made, color, key int }{
	"MPI_Comm_dup": {1, -1, -1}, "MPI_Comm_split": {3, 1, 2}, "MPI_Comm_split_type": {4, -2, -1}, "MPI_Comm_create": {2, -2, -1},
}

// Handles of MPICH and of what is made from it are numbers that are the same in all ranks. Those
// of Open MPI are addresses.
const (
	mpichWorld   = 0x44000000
	mpichSelf    = 0x44000001
	mpichHandles = math.MaxUint32
)

const (
	// maxOperations bounds the messages and the entries of collectives that are paired.
	maxOperations = 1 << 22

	// maxUnmatched bounds the messages from one rank to another that wait for a partner, and the
	// requests of a process.
	maxUnmatched = 1 << 12

	// maxComms bounds the communicators.
	maxComms = 1 << 16
)

// mpiPair is the partner of a message, or an entry of a collective.
type mpiPair struct {
	thread int32 // number, 0 for none
	rank   int32
	at     int64 // its begin, on the recording's clock
}

const mpiPairBytes = int(unsafe.Sizeof(mpiPair{}))

// mpiLearned is what the passes before the last have found out.
type mpiLearned struct {
	groups  map[int]mpiGroup // of communicators that were made by a split
	pairs   []mpiPair        // of messages, by their number
	entries map[mpiEntry][]mpiPair
	count   int // of pairs and entries
}

// mpiEntry is a collective: its number in its communicator.
type mpiEntry struct{ comm, number int }

// mpiGroup is the ranks of a communicator, in their order in it; nil for all of the program.
type mpiGroup []mpiMember

type mpiMember struct{ key, rank int32 }

// mpiState is what a pass knows of the messages under way.
type mpiState struct {
	processes map[*proc]*mpiProcess
	comms     map[mpiOrigin]int
	parents   []int // of communicators, by number; -1 for none
	split     []bool
	unclear   []bool // whose ranks are not known
	groups    map[int]mpiGroup
	waiting   map[mpiWay]*mpiQueue
	threads   map[int32]*thread // in the last pass: those that sent or received
	messages  int
}

// mpiOrigin is how a communicator came to be, which is the same in all of its ranks.
type mpiOrigin struct {
	parent, number int
	color          int64
}

// mpiProcess is a rank.
type mpiProcess struct {
	comms       map[int64]int // by handle
	made        map[int]int   // by communicator: how many were made of it
	collectives map[int]int   // by communicator: how many it has entered
	requests    []mpiRequest
}

type mpiRequest struct {
	id int64
	op mpiOp
}

// mpiWay is from one rank to another.
type mpiWay struct {
	comm     int
	from, to int32
}

// mpiQueue is messages of which one side was seen, in their order.
type mpiQueue struct{ sent, received []mpiWaiting }

type mpiWaiting struct {
	tag   int64
	index int
	pair  mpiPair // of this side
}

const mpiWorld = 0 // number of the communicator of all ranks

func newMPI() *mpiState {
	return &mpiState{
		processes: map[*proc]*mpiProcess{}, comms: map[mpiOrigin]int{}, parents: []int{-1}, split: []bool{false}, unclear: []bool{false},
		groups: map[int]mpiGroup{}, waiting: map[mpiWay]*mpiQueue{}, threads: map[int32]*thread{},
	}
}

// mpi follows a call of MPI by a rank.
func (m *model) mpi(t *thread, e *format.Event) {
	if t.proc.Rank < 0 || e.Span.Failed {
		return
	}
	if m.mpis == nil {
		m.mpis = newMPI()
		if m.ties == nil {
			m.learned.forgetMessages()
		}
	}
	s := m.mpis
	if m.ties != nil {
		s.threads[t.num] = t
	}
	p := s.processes[t.proc]
	if p == nil {
		p = &mpiProcess{comms: map[int64]int{}, made: map[int]int{}, collectives: map[int]int{}}
		s.processes[t.proc] = p
	}
	span := e.Span
	if call, ok := mpiCalls[span.Function]; ok {
		m.mpiOperation(t, p, e, &call)
		return
	}
	if made, ok := mpiMakers[span.Function]; ok {
		m.mpiMake(t, p, e, made.made, made.color, made.key)
		return
	}
	switch span.Function {
	case "MPI_Wait":
		if id, ok := mpiHandle(span, 0); ok {
			m.mpiWait(t, p, e, func(r *mpiRequest) bool { return r.id == id })
		}
	case "MPI_Waitall":
		m.mpiWaitAll(t, p, e)
	case "MPI_Start", "MPI_Mrecv", "MPI_Imrecv", "MPI_Waitany", "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome":
		if m.ties != nil {
			m.report.MPI.Unknown++
		}
	case "MPI_Comm_free":
		if id, ok := mpiHandle(span, 0); ok {
			delete(p.comms, id)
		}
	}
}

// mpiInt returns a number that was passed.
func mpiInt(s *format.Span, place int8) (int64, bool) {
	if place < 0 || int(place) >= len(s.Args) {
		return 0, false
	}
	v := &s.Args[place]
	return v.Int, v.Kind == format.ValueInt
}

// mpiHandle returns a handle: a number or an address that was passed, or what stood there.
func mpiHandle(s *format.Span, place int8) (int64, bool) {
	if place < 0 || int(place) >= len(s.Args) {
		return 0, false
	}
	switch v := &s.Args[place]; v.Kind {
	case format.ValueInt, format.ValueAddr, format.ValuePointed:
		return v.Int, true
	}
	return 0, false
}

// comm returns the number of a communicator; ok is false for one that is not known or has one
// rank only.
func (s *mpiState) comm(p *mpiProcess, handle int64) (n int, ok bool) {
	if n, ok = p.comms[handle]; ok {
		return n, true
	}
	switch {
	case handle == mpichWorld:
		return mpiWorld, true
	case handle > mpichHandles && len(p.comms) == 0: // a program uses that of all ranks first
		p.comms[handle] = mpiWorld
		return mpiWorld, true
	}
	return 0, false
}

// rank returns the program's number of a rank of a communicator, -1 if it is not known.
func (s *mpiState) rank(comm int, rank int64) int32 {
	g := s.groups[comm]
	switch {
	case rank < 0 || rank > format.MaxRank || s.unclear[comm]:
		return -1
	case g == nil:
		return int32(rank)
	case rank >= int64(len(g)):
		return -1
	}
	return g[rank].rank
}

// mpiMake notes a new communicator.
func (m *model) mpiMake(t *thread, p *mpiProcess, e *format.Event, made, color, key int) {
	s := m.mpis
	handle, _ := mpiHandle(e.Span, 0)
	parent, ok := s.comm(p, handle)
	if !ok {
		return
	}
	m.mpiCollective(t, p, e, mpiOp{kind: mpiAll, comm: parent})
	origin := mpiOrigin{parent: parent, number: p.made[parent]}
	p.made[parent]++
	if color >= 0 {
		if origin.color, ok = mpiInt(e.Span, int8(color)); !ok {
			return
		}
	}
	id, ok := mpiHandle(e.Span, int8(made))
	if !ok || len(s.comms) == maxComms {
		return
	}
	n, known := s.comms[origin]
	if !known {
		n = len(s.parents)
		s.comms[origin] = n
		s.parents, s.split, s.unclear = append(s.parents, parent), append(s.split, color >= 0), append(s.unclear, color == -2 || s.unclear[parent])
		s.groups[n] = s.groups[parent]
		if color >= 0 {
			s.groups[n] = m.learned.mpi.groups[n]
		}
	}
	p.comms[id] = n
	if color >= 0 && m.ties == nil && !m.learned.closed {
		k, _ := mpiInt(e.Span, int8(key))
		m.learned.join(n, mpiMember{int32(k), t.proc.Rank})
		m.learned.more = m.learned.more || s.groups[n] == nil
	}
}

// join adds a rank to the group of a communicator.
func (k *learned) join(comm int, member mpiMember) {
	if k.mpi.groups == nil {
		k.mpi.groups = map[int]mpiGroup{}
	}
	g := k.mpi.groups[comm]
	if !slices.ContainsFunc(g, func(other mpiMember) bool { return other.rank == member.rank }) {
		g = append(slices.Clone(g), member) // the pass uses the one before
		slices.SortFunc(g, func(a, b mpiMember) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank)) })
		k.mpi.groups[comm] = g
		k.bytes += inMap
	}
}

// forgetMessages forgets the pairs of an earlier pass.
func (k *learned) forgetMessages() {
	k.bytes -= k.mpi.count * mpiPairBytes
	k.mpi.pairs, k.mpi.entries, k.mpi.count = nil, map[mpiEntry][]mpiPair{}, 0
}

// mpiOperation follows a message or a collective.
func (m *model) mpiOperation(t *thread, p *mpiProcess, e *format.Event, call *mpiCall) {
	s, span := m.mpis, e.Span
	comm, known := mpiWorld, true
	var handle int64
	if call.comm >= 0 {
		if handle, known = mpiHandle(span, call.comm); handle == mpichSelf {
			return
		}
		if known {
			comm, known = s.comm(p, handle)
		}
	}
	if !known {
		if m.ties != nil {
			m.report.MPI.Unknown++
		}
		return
	}
	request, later := mpiHandle(span, call.request)
	if call.kind >= mpiAll {
		op := mpiOp{kind: call.kind, comm: comm, root: -1}
		if root, ok := mpiInt(span, call.root); ok {
			op.root = s.rank(comm, root)
		}
		if op = m.mpiEnter(t, p, e, op); later {
			p.ask(request, op)
			return
		}
		m.mpiEnd(t, e, op)
		return
	}
	op := m.mpiMessage(t, e, call.kind, comm, handle, call.peer, call.tag)
	if later {
		p.ask(request, op)
		return
	}
	var other mpiOp
	if call.source >= 0 {
		other = m.mpiMessage(t, e, mpiReceive, comm, handle, call.source, call.recvTag)
	}
	m.mpiEnd(t, e, op)
	m.mpiEnd(t, e, other)
}

// mpiCollective follows a collective that has ended.
func (m *model) mpiCollective(t *thread, p *mpiProcess, e *format.Event, op mpiOp) {
	m.mpiEnd(t, e, m.mpiEnter(t, p, e, op))
}

// mpiEnter counts a collective and, in the passes before the last, notes its begin.
func (m *model) mpiEnter(t *thread, p *mpiProcess, e *format.Event, op mpiOp) mpiOp {
	op.index = p.collectives[op.comm]
	p.collectives[op.comm]++
	if k := &m.learned.mpi; m.ties == nil && k.count < maxOperations {
		at := mpiEntry{op.comm, op.index}
		k.entries[at] = append(k.entries[at], mpiPair{t.num, t.proc.Rank, e.Start})
		m.learned.counted()
	}
	return op
}

// counted counts an operation.
func (k *learned) counted() {
	k.mpi.count++
	k.bytes += mpiPairBytes
}

// ask notes the request of an operation.
func (p *mpiProcess) ask(id int64, op mpiOp) {
	p.requests = slices.DeleteFunc(p.requests, func(r mpiRequest) bool { return r.id == id })
	if len(p.requests) == maxUnmatched {
		p.requests = append(p.requests[:0], p.requests[1:]...)
	}
	p.requests = append(p.requests, mpiRequest{id, op})
}

// mpiMessage follows a send or a receive. In the passes before the last it pairs the two.
func (m *model) mpiMessage(t *thread, e *format.Event, kind mpiKind, comm int, handle int64, peer, tag int8) (op mpiOp) {
	s := m.mpis
	other, ok := mpiInt(e.Span, peer)
	mark, tagged := mpiInt(e.Span, tag)
	anySource, nobody := int64(-2), int64(-1)
	if handle > mpichHandles {
		anySource, nobody = -1, -2
	}
	if !ok || !tagged || other == nobody {
		return op
	}
	op = mpiOp{kind: kind, index: s.messages}
	s.messages++
	if kind == mpiReceive && other == anySource {
		if m.ties != nil {
			m.report.MPI.AnySource++
		}
		return mpiOp{}
	}
	rank := s.rank(comm, other)
	if rank < 0 {
		if m.ties != nil {
			m.report.MPI.Unknown++
		}
		return mpiOp{}
	}
	if m.ties != nil {
		return op
	}
	way := mpiWay{comm, t.proc.Rank, rank}
	if kind == mpiReceive {
		way.from, way.to = rank, t.proc.Rank
	}
	q := s.waiting[way]
	if q == nil {
		q = &mpiQueue{}
		s.waiting[way] = q
	}
	w := mpiWaiting{mark, op.index, mpiPair{t.num, t.proc.Rank, e.Start}}
	mine, theirs := &q.sent, &q.received
	if kind == mpiReceive {
		mine, theirs = theirs, mine
	}
	// Messages with one tag do not pass one another. A negative tag takes any.
	i := slices.IndexFunc(*theirs, func(o mpiWaiting) bool { return o.tag == w.tag || o.tag < 0 || w.tag < 0 })
	if i < 0 {
		if len(*mine) == maxUnmatched {
			*mine = append((*mine)[:0], (*mine)[1:]...)
		}
		*mine = append(*mine, w)
		return op
	}
	m.learned.pair((*theirs)[i].index, w.pair)
	m.learned.pair(op.index, (*theirs)[i].pair)
	*theirs = slices.Delete(*theirs, i, i+1)
	return op
}

// pair notes the partner of a message.
func (k *learned) pair(index int, with mpiPair) {
	if index >= maxOperations || k.mpi.count >= maxOperations {
		return
	}
	for len(k.mpi.pairs) <= index {
		k.mpi.pairs = append(k.mpi.pairs, mpiPair{})
		k.counted()
	}
	k.mpi.pairs[index] = with
}

// mpiWait ends the operations of requests that a call has waited for.
func (m *model) mpiWait(t *thread, p *mpiProcess, e *format.Event, which func(*mpiRequest) bool) {
	for i := range p.requests {
		if r := &p.requests[i]; which(r) {
			m.mpiEnd(t, e, r.op)
			r.op.kind, r.id = mpiNone, 0
		}
	}
	p.requests = slices.DeleteFunc(p.requests, func(r mpiRequest) bool { return r.op.kind == mpiNone })
}

// mpiWaitAll ends the operations of an array of requests. If the array was not read, these are
// the newest ones.
func (m *model) mpiWaitAll(t *thread, p *mpiProcess, e *format.Event) {
	if len(e.Span.Args) < 2 {
		return
	}
	if v := &e.Span.Args[1]; v.Kind == format.ValueNumbers {
		m.mpiWait(t, p, e, func(r *mpiRequest) bool { return slices.Contains(v.Numbers, r.id) })
		return
	}
	count, _ := mpiInt(e.Span, 0)
	left := len(p.requests) - int(min(max(count, 0), maxUnmatched))
	i := 0
	m.mpiWait(t, p, e, func(*mpiRequest) bool { i++; return i > left })
}

// mpiEnd makes a thread come after what an operation waited for, which a call has completed. Time
// in that call before the last of this began is no compute.
func (m *model) mpiEnd(t *thread, e *format.Event, op mpiOp) {
	if m.ties == nil || op.kind == mpiNone {
		return
	}
	k, stats := &m.learned.mpi, &m.report.MPI
	if op.kind <= mpiReceive {
		if op.index >= len(k.pairs) || k.pairs[op.index].thread == 0 {
			stats.Unpaired++
			return
		}
		with := k.pairs[op.index]
		if op.kind == mpiReceive {
			stats.Messages++
		} else if with.at <= e.Start || with.at > e.End() {
			return // the receiver was there before, or the message was kept for it: the send did not wait
		}
		m.mpiAfter(t, e, []mpiPair{with})
		return
	}
	entries := k.entries[mpiEntry{op.comm, op.index}]
	if len(entries) == 0 || op.kind != mpiAll && op.root < 0 {
		stats.Unpaired++
		return
	}
	stats.Collectives++
	if isRoot := op.root == t.proc.Rank; op.kind == mpiOfRoot && isRoot || op.kind == mpiToRoot && !isRoot {
		return
	}
	if op.kind == mpiOfRoot {
		entries = slices.DeleteFunc(slices.Clone(entries), func(p mpiPair) bool { return p.rank != op.root })
	}
	m.mpiAfter(t, e, entries)
}

// mpiAfter makes a thread come after the begins of operations of other threads, within a call.
// One that began after the call ended was not waited for.
func (m *model) mpiAfter(t *thread, e *format.Event, others []mpiPair) {
	last := int64(math.MinInt64)
	for _, o := range others {
		if o.thread != t.num && o.at <= e.End() {
			last = max(last, o.at)
		} else if o.thread != t.num {
			m.report.MPI.Backwards++
		}
	}
	if last == math.MinInt64 {
		return
	}
	from := t.notBefore(e.Start)
	if last > from {
		t.held += last - from
		m.report.Tied += last - from
		m.report.MPI.Waited += last - from
		t.mark(mark{at: last, own: t.clock(last)})
	}
	now := max(last, from)
	for _, o := range others {
		on := m.mpis.threads[o.thread]
		if o.thread == t.num || o.at > e.End() || on == nil {
			continue
		}
		m.ties.causes = on.comesAfter(m.ties.causes[:0], o.at)
		t.follow(e.Start, now, m.ties.causes, format.EdgeMessage, format.Floor{})
	}
}

// MPI says what was found out of the messages of a parallel program.
type MPI struct {
	Messages    int64 // receives that are paired with their sends
	Collectives int64 // calls that are paired
	Waited      int64 // nanoseconds in calls before what they waited for began
	AnySource   int64 // receives from any rank, which are not paired
	Unpaired    int64 // messages and collectives without a partner in the recording
	Unknown     int64 // calls on unknown communicators, or that complete unknown requests
	Backwards   int64 // partners that began after the call ended, so the clocks are wrong, or the pairing
}

// Text returns what was found out as text.
func (s *MPI) Text() string {
	text := fmt.Sprintf("%s and %s follow other ranks, after %.6f s of waiting",
		table.Plural(int(s.Messages), "message"), table.Plural(int(s.Collectives), "collective call"), format.Seconds(s.Waited))
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.AnySource, "received from MPI_ANY_SOURCE"}, {s.Unpaired, "without a partner"}, {s.Unknown, "with an unknown communicator or request"},
		{s.Backwards, "whose partner began later"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("; not paired: %d %s", part.n, part.what)
		}
	}
	return text
}
