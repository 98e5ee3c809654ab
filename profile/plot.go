package profile

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strconv"
	"time"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"pianola/format"
	"pianola/table"
)

// Series is one profile of a picture, with the name that the legend gives it.
type Series struct {
	Name    string
	Profile *Profile
	Start   time.Time // when the recording began, zero where it does not say
}

// The size of the part of a picture that holds the axes, and the resolution of
// a picture that is made of pixels. The legend stands beside it.
const (
	axesWidth    = 14 * vg.Centimeter
	axesHeight   = 10 * vg.Centimeter
	margin       = 3 * vg.Millimeter
	dotsPerInch  = 192
	plotPoints   = 1000 // at most, per curve: about one per dot of the width
	plotFontSize = 9
	maxName      = 40 // characters of a series' name
)

// categoryColors are those of Okabe and Ito, which most colour-blind readers
// can tell apart.
var categoryColors = [NumIO]color.Color{
	Reads:    color.NRGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	Writes:   color.NRGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	Syncs:    color.NRGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
	Metadata: color.NRGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple

	MappedReads:  color.NRGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	MappedWrites: color.NRGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
}

// seriesDashes are the lines of the first series, the second and so on; from
// the last on they are all the same.
var seriesDashes = [][]vg.Length{nil, {4, 2}, {1, 2}, {6, 2, 1, 2}}

// Plot draws the cumulative time in each category of I/O against the elapsed time, as
// ext says: "svg", or "png". The first series, the application, is drawn in
// solid lines, those after it in broken ones of the same colours. Categories
// without time are left out. The same series give the same bytes.
func Plot(w io.Writer, ext string, series ...Series) error {
	axes, legend, err := build(series)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	size := legend.Rectangle(draw.Canvas{}).Size()
	// A viewer without the font takes another, which can be wider.
	width, height := axesWidth+1.2*size.X+2*margin, max(axesHeight, size.Y+3*margin)

	var c vg.CanvasWriterTo
	switch ext {
	case "svg":
		c = vgsvg.New(width, height)
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))}
	default:
		return fmt.Errorf("plot: unknown kind of picture %q, want svg or png", ext)
	}
	page := draw.New(c)
	page.SetColor(color.White)
	page.Fill(page.Path())
	axes.Draw(draw.Crop(page, margin, axesWidth-width, height-axesHeight+margin, -margin))
	legend.Draw(draw.Crop(page, axesWidth+margin, 0, 0, -margin))

	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	// Where the font is missing, one of the same widths must take its place.
	picture := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	if _, err := w.Write(picture); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// build returns the axes with all curves, and their legend, which is drawn separately:
// the curves may cover any corner of the axes.
func build(series []Series) (*plot.Plot, *plot.Legend, error) {
	var elapsed, spent int64
	for _, s := range series {
		elapsed = max(elapsed, s.Profile.RunTime)
		for k := range NumIO {
			spent = max(spent, s.Profile.Categories[k].Nanos)
		}
	}
	xUnit, yUnit := table.UnitOf(format.Seconds(elapsed)), table.UnitOf(format.Seconds(spent))

	p := plot.New()
	style(&p.X, "elapsed time ("+xUnit.Name+")", format.Seconds(elapsed)/xUnit.Seconds)
	style(&p.Y, "cumulative time in calls ("+yUnit.Name+")", format.Seconds(spent)/yUnit.Seconds)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)

	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.TextStyle.Font = plotFont()
	legend.Padding = 3
	for i, s := range series {
		if i > 0 {
			legend.Add("") // a gap
		}
		for k, curve := range s.Profile.Curves[:NumIO] {
			if len(curve) == 0 {
				continue
			}
			line, err := plotter.NewLine(points(thin(curve, plotPoints), xUnit, yUnit))
			if err != nil {
				return nil, nil, err
			}
			line.Color, line.Width = categoryColors[k], 1
			line.Dashes = seriesDashes[min(i, len(seriesDashes)-1)]
			p.Add(line)
			legend.Add(legible(s.Name)+" "+Category(k).String(), line)
		}
	}
	return p, &legend, nil
}

// legible shortens a name and replaces what can't be printed, and couldn't
// stand in XML.
func legible(name string) string {
	runes := []rune(name)
	if len(runes) > maxName {
		runes = append(runes[:maxName-1], '…')
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	return string(runes)
}

func plotFont() font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, plotFontSize)
}

// style lets an axis run from 0 to just beyond top, in the unit that its title
// names.
func style(a *plot.Axis, title string, top float64) {
	a.Min, a.Max = 0, 1.02*top
	if top == 0 {
		a.Max = 1
	}
	a.Padding = 0
	a.Label.Text = title
	a.Label.Padding = 4
	a.Label.TextStyle.Font = plotFont()
	a.Tick.Label.Font = plotFont()
	a.Tick.Length = 4
	a.Tick.Marker = plot.TickerFunc(ticks)
}

// ticks are those of the library, with no more decimals than they need.
func ticks(low, high float64) []plot.Tick {
	marks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range marks {
		if !marks[i].IsMinor() {
			marks[i].Label = strconv.FormatFloat(marks[i].Value, 'g', 6, 64)
		}
	}
	return marks
}

func points(c Curve, x, y table.Unit) plotter.XYs {
	xys := make(plotter.XYs, len(c))
	for i, p := range c {
		xys[i] = plotter.XY{X: format.Seconds(p.Elapsed) / x.Seconds, Y: format.Seconds(p.Spent) / y.Seconds}
	}
	return xys
}
