package transform

import (
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/filter"
	"pianola/format/process"
)

const onlyKeeps = "the effect of the remaining events on names and descriptors, not the I/O of the removed ones"

var onlyTransform = Transform{
	Name: "only", Arg: Arg{Form: "EXPR"},
	Doc:   "removes the events that do not match the filter (docs/reference/compile.md), except those that the others need",
	Keeps: onlyKeeps,
	New:   Only,
}

var dropTransform = Transform{
	Name: "drop", Arg: Arg{Form: "EXPR"},
	Doc:   "removes the events that match the filter (docs/reference/compile.md), except those that the others need",
	Keeps: onlyKeeps,
	New:   func(arg string) (Func, error) { return newOnly(arg, false) },
}

// Only returns the transform "only" of an expression.
func Only(expr string) (Func, error) { return newOnly(expr, true) }

// longAhead is how many events are held back to find out whether a descriptor
// is of use to an event that stays.
const longAhead = 1 << 16

func newOnly(text string, want bool) (Func, error) {
	meant, err := filter.Parse(text)
	if err != nil {
		return nil, err
	}
	make := newStaged(longAhead, func() stage { return &only{meant: meant, want: want} })
	if !filter.UsesSpan(text) {
		return make, nil
	}
	return func(r format.Reader) (format.Reader, error) {
		spans, err := newAround(r)
		if err != nil {
			return nil, err
		}
		out, err := make(spans)
		if err != nil {
			return nil, err
		}
		o := out.(*staged).stage.(*only)
		o.spans = spans
		return onlySpans{out, o}, nil
	}, nil
}

// onlySpans is the reader of a filter that uses spans.
type onlySpans struct {
	format.Reader
	only *only
}

func (s onlySpans) lineage() *lineage { return lineageOf(s.Reader) }

// only takes events out.
type only struct {
	meant filter.Filter
	want  bool
	spans *around // nil if the filter does not use spans
	ready bool
	out   format.Counts // taken out
	ended bool
}

// use is what is known about an open file description.
type use struct {
	serial int64
	wanted bool     // an event that stays uses it
	held   []*entry // events that stay if wanted becomes true
}

// event implements stage.
func (o *only) event(s *staged, f *process.Fact) error {
	if !o.ready {
		o.ready, s.Dropped = true, o.unused
	}
	t, e := f.Thread, f.Event
	en, u := s.push(e), useOf(f.Description)
	opens := f.Did.Any(format.Opens)
	wanted := o.wants(t, e, f.File)
	switch {
	case wanted, needed(f), remaps(f), bound(e) && u != nil && u.wanted, replaces(t, e), streams(t, e, f.Description):
		u.want() // what a close closes can have lost its number
		useAll(t, e)
	case opens:
	case bound(e) && u != nil:
		u.hold(en)
	default:
		o.drop(en)
	}
	s.Apply(f)
	if opens {
		useAll(t, e) // a directory that the name begins in
		if u = useOf(t.Table.At(e.Ret)); wanted || creates(e) {
			u.want()
		}
		if !wanted {
			u.hold(en)
		}
	}
	return nil
}

// span implements spanning.
func (o *only) span(s *staged, e *format.Event) {
	if o.spans == nil {
		return
	}
	t := s.Thread(e)
	subject := filter.NewSubject(e, t.Process.ID, t.Process.Rank, t.Process.Command, "")
	subject.Spans = o.spans.Of(e)
	if o.meant(&subject) == o.want {
		s.push(e)
	}
}

// useAll notes that an event stays and uses its descriptors.
func useAll(t *process.Thread, e *format.Event) {
	if e.OnRegistered() {
		return
	}
	for i, a := range e.Op.Info().Args {
		if a.Kind == format.FD || a.Kind == format.DirFD {
			useOf(t.Table.At(e.Args[i])).want()
		}
	}
}

// bound reports whether an event that the filter does not select stays if an
// event that stays uses its descriptor.
func bound(e *format.Event) bool {
	return e.FD() >= 0 && e.Acts().Any(format.Closes|format.Duplicates|format.Marks)
}

// streams reports whether an event is on a pipe, a socket or a device. Compile
// leaves it out, but knows by it which thread waited for which.
func streams(t *process.Thread, e *format.Event, d *process.Description) bool {
	return isStream(d) || !e.OnRegistered() && (isStream(t.Table.At(e.FD())) || isStream(t.Table.At(e.OutFD())))
}

func isStream(d *process.Description) bool {
	if d == nil {
		return false
	}
	switch d.Type {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypeBlk:
		return true
	}
	name := d.File.Name
	return name == "pipe" || name == "socket" || strings.Contains(name, ":[")
}

// replaces reports whether an event closes a descriptor that is used, because
// another takes its number.
func replaces(t *process.Thread, e *format.Event) bool {
	if e.NewFD() < 0 || e.Failed() || e.NewFD() == e.FD() {
		return false
	}
	u := useOf(t.Table.At(e.NewFD()))
	return u != nil && u.wanted
}

// wants reports whether the filter selects an event.
func (o *only) wants(t *process.Thread, e *format.Event, f *process.File) bool {
	name := ""
	if f != nil {
		name = f.Name
	}
	subject := filter.NewSubject(e, t.Process.ID, t.Process.Rank, t.Process.Command, name)
	if o.spans != nil {
		subject.Spans = o.spans.Of(e)
	}
	return o.meant(&subject) == o.want
}

// creates reports whether an open made its file, whose name other events can
// use.
func creates(e *format.Event) bool {
	if e.OpenFlags()&format.CREAT == 0 {
		return false
	}
	return e.FileType() == format.TypeUnknown || e.Notes.Known(format.NotedNew)
}

// needed reports whether an event stays although the filter does not select it:
// it makes a process, makes, removes or moves a name, sets a directory where
// names begin, or is for requests: compile leaves it out if none of them stays.
func needed(f *process.Fact) bool {
	const ofFiles = format.Opens | format.Duplicates | format.Closes | format.Marks
	acts := f.Event.Acts()
	if acts.Any(ofFiles) && (f.Event.FD() >= 0 || acts.Any(format.Opens)) {
		return false
	}
	return acts.Any(format.ChangesTables|format.Submits) || f.Did.Any(format.ChangesNames)
}

// remaps reports whether an event changes what files a process has mapped. Faults
// need it.
func remaps(f *process.Fact) bool {
	if e := f.Event; e.Acts().Any(format.InMemory) && !e.Acts().Any(format.Faults|format.Syncs) {
		for range f.Thread.Process.Space.Within(e.Args[0], e.Size()) {
			return true
		}
	}
	return f.Did.Any(format.MapsFiles)
}

// useOf returns the use of a description, nil for none.
func useOf(d *process.Description) *use {
	if d == nil {
		return nil
	}
	u, ok := d.Data.(*use)
	if !ok {
		u = new(use)
		d.Data = u
	}
	if u.serial != d.Serial {
		*u = use{serial: d.Serial, held: u.held[:0]}
	}
	return u
}

// want releases the events that were held for one that stays.
func (u *use) want() {
	if u == nil {
		return
	}
	u.wanted = true
	for _, en := range u.held {
		en.held, en.waits = false, nil
	}
	u.held = u.held[:0]
}

// hold holds an event, which stays if another one of the description stays.
func (u *use) hold(en *entry) {
	if u != nil && !u.wanted {
		en.held, en.waits = true, u
		u.held = append(u.held, en)
	}
}

// unused takes the events out that waited for one that stays, for there can't
// be one any more.
func (o *only) unused(d *process.Description) {
	u := useOf(d)
	for _, en := range u.held {
		o.drop(en)
	}
	u.held = u.held[:0]
}

// decide implements holding. Events that may be needed are kept.
func (o *only) decide(_ *staged, first *entry) { first.waits.want() }

// end implements ending. Events that no other event used are removed.
func (o *only) end(s *staged) {
	o.ended = true
	for en := s.first; en != nil; en = en.next {
		if en.held {
			o.drop(en)
		}
	}
}

// drop takes an event out.
func (o *only) drop(en *entry) {
	en.held, en.waits, en.verdict = false, nil, Drop
	o.out[en.Op]++
}

// header implements headed: the events that were taken out are counted with those
// that other transforms took out before.
func (o *only) header(h *format.Header) *format.Header {
	if !o.ended || o.out.Total() == 0 {
		return h
	}
	text, _ := h.Value(format.MetaLeftOut)
	out := format.ParseCounts(text)
	for op, n := range o.out {
		out[op] += n
	}
	with := *h
	with.Meta = slices.Clone(h.Meta)
	with.Set(format.MetaLeftOut, out.String())
	return &with
}
