package mpi

import "pianola/format"

// Collective functions of MPI-IO exchange messages. In ROMIO, which MPICH has, these are calls of
// MPI like others, and say what waits. The OMPIO of Open MPI has its own functions for them, so its
// collective calls on files are collectives here. Which ranks wait for which is up to it.

// openFile adds a call of MPI_File_open. The file has a copy of the communicator (MPI 4.1, section 14.2.1).
func (p *Pairer) openFile(r *rank, f *function, a arguments, c *Call) bool {
	if v := a.value(argComm); v != nil && v.Kind == format.ValueAddr {
		p.openOn(r, f, a, c)
	}
	return true
}

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

// file adds a collective call on a file.
func (p *Pairer) file(r *rank, f *function, a arguments, c *Call) bool {
	if r.openMPI {
		id, _ := a.handle(argComm)
		p.collectiveOn(r.comms[id], r, f, a, c)
	}
	return true
}

// closeFile adds a call of MPI_File_close.
func (p *Pairer) closeFile(r *rank, f *function, a arguments, c *Call) bool {
	p.file(r, f, a, c)
	return p.freeComm(r, f, a, c)
}
