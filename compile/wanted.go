package compile

import (
	"strings"

	"pianola/filter"
	"pianola/format"
)

// wants reports whether the filter selects an event, which is not left out for
// another reason.
func (m *model) wants(s *simEvent, why reason) bool {
	if m.options.Filter == nil {
		return true
	}
	if why != reasonNone {
		return false
	}
	e := s.e
	subject := filter.Subject{
		Thread: e.TID, Process: s.t.proc.ID, Command: s.t.proc.command, Op: e.Op, Size: e.Size(),
		Result: e.Ret, Duration: e.Dur, Time: e.Start,
	}
	if s.at[0] != nil {
		subject.Path = m.names.original(s.at[0])
	} else if s.d != nil && s.d.node.at != nil {
		subject.Path = m.names.original(s.d.node.at)
	}
	if !m.options.Filter(&subject) {
		return false
	}
	for _, f := range []*openFile{s.d, s.other} {
		if f != nil {
			m.use(f)
		}
	}
	return true
}

// use notes that the trace needs an open file description.
func (m *model) use(f *openFile) {
	if !m.wanted[f.Serial] {
		m.wanted[f.Serial] = true
		m.budget.take(forDescriptors, inMap)
	}
}

// needed reports whether an event that the filter does not select stays in the
// trace, because selected events need its effect: it makes a process, a name,
// or a descriptor that they use.
func (m *model) needed(s *simEvent) bool {
	info := s.out.Op.Info()
	switch info.Effect {
	case format.EffectOpen, format.EffectClose, format.EffectDup:
		f := s.made
		if s.d != nil {
			f = s.d
		}
		return f != nil && (m.names.plan == nil || m.names.plan.used[f.Serial])
	case format.EffectFcntl:
		return s.out.Copies() && (m.names.plan == nil || m.names.plan.used[s.d.Serial])
	case format.EffectCloseRange:
		return true
	}
	return info.Class == format.ClassProcess || s.e.Ret >= 0 && info.Effect.ChangesNames()
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
