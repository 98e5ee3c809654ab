package mpi

import (
	"slices"
	"strings"

	"pianola/format"
)

// handler adds a call. It reports whether the call has completed something.
type handler func(p *Pairer, r *rank, f *function, a arguments, c *Call) (completed bool)

// function is a function of MPI.
type function struct {
	do      handler
	at      places
	polls   bool // it asks whether something is complete, and returns at once
	kind    collectiveKind
	mode    mode
	making  makingKind
	receive bool
	alone   bool // it can fail in one rank, which the others do not see: errors of files are returned
	partly  bool // a collective in which each pair of ranks can move no data
	subset  bool // the ranks that are not in the new communicator call it, too
	starts  bool // a persistent request is started later
	keeps   bool // the request stays
}

// argument is what a function has an argument for.
type argument uint8

const (
	argUnused argument = iota
	argCount
	argType
	argPeer
	argTag
	argComm
	argSource // of a function that sends and receives, with argRecvTag
	argRecvTag
	argRoot
	argRequest
	argRequests
	argStatus
	argStatuses
	argFlag
	argIndex
	argIndices
	argDone // how many requests of an array are complete
	argNew  // communicator
	argColor
	argKey
	argReorder // whether the ranks of a new communicator can have another order
	argPlace   // of a rank in a communicator
	argSize
	argDims // of a grid, with argPeriods
	argPeriods
	argKeep    // which dimensions a grid in a grid has
	argSources // the places that a rank receives from
	numArguments
)

var argumentNames = map[string]argument{
	"_": argUnused, "count": argCount, "type": argType, "peer": argPeer, "tag": argTag, "comm": argComm, "source": argSource, "recvtag": argRecvTag,
	"root": argRoot, "request": argRequest, "requests": argRequests, "status": argStatus, "statuses": argStatuses, "flag": argFlag, "index": argIndex,
	"indices": argIndices, "done": argDone, "new": argNew, "color": argColor, "key": argKey, "reorder": argReorder, "place": argPlace, "size": argSize,
	"dims": argDims, "periods": argPeriods, "keep": argKeep, "sources": argSources,
}

// places says where a function has its arguments: the first has place 1, 0 stands for none.
type places [numArguments]int8

// functions are those that are followed, by name.
var functions = func() map[string]*function {
	all := map[string]*function{}
	add := func(names, args string, f function) {
		for i, name := range strings.Fields(args) {
			if a, ok := argumentNames[name]; !ok {
				panic("internal error: mpi: no argument " + name)
			} else if a != argUnused {
				f.at[a] = int8(i + 1)
			}
		}
		f.polls = f.at[argFlag] > 0 || names == "Testsome"
		for name := range strings.FieldsSeq(names) {
			one := f
			all["MPI_"+name] = &one
		}
	}
	add("Send Rsend", "_ count type peer tag comm", function{do: (*Pairer).message})
	add("Bsend", "_ count type peer tag comm", function{do: (*Pairer).message, mode: buffered})
	add("Ssend", "_ count type peer tag comm", function{do: (*Pairer).message, mode: synchronous})
	add("Isend Irsend", "_ count type peer tag comm request", function{do: (*Pairer).message})
	add("Ibsend", "_ count type peer tag comm request", function{do: (*Pairer).message, mode: buffered})
	add("Issend", "_ count type peer tag comm request", function{do: (*Pairer).message, mode: synchronous})
	add("Send_init Rsend_init", "_ count type peer tag comm request", function{do: (*Pairer).message, starts: true})
	add("Bsend_init", "_ count type peer tag comm request", function{do: (*Pairer).message, starts: true, mode: buffered})
	add("Ssend_init", "_ count type peer tag comm request", function{do: (*Pairer).message, starts: true, mode: synchronous})
	add("Recv", "_ _ _ peer tag comm status", function{do: (*Pairer).message, receive: true})
	add("Irecv", "_ _ _ peer tag comm request", function{do: (*Pairer).message, receive: true})
	add("Recv_init", "_ _ _ peer tag comm request", function{do: (*Pairer).message, receive: true, starts: true})
	add("Sendrecv", "_ count type peer tag _ _ _ source recvtag comm status", function{do: (*Pairer).exchange})
	add("Sendrecv_replace", "_ count type peer tag source recvtag comm status", function{do: (*Pairer).exchange})
	add("Isendrecv", "_ count type peer tag _ _ _ source recvtag comm request", function{do: (*Pairer).exchange})
	add("Isendrecv_replace", "_ count type peer tag source recvtag comm request", function{do: (*Pairer).exchange})
	add("Probe", "peer tag comm status", function{do: (*Pairer).probe})
	add("Iprobe", "peer tag comm flag status", function{do: (*Pairer).probe})
	// These take the message, which Mrecv and Imrecv only copy.
	add("Mprobe", "peer tag comm _ status", function{do: (*Pairer).probe, receive: true})
	add("Improbe", "peer tag comm flag _ status", function{do: (*Pairer).probe, receive: true})

	add("Start", "request", function{do: (*Pairer).start})
	add("Startall", "count requests", function{do: (*Pairer).startAll})
	add("Request_free", "request", function{do: (*Pairer).freeRequest})
	add("Cancel", "request", function{do: (*Pairer).cancelRequest})
	add("Wait", "request status", function{do: (*Pairer).waitOne})
	add("Test", "request flag status", function{do: (*Pairer).waitOne})
	add("Request_get_status", "request flag status", function{do: (*Pairer).waitOne, keeps: true})
	add("Waitall", "count requests statuses", function{do: (*Pairer).waitAll})
	add("Testall", "count requests flag statuses", function{do: (*Pairer).waitAll})
	add("Waitany", "count requests index status", function{do: (*Pairer).waitAny})
	add("Testany", "count requests index flag status", function{do: (*Pairer).waitAny})
	add("Waitsome", "count requests done indices statuses", function{do: (*Pairer).waitSome})
	add("Testsome", "count requests done indices statuses", function{do: (*Pairer).waitSome})

	for _, c := range []struct {
		name, args string
		kind       collectiveKind
	}{
		{"barrier", "comm", ofAll}, {"allreduce", "_ _ count _ _ comm", ofAll}, {"allgather", "_ _ _ _ _ _ comm", ofAll}, {"allgatherv", "_ _ _ _ _ _ _ comm", ofAll},
		{"alltoall", "_ _ _ _ _ _ comm", ofAll}, {"alltoallv", "_ _ _ _ _ _ _ _ comm", ofAll}, {"alltoallw", "_ _ _ _ _ _ _ _ comm", ofAll},
		{"reduce_scatter", "_ _ _ _ _ comm", ofAll}, {"reduce_scatter_block", "_ _ _ _ _ comm", ofAll},
		{"bcast", "_ count _ root comm", fromRoot}, {"scatter", "_ _ _ _ _ _ root comm", fromRoot}, {"scatterv", "_ _ _ _ _ _ _ root comm", fromRoot},
		{"reduce", "_ _ count _ _ root comm", toRoot}, {"gather", "_ _ _ _ _ _ root comm", toRoot}, {"gatherv", "_ _ _ _ _ _ _ root comm", toRoot},
		{"scan", "_ _ _ _ _ comm", ofLower}, {"exscan", "_ _ _ _ _ comm", ofLower},
		{"neighbor_allgather", "_ _ _ _ _ _ comm", ofNeighbours}, {"neighbor_allgatherv", "_ _ _ _ _ _ _ comm", ofNeighbours},
		{"neighbor_alltoall", "_ _ _ _ _ _ comm", ofNeighbours}, {"neighbor_alltoallv", "_ _ _ _ _ _ _ _ comm", ofNeighbours},
		{"neighbor_alltoallw", "_ _ _ _ _ _ _ _ comm", ofNeighbours},
	} {
		// These have a count for each rank, which is not recorded.
		partly := strings.HasSuffix(c.name, "v") || strings.HasSuffix(c.name, "w") || c.name == "reduce_scatter"
		add(strings.ToUpper(c.name[:1])+c.name[1:], c.args, function{do: (*Pairer).collective, kind: c.kind, partly: partly})
		add("I"+c.name, c.args+" request", function{do: (*Pairer).collective, kind: c.kind, partly: partly})
	}
	add("Init Init_thread Finalize", "", function{do: (*Pairer).collective})

	add("Comm_dup", "comm new", function{do: (*Pairer).make})
	add("Comm_idup", "comm new request", function{do: (*Pairer).make})
	add("Comm_dup_with_info", "comm _ new", function{do: (*Pairer).make})
	add("Comm_idup_with_info", "comm _ new request", function{do: (*Pairer).make})
	add("Comm_split", "comm color key new", function{do: (*Pairer).make, making: byColor})
	add("Comm_split_type", "comm color key _ new", function{do: (*Pairer).make, making: byNode})
	add("Comm_create", "comm _ new", function{do: (*Pairer).make, making: byGroup, subset: true})
	add("Comm_create_group", "comm _ tag new", function{do: (*Pairer).make, making: byGroupAlone})
	add("Cart_create", "comm _ dims periods reorder new", function{do: (*Pairer).make, making: byPlace})
	add("Cart_sub", "comm keep new", function{do: (*Pairer).make, making: byGrid})
	add("Graph_create", "comm _ _ _ reorder new", function{do: (*Pairer).make, making: byPlace})
	add("Dist_graph_create", "comm _ _ _ _ _ _ reorder new", function{do: (*Pairer).make, making: byPlace})
	add("Dist_graph_create_adjacent", "comm count sources _ _ _ _ _ reorder new", function{do: (*Pairer).make, making: byPlace})
	onFile := function{do: inOMPIO((*Pairer).onOpened), alone: true, partly: true}
	add("File_open", "comm _ _ _ new", function{do: (*Pairer).openFile, alone: true})
	add("File_close", "comm", function{do: inOMPIO((*Pairer).closeOpened), alone: true, partly: true})
	add("File_set_view File_set_size File_preallocate File_sync File_seek_shared File_set_atomicity", "comm", onFile)
	for _, way := range []string{"read", "write"} {
		for _, kind := range []string{"_all", "_at_all", "_ordered"} {
			name := "File_" + way + kind
			add(name+" "+name+"_begin "+name+"_end", "comm", onFile)
		}
		add("File_i"+way+"_all", "comm _ _ _ request", onFile)
		add("File_i"+way+"_at_all", "comm _ _ _ _ request", onFile)
	}
	add("Win_create", "_ _ _ _ comm new", function{do: (*Pairer).openOn})
	add("Win_allocate Win_allocate_shared", "_ _ _ comm _ new", function{do: (*Pairer).openOn})
	add("Win_create_dynamic", "_ comm new", function{do: (*Pairer).openOn})
	add("Win_free", "comm", function{do: (*Pairer).closeOpened, partly: true})
	add("Win_fence", "_ comm", function{do: (*Pairer).onOpened, partly: true})
	add("Win_start Win_complete Win_wait Win_lock Win_unlock Win_lock_all Win_unlock_all", "", function{do: (*Pairer).oneSided})
	add("Win_flush Win_flush_all Win_flush_local Win_flush_local_all", "", function{do: (*Pairer).oneSided})
	add("Win_test", "_ flag", function{do: (*Pairer).oneSided})
	add("Comm_rank", "comm place", function{do: (*Pairer).commRank})
	add("Comm_size", "comm size", function{do: (*Pairer).commSize})
	add("Comm_free Comm_disconnect", "comm", function{do: (*Pairer).freeComm})
	return all
}()

// arguments are those of a call, by what they are for.
type arguments struct {
	span *format.Span
	at   *places
}

// value returns an argument, nil if there is none.
func (a arguments) value(of argument) *format.Value {
	if at := int(a.at[of]); at > 0 && at <= len(a.span.Args) {
		return &a.span.Args[at-1]
	}
	return nil
}

// has reports whether the function has such an argument.
func (a arguments) has(of argument) bool { return a.at[of] > 0 }

// int returns a number that was passed.
func (a arguments) int(of argument) (int64, bool) {
	if v := a.value(of); v != nil && v.Kind == format.ValueInt {
		return v.Int, true
	}
	return 0, false
}

// result returns a number that the function stored.
func (a arguments) result(of argument) (int64, bool) {
	if v := a.value(of); v != nil && v.Kind == format.ValuePointed {
		return int64(int32(v.Int)), true
	}
	return 0, false
}

// handle returns a handle: a number or an address that was passed, or what stood there.
func (a arguments) handle(of argument) (int64, bool) {
	if v := a.value(of); v != nil && slices.Contains(handleKinds, v.Kind) {
		return v.Int, true
	}
	return 0, false
}

var handleKinds = []format.ValueKind{format.ValueInt, format.ValueAddr, format.ValuePointed}

// numbers returns an array, nil if it was not read.
func (a arguments) numbers(of argument) []int64 {
	if v := a.value(of); v != nil && v.Kind == format.ValueNumbers {
		return v.Numbers
	}
	return nil
}

// status is the source and the tag of a message.
type status struct {
	source, tag int64
	known       bool
}

// The numbers of a status, as implementations have them: those of MPICH and its relatives are
// the length in two numbers, source, tag and error. Those of Open MPI are source, tag, error,
// whether it was cancelled, and the length in two.
const (
	mpichStatus, mpichSource = 5, 2
	openStatus, openSource   = 6, 0
)

// status returns the n-th status of an argument.
func (a arguments) status(of argument, n int, openMPI bool) (s status) {
	all, size, source := a.numbers(of), mpichStatus, mpichSource
	if openMPI {
		size, source = openStatus, openSource
	}
	if at := n*size + source; n >= 0 && at+1 < len(all) {
		s = status{all[at], all[at+1], all[at] >= 0 && all[at+1] >= 0}
	}
	return s
}
