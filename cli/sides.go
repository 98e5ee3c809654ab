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
