package posix

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/spin"
)

// process is a recorded process, which its threads share.
type process struct {
	number    int32
	own       atomic.Pointer[table] // its own table, in use unless it shares another's
	files     atomic.Pointer[table] // the table in use; nil before the start of the process and after its end
	threads   atomic.Int32          // that have not ended
	private   bool                  // its only thread has a kernel table of its own
	ownsLocks bool                  // no other process uses the kernel table that it uses, so locks can be its own
	left      *table                // of another process, which this one was the last to use, at its end
	memory

	// The files that it has mapped. Only one thread changes the windows at a time.
	mapping   spin.Lock
	window    atomic.Pointer[fileWindow] // nil before its first mapping
	inherited atomic.Pointer[fileWindow] // of the process that forked it
	former    *fileWindow                // from before an exec

	// These belong to the only thread of a private process.
	locks    bool      // it has made record locks
	unmapped []uintptr // descriptors of what it has unmapped since; see closeDuplicate
}

// fork gives a new process its descriptors: the parent's table if they share
// it, else a copy.
func (w *worker) fork(child *process, share bool) {
	e, p := w.e, w.process
	e.sharing.Take()
	files := p.files.Load()
	if files == nil || child.files.Load() != nil {
		e.sharing.Give()
		return
	}
	if share {
		files.users.Add(1)
		child.files.Store(files)
		e.sharing.Give()
		return
	}
	own := child.own.Load()
	child.files.Store(own)
	e.sharing.Give()
	w.checkCopies(files.copyTo(own, files.duplicate))
}

// checkCopies ends the run if the kernel refused to duplicate descriptors of the worker's
// process or of its parent: the process would lack files. got is 0 or -errno.
func (w *worker) checkCopies(got int64) bool {
	if got < 0 && !w.e.Stopped() {
		w.Failf("event %d of thread %d: copy the descriptors of a process: %w", w.Event, w.Number, unix.Errno(-got))
	}
	return got == 0
}

// unshare gives the worker's process a table of its own, and returns it, nil if it has
// none. All threads of the process keep one table, although the kernel would
// give only the calling thread a new one.
func (w *worker) unshare() *table {
	e, p := w.e, w.process
	if files := p.files.Load(); files == nil || files.users.Load() == 1 {
		return files
	}
	e.sharing.Take()
	own, left, got := e.separateTable(p)
	e.sharing.Give()
	if left != nil {
		left.release()
	}
	w.checkCopies(got)
	return own
}

// separateTable gives a process a table of its own, and returns it and the one that
// the process has left, nil for none. The tables of processes are locked. The result
// is 0, or -errno if the table lacks descriptors.
func (e *Executor) separateTable(p *process) (own, left *table, got int64) {
	files := p.files.Load()
	if files == nil || files.users.Load() == 1 {
		return files, nil, 0
	}
	if p.own.Load() == files {
		// Others use this process's own table: one of them keeps it, and gives
		// its own, unused one in exchange.
		for _, q := range e.processes {
			if q != p && q.files.Load() == files {
				p.own.Store(q.own.Swap(files))
				break
			}
		}
	}
	own = p.own.Load()
	if own == files {
		return files, nil, 0
	}
	own.users.Store(1)
	got = files.copyTo(own, files.duplicate)
	p.files.Store(own)
	return own, files, got
}

// leave closes the descriptors of a process whose last thread ends, unless others share
// them. An earlier exit_group closes none: in the replay, other threads may still have
// events that ended before it in the recording.
func (e *Executor) leave(p *process) {
	e.sharing.Take()
	files := p.files.Swap(nil)
	alone := files != nil && files.users.Add(-1) == 0
	switch own := files != nil && files == p.own.Load(); {
	case own && !alone:
		p.own.Store(nil) // others keep it
	case alone && !own:
		p.left = files
	}
	e.sharing.Give()
	if alone {
		files.closeAll()
	}
}

// The calls that start, change and end processes. A replay does not make them.
// It updates descriptor tables, starts threads and ends a process's memory.

// callClone gives a process that the recorded call created its descriptors. The engine
// starts the thread.
func callClone(w *worker, r *format.Record) int64 {
	k := w.Child(r)
	if k == nil {
		return r.Ret
	}
	child := w.e.workers[k.Number-1]
	if child.process == w.process {
		return r.Ret
	}
	share := r.Args[0]&format.CloneFiles != 0
	w.forkWindow(child.process)
	w.inheritRings(child.process, r.Args[0]&format.CloneVM != 0)
	switch {
	case w.process.private || child.process.private:
		w.handOver(child, share)
	case share || w.chargeCopies(w.process.files.Load()):
		w.fork(child.process, share)
	}
	return r.Ret
}

func callExecve(w *worker, r *format.Record) int64 {
	if r.Ret == 0 {
		w.awaitRequests()
		w.releaseRings(true)
		w.chargeCopies(w.process.files.Load())
		if files := w.unshare(); files != nil {
			files.closeExec()
		}
		w.releaseWindow(false)
		w.releaseAllPages()
	}
	return r.Ret
}

// callUnshare separates tables of descriptors. A replay has nothing else to
// unshare.
func callUnshare(w *worker, r *format.Record) int64 {
	if r.Ret == 0 && r.Args[0]&format.CloneFiles != 0 {
		w.chargeCopies(w.process.files.Load())
		w.unshare()
	}
	return r.Ret
}
