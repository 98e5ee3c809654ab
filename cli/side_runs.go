package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"pianola/format"
	"pianola/page"
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
func (f *sideFile) isSame(other *sideFile) (bool, error) {
	if os.SameFile(f.info, other.info) {
		return true, nil
	}
	for _, one := range []*sideFile{f, other} {
		if one.sum != nil {
			continue
		}
		var err error
		if one.sum, err = sumOf(one.name); err != nil {
			return false, err
		}
	}
	return bytes.Equal(f.sum, other.sum), nil
}

// sumOf returns a checksum of the content of a file.
func sumOf(name string) ([]byte, error) {
	f, err := openInput(name)
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

// checkRepeated returns an error if a side has a run twice, which is no second run. It
// remembers a file that is on both sides.
func (s *sides) checkRepeated() error {
	bySize := map[int64][]*sideFile{}
	for side, names := range s.files {
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			f := &sideFile{side: side, name: name, info: info}
			for _, other := range bySize[info.Size()] {
				same, err := f.isSame(other)
				switch {
				case err != nil:
					return err
				case same && other.side != side:
					s.shared = name
				case same:
					text := fmt.Sprintf("%s and %s are the same run", format.Visible(other.name), format.Visible(name))
					if name == other.name {
						text = format.Visible(name) + " is given twice, and is one run"
					}
					return &hint{errors.New(text), "give each run once; replay --runs N --log NAME makes N of them"}
				}
			}
			bySize[info.Size()] = append(bySize[info.Size()], f)
		}
	}
	return nil
}

// itself says that a run is on both sides, "" if none is. A recording is told by its
// remarks, too, because it can be on the other side as a compiled trace.
func (s *sides) itself(runs [2][]page.Run) string {
	if s.shared != "" {
		return format.Visible(s.shared) + " is on both sides, and is compared with itself"
	}
	began := func(meta []format.Meta) string {
		h := format.Header{Meta: meta}
		start, _ := h.Value(format.MetaStart)
		elapsed, whole := h.Value(format.MetaElapsed)
		if _, replayed := h.Value(format.MetaReplay); !whole || replayed {
			return ""
		}
		return start + " " + elapsed
	}
	for _, a := range runs[0] {
		for _, b := range runs[1] {
			if one := began(a.Meta); one != "" && one == began(b.Meta) {
				return "the same recording is on both sides, and is compared with itself"
			}
		}
	}
	return ""
}
