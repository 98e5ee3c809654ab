package export

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
)

// programWriter writes a C program that makes the calls of a trace without Pianola. A row of
// its table is an event. The code that makes the calls of an operation follows from the row
// of the operation, or from programCalls. The head says what the program leaves out, which
// is known at the end. So the rows are in memory up to then.
type programWriter struct {
	out     io.Writer
	h       *format.Header
	threads []programThread
	process map[int32]int64 // number in the program
	used    [format.NumOps]bool
	ops     []format.Op      // that are used, in the order of their first events
	left    map[string]int64 // events that are left out, by name
	bytes   int64            // size of the rows

	reads, writes int64 // sizes of buffers, in bytes
	descriptors   int64 // one more than the highest number
}

// programThread is a thread of the program.
type programThread struct {
	rows   []byte
	events int64
	needs  int64       // number of events that edges need it to have
	birth  format.Edge // when it starts
}

// The bounds of a program. A larger table would take a compiler too much memory.
const (
	maxProgram     = 64 << 20 // bytes of the rows
	maxDescriptors = 1 << 20
	leastReads     = 64 << 10 // of the buffer of a thread: any struct, or a path
	leastWrites    = 1 << 20
)

//go:embed program/main.c
var programText string

func newProgram(w io.Writer, h *format.Header) (Writer, error) {
	p := &programWriter{out: w, h: h, threads: make([]programThread, max(len(h.Threads), 1)), process: map[int32]int64{}, left: map[string]int64{},
		reads: leastReads, writes: leastWrites, descriptors: 1}
	for i := range h.Threads {
		p.threads[i].birth.Delay = max(h.Threads[i].Start, 0)
	}
	return p, nil
}

// byRow marks operations whose function in C has the name and the arguments of the row.
const byRow = "row"

// programCalls are the expressions in C of the operations that a program makes. %0 is the
// first argument in the program, a[0] the number in the trace. Operations without one are
// left out.
var programCalls = [format.NumOps]string{
	format.OpOpen: byRow, format.OpOpenm: "open(%0, %1, %2)", format.OpReopen: "open(link_of(t, a[0]), a[1] & ~(O_CREAT | O_EXCL | O_NOFOLLOW))",
	format.OpClose: "close(take(t, a[0]))", format.OpCloseRange: "shut(t, a[0], a[1], a[2])",

	format.OpRead: byRow, format.OpReadv: byRow, format.OpPread64: "pread(%0, %1, %2, %3)", format.OpPreadv: byRow, format.OpPreadv2: byRow,
	format.OpWrite: byRow, format.OpWritev: byRow, format.OpPwrite64: "pwrite(%0, %1, %2, %3)", format.OpPwritev: byRow, format.OpPwritev2: byRow,
	format.OpCopyFileRange: "copy_file_range(%0, offset(t, 0, %1), %2, offset(t, 1, %3), %4, 0)", format.OpSendfile: "sendfile(%0, %1, offset(t, 0, %2), %3)",

	format.OpFsync: byRow, format.OpFdatasync: byRow, format.OpSyncfs: byRow, format.OpSync: "syncfs(root)", format.OpSyncFileRange: byRow,
	format.OpFadvise64: "syscall(SYS_fadvise64, %0, %1, %2, %3)", format.OpReadahead: byRow,

	format.OpLseek: byRow, format.OpFtruncate: byRow, format.OpTruncate: byRow, format.OpFallocate: byRow,
	format.OpStat: byRow, format.OpLstat: byRow, format.OpFstat: byRow, format.OpStatx: byRow, format.OpFstatx: `statx(%0, "", %1 | AT_EMPTY_PATH, %2, %3)`,
	format.OpAccess: byRow, format.OpFaccessat2: "faccessat(%0, %1, %2, %3)", format.OpFaccess: "faccessat(AT_FDCWD, link_of(t, a[0]), %1, 0)",
	format.OpStatfs: byRow, format.OpFstatfs: byRow, format.OpGetdents64: "syscall(SYS_getdents64, %0, %1, %2)",

	format.OpMkdir: byRow, format.OpRmdir: byRow, format.OpUnlink: byRow, format.OpRename: byRow, format.OpRenameat2: "syscall(SYS_renameat2, %0, %1, %2, %3, %4)",
	format.OpLink: byRow, format.OpLinkat: "linkat(AT_FDCWD, link_of(t, a[0]), AT_FDCWD, %3, AT_SYMLINK_FOLLOW)", format.OpSymlink: byRow, format.OpReadlink: byRow,
	format.OpMknod: "mknod(%0, S_IFREG | %1, 0)", format.OpBind: "mknod(%1, S_IFSOCK | 0755, 0)", format.OpChmod: byRow, format.OpFchmod: byRow, format.OpFchmodat2: "fchmodat(%0, %1, %2, %3)",
	format.OpChown: "chown(%0, -1, -1)", format.OpFchown: "fchown(%0, -1, -1)", format.OpLchown: "lchown(%0, -1, -1)",
	format.OpUtimens: "utimensat(AT_FDCWD, %0, NULL, %2)", format.OpFutimens: "futimens(%0, NULL)",

	format.OpDup: byRow, format.OpDup2: "dup(%0)", format.OpDup3: "fcntl(%0, a[2] & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0)",
	format.OpFcntl: "control(t, e)", format.OpFlock: byRow,

	format.OpClone: "create(t, e)", format.OpExecve: "execute(t, e)", format.OpUnshare: "unshare_files(t, e)",
	format.OpExit: "recorded(e)", format.OpExitGroup: "recorded(e)", format.OpWait4: "recorded(e)",
	format.OpPipeRead: "recorded(e)", format.OpPipeWrite: "recorded(e)", format.OpClientRequest: "recorded(e)", format.OpClientReply: "recorded(e)",
}

// programResults are the values of enum result of the program. Others are DONE.
var programResults = map[format.Result]string{format.ResultZero: "EQUAL", format.ResultBytes: "EQUAL", format.ResultSome: "SOME"}

func (p *programWriter) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if e.Enters != nil {
			continue
		}
		if err := checkOp(e); err != nil {
			return err
		}
		if e.TID < 1 || int(e.TID) > len(p.threads) {
			return fmt.Errorf("%s: thread %d is not in the trace", e.Op, e.TID)
		}
		t := &p.threads[e.TID-1]
		if e.Op.Info().Effect == format.EffectFork && e.Ret >= 1 && e.Ret <= int64(len(p.h.Threads)) && p.h.Threads[e.Ret-1].Parent == e.TID {
			p.threads[e.Ret-1].birth = format.Edge{Thread: e.TID, Event: t.events}
		}
		before := len(t.rows)
		var err error
		if t.rows, err = p.appendEvent(t.rows, e, t.events); err != nil {
			return fmt.Errorf("%s of thread %d at %s s: %w", e.Op, e.TID, format.AppendSeconds(nil, e.Start), err)
		}
		t.events++
		if p.bytes += int64(len(t.rows) - before); p.bytes > maxProgram {
			return fmt.Errorf("the program has tables of more than %d MiB, which take a compiler too much memory: compile --filter selects a part of the trace", maxProgram>>20)
		}
	}
	return nil
}

// appendEvent appends the row of an event.
func (p *programWriter) appendEvent(dst []byte, e *format.Event, number int64) ([]byte, error) {
	made := makes(e)
	dst = append(dst, "\t{"...)
	if made {
		if !p.used[e.Op] {
			p.used[e.Op], p.ops = true, append(p.ops, e.Op)
		}
		dst = appendCallName(dst, e.Op)
	} else {
		dst = append(dst, '0')
		p.left[e.Name()]++
	}
	dst = appendC(append(dst, ", "...), max(e.Compute-e.Held, 0))
	dst = append(dst, ", "...)
	if made {
		var err error
		if dst, err = p.appendCallOf(dst, e); err != nil {
			return dst, err
		}
	} else {
		dst = append(dst, "0, {0}, {0}"...)
	}
	var pace format.Pace
	open := false
	for i := range e.Edges {
		d := &e.Edges[i]
		if !d.Valid(e.TID, number) || int(d.Thread) > len(p.threads) {
			return dst, fmt.Errorf("edge to event %d of thread %d", d.Event, d.Thread)
		}
		if d.Kind.Commits() || pace.Ignores(d.Kind) {
			continue
		}
		if !open {
			dst, open = append(dst, ", (const struct edge[]){"...), true
		}
		dst = append(appendEdge(dst, d), ", "...)
		if d.Thread > 0 {
			t := &p.threads[d.Thread-1]
			t.needs = max(t.needs, d.Event+1)
		}
	}
	if open {
		dst = append(dst, "{-1}}"...)
	}
	return append(dst, "},\n"...), nil
}

// makes reports whether a program makes the call of an event.
func makes(e *format.Event) bool {
	if e.Via != format.ViaCall || programCalls[e.Op] == "" {
		return false
	}
	switch info := e.Op.Info(); info.Effect {
	case format.EffectFcntl:
		_, takes := fcntlForms[e.Args[1]]
		return takes || e.Args[1] == format.FDupfd || e.Args[1] == format.FDupfdCloexec || e.Args[1] == format.FSetfd || e.Args[1] == format.FSetfl
	case format.EffectCopy: // not with what is no file
		return e.FD() >= 0 && e.OutFD() >= 0
	case format.EffectSymlink:
		return staysBelow(string(e.Str[info.At.Text]))
	}
	return true
}

// staysBelow reports whether the target of a symbolic link leads nowhere above the link,
// wherever that is moved.
func staysBelow(target string) bool {
	return filepath.IsLocal(target) && !slices.Contains(strings.Split(target, "/"), "..") && strings.IndexByte(target, 0) < 0
}

// appendCallOf appends result, arguments and names.
func (p *programWriter) appendCallOf(dst []byte, e *format.Event) ([]byte, error) {
	info := e.Op.Info()
	at := &info.At
	if dup := info.Effect == format.EffectFcntl && (e.Args[1] == format.FDupfd || e.Args[1] == format.FDupfdCloexec); dup || info.Result == format.ResultFD {
		p.descriptors = max(p.descriptors, min(e.Ret, maxDescriptors-1)+1)
	}
	dst = append(appendC(dst, e.Ret), ", {"...)
	for k := range info.Args {
		v := e.Args[k]
		set := info.FlagsOf(e, k)
		switch kind := info.Args[k].Kind; {
		case kind.IsString(), kind == format.Addr:
			v = 0
		case kind == format.Mode, kind == format.OptMode:
			v &= 0o777 // a program for strangers sets no set-user-ID bit
		case int8(k) == at.Size && (at.Buf >= 0 || at.Vector >= 0):
			v = min(v, maxTransfer)
			if info.Class == format.ClassWrite {
				p.writes = max(p.writes, v)
			} else {
				p.reads = max(p.reads, v)
			}
		case set == format.Whence && info.Effect == format.EffectFcntl:
			v = format.LockWhence(v)
		}
		if k > 0 {
			dst = append(dst, ", "...)
		}
		if kind := info.Args[k].Kind; kind == format.Mode || kind == format.OptMode {
			dst = strconv.AppendInt(append(dst, '0'), v, 8)
		} else if set != nil && info.Class != format.ClassProcess {
			dst = appendFlags(dst, set, v)
		} else {
			dst = appendC(dst, v)
		}
	}
	if len(info.Args) == 0 {
		dst = append(dst, '0')
	}
	dst = append(dst, "}, {"...)
	for n := range e.Str {
		s := e.Str[n]
		if n > 0 {
			dst = append(dst, ", "...)
		}
		if s == nil || at.Strings == 0 || e.Op == format.OpExecve {
			dst = append(dst, '0')
			continue
		}
		text := string(unmarked(s))
		if int8(n) != at.Text {
			if err := isBelow(text); err != nil {
				return dst, err
			}
		}
		dst = appendCString(dst, text)
	}
	return append(dst, '}'), nil
}

// isBelow returns an error for a path that could lead out of the directory of a program.
func isBelow(path string) error {
	if path != "" && !filepath.IsLocal(path) || strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("path %q leaves the root", path)
	}
	return nil
}

// appendFlags appends a word of flags. Flags whose bits depend on the platform have their names.
func appendFlags(dst []byte, set *format.FlagSet, v int64) []byte {
	known, depends := int64(0), false
	for i := range set.Flags {
		f := &set.Flags[i]
		known |= int64(f.Canon)
		depends = depends || slices.ContainsFunc(f.Native[:], func(n uint64) bool { return n != f.Canon })
	}
	switch {
	case set.Enum:
		return appendC(dst, v)
	case depends:
		return set.Append(dst, v&(known|-1<<32))
	}
	return appendC(dst, v&math.MaxUint32|int64(uint64(v)>>32))
}

func appendCallName(dst []byte, op format.Op) []byte {
	return append(append(dst, "call_"...), op.String()...)
}

func appendEdge(dst []byte, d *format.Edge) []byte {
	dst = appendC(append(dst, '{'), int64(d.Thread))
	dst = appendC(append(dst, ", "...), d.Event)
	return append(appendC(append(dst, ", "...), d.Delay), '}')
}

// appendC appends a number as C has it. The least one is that of format.NoResult.
func appendC(dst []byte, v int64) []byte {
	if v == format.NoResult {
		return append(dst, "NO_RESULT"...)
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendCString appends a string literal. Octal escapes have three digits, so the next
// character is not part of them. A question mark could begin a trigraph.
func appendCString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '?' {
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// LeftOut returns what the program leaves out, as "ioctl=1 mmap=2".
func (p *programWriter) LeftOut() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.left)) {
		fmt.Fprintf(&b, " %s=%d", name, p.left[name])
	}
	return strings.TrimPrefix(b.String(), " ")
}

func (p *programWriter) Close() error {
	files, err := p.appendFiles(nil)
	if err != nil {
		return err
	}
	var events int64
	for i := range p.threads {
		t := &p.threads[i]
		if events += t.events; t.needs > t.events {
			return fmt.Errorf("edge to event %d of thread %d, which has %d", t.needs-1, i+1, t.events)
		}
	}
	rows := p.appendThreads(nil)
	descriptors, err := p.appendDescriptors(nil)
	if err != nil {
		return err
	}
	types, rest, _ := strings.Cut(programText, "/* TABLES */\n")
	middle, end, _ := strings.Cut(rest, "/* CALLS */\n")
	var calls []byte
	table, names := []byte("static const struct operation operations[] = {\n\t{\"left out\", DONE},\n"), []byte("enum {\n\tleft_out,\n")
	for _, op := range p.ops {
		info := op.Info()
		names = append(appendCallName(append(names, '\t'), op), ",\n"...)
		result, ok := programResults[info.Result]
		if !ok {
			result = "DONE"
		}
		table = fmt.Appendf(table, "\t{\"%s\", %s},\n", info.Name, result)
		calls = append(appendCallName(append(calls, "\tcase "...), op), ":\n\t\treturn "...)
		calls = append(appendExpression(calls, op), ";\n"...)
	}
	left := p.LeftOut()
	if left == "" {
		left = "nothing"
	}
	head := fmt.Sprintf(`/* The I/O of a trace: %d events of %d threads. Processes are threads, too.

   cc -Wall -pthread -o program program.c
   ./program DIRECTORY             makes the files in an empty directory, and runs
   ./program DIRECTORY prepare     makes the files only; "run" then runs

   Left out: %s */

`, events, len(p.threads), left)
	sizes := fmt.Sprintf("#define NO_RESULT (-%dLL - 1)\n#define DESCRIPTORS %d\n#define PROCESSES %d\n#define EVENTS %d\n#define READS %dUL\n#define WRITES %dUL\n#define UMASK %#o\n\n",
		int64(math.MaxInt64), p.descriptors, len(p.process), events, p.reads, p.writes, p.h.Umask()&0o777)
	parts := [][]byte{[]byte(head), []byte(types), []byte(sizes), names, []byte("};\n\n"), table, []byte("};\n\n"), files, descriptors, []byte("static const struct event events[] = {\n")}
	for i := range p.threads {
		parts = append(parts, p.threads[i].rows)
	}
	for _, part := range append(parts, []byte("\t{0},\n};\n\n"), rows, []byte(middle), calls, []byte(end)) {
		if _, err := p.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// appendExpression appends the call of an operation in C.
func appendExpression(dst []byte, op format.Op) []byte {
	info, form := op.Info(), programCalls[op]
	if info.Result == format.ResultFD {
		dst = append(dst, "give(t, e, "...)
	}
	if form == byRow {
		dst = append(append(dst, info.Name...), '(')
		for k := range info.Args {
			if info.Synthetic>>k&1 != 0 && info.Args[k].Kind == format.Size { // the sum of a vector
				continue
			}
			if k > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendParameter(dst, info, k)
		}
		dst = append(dst, ')')
	} else {
		for i := 0; i < len(form); i++ {
			if form[i] != '%' {
				dst = append(dst, form[i])
				continue
			}
			i++
			dst = appendParameter(dst, info, int(form[i]-'0'))
		}
	}
	if info.Result == format.ResultFD {
		dst = append(dst, ')')
	}
	return dst
}

// appendParameter appends an argument of a call.
func appendParameter(dst []byte, info *format.Info, k int) []byte {
	buffer := "t->in"
	if info.Class == format.ClassWrite {
		buffer = "out"
	}
	switch kind := info.Args[k].Kind; {
	case int8(k) == info.At.Vector:
		return fmt.Appendf(dst, "vector(t, %s, a[%d], a[%d])", buffer, info.At.Count, info.At.Size)
	case kind == format.Addr:
		return append(dst, buffer...)
	case kind == format.FD:
		return fmt.Appendf(dst, "real(t, a[%d])", k)
	case kind == format.DirFD:
		return append(dst, "AT_FDCWD"...)
	case kind.IsString():
		return fmt.Appendf(dst, "e->name[%d]", info.StringIndex(k))
	case kind == format.Mode, kind == format.OptMode:
		return fmt.Appendf(dst, "(mode_t)a[%d]", k)
	}
	return fmt.Appendf(dst, "a[%d]", k)
}

// appendThreads appends the table of threads, and numbers the processes.
func (p *programWriter) appendThreads(dst []byte) []byte {
	dst = append(dst, "static const struct row rows[] = {\n\t{0},\n"...)
	var first int64
	for i := range p.threads {
		t := &p.threads[i]
		process := int32(1)
		if len(p.h.Threads) > 0 {
			process = p.h.Threads[i].Process
		}
		if p.process[process] == 0 {
			p.process[process] = int64(len(p.process) + 1)
		}
		dst = fmt.Appendf(dst, "\t{%d, %d, %d, ", first, t.events, p.process[process])
		dst = append(appendEdge(dst, &t.birth), "},\n"...)
		first += t.events
	}
	return append(dst, "};\n\n"...)
}

// appendDescriptors appends the descriptors of the processes that are there at the start.
func (p *programWriter) appendDescriptors(dst []byte) ([]byte, error) {
	dst = append(dst, "static const struct descriptor descriptors[] = {\n\t{0},\n"...)
	starts := map[int32]bool{1: len(p.h.Threads) == 0}
	for i := range p.h.Threads {
		if p.threads[i].birth.Thread == 0 {
			starts[p.h.Threads[i].Process] = true
		}
	}
	for i := range p.h.Descriptors {
		d := &p.h.Descriptors[i]
		if !starts[d.Process] || d.FD < 0 || d.FD >= maxDescriptors {
			continue
		}
		if err := isBelow(d.Path); err != nil {
			return dst, err
		}
		p.descriptors = max(p.descriptors, int64(d.FD)+1)
		dst = fmt.Appendf(dst, "\t{%d, %d, ", p.process[d.Process], d.FD)
		dst = appendFlags(append(appendCString(dst, d.Path), ", "...), format.OpenFlags, d.Flags&^(format.CREAT|format.EXCL|format.TRUNC|format.TMPFILE))
		dst = fmt.Appendf(dst, ", %d},\n", d.Offset)
	}
	return append(dst, "};\n\n"...), nil
}

// appendFiles appends the fileset.
func (p *programWriter) appendFiles(dst []byte) ([]byte, error) {
	dst = append(dst, "static const struct file files[] = {\n\t{0},\n"...)
	room := int64(maxLayout)
	for i := range p.h.Files {
		f := &p.h.Files[i]
		for _, path := range []string{f.Path, f.Link} {
			if err := isBelow(path); err != nil {
				return dst, err
			}
		}
		if len(f.Attrs) > 0 {
			p.left["setxattr"] += int64(len(f.Attrs))
		}
		kind, to, size := 'f', f.Link, int64(0)
		switch {
		case f.Link != "":
			kind = 'n'
		case f.Type == format.TypeDir:
			kind = 'd'
		case f.Type == format.TypeLnk && staysBelow(f.Target):
			kind, to = 's', f.Target
		case f.Type == format.TypeLnk:
			p.left["symlink"]++
			continue
		case f.Type == format.TypeReg:
			size = f.Size
		}
		dst = appendCString(append(dst, "\t{"...), f.Path)
		dst = fmt.Appendf(dst, ", '%c', %#o, %d, ", kind, f.Mode&0o777, size)
		dst = append(appendCString(dst, to), ", (const struct stretch[]){"...)
		blocks := f.Blocks
		if blocks == nil && !f.Sparse {
			blocks = []format.Stretch{{Bytes: size}}
		}
		for _, s := range blocks {
			if room -= s.Bytes; s.Bytes < 0 || room < 0 {
				return dst, fmt.Errorf("%s: files of more than %d TiB", f.Path, maxLayout>>40)
			}
			if kind == 'f' && s.Bytes > 0 {
				dst = fmt.Appendf(dst, "{%d, %d}, ", 1-min(s.Allocation, 1), s.Bytes)
			}
		}
		dst = append(dst, "{0}}},\n"...)
	}
	return append(dst, "};\n\n"...), nil
}
