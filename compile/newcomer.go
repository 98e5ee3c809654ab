package compile

import (
	"cmp"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

// enter takes the processes that enter the recording. The trace opens their files by calls: it
// can't do that before the start, when files that the trace makes or renames do not have their
// names yet.
func (pr *processes) enter(e *format.Event) {
	h, at := e.Enters, max(e.Start, 0)
	pr.leave(h, e)
	pr.entering = true
	pr.state.Enter(h, at)
	pr.entering = false
	roots := map[int32]string{}
	threads := map[int32]*thread{}
	for _, r := range h.Running() {
		if t := pr.state.Living(r.Threads[0]); t != nil && t.Process.ID == r.Process {
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
		pr.reopen(t, d, path, at)
	}
}

// namesFile reports whether a file has the name that a descriptor is told of with.
func namesFile(d *format.Descriptor) bool {
	return strings.HasPrefix(d.Path, "/") && !strings.HasSuffix(d.Path, " (deleted)")
}

// leave ends the threads of the processes that a header tells of and that are known: those have
// left the recording, or their numbers are those of others now.
func (pr *processes) leave(h *format.Header, before *format.Event) {
	left := map[*process.Process]bool{}
	for _, r := range h.Running() {
		for _, tid := range r.Threads {
			if t := pr.state.Living(tid); t != nil {
				left[t.Process] = true
			}
		}
	}
	if len(left) == 0 {
		return
	}
	var threads []*thread
	pr.state.Threads(func(t *process.Thread) bool {
		if left[t.Process] {
			threads = append(threads, t.Data.(*thread))
		}
		return true
	})
	slices.SortFunc(threads, func(a, b *thread) int { return cmp.Compare(a.num, b.num) })
	for _, t := range threads {
		end := format.Event{Op: format.OpExit, TID: t.TID, Start: max(before.Start, t.last), Ret: format.NoResult}
		pr.applyMade(t, &end)
	}
}

// reopen makes a thread open a file as its process had it open.
func (pr *processes) reopen(t *thread, d *format.Descriptor, path string, at int64) {
	flags := d.Flags &^ (format.CREAT | format.EXCL | format.TRUNC | format.TMPFILE)
	open := format.Event{Op: format.OpOpen, TID: t.TID, Start: at, Ret: int64(d.FD), Args: [format.MaxArgs]int64{1: flags},
		Str: [format.MaxStrings][]byte{[]byte(path)}, Notes: d.Notes()}
	pr.applyMade(t, &open)
	f := fileOf(t.Table.Find(int64(d.FD)))
	if d.Offset <= 0 || f == nil || !f.isFile() || f.node.typ == format.TypeDir {
		return
	}
	pr.raise(f.node, d.Offset) // which was the file's size at least
	seek := format.Event{Op: format.OpLseek, TID: t.TID, Start: at, Ret: d.Offset, Args: [format.MaxArgs]int64{int64(d.FD), d.Offset, format.SeekSet}}
	pr.applyMade(t, &seek)
}

// inherited returns the description of a descriptor that was open at the start,
// in a process that already ran or in the first process, or that a process has open which
// enters. It is nil where that process is not known, and where enter opens the file.
func (pr *processes) inherited(d *format.Descriptor) *process.Description {
	if pr.entering && namesFile(d) {
		return nil
	}
	num := int32(1)
	if p := pr.byPID[d.Process]; p != nil {
		num = p.num
	} else if len(pr.list) > 0 {
		return nil
	}
	f := pr.newFile(d.Flags)
	pr.tellMore(factOpened, &pr.event, more{file: f, from: d, num: num})
	return f.Description
}
