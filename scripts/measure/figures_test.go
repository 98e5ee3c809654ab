package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbers with a unit: "3 ms", "20 to 30 µs" and "15.5, 5 and 20 %" have one, two and three.
var (
	withUnit   = regexp.MustCompile(`(\d[\d ]*(?:\.\d+)?(?:,? (?:to|and|or) |, )?)+ ?(?:(%|ns|µs|ms|MB/s|MiB/s|times)(?:\W|$)|(×)(?: ?[^\d ]|$))`)
	oneNumber  = regexp.MustCompile(`\d+(?: \d{3})*(?:\.\d+)?`)
	inlineCode = regexp.MustCompile("``.*?``|`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	sourceLink = regexp.MustCompile(`measured/([a-z0-9-]+)\.json`)
	unitOfCell = regexp.MustCompile(`[, ](%|ns|µs|ms|MB/s|MiB/s|×)$`)
)

// figureOfPage is a number with its unit, and the paragraph or the row that has it.
type figureOfPage struct {
	number, unit, text string
}

func (f figureOfPage) String() string { return f.number + " " + f.unit }

// figuresOf returns the numbers with a unit of a page, outside of code and of the generated tables.
func figuresOf(page, text string) (found []figureOfPage) {
	for _, p := range pageTables {
		if p.page != page {
			continue
		}
		before, after, _ := strings.Cut(text, p.heading+"\n")
		intro, rows, _ := strings.Cut(after, "\n|")
		_, rest, _ := strings.Cut(rows, "\n\n")
		text = before + p.heading + "\n" + intro + "\n\n" + rest
	}
	code := false
	var units []string // by column of the table
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if code {
			continue
		}
		plain := linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(line, "`"), "]")
		if !strings.HasPrefix(line, "|") {
			units = nil
		} else if cells := strings.Split(plain, " |"); units == nil {
			for _, cell := range cells {
				unit := ""
				if m := unitOfCell.FindStringSubmatch(cell); m != nil {
					unit = m[1]
				}
				units = append(units, unit)
			}
		} else {
			for i, cell := range cells {
				if i < len(units) && units[i] != "" && !withUnit.MatchString(cell) {
					cells[i] += " " + units[i]
				}
			}
			plain = strings.Join(cells, " |")
		}
		for _, m := range withUnit.FindAllStringSubmatch(plain, -1) {
			for _, n := range oneNumber.FindAllString(m[0], -1) {
				found = append(found, figureOfPage{n, m[2] + m[3], line})
			}
		}
	}
	return found
}

// measuredAs reports whether a study has a value that the page can show with these digits.
func (d *document) measuredAs(f figureOfPage) bool {
	_, fraction, _ := strings.Cut(f.number, ".")
	shown := func(v float64) bool {
		return strconv.FormatFloat(max(v, -v), 'f', len(fraction), 64) == strings.ReplaceAll(f.number, " ", "")
	}
	has := func(s *summary, value func(v float64) float64) bool {
		if s == nil {
			return false
		}
		values := []float64{s.Median, s.Range[0], s.Range[1]}
		if s.Interval != nil {
			values = append(values, s.Interval[:]...)
		}
		return slices.ContainsFunc(values, func(v float64) bool { return shown(value(v)) })
	}
	for _, r := range d.Rows {
		for _, side := range r.Sides {
			for _, g := range side.Figures {
				_, unit, _ := strings.Cut(g.Name, ", ")
				scale := map[string]float64{"ns ns": 1, "ns µs": 1e-3, "s ms": 1e3, "s µs": 1e6, "µs µs": 1, "ms ms": 1, "% %": 1, "MB/s MB/s": 1}[unit+" "+f.unit]
				scaled := func(v float64) float64 { return v * scale }
				if scale != 0 && (has(&g.summary, scaled) || has(g.Difference, scaled)) {
					return true
				}
				switch f.unit {
				case "×", "times":
					if has(g.Ratio, func(v float64) float64 { return v }) {
						return true
					}
				case "%":
					if has(g.Ratio, func(v float64) float64 { return 100 * v }) || has(g.Ratio, func(v float64) float64 { return 100 * (v - 1) }) {
						return true
					}
				}
			}
		}
	}
	return false
}

// Each number with a unit in a page is in the study that its paragraph links to, in a generated table,
// or a constant.
func TestFiguresOfPages(t *testing.T) {
	pages := []string{"README.md", "CHANGELOG.md"}
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, strings.TrimPrefix(path, "../../"))
		}
		return err
	}))
	used := map[string]bool{} // by constant
	for _, group := range constants {
		for page, numbers := range group.pages {
			require.Contains(t, pages, page)
			for _, n := range strings.Split(numbers, ", ") {
				used[page+": "+n] = false
			}
		}
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("../..", page))
		require.NoError(t, err)
		for _, f := range figuresOf(page, string(text)) {
			constant := fmt.Sprintf("%s: %s", page, f)
			if _, ok := used[constant]; ok {
				used[constant] = true
				continue
			}
			source := sourceLink.FindStringSubmatch(f.text)
			if source != nil && measured(t, source[1]).measuredAs(f) {
				continue
			}
			t.Errorf("%s: %s is in no file of docs/measured that the paragraph links to: %s", page, f, f.text)
		}
	}
	for constant, ok := range used {
		require.True(t, ok, "no page has the constant %s", constant)
	}
}

func TestFiguresOf(t *testing.T) {
	text := "# A page\n\nIt takes 20 to 30 µs, 1.5 and 2 %, 94 097 ns; 64 × 1024, `5 ms`, [a](b#5 ms) and 3 parts.\n\n" +
		"```\n7 ms\n```\n\n| tool | added, ns |\n| --- | --- |\n| a | 12 |\n| b 4 | 9 ms |\n"
	var got []string
	for _, f := range figuresOf("page.md", text) {
		got = append(got, f.String())
	}
	require.Equal(t, []string{"20 µs", "30 µs", "1.5 %", "2 %", "94 097 ns", "12 ns", "9 ms"}, got)

	d := &document{Rows: []result{{Sides: []sideResult{{Figures: []figureResult{{
		Name: "a call, ns", summary: summary{Median: 344.4, Range: [2]float64{288, 355}}, Ratio: &summary{Median: 1.783},
	}}}}}}}
	for number, want := range map[string]bool{"344": true, "344.4": true, "345": false, "288": true} {
		require.Equal(t, want, d.measuredAs(figureOfPage{number: number, unit: "ns"}), number)
	}
	require.True(t, d.measuredAs(figureOfPage{number: "0.34", unit: "µs"}))
	require.True(t, d.measuredAs(figureOfPage{number: "78", unit: "%"}))
	require.False(t, d.measuredAs(figureOfPage{number: "344", unit: "ms"}))
}
