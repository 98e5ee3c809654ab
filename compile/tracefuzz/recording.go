package tracefuzz

import (
	"bytes"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// Recordings reads the recordings that Bases compiles, for MutatedRecording.
func Recordings(tb testing.TB, root string) (recordings []*Trace) {
	tb.Helper()
	for _, name := range inputs(tb, root) {
		text, err := os.ReadFile(name)
		require.NoError(tb, err)
		r := script.NewReader(bytes.NewReader(text), filepath.Base(name))
		events, err := testkit.ReadAll(r, 64)
		require.NoError(tb, err)
		if len(events) > 0 {
			recordings = append(recordings, &Trace{Header: format.Header{Meta: r.Header().Meta}, Events: events})
		}
	}
	return recordings
}

// MutatedRecording returns the recording that the bytes select, as Mutated does for
// compiled traces. Its Script is one that a recorder could have written.
func MutatedRecording(bases []*Trace, data []byte) *Trace {
	return mutated(bases, data, recordingSteps, metaSteps)
}

// recordingSteps change the events of a recording: the steps of a trace, plus changes
// of notes and threads.
var recordingSteps = append(slices.Clip(eventSteps), []func(t *Trace, s step){
	func(t *Trace, s step) { // a note comes or goes
		t.note(s, &format.NoteFields[int(s[3])%len(format.NoteFields)])
	},
	func(t *Trace, s step) { // a note of the file
		t.note(s, &format.NoteFields[int(s[3])%bits.Len64(uint64(format.NotedTarget))])
	},
	func(t *Trace, s step) { // a number of its own
		f, e := &format.OwnFields[int(s[3])%len(format.OwnFields)], &t.Events[s.event(t)]
		if f.Key != "" && !f.Trace {
			*f.Own(e) = bounded(&f.Parts[0], number(s[4], s[5], s[6]))
		}
	},
	func(t *Trace, s step) { // the same, by many threads
		e := t.Events[s.event(t)]
		for range min(1<<(s[3]%11), maxEvents-len(t.Events)) {
			e.TID++
			e.Ret += int64(s[4] & 1)
			t.Events = append(t.Events, e)
		}
	},
	func(t *Trace, s step) { // names that grow
		e := t.Events[s.event(t)]
		for i := range min(1<<(s[3]%11), maxEvents-len(t.Events)) {
			for k, name := range e.Str {
				if name != nil && s[4]>>k&1 != 0 && len(name) < maxName {
					e.Str[k] = append(slices.Clip(name), "/abcdefghijklm"[:2+i%12]...)
				}
			}
			t.Events = append(t.Events, e)
		}
	},
	func(t *Trace, s step) { // the start
		t.Events[s.event(t)].Start = number(s[3], s[4], s[5])
	},
}...)

// metaSteps change the header of a recording.
var metaSteps = []func(t *Trace, s step){
	func(t *Trace, s step) {
		keys := []string{
			format.MetaLost, format.MetaCost, format.MetaCwd, format.MetaUmask, format.MetaProcess, format.MetaFileSystems, format.MetaCoverage, format.MetaUnsupported,
			format.MetaElapsed, format.MetaTool, format.MetaReplay, format.MetaPaths,
		}
		values := []string{"0", "1", "-1", "9223372036854775807", "inside=1000 outside=9223372036854775807 rich=5", `"/w"`, `"a"`, "777", "1e300", "ebpf", `"/"=ext4`, "bytes=10 seconds=1"}
		t.Header.Set(pick(keys, s[1]), pick(values, s[2]))
	},
}

// maxName is how long names grow, in bytes.
const maxName = 4096

// note gives an event a note that a script can say, or takes it.
func (t *Trace) note(s step, f *format.Field) {
	n, e := t.notes(s.event(t)), &t.Events[s.event(t)]
	if n.Has ^= f.Noted; n.Has&f.Noted == 0 {
		return
	}
	for i := range f.Parts {
		switch p := &f.Parts[i]; {
		case p.Form == format.InStretches:
			var blocks []format.Stretch
			for k := range 1 + int64(s[4]) {
				blocks = append(blocks, format.Stretch{Allocation: format.Allocation(k & 1), Bytes: 4096})
			}
			*p.Text(e) = format.AppendBlocks(nil, blocks)
		case p.IsText():
			*p.Text(e) = t.name(s[4])
		default:
			p.Set(e, bounded(p, number(s[4+i], s[5], s[6])))
		}
	}
}

// bounded returns the number, or another one that a script can say.
func bounded(p *format.Part, v int64) int64 {
	if p.Within(v) {
		return v
	}
	return p.Min + int64(uint64(v)%uint64(p.Most()-p.Min+1))
}

// notes returns the notes of an event, to be changed.
func (t *Trace) notes(i int) *format.Notes {
	e := &t.Events[i]
	n := new(format.Notes)
	if e.Notes != nil {
		*n = *e.Notes
	}
	e.Notes = n
	return n
}

// Script returns the events in the form of a recorder's script.
func (t *Trace) Script() ([]byte, error) {
	var text bytes.Buffer
	w := script.NewWriter(&text)
	if err := w.WriteHeader(&format.Header{Meta: t.Header.Meta}); err != nil {
		return nil, err
	}
	if err := w.Write(t.Events); err != nil {
		return nil, err
	}
	err := w.Flush()
	return text.Bytes(), err
}

// Intermediate returns a compiled trace as an intermediate script.
func (t *Trace) Intermediate() ([]byte, error) {
	var text bytes.Buffer
	w := script.NewIntermediateWriter(&text, &t.Header)
	if err := w.Write(t.Events); err != nil {
		return nil, err
	}
	err := w.Flush()
	return text.Bytes(), err
}
