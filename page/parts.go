package page

import (
	"strconv"

	"pianola/format"
	"pianola/profile"
)

// parts are the calls cut by thread, file, operation and time, for selections.
// Records is text, records with commas between, of fields with points between, in
// base 36: the places of the file in Files, the thread in Threads and the operation in
// Ops, all from 1, 0 for others and, of files, - for none; the category, the piece,
// calls, errors, bytes, nanoseconds, the first class of durations, and the calls of
// that class and the next ones. A place that is the one of the record before is empty,
// and one class that has all calls has no number.
type parts struct {
	Nanos      int64    `json:"nanos"` // length of a piece
	Files      []string `json:"files"`
	Threads    []int32  `json:"threads"`
	Ops        []string `json:"ops"`
	Categories []string `json:"categories"`
	Durations  []int64  `json:"durations"` // where the classes begin, nanoseconds
	Records    string   `json:"records"`
}

// maxPartNames bounds the names of files in parts, in bytes. Later names are among the
// others.
const maxPartNames = 1 << 17

func newParts(p *profile.Profile) parts {
	out := parts{Nanos: p.Parts.Nanos, Files: []string{}, Threads: []int32{}, Ops: []string{}}
	for k := range profile.NumCategories {
		out.Categories = append(out.Categories, k.String())
	}
	for k := range profile.NumDurations {
		out.Durations = append(out.Durations, profile.DurationFrom(k))
	}
	files, threads, ops := make(map[int]int), make(map[int32]int), make(map[format.Op]int)
	names := 0
	var b []byte
	var before [3]string
	for i := range p.Parts.List {
		from := &p.Parts.List[i]
		file := "-"
		if from.File != profile.PartNone {
			file = "0"
		}
		if from.File >= 0 {
			if _, ok := files[from.File]; !ok && names < maxPartNames {
				name := plain(p.Files[from.File].Name)
				names += len(name)
				out.Files = append(out.Files, name)
				files[from.File] = len(out.Files)
			}
			file = digits(int64(files[from.File]))
		}
		if _, ok := threads[from.Thread]; !ok && from.Thread >= 0 {
			out.Threads = append(out.Threads, from.Thread)
			threads[from.Thread] = len(out.Threads)
		}
		if _, ok := ops[from.Op]; !ok {
			out.Ops = append(out.Ops, from.Op.String())
			ops[from.Op] = len(out.Ops)
		}
		if i > 0 {
			b = append(b, ',')
		}
		for k, place := range [...]string{file, digits(int64(threads[from.Thread])), digits(int64(ops[from.Op]))} {
			if place != before[k] {
				b = append(b, place...)
			}
			before[k] = place
			b = append(b, '.')
		}
		rest := []int64{int64(from.Category), int64(from.Piece), from.Calls, from.Errors, from.Bytes, from.Nanos, int64(from.First)}
		if len(from.Durations) == 0 {
			rest = append(rest, 0)
		} else if len(from.Durations) > 1 || from.Durations[0] != from.Calls {
			rest = append(rest, from.Durations...)
		}
		for k, n := range rest {
			if k > 0 {
				b = append(b, '.')
			}
			b = strconv.AppendInt(b, n, 36)
		}
	}
	out.Records = string(b)
	return out
}

func digits(n int64) string { return strconv.FormatInt(n, 36) }
