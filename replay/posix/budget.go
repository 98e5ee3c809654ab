package posix

import (
	"cmp"

	"pianola/internal/limit"

	"golang.org/x/sys/unix"
)

// errNoSpace is the result of an event that would exceed Limits.Bytes, which
// ends the run.
const errNoSpace = -int64(unix.ENOSPC)

// lease is how many bytes a worker takes from the budget at once.
const lease = 64 << 20

// spend takes bytes from the replay's budget of writes, and reports whether
// there were enough. If not, the run ends.
func (w *worker) spend(n int64) bool {
	n = max(n, 0)
	if n <= w.allowance {
		w.allowance -= n
		return true
	}
	n -= w.allowance
	w.allowance = 0
	if w.e.takeOrRenew(n) {
		if most := w.e.lease(); w.e.tryTake(most) {
			w.allowance = most
		}
		return true
	}
	w.exceeded()
	return false
}

// block is the smallest unit that a file system allocates.
const block = 4096

// spendAt is spend for a call that writes at an offset. A single byte can take
// a block there.
func (w *worker) spendAt(n int64) bool {
	return w.spend((min(n, 1<<62) + block - 1) &^ (block - 1))
}

// spendMove is spend for a call that moves the offset of the next write, which
// can then take a block of its own.
func (w *worker) spendMove() bool { return w.spend(block) }

// reserve takes bytes for a call that may write up to n but usually writes fewer,
// because it asks for the rest of a file. It returns how many bytes the call may write.
// settle gives back the rest.
func (w *worker) reserve(n int64) int64 {
	n = min(max(n, 0), maxTransfer)
	if n > w.allowance && w.e.takeOrRenew(n-w.allowance) {
		w.allowance = n
	}
	if n > w.allowance {
		w.allowance += max(w.e.bytes.Swap(0), 0)
	}
	n = min(n, w.allowance)
	w.allowance -= n
	return n
}

// settle gives back the bytes that were reserved and not written, and returns
// the call's result. The run ends if the call wrote all of them and wanted
// more.
func (w *worker) settle(wanted, reserved, got int64) int64 {
	w.allowance += reserved - max(got, 0)
	if most := w.e.lease(); w.allowance > most {
		w.e.bytes.Add(w.allowance - most)
		w.allowance = most
	}
	if got == reserved && reserved < min(wanted, maxTransfer) {
		w.exceeded()
		return errNoSpace
	}
	return got
}

func (w *worker) exceeded() {
	if share := w.e.space.share; share > 0 {
		w.Failf("event %d of thread %d makes the files larger than %d bytes, the limit for the free space at %s: %w", w.Event, w.Number, share, w.e.Root, limit.Of("bytes"))
		return
	}
	w.Failf("event %d of thread %d writes more than %d bytes in all: %w", w.Event, w.Number, w.e.Limits.Bytes, limit.Of("bytes"))
}

// takeOrRenew takes bytes from the budget that all workers share. It reports whether there
// were enough, after renewing the budget if that is possible.
func (e *Executor) takeOrRenew(n int64) bool { return e.tryTake(n) || e.space.renew(e, n) }

// lease returns how many bytes a worker takes at once.
func (e *Executor) lease() int64 { return cmp.Or(e.space.lease, lease) }

// tryTake takes bytes from what is left of the budget, if there are enough.
func (e *Executor) tryTake(n int64) bool {
	for have := e.bytes.Load(); have >= n; have = e.bytes.Load() {
		if e.bytes.CompareAndSwap(have, have-n) {
			return true
		}
	}
	return false
}

// allowLength reports whether a file may have a length. If not, the run ends.
func (w *worker) allowLength(n int64) bool {
	if n <= w.e.Limits.Bytes {
		return true
	}
	w.Failf("event %d of thread %d creates a file of %d bytes: %w", w.Event, w.Number, n, limit.Of("bytes"))
	return false
}
