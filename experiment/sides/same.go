package sides

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pianola/experiment"
	"pianola/format"
	"pianola/internal/console"
)

// checkRepeated returns an error if a side has a file twice, under any name, which is no second
// run. It remembers a file that is on both sides.
func (s *Sides) checkRepeated() error {
	size, count := map[string]int64{}, map[int64]int{}
	for _, name := range slices.Concat(s.files[0], s.files[1]) {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			size[name] = info.Size()
			count[info.Size()]++
		}
	}
	seen := [2]map[string]string{{}, {}} // the file by its content
	for side, names := range s.files {
		for _, name := range names {
			if n, ok := size[name]; !ok || count[n] < 2 {
				continue
			}
			sum, err := s.sum(name)
			if err != nil {
				return err
			}
			if before := seen[side][sum]; before != "" {
				return sameRun(before, name)
			}
			seen[side][sum] = name
			if side == 1 && seen[0][sum] != "" {
				s.shared = name
			}
		}
	}
	return nil
}

// sum returns a checksum of the content of a file.
func (s *Sides) sum(name string) (string, error) {
	f, err := s.reader.Files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return string(h.Sum(nil)), err
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
