package profile

// Usage is what was done to a file, or by a thread or a process.
type Usage struct {
	Categories
	Other Total // calls of no category: processes, memory, files that the kernel makes up
	First int64 // start of the first call, in nanoseconds since that of the recording
	Last  int64 // end of the last
}

// All returns the sum of all calls.
func (u *Usage) All() Total {
	sum := u.IO()
	sum.add(&u.Categories[Communication])
	sum.add(&u.Categories[Submitting])
	sum.add(&u.Other)
	return sum
}

// count adds one call.
func (u *Usage) count(c *call) {
	if u.Last == 0 && u.First == 0 && u.empty() {
		u.First = c.start
	}
	u.First, u.Last = min(u.First, c.start), max(u.Last, c.end)
	if c.category == noCategory {
		u.Other.add(&c.total)
	} else {
		u.Categories[c.category].add(&c.total)
	}
}

func (u *Usage) empty() bool {
	calls := u.Other.Calls
	for k := range u.Categories {
		calls += u.Categories[k].Calls
	}
	return calls == 0
}

// merge adds what another did.
func (u *Usage) merge(o *Usage) {
	if o.empty() {
		return
	}
	if u.empty() {
		u.First = o.First
	}
	u.First, u.Last = min(u.First, o.First), max(u.Last, o.Last)
	for k := range u.Categories {
		u.Categories[k].add(&o.Categories[k])
	}
	u.Other.add(&o.Other)
}
