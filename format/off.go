package format

// Off is what a thread spent its time off the processor with, in nanoseconds.
type Off struct {
	Ready   int64 // it could run, but what is not followed had the processor
	Own     int64 // it could run, but other recorded threads had the processor
	Wait    int64 // for another thread, or for what is not recorded
	Timer   int64 // until a time had come
	Storage int64 // for storage, outside of recorded calls
	Other   int64 // recordings that do not tell these apart have all here
}

// Total returns the time off the processor.
func (o *Off) Total() int64 { return o.Ready + o.Own + o.Wait + o.Timer + o.Storage + o.Other }

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
