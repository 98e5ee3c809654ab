package posix

import "pianola/format"

// The calls that change a process's memory. With Options.Memory they run in its space,
// otherwise they return the recorded result. Their addresses are places, 0 if compile
// laid out none. Only private memory is ever mapped, and only in the space; parts
// beyond its end are left out. Calls on mapped files are separate (mapFile).

func callMmap(w *worker, r *format.Record) int64 {
	if onFile(r.Ret) {
		return w.mapFile(r)
	}
	if w.process.footprint == nil || r.Ret <= 0 {
		return r.Ret
	}
	from, to := w.process.space.span(r.Ret, r.Args[1])
	if !format.OwnPages(r.Args[2], r.Args[3]) {
		return w.asMapped(w.releasePages(from, to), r)
	}
	return w.asMapped(w.mapPages(from, to, r.Args[3]&format.MapPopulate != 0), r)
}

// asMapped returns the recorded result, an address, unless there is an error.
func (w *worker) asMapped(got int64, r *format.Record) int64 {
	if got < 0 {
		return got
	}
	return r.Ret
}

// callBrk executes brk. A record has the break before and after.
func callBrk(w *worker, r *format.Record) int64 {
	before, after := r.Args[0], r.Ret
	if w.process.footprint == nil || before <= 0 || after <= 0 {
		return after
	}
	if after < before {
		from, to := w.process.space.span(after, before-after)
		return w.asMapped(w.releasePages(from, to), r)
	}
	from, to := w.process.space.span(before, after-before)
	return w.asMapped(w.mapPages(from, to, false), r)
}

func callMunmap(w *worker, r *format.Record) int64 {
	if onFile(r.Args[0]) {
		return w.unmapFile(r)
	}
	if w.process.footprint == nil || r.Ret < 0 {
		return r.Ret
	}
	from, to := w.process.space.span(r.Args[0], r.Args[1])
	return w.releasePages(from, to)
}

// callMremap executes mremap. Instead of moving pages, which would leave a hole
// in the space, it gives them back and maps new ones.
func callMremap(w *worker, r *format.Record) int64 {
	if onFile(r.Args[0]) {
		return w.remapFile(r)
	}
	if w.process.footprint == nil || r.Ret <= 0 {
		return r.Ret
	}
	space, old, oldSize, size := w.process.space, r.Args[0], max(r.Args[1], 0), max(r.Args[2], 0)
	var got int64
	switch {
	case r.Ret != old:
		from, to := space.span(old, oldSize)
		if got = w.releasePages(from, to); got == 0 {
			from, to = space.span(r.Ret, size)
			got = w.mapPages(from, to, false)
		}
	case size > oldSize:
		from, to := space.tail(old, oldSize, size)
		got = w.mapPages(from, to, false)
	default:
		from, to := space.tail(old, size, oldSize)
		got = w.releasePages(from, to)
	}
	return w.asMapped(got, r)
}

// advice is the effect of a value of madvise.
type advice struct {
	passed    bool // pass it to the kernel
	unmaps    bool // the application no longer needs the pages: don't touch them
	drops     bool // the pages are dropped at once
	populates bool // the pages are populated at once
}

// adviceTable holds the values of madvise that are executed. Other values would change
// the space's mapping or write to the machine's swap, and return the recorded result.
var adviceTable = [...]advice{
	format.MadvDontneed:      {passed: true, unmaps: true, drops: true},
	format.MadvFree:          {passed: true, unmaps: true},
	format.MadvCold:          {passed: true},
	format.MadvPopulateRead:  {passed: true},
	format.MadvPopulateWrite: {passed: true, populates: true},
}

func callMadvise(w *worker, r *format.Record) int64 {
	if onFile(r.Args[0]) {
		return w.adviseFile(r)
	}
	p, value := w.process, r.Args[2]
	if p.footprint == nil || r.Ret < 0 || value < 0 || value >= int64(len(adviceTable)) {
		return r.Ret
	}
	a := &adviceTable[value]
	from, to := p.space.span(r.Args[0], r.Args[1])
	if from >= to || !a.passed || a.populates && !w.e.mayTouch(to-from) {
		return r.Ret
	}
	if a.unmaps {
		p.footprint.mapped.clear(from, to-1)
	}
	if a.drops {
		w.countTouched(-p.touched.clear(from, to-1))
	}
	got := p.space.advise(from, to, uintptr(value))
	if a.populates && got == 0 {
		added, _ := p.touched.mark(from, to-1)
		w.countTouched(added)
	}
	return got
}
