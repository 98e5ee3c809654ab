package transform

import (
	"fmt"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

var cloneTransform = Transform{
	Name: "clone", Arg: Arg{Form: "N"},
	Doc:   "runs N copies of the application at once; copies 2 to N use their own files below /copy2, /copy3, …",
	Keeps: "everything, of each copy",
	Needs: "a compiled trace has no thread ids or file names for copies; use replay --copies instead",
	New: func(arg string) (Func, error) {
		n, err := parseCount(arg, maxCopies)
		if err != nil {
			return nil, err
		}
		return newStaged(0, func() stage { return newClone(n) }), nil
	},
}

// clone makes copies of each event, in the place of the event.
type clone struct {
	moves []move // of the copies, nil for the first, which is the application
	first int32  // thread id, 0 before the first event
}

func newClone(n int) *clone {
	c := &clone{moves: make([]move, n)}
	for k := range c.moves[1:] {
		dir := below("/", fmt.Sprintf("/copy%d", k+2))
		c.moves[k+1] = func(p string) string {
			if isPseudo(p) {
				return p
			}
			return dir(p)
		}
	}
	return c
}

// span implements spanning: copies would be ranks with the same numbers.
func (c *clone) span(*staged, *format.Event) {}

// event implements stage.
func (c *clone) event(s *staged, f *process.Fact) error {
	e := f.Event
	if c.first == 0 {
		c.first = e.TID
	}
	if err := ids(0).check(e); err != nil {
		return err
	}
	for k, m := range c.moves {
		en := s.push(e)
		if m != nil {
			m.rename(s, f.Thread, en, e)
			ids(k).rename(&en.Event)
			ids(k).apart(&en.Event)
		}
	}
	s.Apply(f)
	return nil
}

// header implements headed. The processes that no event makes are there from
// the start, so that each has its working directory and its descriptors.
func (c *clone) header(h *format.Header) *format.Header {
	if c.first == 0 {
		return h
	}
	h = WithCommand(begun(h), c.first)
	out := *h
	out.Meta, out.Descriptors, out.Files = nil, nil, nil
	for _, meta := range h.Meta {
		if meta.Key != format.MetaProcess {
			out.Meta = append(out.Meta, meta)
		}
	}
	there := h.Running()
	for k, m := range c.moves {
		if m == nil {
			m = func(p string) string { return p }
		}
		for _, p := range there {
			p.Process, p.Cwd = int32(ids(k).of(int64(p.Process))), m.absolute(p.Cwd)
			p.Threads = append([]int32(nil), p.Threads...)
			for i, tid := range p.Threads {
				p.Threads[i] = int32(ids(k).of(int64(tid)))
			}
			out.Meta = append(out.Meta, format.Meta{Key: format.MetaProcess, Value: p.Remark()})
		}
		out.Files = append(out.Files, m.files(h.Files)...)
		for _, d := range h.Descriptors {
			d.Process, d.Path = int32(ids(k).of(int64(d.Process))), ids(k).pipe(m.absolute(d.Path))
			out.Descriptors = append(out.Descriptors, d)
		}
	}
	return &out
}

// WithCommand returns a header whose processes include that of the recorded command, whose
// thread has the first event. Without events, or if the header has processes, it is h.
func WithCommand(h *format.Header, first int32) *format.Header {
	if first == 0 || len(h.Running()) > 0 {
		return h
	}
	out := *h
	p := format.Running{Process: first, Threads: []int32{first}, Cwd: begun(h).Cwd(), Umask: h.Umask()}
	command, _ := h.Value(format.MetaCommand)
	p.Command, _, _ = strings.Cut(command, " ")
	out.Meta = append(slices.Clone(h.Meta), format.Meta{Key: format.MetaProcess, Value: p.Remark()})
	out.Descriptors = slices.Clone(h.Descriptors)
	for i := range out.Descriptors {
		out.Descriptors[i].Process = first
	}
	return &out
}
