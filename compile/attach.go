package compile

import (
	"bytes"
	"strconv"

	"pianola/format"
)

// running is a process that ran already when the recording began.
type running struct {
	pid       int32
	threads   []int32
	cwd, root string
	command   string
}

// attached returns the processes that the recorder was attached to, from the
// remarks "PID parent=PPID threads=TID,… cwd="…" root="…"".
func attached(h *format.Header) (found []running) {
	for _, remark := range h.Meta {
		if remark.Key != format.MetaProcess {
			continue
		}
		number, notes, _ := bytes.Cut([]byte(remark.Value), []byte(" "))
		pid, err := strconv.ParseInt(string(number), 10, 32)
		if err != nil || pid <= 0 {
			continue
		}
		p := running{pid: int32(pid), cwd: quotedNote(notes, "cwd"), root: quotedNote(notes, "root"), command: baseName(quotedNote(notes, "command"))}
		list, _ := format.Note(notes, "threads")
		for _, word := range bytes.Split(list, []byte(",")) {
			if tid, err := strconv.ParseInt(string(word), 10, 32); err == nil && tid > 0 {
				p.threads = append(p.threads, int32(tid))
			}
		}
		if len(p.threads) == 0 {
			p.threads = []int32{p.pid}
		}
		found = append(found, p)
	}
	return found
}

func quotedNote(notes []byte, key string) string {
	v, _ := format.Note(notes, key)
	s, _, err := format.Unquote(nil, v)
	if err != nil {
		return ""
	}
	return string(s)
}

// resume sets up the threads and descriptors of processes that ran already.
func (m *model) resume(processes []running, h *format.Header) {
	first := map[int32]*thread{}
	for _, r := range processes {
		p := m.newProcess(r.pid)
		p.command = r.command
		files := newFileTable()
		dir := &workingDir{root: m.names.root, node: m.names.root}
		if r.root != "" {
			dir.root = m.directory(m.names.root, r.root)
		}
		if r.cwd != "" {
			dir.node = m.directory(m.names.root, r.cwd)
		}
		for _, tid := range r.threads {
			t := m.newThread(tid, nil, p, 0)
			t.files, t.dir = files, dir
			if first[r.pid] == nil {
				first[r.pid] = t
			}
		}
	}
	for _, d := range h.Descriptors {
		if t := first[d.Process]; t != nil {
			m.inherit(t, d)
		}
	}
}
