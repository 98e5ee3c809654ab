package mpi

// window adds a collective call on a window, which has a copy of the communicator that it was made of.
// A fence can be no barrier (MPI 4.1, section 12.5.1).
func (p *Pairer) window(r *rank, f *function, a arguments, c *Call) bool {
	id, _ := a.handle(argComm)
	p.collectiveOn(r.comms[id], r, f, a, c)
	return true
}

// freeWindow adds a call of MPI_Win_free.
func (p *Pairer) freeWindow(r *rank, f *function, a arguments, c *Call) bool {
	p.window(r, f, a, c)
	return p.freeComm(r, f, a, c)
}

// oneSided adds a call that can wait for other ranks, and doesn't say for which.
func (p *Pairer) oneSided(_ *rank, _ *function, a arguments, _ *Call) bool {
	if flag, polls := a.result(argFlag); polls && flag == 0 {
		return false
	}
	p.Stats.Unknown++
	return true
}
