package profile

import (
	"fmt"
	"io"
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
var categoryColors = [NumIO]picture.Color{
	Reads:        {Light: picture.RGB(0x0072b2), Dark: picture.RGB(0x56b4e9)},
	Writes:       {Light: picture.RGB(0xd55e00), Dark: picture.RGB(0xf0883e)},
	Syncs:        {Light: picture.RGB(0x009e73), Dark: picture.RGB(0x2fc99a)},
	Metadata:     {Light: picture.RGB(0xb0568f), Dark: picture.RGB(0xdf95c1)},
	MappedReads:  {Light: picture.RGB(0x4a9010), Dark: picture.RGB(0x9be15d)},
	MappedWrites: {Light: picture.RGB(0x8c2d19), Dark: picture.RGB(0xffc94d)},
}

// seriesDashes are the lines of the first series, the second and so on; from
// the last on they are all the same.
var seriesDashes = [][]float64{nil, {5, 3}, {1.75, 3}, {7, 3, 1.75, 3}}

// Plot draws the cumulative time in each category of I/O against the elapsed time, as
// kind says: "svg", or "png". The first series, the application, is drawn in
// solid lines, those after it in broken ones of the same colours. Categories
// without time are left out. The same series give the same bytes.
func Plot(w io.Writer, kind string, series ...Series) error {
	chart := newChart(series)
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
	const beyond = 1.02 // lets the ends of the curves be seen
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

func points(c Curve, x, y table.Unit) []picture.Point {
	out := make([]picture.Point, len(c))
	for i, p := range c {
		out[i] = picture.Point{X: format.Seconds(p.Elapsed) / x.Seconds, Y: format.Seconds(p.Spent) / y.Seconds}
	}
	return out
}
