package cli

import (
	"os"

	"pianola/compile"
	"pianola/experiment/sides"
	"pianola/format"
)

// newReader returns a reader of the runs of sides.
func newReader() *sides.Reader {
	return &sides.Reader{
		Open: func(name string) (sides.Recording, error) {
			s, err := openRecorded(name)
			return recordedRun{s, name}, err
		},
		Files: &session.files, Memory: readingMemory,
	}
}

// recordedRun implements sides.Recording.
type recordedRun struct {
	*sources
	name string
}

func (r recordedRun) IsLog() bool                               { return r.Log }
func (r recordedRun) IsCompiled() bool                          { return r.Log || r.isLowered() }
func (r recordedRun) Events() (format.Reader, error)            { return r.events() }
func (r recordedRun) Trace(o compile.Options) (*os.File, error) { return r.compiled(r.name, o) }

// openRecording opens a recording, a trace or a log. It compiles a script with the options. The
// caller calls close after the last use of the reader.
func openRecording(name string, o compile.Options) (r format.Reader, close func() error, err error) {
	src, err := openRecorded(name)
	if err != nil {
		return nil, nil, err
	}
	if src.Log || src.isLowered() {
		r, err := src.events()
		return r, src.Close, err
	}
	defer src.Close()
	f, err := src.compiled(name, o)
	if err != nil {
		return nil, nil, err
	}
	t, err := traceOf(f)
	if err != nil {
		f.Close()
		return nil, nil, named(name, err)
	}
	return t.Events(), f.Close, nil
}
