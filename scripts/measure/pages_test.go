package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/internal/testkit"
)

const requestRate = "requests/s"

// measured reads a file of docs/measured, which has no rows if it is not there.
func measured(t *testing.T, study string) *document {
	t.Helper()
	d := new(document)
	text, err := os.ReadFile(filepath.Join("../../docs/measured", study+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return d
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, d))
	return d
}

// plain returns a figure as it was measured, nil if there is none.
func (r *result) plain(side, name string) *summary {
	if f := r.figure(side, name); f != nil {
		return &f.summary
	}
	return nil
}

// ratio returns the ratio of a figure to that of the side beside it, nil if there is none.
func (r *result) ratio(side, name string) *summary {
	if f := r.figure(side, name); f != nil {
		return f.Ratio
	}
	return nil
}

// cell shows a summary with its least and its greatest value.
func (s *summary) cell(decimals int) string {
	if s == nil {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", table.Fixed(s.Median, decimals), table.Fixed(s.Range[0], decimals), table.Fixed(s.Range[1], decimals))
}

// line is a row of a table, and by how much it is wrong.
type line struct {
	cells []string
	off   float64
}

// column is one of a table of ratios: those of a side of a study.
type column struct {
	heading, study, side string
	cost                 bool // of recording, by which rows are not judged
	seconds              bool // the run time itself
}

// ratioOf returns the ratio of a side's run time, or of its rate; nil if there is none.
func (r *result) ratioOf(side string) *summary {
	return cmp.Or(r.ratio(side, runTime), r.ratio(side, requestRate))
}

// lines returns a row of ratios for each name that a column has. More cells follow the name.
func lines(t *testing.T, columns []column, more ...string) (all []line) {
	at := map[string]int{}
	for i, c := range columns {
		d := measured(t, c.study)
		for k := range d.Rows {
			r := &d.Rows[k]
			ratio, cell := r.ratioOf(c.side), ""
			switch took := r.plain(c.side, runTime); {
			case c.seconds && took != nil:
				cell = digits(took.Median)
			case ratio != nil:
				cell = ratio.cell(2)
			default:
				continue
			}
			if _, ok := at[r.Name]; !ok {
				at[r.Name] = len(all)
				cells := append([]string{r.Name}, more...)
				all = append(all, line{cells: append(cells, slices.Repeat([]string{"–"}, len(columns))...)})
			}
			l := &all[at[r.Name]]
			if l.cells[1+len(more)+i] = cell; !c.cost && !c.seconds {
				l.off = max(l.off, math.Abs(math.Log(ratio.Median)))
			}
		}
	}
	return all
}

// ratios returns a table of lines, the worst first, without the columns that have no measurement.
func ratios(columns []column, all []line, first ...string) [][]string {
	header := slices.Clone(first)
	for _, c := range columns {
		header = append(header, c.heading)
	}
	for i := len(header) - 1; i >= len(first); i-- {
		if !slices.ContainsFunc(all, func(l line) bool { return l.cells[i] != "–" }) {
			header = slices.Delete(header, i, i+1)
			for k := range all {
				all[k].cells = slices.Delete(all[k].cells, i, i+1)
			}
		}
	}
	return worstFirst(header, all)
}

// worstFirst returns the rows of a table.
func worstFirst(header []string, lines []line) [][]string {
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.off, a.off) })
	rows := [][]string{header}
	for _, l := range lines {
		rows = append(rows, l.cells)
	}
	return orNot(rows)
}

// orNot adds a row to a table without rows.
func orNot(rows [][]string) [][]string {
	if len(rows) == 1 {
		rows = append(rows, append([]string{"not measured"}, slices.Repeat([]string{"–"}, len(rows[0])-1)...))
	}
	return rows
}

// pageTables are the tables of pages that docs/measured has.
var pageTables = []struct {
	page, heading string
	rows          func(t *testing.T) [][]string
}{
	{"README.md", "## Measured", overview},
	{"docs/accuracy.md", "## Programs", programsTable},
	{"docs/accuracy.md", "## Servers", serversTable},
	{"docs/accuracy.md", "## Group commit", commitsTable},
	{"docs/accuracy.md", "## What if", whatIfTable},
	{"docs/accuracy.md", "## Cost of recording", costTable},
	{"docs/accuracy.md", "## Speed", speedTable},
	{"docs/internals/workloads.md", "## Measured", suiteTable},
	{"docs/five-works.md", "## Figures", worksTable},
}

// The tables of pages are those of docs/measured.
func TestAccuracyPage(t *testing.T) {
	for _, p := range pageTables {
		testkit.Table(t, filepath.Join("../..", p.page), p.heading, p.rows(t))
	}
}

// rarer are sides of the study of calls that the page leaves out, slower those that it has of the
// first call only.
var (
	rarer  = []string{"record, compressed", "record of another process", "bpftrace, printing", "bpftrace, counting"}
	slower = []string{"record with ptrace", "strace -f -r -T"}
)

func costTable(t *testing.T) [][]string {
	rows := [][]string{{"call", "tool", "added, ns"}}
	for _, study := range []string{"calls", "layers"} {
		d := measured(t, study)
		for i := range d.Rows {
			r := &d.Rows[i]
			for _, side := range r.Sides {
				if f := r.figure(side.Name, "a call, ns"); f != nil && f.Difference != nil && !slices.Contains(rarer, side.Name) && (i == 0 || !slices.Contains(slower, side.Name)) {
					rows = append(rows, []string{r.Name, side.Name, f.Difference.cell(0)})
				}
			}
		}
	}
	return orNot(rows)
}

var ofPrograms = []column{
	{heading: "seconds", study: "fidelity", side: "program", seconds: true},
	{heading: "same storage", study: "fidelity", side: "replayed"},
	{heading: "other storage", study: "storage", side: "replayed"},
	{heading: "by a model", study: "model", side: "by the model"},
	{heading: "recorded", study: "cost", side: "recorded", cost: true},
	{heading: "in the process", study: "cost", side: "in the process", cost: true},
}

func programsTable(t *testing.T) [][]string {
	return ratios(ofPrograms, lines(t, ofPrograms), "program")
}

func serversTable(t *testing.T) [][]string {
	columns := []column{
		{heading: "on ext4", side: "replayed on ext4"},
		{heading: "on disk-500", side: "replayed on disk-500"},
		{heading: "on disk-5000", side: "replayed on disk-5000"},
		{heading: "on tmpfs", side: "replayed on tmpfs"},
		{heading: "while recorded", side: "recorded", cost: true},
	}
	var all []line
	for _, study := range studies {
		if strings.HasPrefix(study.name, "servers") {
			for i := range columns {
				columns[i].study = study.name
			}
			all = append(all, lines(t, columns, study.home)...)
		}
	}
	return ratios(columns, all, "server", "recorded on")
}

var ofCommits = []column{
	{heading: "to the slower disk", study: "commits-slower", side: "replayed"},
	{heading: "to the faster disk", study: "commits-faster", side: "replayed"},
}

func commitsTable(t *testing.T) [][]string {
	return ratios(ofCommits, lines(t, ofCommits), "program")
}

// whatIfTable sets the shares of the run time that a change really left beside those that lab predicted.
func whatIfTable(t *testing.T) [][]string {
	var all []line
	for _, study := range []string{"what-if", "log", "prefetch", "coalesce"} {
		d := measured(t, study)
		for i := range d.Rows {
			r := &d.Rows[i]
			for _, side := range r.Sides {
				share, took := r.figure(side.Name, "share of as it is"), r.figure(side.Name, runTime)
				if share == nil || took == nil {
					continue
				}
				l := line{cells: []string{r.Name, took.Of}}
				real := r.ratio(took.Of, runTime)
				l.cells = append(l.cells, real.cell(2), share.cell(2))
				if real != nil {
					l.off = math.Abs(math.Log(share.Median / real.Median))
				}
				all = append(all, l)
			}
		}
	}
	return worstFirst([]string{"program", "change", "left of the run time", "predicted"}, all)
}

// works are figures of the five works, and where the measured ones are.
var works = []struct {
	text, there      string
	study, row, side string
	figure           string
	to               string // the figure is the ratio to this side; "" for itself
}{
	{"graph, replay by recording: read time", "0.997", "data-intensive", "ingest", "replayed", "read, s", "recorded"},
	{"write time", "0.977", "data-intensive", "ingest", "replayed", "write, s", "recorded"},
	{"run time", "0.955", "data-intensive", "ingest", "replayed", runTime, "recorded"},
	{"hydrodynamics: read time", "1.44", "data-intensive", "hydro", "replayed", "read, s", "recorded"},
	{"write time", "0.959", "data-intensive", "hydro", "replayed", "write, s", "recorded"},
	{"run time", "0.912", "data-intensive", "hydro", "replayed", runTime, "recorded"},
	{"user time, s", "284", "data-intensive", "hydro", "program", "user, s", ""},
	{"compute recorded, s", "289", "data-intensive", "hydro", "recorded", "compute, s", ""},
	{"compute by strace, s", "347", "data-intensive", "hydro", "strace", "compute, s", ""},
	{"run time with memory by that without", "1", "data-intensive", "hydro", "replayed --memory", runTime, "replayed"},
	{"command called directly, ns", "140", "engine", "reads", "C loop", perCommand, ""},
	{"by the engine, unbuffered, ns", "354", "engine", "reads", "replay --buffer 0", perCommand, ""},
	{"buffered, ns", "2877", "engine", "reads", "replay", perCommand, ""},
	{"run time with prefetch, 10 ms a seek", "0.5", "prefetch", seeks, "2 announced", runTime, "as it is"},
	{"predicted", "–", "prefetch", seeks, "prefetch=4", "share of as it is", ""},
	{"engine alone by the program", "0.025", "prefetch", seeks, "engine alone", runTime, "as it is"},
	{"HDF5 checkpoint, predicted with buffer: run time", "0.86", "flash", "checkpoints", "buffer of 512 KiB", runTime, "as it is"},
	{"time in writes", "–", "flash", "checkpoints", "buffer of 512 KiB", "write, s", "as it is"},
	{"HDF5 writes 10x10, native, µs", "18", "hdf5-samples", "write of 10x10", "native, fast disk", perCall, ""},
	{"connector", "<5", "hdf5-samples", "write of 10x10", "connector, fast disk", perCall, ""},
	{"reads 10x10, native", "4", "hdf5-samples", "read of 10x10", "native, fast disk", perCall, ""},
	{"connector", "8", "hdf5-samples", "read of 10x10", "connector, fast disk", perCall, ""},
}

func worksTable(t *testing.T) [][]string {
	rows := [][]string{{"figure", "there", "here"}}
	for _, w := range works {
		here := "–"
		if r := measured(t, w.study).row(w.row); r != nil {
			f := r.figure(w.side, w.figure)
			switch {
			case f != nil && w.to == "":
				here = digits(f.Median)
			case f != nil && f.Of == w.to:
				here = digits(f.Ratio.Median)
			}
		}
		rows = append(rows, []string{w.text, w.there, here})
	}
	return rows
}

func speedTable(t *testing.T) [][]string {
	rows := [][]string{{"tool", "million reads/s", "ratio to the C loop"}}
	d := measured(t, "speed")
	for i := range d.Rows {
		for _, side := range d.Rows[i].Sides {
			if f := d.Rows[i].figure(side.Name, "M reads/s"); f != nil {
				rows = append(rows, []string{side.Name, f.cell(2), f.Ratio.cell(2)})
			}
		}
	}
	return orNot(rows)
}

func suiteTable(t *testing.T) [][]string {
	on := []string{"ext4", "xfs", "btrfs", "tmpfs", "slow"}
	rows := [][]string{append([]string{"run time, s"}, on...)}
	d := measured(t, "suite")
	for i := range d.Rows {
		for _, kind := range [][2]string{{", replayed", ""}, {", program", "program on "}} {
			cells := []string{d.Rows[i].Name + kind[0]}
			for _, storage := range on {
				cells = append(cells, d.Rows[i].plain(kind[1]+storage, runTime).cell(2))
			}
			rows = append(rows, cells)
		}
	}
	return orNot(rows)
}

// predictions on storage that is slower, and faster, than that of the recording: studies and sides.
var onSlower = [][2]string{{"storage", "replayed"}, {"commits-slower", "replayed"}, {"servers", "replayed on disk-500"},
	{"servers-memory", "replayed on disk-500"}, {"servers-5000", "replayed on disk-5000"}}

var onFaster = [][2]string{{"commits-faster", "replayed"}, {"servers", "replayed on tmpfs"},
	{"servers-faster", "replayed on ext4"}, {"servers-faster", "replayed on tmpfs"}}

// off describes by how much replays on other storage are wrong.
func off(t *testing.T, sides [][2]string) string {
	var wrong []float64
	worst := ""
	for _, side := range sides {
		d := measured(t, side[0])
		for i := range d.Rows {
			r := &d.Rows[i]
			ratio := r.ratioOf(side[1])
			if ratio == nil {
				continue
			}
			percent := 100 * math.Abs(ratio.Median-1)
			if len(wrong) == 0 || percent > slices.Max(wrong) {
				worst = r.Name
			}
			wrong = append(wrong, percent)
		}
	}
	if len(wrong) == 0 {
		return "not measured"
	}
	slices.Sort(wrong)
	return fmt.Sprintf("%.0f %% (median of %d replays); worst: %s, %.0f %%", stats.Median(wrong), len(wrong), worst, wrong[len(wrong)-1])
}

// overview is the table of the first page.
func overview(t *testing.T) [][]string {
	accuracy := func(text, section string) string { return "[" + text + "](docs/accuracy.md#" + section + ")" }
	cost, speed := "not measured", map[string]string{"replay": "not measured", "fio": "not measured"}
	if r := measured(t, "calls").row("pread of 4 KiB"); r != nil {
		if f := r.figure("record", "a call, ns"); f != nil {
			cost = f.Difference.cell(0) + " ns"
		}
	}
	if r := measured(t, "speed").row("reads"); r != nil {
		for side := range speed {
			if ratio := r.ratio(side, "M reads/s"); ratio != nil {
				speed[side] = ratio.cell(2) + " of a C loop"
			}
		}
	}
	return [][]string{
		{"question", "median (least to greatest)"},
		{accuracy("cost of a recorded event", "cost-of-recording"), cost},
		{accuracy("speed of a replay", "speed"), speed["replay"]},
		{accuracy("speed of fio", "speed"), speed["fio"]},
		{accuracy("error on slower storage", "programs"), off(t, onSlower)},
		{accuracy("error on faster storage", "group-commit"), off(t, onFaster)},
	}
}
