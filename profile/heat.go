package profile

// Heat says which parts of a file were read and written when. Time is cut into
// columns and the file into rows; a cell holds the bytes that calls which began
// in the column moved in the row. Cell (column, row) is at column*Rows + row.
type Heat struct {
	ColumnNanos   int64 // length of a column; the first starts with the recording
	RowBytes      int64 // height of a row; the first starts with the file
	Columns, Rows int   // up to the last that holds anything
	Read, Written []int64
	Missed        int64 // nanoseconds in calls from before it began, which it does not hold
}

// heatSide is the number of columns, and of rows; a power of two.
const heatSide = 64

// heat gathers a Heat in fixed memory of 64 KiB. Columns are 1<<colShift
// nanoseconds and rows 1<<rowShift bytes. For a call beyond the last one,
// neighbours are merged.
type heat struct {
	colShift, rowShift uint
	used               bool
	missed             int64
	cells              [2][heatSide][heatSide]int64 // by direction, column, row
}

// minRowShift makes a row one page at least.
const minRowShift = 12

func (h *heat) reset(missed int64) {
	if h.used {
		h.cells = [2][heatSide][heatSide]int64{}
	}
	h.colShift, h.rowShift, h.used, h.missed = 0, minRowShift, false, missed
}

// add adds the bytes [begin, end), at least one.
func (h *heat) add(k Category, start, begin, end int64) {
	for start>>h.colShift >= heatSide {
		h.widen()
	}
	for (end-1)>>h.rowShift >= heatSide {
		h.heighten()
	}
	h.used = true
	spread(h.cells[k][start>>h.colShift][:], h.rowShift, begin, end)
}

// spread adds what there is from a begin to an end, one for each nanosecond or byte, to columns
// that are 1<<shift wide.
func spread(columns []int64, shift uint, begin, end int64) {
	for begin < end {
		at := begin >> shift
		next := min((at+1)<<shift, end)
		columns[at] += next - begin
		begin = next
	}
}

// halve adds each column to its neighbour, and leaves the second half of a list empty.
func halve[T any](list []T, add func(into, from *T)) {
	clear(list[len(paired(list, 0, add)):])
}

func addCount(into, from *int64) { *into += *from }

func addCounts(into, from []int64) {
	for i, n := range from {
		into[i] += n
	}
}

func (h *heat) widen() {
	h.colShift++
	if !h.used {
		return
	}
	for k := range h.cells {
		halve(h.cells[k][:], func(into, from *[heatSide]int64) { addCounts(into[:], from[:]) })
	}
}

func (h *heat) heighten() {
	h.rowShift++
	if !h.used {
		return
	}
	for k := range h.cells {
		for i := range h.cells[k] {
			halve(h.cells[k][i][:], addCount)
		}
	}
}

// snapshot returns nil if nothing was added.
func (h *heat) snapshot() *Heat {
	if h == nil || !h.used {
		return nil
	}
	s := &Heat{ColumnNanos: 1 << h.colShift, RowBytes: 1 << h.rowShift, Missed: h.missed}
	for k := range h.cells {
		for i := range h.cells[k] {
			for row, n := range h.cells[k][i] {
				if n > 0 {
					s.Columns, s.Rows = max(s.Columns, i+1), max(s.Rows, row+1)
				}
			}
		}
	}
	s.Read, s.Written = h.flat(Reads, s), h.flat(Writes, s)
	return s
}

func (h *heat) flat(k Category, s *Heat) []int64 {
	out := make([]int64, 0, s.Columns*s.Rows)
	for i := range s.Columns {
		out = append(out, h.cells[k][i][:s.Rows]...)
	}
	return out
}

// maxHeats bounds how many files have a heat map, 8 MiB of them.
const maxHeats = 128

// heats gives heat maps to the files in which the most time is spent. If none is
// left, the threshold doubles, and files below it lose their maps.
type heats struct {
	owners    []*file
	free      []*heat
	threshold int64 // nanoseconds
}

// give gives a file a heat map if it is above the threshold. missed is the time
// in calls before the map.
func (hs *heats) give(f *file, missed int64) {
	for f.weight > hs.threshold {
		if n := len(hs.free); n > 0 {
			f.heat, hs.free = hs.free[n-1], hs.free[:n-1]
		} else if len(hs.owners) < maxHeats {
			f.heat = new(heat)
		}
		if f.heat != nil {
			f.heat.reset(missed)
			hs.owners = append(hs.owners, f)
			return
		}
		hs.threshold = 2*hs.threshold + 1
		kept := hs.owners[:0]
		for _, o := range hs.owners {
			if o.weight > hs.threshold {
				kept = append(kept, o)
				continue
			}
			hs.free = append(hs.free, o.heat)
			o.heat = nil
		}
		clear(hs.owners[len(kept):])
		hs.owners = kept
	}
}
