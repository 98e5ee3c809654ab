package ptrace

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/format/coverage"
)

// largeUnmapped is the minimum length of an munmap at which the tracer stops, to see
// which pages were in memory. Shorter mappings count in full.
const largeUnmapped = 1 << 20

// The arguments of mmap; the size is that of munmap, too.
const (
	mmapSize  = 1
	mmapProt  = 2
	mmapFlags = 3
	mmapFD    = 4
)

// fileID tells files apart.
type fileID struct {
	major, minor uint32
	ino          uint64
}

func idOf(st *unix.Statx_t) fileID { return fileID{st.Dev_major, st.Dev_minor, st.Ino} }

// mapped is a file that was mapped into memory.
type mapped struct {
	id      fileID
	path    string
	program bool  // or a library, or of the C library's start: it does not count
	size    int64 // bytes, the most that is known of
	in      int64 // bytes that were in memory, those of all processes added up
	dirty   int64 // bytes that were written to, as far as seen before they were written back
}

// mapping is a range of a process's memory that a file was mapped to. Where a
// part of it was unmapped since it is still there.
type mapping struct {
	start, end uint64
	file       *mapped
}

func (m *mapping) len() int64 { return int64(m.end - m.start) }

// use is how a process uses a mapped file.
type use struct {
	in    int64 // bytes in memory; all of what is unmapped, where the part in memory is not known
	dirty int64 // bytes that were written to and not written back
}

// readMapped notes the file that a call of mmap is given, nil if it is none
// that counts.
func readMapped(tr *tracer, t *thread) {
	var now unix.Statx_t
	st, kept := &now, onDisk
	fd := int64(uint32(t.Args[mmapFD]))
	t.file = nil
	switch w := t.written; {
	case w != nil && !w.file, t.Args[mmapFlags]&unix.MAP_ANONYMOUS != 0:
		return
	case w != nil:
		st = &w.opened
		tr.learnMinor(t, fd, st)
		if st.Dev_major == 0 {
			kept = tr.storages[st.Dev_minor]
		}
	case !tr.statDescriptor(t.TID, fd, unix.STATX_BASIC_STATS, st):
		return
	default:
		kept = tr.storageOf(t.TID, st)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || kept != onDisk {
		return
	}
	f := tr.fileOf(st)
	if f.path == "" && tr.statDescriptor(t.TID, fd, unix.STATX_BASIC_STATS, &now) && idOf(&now) == f.id {
		f.path, _ = os.Readlink(unix.ByteSliceToString(tr.path))
		f.program = f.program || isOfLibC(path.Base(f.path))
	}
	f.size = max(f.size, int64(st.Size))
	f.program = f.program || t.Args[mmapProt]&unix.PROT_EXEC != 0
	t.file = f
}

// fileOf returns what is known of a mapped file.
func (tr *tracer) fileOf(st *unix.Statx_t) *mapped {
	f := tr.files[idOf(st)]
	if f == nil {
		f = &mapped{id: idOf(st)}
		tr.files[f.id] = f
	}
	return f
}

// isOfLibC reports whether a name is that of a file that the C library maps when
// a program starts, as it maps libraries.
func isOfLibC(name string) bool {
	return name == "ld.so.cache" || name == "locale-archive" || strings.HasPrefix(name, "gconv-modules.cache") ||
		strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "SYS_LC_")
}

// placeMapped notes where the file of a call of mmap has come to lie.
func placeMapped(_ *tracer, t *thread) {
	if t.Args[mmapFlags]&unix.MAP_ANONYMOUS == 0 && t.mapsUring() {
		return
	}
	start := uint64(t.Ret)
	t.process.place(mapping{start, start + (t.Args[mmapSize]+pageBytes-1)/pageBytes*pageBytes, t.file})
}

// place adds a mapping, whose file can be nil, over earlier ones. It is unknown how
// much of those was in memory, so they count in full.
func (p *process) place(m mapping) {
	for _, o := range p.cut(m.start, m.end) {
		o.file.in += o.len()
	}
	if m.file != nil && !m.file.program {
		p.maps = append(p.maps, m)
	}
}

// cut takes away the mappings in a range, and returns them. It drops those of
// programs.
func (p *process) cut(start, end uint64) (within []mapping) {
	var rest []mapping
	for _, m := range p.maps {
		if m.file.program {
			continue
		}
		from, to := max(start, m.start), min(end, m.end)
		if from >= to {
			rest = append(rest, m)
			continue
		}
		within = append(within, mapping{from, to, m.file})
		if m.start < from {
			rest = append(rest, mapping{m.start, from, m.file})
		}
		if to < m.end {
			rest = append(rest, mapping{to, m.end, m.file})
		}
	}
	p.maps = rest
	return within
}

// readUnmapped puts what a call of munmap takes away into the account.
func readUnmapped(tr *tracer, t *thread) {
	t.foreign = !tr.memory
	tr.keep(usesOf(t.TID, t.process.cut(t.Args[0], t.Args[0]+t.Args[1])))
}

// readSynced puts what a call of msync is to write back into the account: it is
// clean afterwards.
func readSynced(tr *tracer, t *thread) {
	if t.Args[2]&unix.MS_SYNC == 0 {
		return
	}
	p := process{maps: slices.Clone(t.process.maps)}
	for f, u := range usesOf(t.TID, p.cut(t.Args[0], t.Args[0]+t.Args[1])) {
		f.dirty += u.dirty
	}
}

// inherit gives a new process the mappings of the one that made it.
func (tr *tracer) inherit(p *process, child int32) {
	all := slices.Clone(p.maps)
	if len(all) == 0 {
		return
	}
	t := tr.threads[child]
	if t == nil {
		tr.heirs[child] = all
		return
	}
	own := t.process.maps
	t.process.maps = all
	for _, m := range own {
		t.process.place(m)
	}
}

// usesOf returns how the process of a stopped thread uses files by mappings.
func usesOf(tid int32, maps []mapping) map[*mapped]use {
	maps = slices.DeleteFunc(slices.Clone(maps), func(m mapping) bool { return m.file.program })
	if len(maps) == 0 {
		return nil
	}
	all := make(map[*mapped]use)
	add := func(f *mapped, in, dirty int64) {
		u := all[f]
		all[f] = use{u.in + in, u.dirty + dirty}
	}
	for _, m := range maps {
		add(m.file, m.len(), 0) // as if it were unmapped
	}
	areas, err := os.Open(fmt.Sprintf("/proc/%d/smaps", tid))
	if err != nil {
		return all
	}
	defer areas.Close()
	readAreas(bufio.NewScanner(areas), func(a *area) {
		var file *mapped
		for _, m := range maps {
			if start, end := max(a.start, m.start), min(a.end, m.end); start < end {
				file = m.file
				add(file, -int64(end-start), 0)
			}
		}
		if file != nil {
			add(file, a.in, a.dirty)
		}
	})
	return all
}

// area is a part of a process's memory that shows a file.
type area struct {
	start, end uint64
	in         int64 // bytes in memory
	dirty      int64 // bytes of the file that were written to and not written back
}

// readAreas calls take for each area of a file in the text of /proc/PID/smaps.
func readAreas(lines *bufio.Scanner, take func(*area)) {
	var a area
	var file, shared bool
	end := func() {
		if file {
			take(&a)
		}
	}
	for lines.Scan() {
		line := lines.Bytes()
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Rss":
			a.in = number(bytes.TrimLeft(value, " ")) << 10
		case "Shared_Dirty", "Private_Dirty":
			if shared {
				a.dirty += number(bytes.TrimLeft(value, " ")) << 10
			}
		default:
			if line[0] >= 'A' && line[0] <= 'Z' {
				continue
			}
			var permissions, device string
			var offset, inode uint64
			end()
			a = area{}
			_, err := fmt.Sscanf(string(line), "%x-%x %s %x %s %d", &a.start, &a.end, &permissions, &offset, &device, &inode)
			file, shared = err == nil && inode != 0, strings.HasSuffix(permissions, "s")
		}
	}
	end()
}

// keep puts how a process has used mapped files into the account.
func (tr *tracer) keep(all map[*mapped]use) {
	for f, u := range all {
		f.in += u.in
		f.dirty += u.dirty
		var st unix.Statx_t
		if f.path != "" && statx(append([]byte(f.path), 0), unix.STATX_BASIC_STATS, &st) == 0 && idOf(&st) == f.id {
			f.size = max(f.size, int64(st.Size))
		}
	}
}

// addMissing adds to an account what the recording does not hold.
func (tr *tracer) addMissing(a *coverage.Account) {
	for _, m := range tr.missing.Missing {
		a.Add(m)
	}
	if slices.ContainsFunc(a.Requests, func(m coverage.Missing) bool { return m.Kind == coverage.AIO }) {
		a.Recorded.Nanos += tr.awaited
		a.AddRequests(coverage.Missing{Kind: coverage.AIO, Amount: coverage.Amount{Nanos: tr.awaited}})
	}
	for _, f := range tr.files {
		if moved := min(f.in, f.size) + f.dirty; moved > 0 && !f.program {
			a.Add(coverage.Missing{Kind: coverage.Mapped, Files: 1, Amount: coverage.Amount{Bytes: moved, Nanos: coverage.Unknown}})
		}
	}
}
