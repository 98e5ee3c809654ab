package replay

import (
	"sync/atomic"

	"pianola/format"
)

// process is a recorded process, which its threads share.
type process struct {
	number  int32
	own     atomic.Pointer[table] // its own, in use unless another's is shared
	files   atomic.Pointer[table] // the one in use; nil before the start of the process and after its end
	threads atomic.Int32          // that have not ended
	private bool                  // its one thread has a table of the kernel's to itself
	arena   region                // where it reads to
	space   region                // the arena and, for what the application maps, room behind it
	touched pageSet               // pages of the space

	footprint *footprint // nil where memory calls are played as recorded
}

// fork gives a new process its descriptors: the parent's table if they share
// it, else a copy.
func (p *process) fork(child *process, share bool) {
	files := p.files.Load()
	if files == nil || child.files.Load() != nil {
		return
	}
	if share {
		files.users.Add(1)
		child.files.Store(files)
		return
	}
	own := child.own.Load()
	child.files.Store(own)
	files.copyTo(own)
}

// exec does what a successful execve does: it ends sharing and closes what is
// close-on-exec.
func (e *engine) exec(p *process) {
	if files := e.unshare(p); files != nil {
		files.closeExec()
	}
}

// unshare gives a process a table that no other uses, and returns it; nil if it
// has none. All threads of the process keep one table, where the kernel would
// give a thread one of its own.
func (e *engine) unshare(p *process) *table {
	files := p.files.Load()
	if files == nil || files.users.Load() == 1 {
		return files
	}
	if p.own.Load() == files {
		// Others use the process's own: one of them keeps it, and lends its
		// own, which it has no use for.
		for _, q := range e.processes {
			if q != p && q.files.Load() == files {
				p.own.Store(q.own.Swap(files))
				break
			}
		}
	}
	own := p.own.Load()
	if own == files {
		return files
	}
	own.users.Store(1)
	files.copyTo(own)
	p.files.Store(own)
	files.release()
	return own
}

// leave says that a thread has ended. With the last one of the process go its
// descriptors, and not with an exit_group before: other threads may be behind
// in the replay with events that they had ended in the recording. It reports
// whether this was the last.
func (p *process) leave() (last bool) {
	last = p.threads.Add(-1) == 0
	if last {
		if files := p.files.Swap(nil); files != nil {
			files.release()
		}
	}
	return last
}

// The calls that start, change and end processes. None of them is made: they
// shape the descriptor tables, start threads and end a process's memory.

// callClone starts the thread that the recorded call created. A number
// that isn't that of a thread of this one's is left alone.
func callClone(w *worker, r *format.Record) int64 {
	if r.Ret < 1 || r.Ret > int64(len(w.e.workers)) {
		return r.Ret
	}
	child := w.e.workers[r.Ret-1]
	if child.parent != w || child.started.Load() {
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
	child.start()
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
