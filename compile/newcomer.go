package compile

import (
	"cmp"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

// enter takes the processes that enter the recording. The trace opens their files by calls: it can't do that before the start, when files that the trace
// makes or renames do not have their names yet.
func (m *model) enter(e *format.Event) error {
	h, at := e.Enters, max(e.Start, 0)
	if err := m.leave(h, e); err != nil {
		return err
	}
	m.entering = true
	m.state.Enter(h, at)
	m.entering = false
	roots := map[int32]string{}
	threads := map[int32]*thread{}
	for _, r := range h.Running() {
		if t := m.state.Living(r.Threads[0]); t != nil && t.Process.ID == r.Process {
			threads[r.Process], roots[r.Process] = t.Data.(*thread), strings.TrimSuffix(r.Root, "/")
		}
	}
	for i := range h.Descriptors {
		d := &h.Descriptors[i]
		t := threads[d.Process]
		path, below := strings.CutPrefix(d.Path, roots[d.Process])
		if t == nil || !namesFile(d) || !below || path == "" || path[0] != '/' {
			continue
		}
		if err := m.reopen(t, d, path, at); err != nil {
			return err
		}
	}
	return nil
}

// namesFile reports whether a file has the name that a descriptor is told of with.
func namesFile(d *format.Descriptor) bool {
	return strings.HasPrefix(d.Path, "/") && !strings.HasSuffix(d.Path, " (deleted)")
}

// leave ends the threads of the processes that a header tells of and that are known: those have
// left the recording, or their numbers are those of others now.
func (m *model) leave(h *format.Header, before *format.Event) error {
	left := map[*process.Process]bool{}
	for _, r := range h.Running() {
		for _, tid := range r.Threads {
			if t := m.state.Living(tid); t != nil {
				left[t.Process] = true
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	var threads []*thread
	m.state.Threads(func(t *process.Thread) bool {
		if left[t.Process] {
			threads = append(threads, t.Data.(*thread))
		}
		return true
	})
	slices.SortFunc(threads, func(a, b *thread) int { return cmp.Compare(a.num, b.num) })
	for _, t := range threads {
		end := format.Event{Op: format.OpExit, TID: t.TID, Start: max(before.Start, t.last), Ret: format.NoResult}
		if err := m.applyMade(t, &end); err != nil {
			return err
		}
	}
	return nil
}

// reopen makes a thread open a file as its process had it open.
func (m *model) reopen(t *thread, d *format.Descriptor, path string, at int64) error {
	flags := d.Flags &^ (format.CREAT | format.EXCL | format.TRUNC | format.TMPFILE)
	open := format.Event{Op: format.OpOpen, TID: t.TID, Start: at, Ret: int64(d.FD), Args: [format.MaxArgs]int64{1: flags},
		Str: [format.MaxStrings][]byte{[]byte(path)}, Notes: d.Notes()}
	if err := m.applyMade(t, &open); err != nil {
		return err
	}
	f := fileOf(t.Table.Find(int64(d.FD)))
	if d.Offset <= 0 || f == nil || !f.isFile() || f.node.typ == format.TypeDir {
		return nil
	}
	m.raise(f.node, d.Offset) // which was the file's size at least
	seek := format.Event{Op: format.OpLseek, TID: t.TID, Start: at, Ret: d.Offset, Args: [format.MaxArgs]int64{int64(d.FD), d.Offset, format.SeekSet}}
	return m.applyMade(t, &seek)
}
