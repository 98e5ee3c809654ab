package profile

import "strings"

// othersName is what stands in a table for those that are not told apart, and
// noFileName for calls that are about no file.
const (
	othersName = "(others)"
	noFileName = "(no file)"
)

// files returns a row for every file, and for the calls that belong to none of
// them: together they are all calls. There can be many, so that they are not copied.
func (p *Profile) files() []*File {
	rows := pointers(p.Files)
	if !p.OtherFiles.empty() {
		others := p.OtherFiles
		others.Name = othersName
		rows = append(rows, &others)
	}
	if !p.NoFile.empty() {
		rows = append(rows, &File{Name: noFileName, Usage: p.NoFile})
	}
	return rows
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// threads returns a row for every thread, and for those not told apart.
func (p *Profile) threads() []Thread {
	rows := append([]Thread(nil), p.Threads...)
	if !p.OtherThreads.empty() {
		rows = append(rows, p.OtherThreads)
	}
	return rows
}

// Directory is what was done to the files that stand in one directory, and not
// in one below it.
type Directory struct {
	Name  string
	Files int
	Usage
	Access [2]Access // without sizes and strides
}

// Directories returns the directories of all files, the one with the most time first.
// I/O on other descriptors is in the directory "".
func (p *Profile) Directories() []Directory {
	var rows []Directory
	place := make(map[string]int)
	for _, f := range p.files() {
		name := "."
		switch i := strings.LastIndexByte(f.Name, '/'); {
		case i > 0:
			name = f.Name[:i]
		case i == 0:
			name = "/"
		case f.Name == othersName || f.Name == noFileName:
			name = f.Name
		}
		at, ok := place[name]
		if !ok {
			at = len(rows)
			place[name] = at
			rows = append(rows, Directory{Name: name})
		}
		d := &rows[at]
		d.Files++
		d.merge(&f.Usage)
		for k := range d.Access {
			d.Access[k].merge(&f.Access[k])
		}
	}
	sortByTime(rows, func(d Directory) int64 { io := d.IO(); return io.Nanos }, func(d Directory) string { return d.Name })
	return rows
}

// Access returns how all files together were read and written.
func (p *Profile) Access() (sum [2]Access) {
	for _, f := range p.files() {
		for k := range sum {
			sum[k].merge(&f.Access[k])
		}
	}
	return sum
}
