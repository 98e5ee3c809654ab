package format

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Header holds the metadata of a recording or trace. Its text form, lines of "#
// key: value", is at the top of a script and, compressed, in a compiled trace.
type Header struct {
	// Meta holds the remarks without a field of their own, in order. Keys can
	// repeat.
	Meta []Meta

	// Threads is the thread table of a trace; thread n is Threads[n-1]. A
	// script has none.
	Threads []Thread

	// Ranks are the processes of a parallel program that the recording or trace holds.
	Ranks []Rank

	// Descriptors are the descriptors open before the first event, by process.
	Descriptors []Descriptor

	// Files is the fileset of a trace, directories before their contents.
	Files []File

	// Names are the application's names of the paths of a trace, or of a replay's log.
	// Without them a trace has only the paths below the root.
	Names []AppName
}

// Meta is one "# key: value" line. The key is printable ASCII.
type Meta struct{ Key, Value string }

// Well-known keys of Meta.
const (
	MetaCommand     = "command"       // the recorded command
	MetaStart       = "start"         // its start, or that of the replay, RFC 3339
	MetaKernel      = "kernel"        // uname -r
	MetaArch        = "arch"          // GOARCH
	MetaLost        = "lost"          // events that the recorder lost
	MetaCost        = "cost"          // "inside=NANOS outside=NANOS rich=NANOS": the recorder's own time per event
	MetaCwd         = "cwd"           // working directory at the start, quoted
	MetaUmask       = "umask"         // that of the command at the start, octal
	MetaProcess     = "process"       // a process that the recorder was attached to
	MetaPart        = "part of"       // a recording that began so many seconds before this script
	MetaEnded       = "ended"         // why a recording ended before what it is of
	MetaCgroup      = "cgroup"        // the cgroup that is recorded, quoted
	MetaFileSystems = "file systems"  // "MOUNT"=TYPE …: those of the files that were opened
	MetaCoverage    = "coverage"      // what the events moved on files: package coverage
	MetaRequests    = "requests"      // the part of it that requests of io_uring and libaio moved
	MetaUnsupported = "unsupported"   // I/O that the recording does not hold, by kind: package coverage
	MetaExit        = "exit"          // exit status of the command
	MetaElapsed     = "elapsed"       // its run time, seconds
	MetaPaths       = "paths"         // PathsFlat if the paths of the trace have no directories
	MetaLeftOut     = "left out"      // "OP=N …": events that compile left out
	MetaSkipped     = "skipped"       // "NAME=N …": lines of a foreign recording that are not taken, by kind
	MetaIncomplete  = "incomplete"    // parts that lack events, as a foreign recording itself says
	MetaDrift       = "drift"         // how two clocks of a foreign recording differ
	MetaReplay      = "replay"        // options of the replay; marks a script as a replay's log
	MetaTool        = "recorder"      // which recorder made the script
	MetaUnexplained = "unexplained"   // number of recorded results that contradict the simulation of compile
	MetaDelayed     = "delayed"       // share of the time for which the recorder had a processor, of those that it may use, while none of them was idle
	MetaStolen      = "stolen"        // share of the time in which processors had something to do that the host of a virtual machine had them
	MetaCrowded     = "crowded"       // of a server's trace: share of the time in which threads could run that others had the processors: package coverage
	MetaUncached    = "cache unknown" // of a trace: reads of which it is unknown whether they were in the page cache: package coverage
	MetaFloor       = "floor"         // of a trace: the minimum time of a replay (Floor)
	MetaGrouped     = "grouped"       // of a trace: how threads share syncs (Grouping)
	MetaProcessors  = "processors"    // of a trace: number of processors that its threads compete for: see Header.Processors
	MetaSharing     = "sharing"       // of a trace: number of processes that share a table of descriptors (CLONE_FILES)
	MetaLayer       = "layer"         // "NAME LIBRARY …": a library whose calls were recorded as spans
	MetaGlobal      = "global"        // "LAYER NAME VALUE": the handle that a variable of a layer's library has
	MetaMapped      = "mapped"        // of a trace: maximum size of the mapped files in the address space of a process, in bytes

	MetaRanks = "ranks" // of a recording of a node: "N run=ID machine=ID begun=SECONDS" (Program)
	MetaClock = "clock" // of the same: a Clock

	// Where a recording or a replay ran: package provenance.
	MetaOptions  = "options"  // of the command that made the script
	MetaVersion  = "version"  // of Pianola
	MetaHost     = "host"     // uname -n
	MetaCPU      = "cpu"      // its model
	MetaCPUs     = "cpus"     // how many processors the program may use
	MetaMount    = "mount"    // "TYPE OPTIONS" of the file system of the working directory, or of the root of a replay
	MetaDevice   = "device"   // the disks below it
	MetaLoad     = "load"     // load averages at the start
	MetaPressure = "pressure" // "cpu=SHARE io=SHARE memory=SHARE": per cent of the ten seconds before

	MetaPressureEnd = "pressure after" // the same of the ten seconds before the end
)

// PathsFlat is the value of MetaPaths.
const PathsFlat = "flat"

// Thread is a row of the thread table.
type Thread struct {
	Process int32 // number of the process, from 1
	Parent  int32 // number of the thread that created it, 0 for none
	Start   int64 // nanoseconds from the start of the recording to its creation

	// Ring says that this is not a thread of the program but a ring of io_uring or a
	// context of libaio. Its events are requests, in the order of submission, and the
	// Compute of a request is the time since the submission of the previous one. An
	// event that comes after a request comes after all requests of the ring up to that
	// one.
	Ring Via

	Replies int64 // its events that are replies to unrecorded clients; a writer of traces counts them

	rankPlus1 int32 // so that the zero Thread has no rank
}

// TellsWakers reports whether a recording of several threads notes which thread woke
// which. Recordings by eBPF do.
func (h *Header) TellsWakers() bool {
	tool, _ := h.Value(MetaTool)
	_, replayed := h.Value(MetaReplay)
	return tool == "ebpf" && len(h.Threads) == 0 && !replayed
}

// Descriptor is a file descriptor that was open before the first event.
type Descriptor struct {
	Process int32 // trace: number of the process; script: its process id
	FD      int32
	Flags   int64 // canonical
	Offset  int64
	Path    string // absolute in a script, below the root in a trace; "pipe:[1]" and the like in a script

	// A recorder notes of a file or a block device what the notes of its open would have.
	Has    Noted // which of the fields below are known, of ofDescriptor
	Type   FileType
	Mode   uint32
	Size   int64
	Cached int64
	Dirty  int64
}

// ofDescriptor are the notes that a descriptor can have.
const ofDescriptor = NotedType | NotedMode | NotedSize | NotedCached | NotedDirty

// Notes returns what a recorder knew of the file.
func (d *Descriptor) Notes() *Notes {
	return &Notes{Has: d.Has, Type: d.Type, Mode: d.Mode, Size: d.Size, Cached: d.Cached, Dirty: d.Dirty}
}

func (d *Descriptor) append(dst []byte) []byte {
	dst = fmt.Appendf(dst, "# fd: %d %d ", d.Process, d.FD)
	dst = OpenFlags.Append(dst, d.Flags)
	dst = fmt.Appendf(dst, " %d ", d.Offset)
	dst = AppendQuoted(dst, []byte(d.Path))
	e := Event{Notes: d.Notes()}
	for has := d.Has; has != 0; {
		var f *Field
		f, has = has.Note()
		dst = f.Append(append(dst, ' '), &e)
	}
	return append(dst, '\n')
}

// FileType is the type of a file.
type FileType uint8

// The file types: reg, dir, lnk, fifo, sock, chr, blk. TypePseudo is any file whose
// contents the kernel generates: a file of a pseudo file system such as /proc, or an
// eventfd.
const (
	TypeUnknown FileType = iota
	TypeReg
	TypeDir
	TypeLnk
	TypeFifo
	TypeSock
	TypeChr
	TypeBlk
	TypePseudo
)

var typeNames = [...]string{"unknown", "reg", "dir", "lnk", "fifo", "sock", "chr", "blk", "pseudo"}

func (t FileType) String() string { return typeNames[t] }

// ParseFileType returns the type with a name, TypeUnknown for any other name.
func ParseFileType(name []byte) FileType {
	for i, s := range typeNames {
		if s == string(name) {
			return FileType(i)
		}
	}
	return TypeUnknown
}

// File is a file of the fileset, which must exist before a replay.
type File struct {
	Path   string // below the root, without a leading slash
	Type   FileType
	Mode   uint32    // permissions
	Size   int64     // bytes; of a directory the bytes that getdents64 returned
	Cached int64     // pages in the page cache before the start, -1 if unknown
	Dirty  int64     // of these, pages that were not on storage yet
	Sparse bool      // no blocks
	Blocks []Stretch // of a regular file, if its blocks are not known to be written up to the size; the rest is a hole
	Target string    // of a symbolic link
	Link   string    // hard link to this path of the fileset, if not empty
	Attrs  []Attr    // extended attributes that the trace reads
}

// Attr is an extended attribute. Only the size of its value is known.
type Attr struct {
	Name string
	Size int64 // bytes
}

// Ring returns how the events of a thread, counted from 1, are asked for
// (Thread.Ring).
func (h *Header) Ring(thread int32) Via {
	if thread < 1 || int(thread) > len(h.Threads) {
		return ViaCall
	}
	return h.Threads[thread-1].Ring
}

// Processors returns the number of processors for which the threads of a trace compete, as
// those of a server do: their waits for one are no compute. It is 0 for a trace in which these
// waits are compute.
func (h *Header) Processors() int {
	text, _ := h.Value(MetaProcessors)
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Value returns the value of the last remark with that key.
func (h *Header) Value(key string) (string, bool) {
	for i := len(h.Meta) - 1; i >= 0; i-- {
		if h.Meta[i].Key == key {
			return h.Meta[i].Value, true
		}
	}
	return "", false
}

// Foreign says what the header of a foreign recording tells of events that are missing:
// nothing, or sentences without an end, of a bounded length.
func (h *Header) Foreign() (all []string) {
	for _, one := range []struct{ key, text string }{
		{MetaSkipped, "lines that are not taken"}, {MetaIncomplete, "the file says that these parts of it are incomplete"},
		{MetaDrift, "its clocks differ, so times can be wrong"},
	} {
		const most = 300
		if value, ok := h.Value(one.key); ok {
			if len(value) > most {
				value = value[:most] + "…"
			}
			all = append(all, one.text+": "+value)
		}
	}
	return all
}

// Set replaces the remarks with that key by one.
func (h *Header) Set(key, value string) {
	for i := range h.Meta {
		if h.Meta[i].Key == key {
			h.Meta[i].Value = value
			return
		}
	}
	h.Meta = append(h.Meta, Meta{key, value})
}

// impliesThreads reports whether the header needs no thread table: without one, a trace
// has one thread of one process, from the start.
func (h *Header) impliesThreads() bool {
	return len(h.Threads) == 0 || len(h.Threads) == 1 && h.Threads[0] == Thread{Process: 1}
}

// Append appends the header's lines. An empty header has none.
func (h *Header) Append(dst []byte) []byte {
	for _, m := range h.Meta {
		dst = AppendMeta(dst, m.Key, m.Value)
	}
	if !h.impliesThreads() {
		for i, t := range h.Threads {
			dst = fmt.Appendf(dst, "# thread: %d process=%d parent=%d ", i+1, t.Process, t.Parent)
			if t.Rank() >= 0 {
				dst = fmt.Appendf(dst, "rank=%d ", t.Rank())
			}
			if t.Ring != ViaCall {
				dst = fmt.Appendf(dst, "ring=%v ", t.Ring)
			}
			if t.Replies > 0 {
				dst = fmt.Appendf(dst, "replies=%d ", t.Replies)
			}
			dst = append(AppendSeconds(append(dst, "start="...), t.Start), '\n')
		}
	}
	for i := range h.Ranks {
		dst = h.Ranks[i].append(dst)
	}
	for i := range h.Descriptors {
		dst = h.Descriptors[i].append(dst)
	}
	for i := range h.Files {
		dst = h.Files[i].append(dst)
	}
	for i := range h.Names {
		dst = h.Names[i].append(dst)
	}
	return dst
}

// AppendMeta appends one "# key: value" line. AppendVisible escapes newlines in
// the value.
func AppendMeta(dst []byte, key, value string) []byte {
	dst = append(append(dst, "# "...), key...)
	dst = AppendVisible(append(dst, ": "...), []byte(value))
	return append(dst, '\n')
}

func (f *File) append(dst []byte) []byte {
	dst = append(dst, "# file: "...)
	dst = AppendQuoted(dst, []byte(f.Path))
	dst = fmt.Appendf(dst, " %s mode=%#o size=%d cached=%d", f.Type, f.Mode, f.Size, f.Cached)
	if f.Dirty > 0 {
		dst = fmt.Appendf(dst, " dirty=%d", f.Dirty)
	}
	if f.Sparse {
		dst = append(dst, " sparse"...)
	}
	if len(f.Blocks) > 0 {
		dst = AppendBlocks(append(dst, " blocks="...), f.Blocks)
	}
	if f.Target != "" {
		dst = AppendQuoted(append(dst, " target="...), []byte(f.Target))
	}
	if f.Link != "" {
		dst = AppendQuoted(append(dst, " link="...), []byte(f.Link))
	}
	for _, a := range f.Attrs {
		dst = AppendQuoted(append(dst, " attr="...), []byte(a.Name))
		dst = strconv.AppendInt(append(dst, ':'), a.Size, 10)
	}
	return append(dst, '\n')
}

var errHeader = errors.New("malformed header line")

// ParseLine adds a "# key: value" line to the header. It ignores a line without
// a key, which is a comment. A key that is not printable ASCII is an error.
func (h *Header) ParseLine(line []byte) error {
	line, ok := bytes.CutPrefix(line, []byte("#"))
	if !ok {
		return errHeader
	}
	key, value, ok := bytes.Cut(bytes.TrimLeft(line, " "), []byte(": "))
	if !ok {
		return nil
	}
	switch string(key) {
	case "thread":
		return h.parseThread(value)
	case "rank":
		return h.parseRank(value)
	case "fd":
		return h.parseDescriptor(value)
	case "file":
		return h.parseFile(value)
	case "name":
		return h.parseName(value)
	}
	for _, c := range key {
		if c < ' ' || c >= 0x7f {
			return fmt.Errorf("%w: the key %s is not printable ASCII", errHeader, AppendQuoted(nil, key))
		}
	}
	h.Meta = append(h.Meta, Meta{string(key), string(value)})
	return nil
}

func (h *Header) parseThread(value []byte) error {
	s := scanner{rest: value}
	n := s.int(31)
	t := Thread{Process: int32(s.field("process", 31)), Parent: int32(s.field("parent", 31))}
	if bytes.HasPrefix(s.rest, []byte("rank=")) {
		rank := s.field("rank", 31)
		s.failed = s.failed || rank < 0 || rank > MaxRank
		t = t.OfRank(int32(rank))
	}
	if word, ring := bytes.CutPrefix(s.rest, []byte("ring=")); ring {
		s.rest = word
		via, ok := ParseVia(s.word())
		t.Ring, s.failed = via, s.failed || !ok
	}
	if bytes.HasPrefix(s.rest, []byte("replies=")) {
		t.Replies = s.field("replies", 63)
	}
	s.literal("start=")
	t.Start = s.seconds()
	if err := s.end("thread"); err != nil {
		return err
	}
	if n != int64(len(h.Threads)+1) {
		return fmt.Errorf("%w: thread %d instead of thread %d", errHeader, n, len(h.Threads)+1)
	}
	h.Threads = append(h.Threads, t)
	return nil
}

func (h *Header) parseDescriptor(value []byte) error {
	s := scanner{rest: value}
	d := Descriptor{Process: int32(s.int(31)), FD: int32(s.int(31))}
	flags, err := OpenFlags.Parse(s.word())
	if err != nil {
		return fmt.Errorf("%w: %w", errHeader, err)
	}
	d.Flags, d.Offset, d.Path = flags, s.int(63), s.quoted()
	e := Event{Notes: &Notes{}}
	for s.skip(' '); len(s.rest) > 0 && !s.failed; {
		key, value, _ := bytes.Cut(s.word(), []byte("="))
		known := false
		for has := ofDescriptor; has != 0 && !known; {
			var f *Field
			if f, has = has.Note(); f.Key == string(key) {
				var v FieldValue
				v, known = f.Parse(value)
				f.Set(&e, v)
			}
		}
		s.failed = s.failed || !known
	}
	n := e.Notes
	d.Has, d.Type, d.Mode, d.Size, d.Cached, d.Dirty = n.Has, n.Type, n.Mode, n.Size, n.Cached, n.Dirty
	if err := s.end("fd"); err != nil {
		return err
	}
	h.Descriptors = append(h.Descriptors, d)
	return nil
}

func (h *Header) parseFile(value []byte) error {
	s := scanner{rest: value}
	f := File{Path: s.quoted()}
	s.literal(" ")
	f.Type = ParseFileType(s.word())
	mode := s.field("mode", 31)
	f.Mode, f.Size, f.Cached = uint32(mode), s.field("size", 63), s.field("cached", 63)
	s.failed = s.failed || mode < 0 || f.Size < 0
	for len(s.rest) > 0 && !s.failed {
		switch word, _, _ := bytes.Cut(s.rest, []byte("=")); string(word) {
		case "blocks":
			s.literal("blocks=")
			blocks, ok := ParseBlocks(s.word())
			f.Blocks, s.failed = blocks, s.failed || !ok
			continue
		case "dirty":
			f.Dirty = s.field("dirty", 63)
			s.failed = s.failed || f.Dirty < 0
			continue
		case "target":
			s.literal("target=")
			f.Target = s.quoted()
		case "link":
			s.literal("link=")
			f.Link = s.quoted()
		case "attr":
			s.literal("attr=")
			a := Attr{Name: s.quoted()}
			s.literal(":")
			a.Size = s.int(63)
			s.failed = s.failed || a.Size < 0
			f.Attrs = append(f.Attrs, a)
			continue // the number took the space after it
		default:
			if string(s.word()) != "sparse" {
				return fmt.Errorf("%w: file", errHeader)
			}
			f.Sparse = true
			continue
		}
		s.skip(' ')
	}
	if err := s.end("file"); err != nil {
		return err
	}
	if f.Type == TypeUnknown {
		return fmt.Errorf("%w: file without a type", errHeader)
	}
	h.Files = append(h.Files, f)
	return nil
}

// scanner parses a line from the left and remembers whether it failed.
type scanner struct {
	rest   []byte
	failed bool
}

func (s *scanner) skip(c byte) {
	if len(s.rest) > 0 && s.rest[0] == c {
		s.rest = s.rest[1:]
	}
}

func (s *scanner) word() []byte {
	word, rest, _ := bytes.Cut(s.rest, []byte(" "))
	s.rest = rest
	return word
}

func (s *scanner) literal(text string) {
	rest, ok := bytes.CutPrefix(s.rest, []byte(text))
	s.rest, s.failed = rest, s.failed || !ok
}

// int parses a word as a signed number of at most bits bits.
func (s *scanner) int(bits int) int64 {
	return s.number(s.word(), bits)
}

func (s *scanner) number(word []byte, bits int) int64 {
	v, err := strconv.ParseInt(string(word), 0, bits+1)
	s.failed = s.failed || err != nil
	return v
}

func (s *scanner) field(key string, bits int) int64 {
	s.literal(key + "=")
	return s.int(bits)
}

func (s *scanner) seconds() int64 {
	v, err := ParseSeconds(s.word())
	s.failed = s.failed || err != nil
	return v
}

func (s *scanner) quoted() string {
	v, rest, err := Unquote(nil, s.rest)
	s.rest, s.failed = rest, s.failed || err != nil
	return string(v)
}

func (s *scanner) end(what string) error {
	if s.failed || len(s.rest) > 0 {
		return fmt.Errorf("%w: %s", errHeader, what)
	}
	return nil
}
