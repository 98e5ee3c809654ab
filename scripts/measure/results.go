package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pianola/internal/stats"
)

// Names of figures that pictures and pages show.
const (
	runTime    = "run time, s"
	perCommand = "a command, ns"
	perCall    = "a call, µs"
)

// document is a file of docs/measured.
type document struct {
	Measure string   `json:"measure"`
	About   string   `json:"about"`
	Rows    []result `json:"rows"`
}

// result is a row as it was measured.
type result struct {
	Name    string       `json:"name"`
	Date    string       `json:"date"`
	Commit  string       `json:"commit"`
	Machine description  `json:"machine"`
	Rounds  int          `json:"rounds"`
	Load    load         `json:"load"`
	Quiet   bool         `json:"quiet"`
	LeftOut string       `json:"left_out,omitempty"` // why there are no sides
	Sides   []sideResult `json:"sides,omitempty"`
}

// origin describes where the result comes from.
func (r *result) origin() string {
	name, changes, _ := strings.Cut(r.Commit, " ")
	return strings.TrimSpace(fmt.Sprintf("%.10s, commit %.12s %s", r.Date, name, changes))
}

// load is the share of the processors that other work took before and after a row, and the
// share of a side's busy time that the host of the virtual machine had, at most.
type load struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Stolen float64 `json:"stolen,omitempty"`
}

type sideResult struct {
	Name    string         `json:"name"`
	On      string         `json:"on,omitempty"` // a storage, if it isn't that of the other sides
	LeftOut string         `json:"left_out,omitempty"`
	Figures []figureResult `json:"figures,omitempty"`
}

// figureResult is a figure of a side, and beside that of another one, round by round.
type figureResult struct {
	Name string `json:"name"`
	summary
	Values     []float64 `json:"values"`       // by round
	Of         string    `json:"of,omitempty"` // the side that ratio and difference are to
	Ratio      *summary  `json:"ratio,omitempty"`
	Difference *summary  `json:"difference,omitempty"`
}

// summary is a median and its interval at 95 %, which takes six rounds.
type summary struct {
	Median   float64     `json:"median"`
	Interval *[2]float64 `json:"interval,omitempty"`
	Range    [2]float64  `json:"range"` // the least and the greatest
}

func summarized(values []float64) summary {
	v := slices.Clone(values)
	slices.Sort(v)
	s := summary{Median: round(stats.Median(v)), Range: [2]float64{round(v[0]), round(v[len(v)-1])}}
	if len(v) >= stats.MedianRuns(errorRate) {
		i := stats.MedianInterval(v, errorRate)
		s.Interval = &[2]float64{round(i.Low), round(i.High)}
	}
	return s
}

// round keeps six digits, because people read the files.
func round(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

// result returns the result of one side, from the samples of all sides.
func (s side) result(samples map[string][]sample, leftOut string) sideResult {
	r := sideResult{Name: s.name, On: s.on, LeftOut: leftOut}
	for _, name := range slices.Sorted(maps.Keys(samples[s.name][0])) {
		values, ok := byRound(samples[s.name], name)
		if !ok {
			continue
		}
		f := figureResult{Name: name, summary: summarized(values), Values: values}
		for _, other := range strings.Split(s.of, "|") {
			if beside, ok := byRound(samples[other], name); ok && !counts[name] {
				f.Of = other
				f.Ratio, f.Difference = compared(name, values, beside)
				break
			}
		}
		r.Figures = append(r.Figures, f)
	}
	return r
}

// compared compares the figures of two sides round by round. It returns no ratio to a
// figure that is 0, and none of shares.
func compared(name string, values, beside []float64) (ratio, difference *summary) {
	var ratios, differences []float64
	for i, v := range values {
		differences = append(differences, v-beside[i])
		if beside[i] != 0 {
			ratios = append(ratios, v/beside[i])
		}
	}
	d := summarized(differences)
	if len(ratios) == len(values) && !strings.HasSuffix(name, "%") {
		r := summarized(ratios)
		ratio = &r
	}
	return ratio, &d
}

// counts are not compared with those of other sides.
var counts = map[string]bool{"failed": true, "differed": true, "lost": true, "unexplained": true, "executed": true, "events": true, "missed": true}

// byRound returns a figure by round, if all rounds have it.
func byRound(samples []sample, name string) (values []float64, ok bool) {
	for _, s := range samples {
		v, ok := s[name]
		if !ok {
			return nil, false
		}
		values = append(values, round(v))
	}
	return values, len(values) > 0
}

// readDocument returns the file of a study, or a new one.
func readDocument(dir string, s *study) (*document, error) {
	d := &document{Measure: s.name, About: s.about}
	text, err := os.ReadFile(filepath.Join(dir, s.name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s.json: %w", s.name, err)
	}
	d.About = s.about
	return d, nil
}

// row returns the row of that name, or nil.
func (d *document) row(name string) *result {
	if i := slices.IndexFunc(d.Rows, func(r result) bool { return r.Name == name }); i >= 0 {
		return &d.Rows[i]
	}
	return nil
}

// figure returns a figure of a side, nil if there is none.
func (r *result) figure(side, name string) *figureResult {
	for i := range r.Sides {
		for k := range r.Sides[i].Figures {
			if f := &r.Sides[i].Figures[k]; r.Sides[i].Name == side && f.Name == name {
				return f
			}
		}
	}
	return nil
}

// put replaces a row, or adds it where the study has it.
func (d *document) put(r result, s *study) {
	d.Rows = append(slices.DeleteFunc(d.Rows, func(old result) bool { return old.Name == r.Name }), r)
	place := func(r result) int { return slices.IndexFunc(s.rows, func(row row) bool { return row.name == r.Name }) }
	// A row that the study no longer has is a figure of an older state.
	d.Rows = slices.DeleteFunc(d.Rows, func(r result) bool { return place(r) < 0 })
	slices.SortFunc(d.Rows, func(a, b result) int { return place(a) - place(b) })
}

// write replaces the file atomically. If it is interrupted, the old file stays.
func (d *document) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return err
	}
	path := filepath.Join(dir, d.Measure+".json")
	if err := os.WriteFile(path+".new", numbers.ReplaceAllFunc(text.Bytes(), oneLine), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// numbers are arrays of numbers, which take a line each.
var numbers = regexp.MustCompile(`\[\s+-?[0-9][-+0-9.e,\s]*\]`)

func oneLine(array []byte) []byte {
	text := strings.Join(strings.Fields(string(array)), " ")
	return []byte(strings.NewReplacer("[ ", "[", " ]", "]").Replace(text))
}

// String is the row as a table.
func (r result) String() string {
	var b strings.Builder
	if r.LeftOut != "" {
		fmt.Fprintf(&b, "  left out: %s\n", r.LeftOut)
	}
	for _, s := range r.Sides {
		if s.LeftOut != "" {
			fmt.Fprintf(&b, "  %-28s left out: %s\n", s.Name, s.LeftOut)
		}
		for _, f := range s.Figures {
			fmt.Fprintf(&b, "  %-28s %-22s %12.5g", s.Name, f.Name, f.Median)
			if f.Ratio != nil {
				fmt.Fprintf(&b, "  %.3f of %s (%.3f to %.3f)", f.Ratio.Median, f.Of, f.Ratio.Range[0], f.Ratio.Range[1])
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// documents are the paths that a search for a commit leaves out: figures don't depend on them.
var documents = []string{"--", ".", ":!docs", ":!*.md"}

// lastChange names the last commit up to a revision that changed anything but documents.
func lastChange(ctx context.Context, revision string) (string, error) {
	name, err := process(ctx, ".", append([]string{"git", "log", "-1", "--format=%H", revision}, documents...))
	return strings.TrimSpace(name), err
}

// commit is the last change of the working directory.
func commit(ctx context.Context) (string, error) {
	name, err := lastChange(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := process(ctx, ".", append([]string{"git", "status", "--porcelain"}, documents...))
	if changed != "" {
		name += " with changes"
	}
	return name, err
}

// descends reports whether a commit of a result is from or comes after it. It returns false
// for a commit that is not in the repository.
func descends(ctx context.Context, commit, from string) bool {
	name, _, _ := strings.Cut(commit, " ")
	_, err := process(ctx, ".", []string{"git", "merge-base", "--is-ancestor", from, name})
	return err == nil
}
