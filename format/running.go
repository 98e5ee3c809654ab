package format

import (
	"bytes"
	"strconv"
)

// Running is a process that already ran when the recording began, because the
// recorder was attached to it.
type Running struct {
	Process   int32   // its id
	Threads   []int32 // their ids, at least one
	Cwd, Root string  // absolute, empty if unknown
	Umask     int64   // -1 if unknown
	Command   string  // path of the program, empty if unknown
}

// Running returns the processes that already ran, from the remarks "PID
// parent=PPID threads=TID,… cwd="…" root="…" umask=022".
func (h *Header) Running() (found []Running) {
	for _, remark := range h.Meta {
		if remark.Key != MetaProcess {
			continue
		}
		number, notes, _ := bytes.Cut([]byte(remark.Value), []byte(" "))
		pid, err := strconv.ParseInt(string(number), 10, 32)
		if err != nil || pid <= 0 {
			continue
		}
		p := Running{Process: int32(pid), Cwd: quotedNote(notes, "cwd"), Root: quotedNote(notes, "root"), Umask: umaskNote(notes), Command: quotedNote(notes, "command")}
		list, _ := Note(notes, "threads")
		for _, word := range bytes.Split(list, []byte(",")) {
			if tid, err := strconv.ParseInt(string(word), 10, 32); err == nil && tid > 0 {
				p.Threads = append(p.Threads, int32(tid))
			}
		}
		if len(p.Threads) == 0 {
			p.Threads = []int32{p.Process}
		}
		found = append(found, p)
	}
	return found
}

// Umask returns the umask of the command at the start, -1 if it is unknown.
func (h *Header) Umask() int64 {
	text, _ := h.Value(MetaUmask)
	return parseUmask(text)
}

func umaskNote(notes []byte) int64 {
	v, _ := Note(notes, MetaUmask)
	return parseUmask(string(v))
}

func parseUmask(octal string) int64 {
	mask, err := strconv.ParseUint(octal, 8, 9)
	if err != nil {
		return -1
	}
	return int64(mask)
}

func quotedNote(notes []byte, key string) string {
	v, _ := Note(notes, key)
	return unquotedName(v)
}

// unquotedName returns a quoted path, "" for what is none.
func unquotedName(quoted []byte) string {
	s, _, err := Unquote(nil, quoted)
	if err != nil || bytes.IndexByte(s, 0) >= 0 {
		return ""
	}
	return string(s)
}

// Cwd returns the working directory of the command at the start, "" if it is unknown.
func (h *Header) Cwd() string {
	text, _ := h.Value(MetaCwd)
	return unquotedName([]byte(text))
}

// Remark returns the value of the remark MetaProcess for the process.
func (p *Running) Remark() string {
	text := strconv.AppendInt(nil, int64(p.Process), 10)
	for i, tid := range p.Threads {
		if i == 0 {
			text = append(text, " threads="...)
		} else {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(tid), 10)
	}
	for _, one := range []struct{ key, value string }{{"cwd", p.Cwd}, {"root", p.Root}, {"command", p.Command}} {
		if one.value != "" {
			text = append(append(append(text, ' '), one.key...), '=')
			text = AppendQuoted(text, []byte(one.value))
		}
	}
	if p.Umask >= 0 {
		text = strconv.AppendInt(append(append(text, ' '), MetaUmask+"=0"...), p.Umask, 8)
	}
	return string(text)
}
