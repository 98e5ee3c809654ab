package diagnosis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"pianola/format"
	"pianola/profile"
)

// scene is the state of a diagnosis: the time of each step that no rule has claimed
// yet, in nanoseconds.
type scene struct {
	*profile.Profile
	onPath bool  // steps are those of the critical path; if false, those of all threads
	asleep int64 // on the critical path, whatever the steps are
	alone  int64 // the same, waiting for what is not recorded
	whole  int64 // the run time, or the time in which threads did not wait
	io     int64 // in I/O, whatever is claimed

	named map[key]int64                    // in calls of a category on a file
	rest  [profile.NumCategories + 1]int64 // in calls of a category on files that the steps do not distinguish
	spent map[string]int64                 // in steps that are not calls, by name
	files map[string]*profile.File
}

type key struct {
	file     string
	category profile.Category
}

func newScene(p *profile.Profile) *scene {
	s := &scene{Profile: p, named: map[key]int64{}, spent: map[string]int64{}, files: map[string]*profile.File{}}
	for i := range p.Files {
		s.files[p.Files[i].Name] = &p.Files[i]
	}
	for _, step := range p.Critical {
		switch step.Name {
		case profile.StepTimer:
			s.asleep += step.Nanos
		case profile.StepWait:
			s.alone += step.Nanos
		}
	}
	if s.onPath = len(p.Critical) > 0 && s.asleep+s.alone < int64(idleShare*float64(p.RunTime)); s.onPath {
		s.fromPath()
	} else {
		s.fromThreads()
	}
	s.io = s.spent[profile.StepStorage] + s.rest[profile.Submitting]
	for k := range profile.NumIO {
		s.io += s.rest[k]
	}
	for at, nanos := range s.named {
		if at.category < profile.NumIO || at.category == profile.Submitting {
			s.io += nanos
		}
	}
	return s
}

// fromPath takes the time from the critical path.
func (s *scene) fromPath() {
	s.whole = s.RunTime
	for _, step := range s.Critical {
		switch {
		case step.Op == format.OpNone:
			s.spent[step.Name] += step.Nanos
		case step.File == "":
			s.rest[step.Category] += step.Nanos
		default:
			s.named[key{step.File, step.Category}] += step.Nanos
		}
	}
}

// fromThreads uses the time of all threads, without their waits. Many threads mostly
// wait for work, which would make every share small.
func (s *scene) fromThreads() {
	t := &s.Times
	s.whole = t.Sum() - t.Waiting() - t.Timer - t.Communication
	s.spent = map[string]int64{
		profile.StepCompute: t.Compute, profile.StepReady: t.Ready, profile.StepStorage: t.Storage,
	}
	for k := range profile.NumCategories {
		s.rest[k] = s.Categories[k].Nanos
		for i := range s.Files {
			f := &s.Files[i]
			if nanos := f.Categories[k].Nanos; nanos > 0 {
				s.named[key{f.Name, k}] = nanos
				s.rest[k] -= nanos
			}
		}
	}
}

// idleShare is the fraction of the run time above which a critical path counts as idle:
// asleep, or waiting for events outside the recording. An idle path does not show what
// limits the run. A program that polls whether its threads are done, as fio does, and
// SQLite at a lock, sleeps while it waits for their I/O, and no thread wakes it.
const idleShare = 0.2

// share returns the part of the whole.
func (s *scene) share(e *evidence) float64 {
	return float64(e.nanos) / float64(cmp.Or(e.whole, s.whole))
}

// evidence is what a rule is about.
type evidence struct {
	nanos  int64
	whole  int64  // nanos is a part of it; 0 means the scene's whole
	parts  []part // by file, the longest first
	unsure int64  // the part of nanos that is an upper bound
	about  bool   // nanos come from the buckets of a histogram, which are up to 10 % wide
	calls  int64  // of all threads
	bytes  int64  // that these moved

	spent string // the name of a claimed step that is not a call
	all   []profile.Category
}

// part is the evidence on one file.
type part struct {
	*profile.File
	nanos int64
	taken []taken
}

// taken is the time that a rule claims from a scene: named steps, and a part of rest.
type taken struct {
	at   key
	rest int64
}

// on returns the evidence of calls of some categories on some files. If the profile
// does not distinguish calls on the critical path by file, they count for these files,
// up to the time that all threads spent in them.
func (s *scene) on(files []*profile.File, categories ...profile.Category) (e evidence) {
	rest := s.rest
	for _, f := range files {
		one := part{File: f}
		for _, k := range categories {
			at := key{f.Name, k}
			named := s.named[at]
			more := min(max(f.Categories[k].Nanos-named, 0), rest[k])
			rest[k] -= more
			if named+more > 0 {
				one.taken = append(one.taken, taken{at, more})
				one.nanos += named + more
			}
			e.unsure += more
			e.calls += f.Categories[k].Calls
			e.bytes += f.Categories[k].Bytes
		}
		if one.nanos > 0 {
			e.parts = append(e.parts, one)
			e.nanos += one.nanos
		}
	}
	slices.SortStableFunc(e.parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.nanos, a.nanos), strings.Compare(a.Name, b.Name)) })
	return e
}

// in returns the evidence of all calls of some categories.
func (s *scene) in(categories ...profile.Category) evidence {
	var files []*profile.File
	for i := range s.Files {
		files = append(files, &s.Files[i])
	}
	e := s.on(files, categories...)
	e.nanos, e.unsure, e.calls, e.bytes, e.all = 0, 0, 0, 0, categories
	for _, k := range categories {
		e.calls += s.Categories[k].Calls
		e.bytes += s.Categories[k].Bytes
		e.nanos += s.rest[k]
	}
	for at, nanos := range s.named {
		if slices.Contains(categories, at.category) {
			e.nanos += nanos
		}
	}
	return e
}

// time returns the evidence of a step that is not a call.
func (s *scene) time(name string) evidence {
	return evidence{nanos: s.spent[name], spent: name}
}

// claim removes the evidence of a rule from the scene.
func (s *scene) claim(e *evidence) {
	delete(s.spent, e.spent)
	for _, k := range e.all {
		s.rest[k] = 0
		maps.DeleteFunc(s.named, func(at key, _ int64) bool { return at.category == k })
	}
	for _, p := range e.parts {
		for _, t := range p.taken {
			delete(s.named, t.at)
			s.rest[t.at.category] = max(s.rest[t.at.category]-t.rest, 0)
		}
	}
}

// readsOnly reports whether the evidence is of reads only.
func (e *evidence) readsOnly() bool {
	other := func(k profile.Category) bool { return k != profile.Reads && k != profile.MappedReads }
	return len(e.parts) > 0 && !slices.ContainsFunc(e.all, other) && !slices.ContainsFunc(e.parts, func(p part) bool {
		return slices.ContainsFunc(p.taken, func(t taken) bool { return other(t.at.category) })
	})
}

// where returns the files that are so.
func (s *scene) where(so func(f *profile.File) bool) (list []*profile.File) {
	for i := range s.Files {
		if f := &s.Files[i]; so(f) {
			list = append(list, f)
		}
	}
	return list
}
