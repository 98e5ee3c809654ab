package mpi

import "pianola/format"

// A file or a window has a copy of the communicator that it is opened on (MPI 4.1, sections 12.2.1
// and 14.2.1). Its handle is kept with those of communicators.
//
// Collective functions of MPI-IO exchange messages. In ROMIO, which MPICH has, these are calls of
// MPI like others, and say what waits. The OMPIO of Open MPI has its own functions for them, so its
// collective calls on files are collectives here. Which ranks wait for which is up to it, as for a fence of
// a window (section 12.5.1).

// openOn adds a call that makes a file or a window of a communicator. In Open MPI, that is often
// MPI_COMM_SELF, which stands near MPI_COMM_WORLD.
func (p *Pairer) openOn(r *rank, f *function, a arguments, c *Call) bool {
	if v := a.value(argComm); v != nil && v.Kind == format.ValueAddr && r.comms[v.Int] == nil {
		r.openMPI = true
		if distance := v.Int - r.world; r.world == 0 || distance < -nearWorld || distance > nearWorld {
			p.Stats.Unknown++
			return true
		}
		r.comms[v.Int] = p.self
	}
	return p.make(r, f, a, c)
}

// nearWorld is how many bytes are between the predefined communicators of Open MPI at most. They are
// variables of one library, or of one program. All others are in memory that is allocated.
const nearWorld = 64 << 10

// openFile adds a call of MPI_File_open.
func (p *Pairer) openFile(r *rank, f *function, a arguments, c *Call) bool {
	if v := a.value(argComm); v != nil && v.Kind == format.ValueAddr {
		p.openOn(r, f, a, c)
	}
	return true
}

// onOpened adds a collective call on a file or a window.
func (p *Pairer) onOpened(r *rank, f *function, a arguments, c *Call) bool {
	id, _ := a.handle(argComm)
	p.collectiveOn(r.comms[id], r, f, a, c)
	return true
}

// closeOpened adds a call that ends a file or a window.
func (p *Pairer) closeOpened(r *rank, f *function, a arguments, c *Call) bool {
	p.onOpened(r, f, a, c)
	return p.freeComm(r, f, a, c)
}

// inOMPIO returns what adds a call only in a rank of Open MPI.
func inOMPIO(do handler) handler {
	return func(p *Pairer, r *rank, f *function, a arguments, c *Call) bool {
		return !r.openMPI || do(p, r, f, a, c)
	}
}

// oneSided adds a call that can wait for other ranks, and doesn't say for which.
func (p *Pairer) oneSided(_ *rank, _ *function, a arguments, _ *Call) bool {
	if flag, polls := a.result(argFlag); polls && flag == 0 {
		return false
	}
	p.Stats.Unknown++
	return true
}
