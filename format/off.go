package format

// The reasons why a thread is blocked: the first argument of OpWait, by WaitKinds.
const (
	WaitOther = iota
	WaitFutex
	WaitPoll
	WaitSocket
	WaitSignal
)

// Off is what a thread spent its time off the processor with, in nanoseconds.
type Off struct {
	Ready   int64 // the thread was ready, but an unrecorded program had the processor
	Own     int64 // it could run, but other recorded threads had the processor
	Wait    int64 // for another thread, or for what is not recorded
	Timer   int64 // until a time had come
	Storage int64 // for storage, outside of recorded calls
	Other   int64 // recordings that do not tell these apart have all here
}

// Total returns the time off the processor.
func (o *Off) Total() int64 { return o.Ready + o.Own + o.Wait + o.Timer + o.Storage + o.Other }

// IsZero reports whether there is none.
func (o *Off) IsZero() bool { return o.Ready|o.Own|o.Wait|o.Timer|o.Storage|o.Other == 0 }

// Parts returns pointers to the parts, in the order of the fields.
func (o *Off) Parts() [6]*int64 {
	return [...]*int64{&o.Ready, &o.Own, &o.Wait, &o.Timer, &o.Storage, &o.Other}
}

// Each returns o with each part put through f.
func (o Off) Each(f func(int64) int64) Off {
	for _, p := range o.Parts() {
		*p = f(*p)
	}
	return o
}

// OffNames are the names of the parts, in the order of the fields.
var OffNames = []string{"ready", "own", "wait", "timer", "storage", "off"}

// Within returns o cut to a sum of at most so many nanoseconds: what is too much
// is taken from the last parts. No part of the result is negative.
func (o Off) Within(most int64) Off {
	return o.Each(func(nanos int64) int64 {
		nanos = min(max(nanos, 0), most)
		most -= nanos
		return nanos
	})
}

// Plus returns the sum of the parts.
func (o Off) Plus(other Off) Off {
	parts := other.Parts()
	for i, p := range o.Parts() {
		*p += *parts[i]
	}
	return o
}

// Less returns o with so many nanoseconds less, of waiting first.
func (o Off) Less(nanos int64) Off {
	for _, p := range [...]*int64{&o.Wait, &o.Other, &o.Timer, &o.Storage, &o.Ready, &o.Own} {
		part := min(nanos, *p)
		*p -= part
		nanos -= part
	}
	return o
}

// FromStorage reports whether a read of so many bytes took so long that it waited for
// storage. A read from the page cache takes 1 to 5 µs, plus about a nanosecond per 2
// bytes copied. The fastest flash takes at least 10 µs, most flash 50 to 100 µs
// (docs/internals/diagnosis.md).
func FromStorage(nanos, bytes int64) bool { return nanos >= 20_000+bytes/2 }
