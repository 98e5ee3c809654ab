package workloads

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/coverage"
	"pianola/format/process"
	"pianola/profile"
)

// pageSize is the unit of the working set, in bytes.
const pageSize = 4096

// figuresOf computes the figures of a trace.
func figuresOf(t *bin.Trace) (*Figures, error) {
	p, err := profile.Read(t.Events())
	if err != nil {
		return nil, err
	}
	h := t.Header()
	f := &Figures{
		Events: p.All.Calls, RunSeconds: rounded(format.Seconds(p.RunTime)), IOSeconds: rounded(format.Seconds(p.IO().Nanos)),
		Reads: movement(p, profile.Reads), Writes: movement(p, profile.Writes),
		MappedReads: movement(p, profile.MappedReads), MappedWrites: movement(p, profile.MappedWrites),
		Syncs: p.Categories[profile.Syncs].Calls, Metadata: p.Categories[profile.Metadata].Calls,
	}
	processes := map[int32]bool{}
	for _, one := range h.Threads {
		if one.Ring == format.ViaCall {
			f.Threads++
			processes[one.Process] = true
		}
	}
	f.Processes = len(processes)
	for i := range h.Files {
		if h.Files[i].Type == format.TypeReg && h.Files[i].Link == "" {
			f.Files++
		}
	}
	f.FileBytes = blocks(h)
	account := coverage.Of(h)
	share := account.Share()
	f.Coverage = Coverage{rounded(share.Bytes), rounded(share.Time)}
	if !account.Known {
		f.Coverage = Coverage{}
	}
	return f, f.follow(t)
}

func movement(p *profile.Profile, k profile.Category) Movement {
	return Movement{p.Categories[k].Calls, p.Categories[k].Bytes}
}

// rounded rounds to thousandths.
func rounded(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// blocks returns how many bytes the files of a fileset take.
func blocks(h *format.Header) (bytes int64) {
	for i := range h.Files {
		switch file := &h.Files[i]; {
		case file.Type != format.TypeReg || file.Link != "" || file.Sparse:
		case len(file.Blocks) == 0:
			bytes += file.Size
		default:
			for _, s := range file.Blocks {
				if s.Allocation != format.Hole {
					bytes += s.Bytes
				}
			}
		}
	}
	return bytes
}

// extent is a stretch of a file, in pages.
type extent struct{ from, to int64 }

// follow computes the working set, the pages of files that are read or written, each
// counted once, and counts the requests.
func (f *Figures) follow(t *bin.Trace) error {
	follower := process.New(t.Header(), 1<<16)
	touched := map[int32][]extent{}
	batch, events := make([]format.Event, 256), format.WithoutSpans(t.Events())
	for {
		n, err := events.Read(batch)
		for i := range batch[:n] {
			e := &batch[i]
			fact := follower.Fact(e)
			if e.Via != format.ViaCall {
				f.Requests++
			}
			if fact.Kind() == process.KindFile {
				for _, m := range [...]*process.Moved{&fact.Read, &fact.Written} {
					if m.To > m.From {
						touched[m.File.ID] = append(touched[m.File.ID], extent{m.From / pageSize, (m.To + pageSize - 1) / pageSize})
					}
				}
			}
			follower.Apply(fact)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, list := range touched {
		f.WorkingSet += pages(list) * pageSize
	}
	return nil
}

// pages returns how many pages are in at least one of the extents, which it sorts.
func pages(list []extent) (n int64) {
	slices.SortFunc(list, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	end := int64(0)
	for _, x := range list {
		if x.to > end {
			n += x.to - max(x.from, end)
			end = x.to
		}
	}
	return n
}
