package sides

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"pianola/experiment"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/files"
)

// sideFile is a file of a side.
type sideFile struct {
	side int
	name string
	info os.FileInfo
	sum  []byte // of its content, nil before it is needed
}

// isSame reports whether two files of the same size are the same run: one inode, or the
// same content.
func (f *sideFile) isSame(other *sideFile, set *files.Set) (bool, error) {
	if os.SameFile(f.info, other.info) {
		return true, nil
	}
	for _, one := range []*sideFile{f, other} {
		if one.sum != nil {
			continue
		}
		var err error
		if one.sum, err = sumOf(one.name, set); err != nil {
			return false, err
		}
	}
	return bytes.Equal(f.sum, other.sum), nil
}

// sumOf returns a checksum of the content of a file.
func sumOf(name string, set *files.Set) ([]byte, error) {
	f, err := set.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// checkRepeated returns an error if a side has a file twice, which is no second run. It
// remembers a file that is on both sides.
func (s *Sides) checkRepeated() error {
	bySize := map[int64][]*sideFile{}
	for side, names := range s.files {
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			f := &sideFile{side: side, name: name, info: info}
			for _, other := range bySize[info.Size()] {
				same, err := f.isSame(other, s.reader.Files)
				switch {
				case err != nil:
					return err
				case same && other.side != side:
					s.shared = name
				case same:
					return sameRun(other.name, name)
				}
			}
			bySize[info.Size()] = append(bySize[info.Size()], f)
		}
	}
	return nil
}

// identity tells a run from others, whatever file holds it: a script, a compiled trace,
// something compressed, or a baseline. It is "" if the run does not say when it began and
// how long it was.
func identity(run *experiment.Run) string {
	h := format.Header{Meta: run.Meta}
	start, ok := h.Value(format.MetaStart)
	if !ok {
		return ""
	}
	if _, replayed := h.Value(format.MetaReplay); replayed {
		// Replays can begin at once.
		return fmt.Sprint("replay ", start, " ", run.Profile.RunTime, " ", run.Profile.IO().Nanos)
	}
	elapsed, ok := h.Value(format.MetaElapsed)
	if !ok {
		return ""
	}
	return "recording " + start + " " + elapsed
}

// sameRun returns the error for two files of a side that are one run.
func sameRun(a, b string) error {
	text := fmt.Sprintf("%s and %s are the same run", format.Visible(a), format.Visible(b))
	if a == b {
		text = format.Visible(a) + " is given twice, and is one run"
	}
	return console.WithHint(errors.New(text), "give each run once; replay --runs N --log NAME makes N of them")
}

// itself says that a run is on both sides, "" if none is.
func (s *Sides) itself() string {
	if s.shared != "" {
		return format.Visible(s.shared) + " is on both sides, and is compared with itself"
	}
	for one := range s.seen[1] {
		if s.seen[0][one] != "" && one != "" {
			what, _, _ := strings.Cut(one, " ")
			return "the same " + what + " is on both sides, and is compared with itself"
		}
	}
	return ""
}
