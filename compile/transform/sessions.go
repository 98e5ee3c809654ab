package transform

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

var sessionsTransform = Transform{
	Name: "sessions", Arg: Arg{Form: "N"},
	Doc:   "runs the application N times in a row on the same files; the files that it created are removed between runs",
	Keeps: "everything of the first run; everything of the other runs if the first one does not change existing files",
	Needs: "a compiled trace has no thread ids or file names for further runs",
	New: func(arg string) (Func, error) {
		n, err := parseCount(arg, maxCopies)
		if err != nil {
			return nil, err
		}
		return func(r format.Reader) (format.Reader, error) {
			again, ok := r.(Rewinder)
			if !ok {
				return nil, errors.New("sessions: the recording can't be read more than once")
			}
			return &sessions{first: again, runs: n, log: &runLog{parent: int32(n) << idBits}}, nil
		}, nil
	},
}

// sessions reads a recording several times.
type sessions struct {
	first Rewinder
	runs  int
	run   int // the one that is read, from 1
	now   *staged
	log   *runLog
}

// runLog is what a run passes to the next one.
type runLog struct {
	parent int32 // the thread that begins the runs and waits for them, as a shell would
	begin  int64 // start of the current run, nanoseconds
	last   bool  // it is the last
}

// Header implements format.Reader.
func (r *sessions) Header() *format.Header { return r.first.Header() }

// Read implements format.Reader.
func (r *sessions) Read(events []format.Event) (int, error) {
	for {
		if r.now == nil {
			source := format.Reader(r.first)
			if r.run > 0 {
				var err error
				if source, err = r.first.Again(); err != nil {
					return 0, err
				}
			}
			r.log.last = r.run == r.runs-1
			one := &session{runLog: r.log, ids: ids(r.run), made: map[string]bool{}}
			r.now = &staged{events: format.NewCausal(source), source: source, stage: one}
			r.run++
		}
		n, err := r.now.Read(events)
		if err != io.EOF || r.log.last {
			return n, err
		}
		r.now = nil
	}
}

// session is one run. Its threads have their own ids, so that each run is a
// separate process.
type session struct {
	*runLog
	ids
	root    int32            // its first thread, as recorded; 0 before the first event
	process *process.Process // of that
	ended   bool             // the recording shows how that ended
	until   int64            // when the newest event ended, nanoseconds

	// made holds the existing names that the run made, and whether they are
	// directories.
	made map[string]bool
}

// maxMade bounds the names that are remembered.
const maxMade = 1 << 16

// event implements stage.
func (r *session) event(s *staged, f *process.Fact) error {
	t, e := f.Thread, f.Event
	if r.root == 0 {
		if len(s.Header().Running()) > 0 {
			return errors.New("sessions: the recorder was attached to a process that ran already, so its beginning is missing")
		}
		r.root, r.process, r.until = e.TID, t.Process, r.begin
		s.push(&format.Event{Op: format.OpFork, TID: r.parent, Start: r.begin, Dur: format.Unknown, Ret: r.of(int64(r.root))})
	}
	if err := r.check(e); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	en := s.push(e)
	en.Start = sum(r.begin, e.Start)
	r.rename(&en.Event)
	r.until = max(r.until, en.End())
	switch {
	case f.Did.Any(format.EndsAll):
		r.ended = r.ended || t.Process == r.process
	case f.Did.Any(format.Ends):
		r.ended = r.ended || e.TID == r.root
	}
	if !e.Failed() && !r.last {
		r.remember(s, f)
	}
	s.Apply(f)
	return nil
}

// remember updates made by the names that an event makes, moves and removes.
func (r *session) remember(s *staged, f *process.Fact) {
	known, e := f.File != nil && f.File.Data != nil, f.Event
	if f.File != nil {
		f.File.Data = r // the name has been there
	}
	at := &e.Op.Info().At
	path := func(n int8) string { return string(s.Path(f.Thread, e, int(n))) }
	switch {
	case f.Did.Any(format.Removes):
		delete(r.made, path(at.Gone))
	case f.Did.Any(format.Renames):
		r.renamed(path(at.Gone), path(at.Came))
	case f.Did.Any(format.Creates | format.Links):
		r.make(path(at.Came), f.Did.Any(format.Directories))
	case f.Did.Any(format.Opens):
		noted := e.FileType() != format.TypeUnknown
		if creates(e) && (noted || !known) && e.OpenFlags()&format.TMPFILE == 0 {
			r.make(path(0), false)
		}
	}
}

func (r *session) make(name string, dir bool) {
	if len(r.made) < maxMade && strings.HasPrefix(name, "/") && !isPseudo(name) {
		r.made[name] = dir
	}
}

// renamed moves a name in made, with all below it. A name from before the run
// stays out of made, even if it now has another file.
func (r *session) renamed(from, to string) {
	dir, ok := r.made[from]
	if !ok {
		return
	}
	delete(r.made, from)
	r.make(to, dir)
	if !dir {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.made)) {
		if rest, below := strings.CutPrefix(name, from+"/"); below {
			is := r.made[name]
			delete(r.made, name)
			r.make(to+"/"+rest, is)
		}
	}
}

// end implements ending.
func (r *session) end(s *staged) {
	if r.root == 0 || s.err != io.EOF {
		return
	}
	id := r.of(int64(r.root))
	if !r.ended {
		s.push(&format.Event{Op: format.OpExitGroup, TID: int32(id), Start: r.until, Dur: format.Unknown, Ret: format.NoResult})
	}
	s.push(&format.Event{Op: format.OpWait4, TID: r.parent, Start: r.begin, Dur: r.until - r.begin, Ret: id, Args: [format.MaxArgs]int64{id}})
	r.begin = r.until
	after := format.Event{TID: r.parent, Start: r.until, Dur: format.Unknown}
	if r.last {
		after.Op, after.Ret = format.OpExitGroup, format.NoResult
		s.push(&after)
		return
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(r.made))) {
		if after.Op = format.OpUnlink; r.made[name] {
			after.Op = format.OpRmdir
		}
		after.Str[0] = []byte(name)
		s.push(&after)
	}
	after.Op, after.Str[0] = format.OpLseek, nil
	for _, d := range s.Header().Descriptors {
		if strings.HasPrefix(d.Path, "/") && !isPseudo(d.Path) {
			after.Args, after.Ret = [format.MaxArgs]int64{int64(d.FD), d.Offset, format.SeekSet}, d.Offset
			s.push(&after)
		}
	}
}
