package compile

import (
	"slices"
	"unsafe"

	"pianola/format"
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
	index int // the number of a message, or that of a collective in its communicator
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

// ask notes the request of an operation.
func (p *mpiProcess) ask(id int64, op mpiOp) {
	p.requests = slices.DeleteFunc(p.requests, func(r mpiRequest) bool { return r.id == id })
	if len(p.requests) == maxUnmatched {
		p.requests = append(p.requests[:0], p.requests[1:]...)
	}
	p.requests = append(p.requests, mpiRequest{id, op})
}
