package device

import (
	"cmp"
	"slices"

	"pianola/format"
)

// Work is the work that a call causes on a device.
type Work uint8

// The kinds of work.
const (
	NoWork     Work = iota // the page cache serves the call, or it is not about the contents of files
	ReadWork               // reads what is not in the page cache
	WriteWork              // writes, and waits until that is done
	SubmitWork             // writes, and does not wait
	SyncWork               // writes what is dirty, and makes it durable
)

// Demand is what a call asks of a device.
type Demand struct {
	Work       Work
	Sequential bool  // the first request begins where the last one of the file ended
	Commit     bool  // the file system commits its journal
	Blocks     int32 // of metadata that the commit writes, as ext4 would
	Requests   int32 // ranges of bytes that are read or written
	Bytes      int64
}

// EventDemand is the demand of an event that has one.
type EventDemand struct {
	Event int64 // its position in its thread, from 0
	Demand
}

// eventDemandBytes is about what an Asked takes in a list that grows.
const eventDemandBytes = 64

// Demands are those of the events of a trace. They may be used concurrently.
type Demands struct {
	threads [][]EventDemand // by the numbers of threads, from 0
}

// DemandsOf reads the events of a compiled trace and finds what its calls ask of a
// device. The lists may take so many bytes of memory.
func DemandsOf(r format.Reader, c Cache, memory int64) (*Demands, error) {
	all := &Demands{}
	err := Walk(r, c, func(e *format.Event, position int64, d Demand) error {
		if d.Work == NoWork {
			return nil
		}
		if memory -= eventDemandBytes; memory < 0 {
			return ErrMemory
		}
		for int(e.TID) > len(all.threads) {
			all.threads = append(all.threads, nil)
		}
		list := &all.threads[e.TID-1]
		*list = append(*list, EventDemand{position, d})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Thread returns the demands of a thread, counted from 1, in the order of its events.
func (a *Demands) Thread(number int32) []EventDemand {
	if a == nil || int(number) > len(a.threads) {
		return nil
	}
	return a.threads[number-1]
}

// At returns the demand of an event, in the list of its thread. It allocates nothing.
func At(list []EventDemand, event int64) Demand {
	i, ok := slices.BinarySearchFunc(list, event, func(a EventDemand, event int64) int { return cmp.Compare(a.Event, event) })
	if !ok {
		return Demand{}
	}
	return list[i].Demand
}
