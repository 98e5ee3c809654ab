package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pianola/format"
	"pianola/internal/table"
	"pianola/profile/picture"
)

// Series is one profile of a picture, with the name that the legend gives it.
type Series struct {
	Name    string
	Profile *Profile
	Start   time.Time // when the recording began, zero if it does not say
}

// plotPoints bounds the points of a curve: about two for each pixel of the width.
const plotPoints = 1000

// categoryColors are those of the HTML page.
var categoryColors = [NumIO]picture.Color(picture.Palette)

// beyond is what axes have beyond the largest value, so that the ends of lines are seen.
const beyond = 1.02

// seriesDashes are the lines of the first series, the second and so on; from
// the last on they are all the same.
var seriesDashes = [][]float64{nil, {5, 3}, {1.75, 3}, {7, 3, 1.75, 3}}

// Plot draws the cumulative time in each category of I/O against the elapsed time, as
// kind says: "svg", or "png". The first series, the application, is drawn in
// solid lines, those after it in broken ones of the same colours. Categories
// without time are left out. The same series give the same bytes.
func Plot(w io.Writer, kind string, series ...Series) error {
	return draw(w, kind, newChart(series))
}

// PlotIntervals draws the bytes that were read and written in each interval, and how many files
// calls began on, of those that Span.Files
// tells apart. The series are drawn as by Plot.
func PlotIntervals(w io.Writer, kind string, series ...Series) error {
	return draw(w, kind, newIntervalChart(series))
}

func draw(w io.Writer, kind string, chart *picture.Chart) error {
	if err := chart.Write(w, kind); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// newChart returns the chart of the series. Its description tells the run time of
// each, and its time in each category.
func newChart(series []Series) *picture.Chart {
	var elapsed, spent int64
	for _, s := range series {
		elapsed = max(elapsed, s.Profile.RunTime)
		for k := range NumIO {
			spent = max(spent, s.Profile.Categories[k].Nanos)
		}
	}
	xUnit, yUnit := table.UnitOf(format.Seconds(elapsed)), table.UnitOf(format.Seconds(spent))
	chart := &picture.Chart{
		Title: "Cumulative time in calls against elapsed time",
		X:     picture.Axis{Title: "elapsed time (" + xUnit.Name + ")", Max: beyond * format.Seconds(elapsed) / xUnit.Seconds},
		Y:     picture.Axis{Title: "cumulative time in calls (" + yUnit.Name + ")", Max: beyond * format.Seconds(spent) / yUnit.Seconds},
	}
	for i, s := range series {
		g := picture.Group{Name: s.Name}
		chart.Description += fmt.Sprintf("%s: run time %s", s.Name, short(s.Profile.RunTime))
		for k, curve := range s.Profile.Curves[:NumIO] {
			if len(curve) == 0 {
				continue
			}
			line := picture.Line{
				Name: Category(k).String(), Value: short(s.Profile.Categories[k].Nanos),
				Color: categoryColors[k], Dash: seriesDashes[min(i, len(seriesDashes)-1)],
				Points: points(thin(curve, plotPoints), xUnit, yUnit),
			}
			chart.Description += ", " + line.Name + " " + line.Value
			g.Lines = append(g.Lines, line)
		}
		chart.Description += ".\n"
		chart.Groups = append(chart.Groups, g)
	}
	return chart
}

// newIntervalChart lays out the intervals of each series, as steps. Its description has the
// figures of the legend.
func newIntervalChart(series []Series) *picture.Chart {
	var elapsed, moved, used int64
	var lengths []string
	for _, s := range series {
		elapsed = max(elapsed, s.Profile.RunTime)
		for i := range s.Profile.Intervals.List {
			v := &s.Profile.Intervals.List[i]
			moved, used = max(moved, v.Fetched(), v.Stored()), max(used, v.used())
		}
		if length := time.Duration(s.Profile.Intervals.Nanos); length > 0 && !slices.Contains(lengths, length.String()) {
			lengths = append(lengths, length.String())
		}
	}
	xUnit := table.UnitOf(format.Seconds(elapsed))
	yUnit, yName := table.ByteUnit(float64(moved))
	chart := &picture.Chart{
		Title: "Bytes read and written, and files used, in each interval",
		X:     picture.Axis{Title: "elapsed time (" + xUnit.Name + "), in intervals of " + strings.Join(lengths, " and "), Max: beyond * format.Seconds(elapsed) / xUnit.Seconds},
		Y:     picture.Axis{Title: "in each interval (" + yName + ")", Max: beyond * float64(moved) / yUnit},
		Right: picture.Axis{Title: "files used", Max: beyond * float64(used)},
	}
	lines := []struct {
		picture.Line
		of   func(*Span) int64
		unit float64
	}{
		{picture.Line{Name: "files used", Color: categoryColors[Syncs], Right: true}, (*Span).used, 1}, // below the others
		{picture.Line{Name: "read", Color: categoryColors[Reads]}, (*Span).Fetched, yUnit},
		{picture.Line{Name: "written", Color: categoryColors[Writes]}, (*Span).Stored, yUnit},
	}
	for i, s := range series {
		g := picture.Group{Name: s.Name}
		chart.Description += fmt.Sprintf("%s: run time %s", s.Name, short(s.Profile.RunTime))
		for _, one := range lines {
			line, sum, most := one.Line, int64(0), int64(0)
			for k := range s.Profile.Intervals.List {
				v := &s.Profile.Intervals.List[k]
				n := one.of(v)
				sum, most = sum+n, max(most, n)
				for _, at := range []int64{v.Start, s.Profile.until(v)} {
					line.Points = append(line.Points, picture.Point{X: format.Seconds(at) / xUnit.Seconds, Y: float64(n) / one.unit})
				}
			}
			if most == 0 {
				continue
			}
			line.Dash, line.Value = seriesDashes[min(i, len(seriesDashes)-1)], table.Bytes(float64(sum))
			if line.Right {
				line.Value = fmt.Sprintf("at most %d", most)
				if most > sliceFiles {
					line.Value = fmt.Sprintf("more than %d", sliceFiles)
				}
			}
			chart.Description += ", " + line.Name + " " + line.Value
			g.Lines = append(g.Lines, line)
		}
		chart.Description += ".\n"
		chart.Groups = append(chart.Groups, g)
	}
	return chart
}

// used returns how many files calls of the interval began on, sliceFiles+1 for more than the
// interval can list.
func (v *Span) used() int64 {
	if v.MoreFiles {
		return sliceFiles + 1
	}
	return int64(len(v.Files))
}

func points(c Curve, x, y table.Unit) []picture.Point {
	out := make([]picture.Point, len(c))
	for i, p := range c {
		out[i] = picture.Point{X: format.Seconds(p.Elapsed) / x.Seconds, Y: format.Seconds(p.Spent) / y.Seconds}
	}
	return out
}
