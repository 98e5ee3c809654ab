package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pianola/format"
)

// dftracer parses what DFTracer writes (.pfw), an event a line:
//
//	[
//	{"id":9,"name":"read","cat":"POSIX","pid":7,"tid":8,"ts":1698080324850514,"dur":115,"ph":"X","args":{"ret":131072,"count":131072,"fname":"/data/a","fd":18}}
//
// Times are microseconds since 1970. Numbers can be quoted. Newer versions have the
// number of a name, fhash, which a line of the kind M explains. The lines are not always valid
// JSON: args can end in a comma. Events of the categories POSIX and STDIO are
// taken, those of others are counted.
type dftracer struct {
	h       format.Header
	t       *tracks
	hashed  map[string]int // number of the file
	skipped format.Skipped
	base    int64 // of the first event, microseconds
	begun   bool
	fields  fields
	key     []byte
}

func openDFTracer(r io.Reader, name string, _ Options) (format.Reader, error) {
	return newLines(r, name, &dftracer{t: newTracks(), hashed: map[string]int{}}), nil
}

// isDFTracer reports whether a file begins with an event of the kinds X and M, behind [ or
// not.
func isDFTracer(head []byte) bool {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || string(line) == "[" {
			continue
		}
		var f fields
		return f.parse(bytes.TrimPrefix(line, []byte("["))) == nil && f.has("name") && f.has("cat") && f.has("ph")
	}
	return false
}

func (p *dftracer) header() *format.Header {
	p.h.Set(MetaSource, "DFTracer")
	p.h.Set(MetaUnknown, "results of calls that change names, whence of seeks, errors")
	return &p.h
}

func (p *dftracer) finish() { p.skipped.Remark(&p.h) }

// skip counts a line that is not taken.
func (p *dftracer) skip(kind, name string) { p.skipped.Add(kind+":"+name, 1) }

// dftracerOps are the functions that are taken. Those of STDIO count in items of
// size bytes.
var dftracerOps = map[string]format.Op{
	"open": format.OpOpen, "fopen": format.OpOpen, "close": format.OpClose, "fclose": format.OpClose,
	"read": format.OpRead, "fread": format.OpRead, "write": format.OpWrite, "fwrite": format.OpWrite,
	"pread": format.OpPread64, "pwrite": format.OpPwrite64, "fsync": format.OpFsync, "fdatasync": format.OpFdatasync,
	"ftruncate": format.OpFtruncate,
}

func (p *dftracer) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("["))
	if len(line) == 0 || string(line) == "]" {
		return queue, nil
	}
	f := &p.fields
	if err := f.parse(line); err != nil {
		return queue, err
	}
	name, cat := f.text("name"), f.text("cat")
	switch ph := f.text("ph"); {
	case string(ph) == "M" || string(ph) == "4":
		return queue, p.metadata(f, string(name))
	case string(ph) != "X":
		p.skip(string(cat), string(name))
		return queue, nil
	}
	ts, ok1 := f.number("ts")
	dur, ok2 := f.number("dur")
	if !ok1 || !ok2 || ts < 0 || dur < 0 || ts > maxNanos/1000 || dur > maxNanos/1000 {
		return queue, errors.New("expected ts and dur in microseconds")
	}
	if !p.begun {
		p.begun, p.base = true, ts
		p.h.Set(format.MetaStart, time.UnixMicro(ts).UTC().Format(time.RFC3339Nano))
	}
	op, ok := dftracerOps[strings.TrimSuffix(string(name), "64")]
	if !ok || string(cat) != "POSIX" && string(cat) != "STDIO" {
		p.skip(string(cat), string(name))
		return queue, nil
	}
	p.key = append(append(append(p.key[:0], f.text("pid")...), ' '), f.text("tid")...)
	tid, err := p.t.thread(p.key)
	if err != nil {
		return queue, err
	}
	e := format.Event{TID: tid, Start: (ts - p.base) * 1000, Dur: dur * 1000, Op: op}
	return p.call(queue, e, f, string(cat), string(name))
}

// metadata takes the name of a file that a hash stands for.
func (p *dftracer) metadata(f *fields, name string) error {
	if name != "FH" {
		return nil
	}
	file, hash := f.text("args.name"), f.text("args.value")
	if len(file) == 0 || len(hash) == 0 {
		return errors.New("expected the name of a file and its value")
	}
	n, err := p.t.files.add(file)
	if err == nil {
		p.hashed[string(hash)] = n // bounded by the names
	}
	return err
}

// file returns the number of the file of an event, -1 if it names none.
func (p *dftracer) file(f *fields) (int, error) {
	for _, key := range []string{"args.fname", "args.pathname"} {
		if name := f.text(key); len(name) > 0 {
			return p.t.files.add(name)
		}
	}
	hash := f.text("args.fhash")
	if n, ok := p.hashed[string(hash)]; ok {
		return n, nil
	}
	if len(hash) == 0 || string(hash) == "0" {
		return -1, nil
	}
	return p.t.files.add(append([]byte("file-"), hash...))
}

func (p *dftracer) call(queue []format.Event, e format.Event, f *fields, cat, name string) ([]format.Event, error) {
	file, err := p.file(f)
	if err != nil {
		return queue, err
	}
	ret, returned := f.number("args.ret")
	if file < 0 || returned && ret < 0 {
		p.skip(cat, name)
		return queue, nil
	}
	key := use{e.TID, file}
	if e.Op == format.OpOpen {
		if _, ok := p.t.open[key]; ok {
			p.skip(cat, name) // opened twice: its calls tell no descriptor apart
			return queue, nil
		}
		queue, _, err = p.t.descriptor(queue, e.TID, file, e.Start)
		if err == nil {
			queue[len(queue)-1].Dur = e.Dur
			opened(&queue[len(queue)-1], f)
		}
		return queue, err
	}
	if _, ok := p.t.open[key]; !ok && e.Op == format.OpClose {
		p.skip(cat, name)
		return queue, nil
	}
	var fd int64
	if queue, fd, err = p.t.descriptor(queue, e.TID, file, e.Start); err != nil {
		return queue, err
	}
	e.Args[0] = fd
	switch e.Op {
	case format.OpClose:
		delete(p.t.open, key)
	case format.OpFtruncate:
		length, ok := f.number("args.length")
		if !ok || length < 0 {
			return queue, errors.New("ftruncate without a length")
		}
		e.Args[1] = length
	case format.OpRead, format.OpWrite, format.OpPread64, format.OpPwrite64:
		count, counted := f.number("args.count")
		if !returned {
			ret = count
		}
		size, sized := f.number("args.size")
		if !counted {
			count = ret
		}
		if !sized || cat != "STDIO" {
			size = 1
		}
		if !counted && !returned || count < 0 || size < 0 || count > maxOffset/max(size, 1) || ret > maxOffset/max(size, 1) {
			return queue, errors.New("a transfer without a count")
		}
		e.Args[2], e.Ret = count*size, ret*size
		if e.Op == format.OpPread64 || e.Op == format.OpPwrite64 {
			offset, ok := f.number("args.offset")
			if !ok || offset < 0 || offset > maxOffset {
				return queue, fmt.Errorf("%s without an offset", name)
			}
			e.Args[3] = offset
		}
	}
	return append(queue, e), nil
}

// fopenFlags are the flags of an open by the first letter of the mode of fopen.
var fopenFlags = map[byte]int64{
	'r': format.RDONLY, 'w': format.WRONLY | format.CREAT | format.TRUNC, 'a': format.WRONLY | format.CREAT | format.APPEND,
}

// opened sets the flags and the mode of an open, as far as they are known.
func opened(e *format.Event, f *fields) {
	mode := f.text("args.mode")
	if flags, ok := f.number("args.flags"); ok && flags >= 0 && flags < 1<<31 {
		e.Args[1] = format.OpenFlags.FromNative(format.AMD64, uint64(flags))
	} else if len(mode) > 0 {
		if flags, ok := fopenFlags[mode[0]]; ok {
			e.Args[1] = flags
			if bytes.IndexByte(mode, '+') > 0 {
				e.Args[1] = flags&^(format.RDONLY|format.WRONLY) | format.RDWR
			}
		}
	}
	if format.HasMode(e.Args[1]) {
		bits, ok := f.number("args.mode")
		if !ok || bits < 0 || bits > 0o7777 {
			bits = 0o666
		}
		e.Args[2] = bits
	}
}

// fields are the members of an object of JSON, those of the object args with that before
// their names. Members of other objects and arrays are passed over. A line may have commas
// too many. Texts borrow from the line, unless they have escapes.
type fields struct {
	list []member
	line []byte
	at   int
}

type member struct {
	key, value []byte
	inArgs     bool
}

var errJSON = errors.New("not an event: expected {\"name\":…,\"ph\":…} on one line")

func (f *fields) parse(line []byte) error {
	f.list, f.line, f.at = f.list[:0], line, 0
	if !f.object(false, 0) {
		return errJSON
	}
	rest := bytes.TrimSpace(f.line[f.at:])
	if len(rest) > 0 && string(rest) != "," {
		return errJSON
	}
	return nil
}

// maxMembers and maxDepth bound an object.
const (
	maxMembers = 1000
	maxDepth   = 32
)

func (f *fields) object(inArgs bool, depth int) bool {
	if !f.next('{') || depth > maxDepth {
		return false
	}
	for !f.next('}') {
		if f.next(',') {
			continue
		}
		key, ok := f.str()
		if !ok || !f.next(':') || len(f.list) == maxMembers {
			return false
		}
		if depth == 0 && string(key) == "args" && f.peek() == '{' {
			if !f.object(true, depth+1) {
				return false
			}
			continue
		}
		value, ok := f.value(depth)
		if !ok {
			return false
		}
		if value != nil && (depth == 0 || inArgs && depth == 1) {
			f.list = append(f.list, member{key, value, inArgs})
		}
	}
	return true
}

// value returns a string, or the text of a number or a word; nil for an object or an array.
func (f *fields) value(depth int) ([]byte, bool) {
	switch c := f.peek(); c {
	case '"':
		return f.str()
	case '{':
		n := len(f.list)
		ok := f.object(false, depth+1)
		f.list = f.list[:n]
		return nil, ok
	case '[':
		f.next('[')
		if depth > maxDepth {
			return nil, false
		}
		for !f.next(']') {
			if f.next(',') {
				continue
			}
			if _, ok := f.value(depth + 1); !ok {
				return nil, false
			}
		}
		return nil, true
	}
	begin := f.at
	for f.at < len(f.line) && bytes.IndexByte([]byte(",}] \t"), f.line[f.at]) < 0 {
		f.at++
	}
	return f.line[begin:f.at], f.at > begin
}

func (f *fields) str() ([]byte, bool) {
	if f.peek() != '"' {
		return nil, false
	}
	begin := f.at + 1
	escaped := false
	for i := begin; i < len(f.line); i++ {
		switch f.line[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			text := f.line[begin:i]
			f.at = i + 1
			if !escaped {
				return text, true
			}
			plain, err := strconv.Unquote(string(f.line[begin-1 : f.at]))
			if err != nil {
				return text, true // an escape that is none stands for itself
			}
			return []byte(plain), true
		}
	}
	return nil, false
}

func (f *fields) peek() byte {
	for f.at < len(f.line) && (f.line[f.at] == ' ' || f.line[f.at] == '\t') {
		f.at++
	}
	if f.at == len(f.line) {
		return 0
	}
	return f.line[f.at]
}

// next passes over c if it comes next.
func (f *fields) next(c byte) bool {
	if f.peek() != c {
		return false
	}
	f.at++
	return true
}

// text returns a member, nil if there is none. The last one counts.
func (f *fields) text(key string) []byte {
	name, inArgs := strings.CutPrefix(key, "args.")
	for _, m := range slices.Backward(f.list) {
		if m.inArgs == inArgs && string(m.key) == name {
			return m.value
		}
	}
	return nil
}

func (f *fields) has(key string) bool { return f.text(key) != nil }

// number returns a member that is a whole number, quoted or not.
func (f *fields) number(key string) (int64, bool) {
	v, err := strconv.ParseInt(string(f.text(key)), 10, 64)
	return v, err == nil
}
