package profile

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile/picture"
)

// drawn is what the tests look for in an SVG.
type drawn struct {
	texts []string
	lines []string  // path data of strokes in a category's colour
	ys    []float64 // of texts, from the upper edge
	lower float64   // edge of the page
}

func parseSVG(t *testing.T, svg []byte) (p drawn) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return v
	}
	inText := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return p
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			attrs := make(map[string]string)
			for _, a := range e.Attr {
				attrs[a.Name.Local] = a.Value
			}
			switch e.Name.Local {
			case "svg":
				p.lower = number(attrs["height"])
			case "text":
				p.texts, p.ys = append(p.texts, ""), append(p.ys, number(attrs["y"]))
			case "path":
				if isCategoryColor(attrs["stroke"]) {
					p.lines = append(p.lines, attrs["d"])
				}
			}
		case xml.CharData:
			if inText {
				p.texts[len(p.texts)-1] += string(e)
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func isCategoryColor(stroke string) bool {
	return slices.Contains([]string{"#0072b2", "#d55e00", "#009e73", "#b0568f"}, stroke)
}

func TestPlotSVG(t *testing.T) {
	app, replay := read(t, testkit.Application(1, 1)...), read(t, testkit.Application(2, 1.1)...)
	var a, b bytes.Buffer
	require.NoError(t, Plot(&a, "svg", Series{Name: "application", Profile: app}, Series{Name: "replay", Profile: replay}))
	require.NoError(t, Plot(&b, "svg", Series{Name: "application", Profile: app}, Series{Name: "replay", Profile: replay}))
	require.Equal(t, a.String(), b.String())

	p := parseSVG(t, a.Bytes())
	require.Contains(t, p.texts, "application")
	require.Contains(t, p.texts, "replay")
	for k := range NumCalls {
		require.Contains(t, p.texts, k.String())
		require.Contains(t, p.texts, short(app.Categories[k].Nanos))
		require.Contains(t, a.String(), k.String()+" "+short(replay.Categories[k].Nanos), "the description")
	}
	require.Contains(t, p.texts, "elapsed time (s)")
	require.Contains(t, p.texts, "cumulative time in calls (s)")
	require.Len(t, p.lines, 2*8, "each series and category has a curve and a line in the legend")
	for _, line := range p.lines {
		require.LessOrEqual(t, strings.Count(line, "l"), plotPoints)
	}
	require.Contains(t, a.String(), "stroke-dasharray")
}

func TestPlotLeavesOutCategoriesWithoutTime(t *testing.T) {
	p := read(t, testkit.Event(format.OpRead, 0, 500, 10), testkit.Event(format.OpWrite, 500, 0, 10))
	var b bytes.Buffer
	require.NoError(t, Plot(&b, "svg", Series{Name: "application", Profile: p}))
	got := parseSVG(t, b.Bytes())
	require.Contains(t, got.texts, "read")
	require.NotContains(t, got.texts, "write")
	require.Contains(t, got.texts, "elapsed time (µs)")
	require.Len(t, got.lines, 2)
}

func TestPlotOfNothing(t *testing.T) {
	for _, series := range [][]Series{nil, {{Name: "empty", Profile: read(t)}}} {
		var b bytes.Buffer
		require.NoError(t, Plot(&b, "svg", series...))
		require.Empty(t, parseSVG(t, b.Bytes()).lines)
	}
}

func TestPlotOfManyReplays(t *testing.T) {
	// The page grows with the legend, and no name breaks it.
	p := read(t, testkit.Application(1, 1)...)
	series := []Series{{Name: strings.Repeat("long", 1000), Profile: p}, {Name: "a\x01\xff<b>&\"", Profile: p}}
	for range 18 {
		series = append(series, Series{Name: "replay", Profile: p})
	}
	var b bytes.Buffer
	require.NoError(t, Plot(&b, "svg", series...))
	got := parseSVG(t, b.Bytes())
	require.Len(t, got.lines, 2*4*len(series))
	require.Contains(t, got.texts, strings.Repeat("long", 9)+"lon…")
	require.Contains(t, got.texts, "a?\uFFFD<b>&\"")
	require.Less(t, slices.Max(got.ys), got.lower, "the legend lies on the page")
}

func TestPlotIntervals(t *testing.T) {
	c := Collector{Interval: 10e3}
	require.NoError(t, c.Write([]format.Event{
		on(format.OpOpenat, 1, 0, 1, 3, "/a", format.AtFDCWD),
		on(format.OpRead, 1, 5, 20, 3000, "", 3),
		on(format.OpRead, 1, 26, 4, 1000, "", 3),
		on(format.OpOpenat, 1, 30, 0, 4, "/b", format.AtFDCWD),
		on(format.OpRead, 1, 31, 1, 500, "", 3),
	}))
	series := []Series{{Name: "application", Profile: c.Profile()}, {Name: "empty", Profile: read(t)}}
	var b bytes.Buffer
	require.NoError(t, PlotIntervals(&b, "svg", series...))
	got := parseSVG(t, b.Bytes())
	require.Subset(t, got.texts, []string{"in each interval (kB)", "files used", "elapsed time (µs), in intervals of 10µs", "read", "4.50 kB", "at most 2"})
	require.NotContains(t, got.texts, "written")
	require.Len(t, got.lines, 2*2, "bytes read and files, each with a line in the legend")

	chart := newIntervalChart(series)
	steps := []picture.Point{{X: 0, Y: 3}, {X: 10, Y: 3}, {X: 10, Y: 0}, {X: 20, Y: 0}, {X: 20, Y: 1}, {X: 30, Y: 1}, {X: 30, Y: 0.5}, {X: 32, Y: 0.5}}
	require.Len(t, chart.Groups[0].Lines[1].Points, len(steps))
	for i, p := range chart.Groups[0].Lines[1].Points {
		require.InDelta(t, steps[i].X, p.X, 1e-9)
		require.InDelta(t, steps[i].Y, p.Y, 1e-9)
	}
	require.True(t, chart.Groups[0].Lines[0].Right)

	// An interval with more files than it can list says so.
	series[0].Profile.Intervals.List[0].MoreFiles = true
	require.Equal(t, "more than 32", newIntervalChart(series).Groups[0].Lines[0].Value)
	require.NoError(t, PlotIntervals(io.Discard, "png"))
	require.ErrorContains(t, PlotIntervals(io.Discard, "bmp"), "unknown kind of picture")
}

func TestPlotPNG(t *testing.T) {
	var b bytes.Buffer
	p := read(t, testkit.Application(1, 1)...)
	require.NoError(t, Plot(&b, "png", Series{Name: "application", Profile: p}))
	image, err := png.Decode(&b)
	require.NoError(t, err)
	require.Greater(t, image.Bounds().Dx(), 1000)
}

func TestPlotErrors(t *testing.T) {
	require.EqualError(t, Plot(io.Discard, "bmp"), `plot: unknown kind of picture "bmp", want svg or png`)
	require.ErrorIs(t, Plot(testkit.Broken{}, "svg"), os.ErrClosed)
}
