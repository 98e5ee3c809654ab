package replay

import "pianola/format"

// The calls that begin, change and end processes. None of them is made: they
// shape the descriptor tables, let threads begin and end a process's memory.

// callClone lets the thread begin that the recorded call created. A number
// that isn't that of a thread of this one's is left alone.
func callClone(w *worker, r *format.Record) int64 {
	if r.Ret < 1 || r.Ret > int64(len(w.e.workers)) {
		return r.Ret
	}
	child := w.e.workers[r.Ret-1]
	if child.parent != w || child.born.Load() {
		return r.Ret
	}
	share := r.Args[0]&format.CloneFiles != 0
	if child.process != w.process {
		if w.process.private || child.process.private {
			w.handOver(child, share)
			return r.Ret
		}
		w.process.fork(child.process, share)
	}
	child.bear()
	return r.Ret
}

func callExecve(w *worker, r *format.Record) int64 {
	if r.Ret == 0 {
		w.e.exec(w.process)
		w.giveAllBack()
	}
	return r.Ret
}

// callUnshare separates tables of descriptors. What else can be unshared is
// nothing that a replay has.
func callUnshare(w *worker, r *format.Record) int64 {
	if r.Ret == 0 && r.Args[0]&format.CloneFiles != 0 {
		w.e.unshare(w.process)
	}
	return r.Ret
}

// callExit plays exit and exit_group.
func callExit(w *worker, r *format.Record) int64 {
	w.exit()
	return r.Ret
}

// exit says that the thread has ended, once.
func (w *worker) exit() {
	if !w.exited {
		w.exited = true
		if w.process.leave() {
			w.giveAllBack()
		}
	}
}
