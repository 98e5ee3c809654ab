package picture

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/testkit"
)

var (
	blue = Color{RGB(0x0072b2), RGB(0x56b4e9)}
	red  = Color{RGB(0xd55e00), RGB(0xf0883e)}
)

func chart() *Chart {
	return &Chart{
		Title: "Time & more", Description: "read 3 s",
		X: Axis{"elapsed time (s)", 4}, Y: Axis{"time in calls (ms)", 350},
		Groups: []Group{
			{"application", []Line{
				{Name: "read", Value: "3.00 s", Color: blue, Points: []Point{{0, 0}, {1, 0}, {4, 300}}},
				{Name: "write", Value: "1.20 ms", Color: red, Points: []Point{{0, 100}, {4, 100}}},
			}},
			{"replay", []Line{{Name: "read", Value: "2.00 s", Color: blue, Dash: []float64{4, 2}, Points: []Point{{0, 0}, {4, 200}}}}},
		},
	}
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, chart().Write(&b, "svg"))
	testkit.Golden(t, "chart.svg", b.Bytes())
}

// Bars rise from the axis, and points are dots; both have a box in the legend.
func TestShapes(t *testing.T) {
	c := &Chart{Title: "bars", Y: Axis{"run time (s)", 4}, X: Axis{Max: 3}, Groups: []Group{{"run time", []Line{
		{Name: "as it is", Value: "3.00 s", Color: blue, Shape: Bars, Points: []Point{{1, 3}}},
		{Name: "announced", Value: "1.50 s", Color: red, Shape: Bars, Points: []Point{{2, 1.5}}},
		{Name: "samples", Color: ink, Shape: Dots, Points: []Point{{0.5, 3.5}, {1.5, 3.5}, {2.5, 3.5}}},
		{Name: "none", Color: ink, Shape: Dots},
	}}}}
	var b bytes.Buffer
	require.NoError(t, c.Write(&b, "svg"))
	testkit.Golden(t, "shapes.svg", b.Bytes())

	b.Reset()
	require.NoError(t, c.Write(&b, "png"))
	drawn, err := png.Decode(&b)
	require.NoError(t, err)
	l := c.layout(newFace())
	at := func(x, y float64) color.Color { // in the units of the axes
		return drawn.At(int(density*(l.left+x*l.x.scale)), int(density*(l.bottom-y*l.y.scale)))
	}
	require.Equal(t, blue.Light, at(1, 0.1))
	require.Equal(t, blue.Light, at(1.3, 2.9))
	require.Equal(t, paper.Light, at(1.4, 2.5))
	require.Equal(t, paper.Light, at(2, 1.6))
	require.Equal(t, red.Light, at(2, 1.4))
	require.Equal(t, ink.Light, at(1.5, 3.5))
}

// A right axis has a scale of its own, and its labels don't reach into the legend.
func TestRightAxis(t *testing.T) {
	c := chart()
	c.Right = Axis{"files used", 5000}
	c.Groups[0].Lines[1].Right = true
	c.Groups[0].Lines[1].Points = []Point{{0, 0}, {4, 2500}}
	var b bytes.Buffer
	require.NoError(t, c.Write(&b, "svg"))
	testkit.Golden(t, "right.svg", b.Bytes())
	face := newFace()
	with, without := c.layout(face), chart().layout(face)
	require.Greater(t, with.legend, without.legend+textWidth(face, "5000"))
}

// Names and titles can hold anything, and the SVG stays XML.
func TestHostileText(t *testing.T) {
	hostile := "a\x01\xff<b>&\"'\n\u202e" + strings.Repeat("long", 100)
	c := &Chart{Title: hostile, Description: hostile, X: Axis{Title: hostile}, Groups: []Group{{hostile, []Line{{Name: hostile, Value: hostile}}}}}
	var b bytes.Buffer
	require.NoError(t, c.Write(&b, "svg"))
	d := xml.NewDecoder(&b)
	var texts []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			require.Contains(t, []string{"svg", "title", "desc", "style", "g", "rect", "path", "text"}, e.Name.Local)
		case xml.CharData:
			texts = append(texts, string(e))
		}
	}
	require.Contains(t, texts, "a?\uFFFD<b>&\"'??"+strings.Repeat("long", 7)+"…")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		limit float64
		want  string
	}{
		{1, "0 0.2 0.4 0.6 0.8 1.0"},
		{3.45, "0 1 2 3"},
		{10, "0 2 4 6 8 10"},
		{999, "0 200 400 600 800"},
		{0.02, "0 0.005 0.010 0.015 0.020"},
		{86400, "0 20000 40000 60000 80000"},
		{0, "0 0.2 0.4 0.6 0.8 1.0"},
		{-1, "0 0.2 0.4 0.6 0.8 1.0"},
		{math.NaN(), "0 0.2 0.4 0.6 0.8 1.0"},
		{math.Inf(1), "0 0.2 0.4 0.6 0.8 1.0"},
	} {
		a := newAxis(c.limit, 330, 50)
		var labels []string
		for i, tick := range a.ticks {
			labels = append(labels, tick.label)
			require.LessOrEqual(t, tick.at, 330+1e-9)
			if i > 0 {
				require.GreaterOrEqual(t, tick.at-a.ticks[i-1].at, 50-1e-9)
			}
		}
		require.Equal(t, c.want, strings.Join(labels, " "), "%v", c.limit)
	}
}

func TestDashes(t *testing.T) {
	corner := []Point{{0, 0}, {10, 0}, {10, 10}}
	strokes := func(points []Point, lengths []float64) (out [][2]Point) {
		dashes(points, lengths, func(from, to Point) { out = append(out, [2]Point{from, to}) })
		return out
	}
	require.Equal(t, [][2]Point{{{0, 0}, {10, 0}}, {{10, 0}, {10, 10}}}, strokes(corner, nil))
	// A stroke goes round the corner.
	require.Equal(t, [][2]Point{{{0, 0}, {4, 0}}, {{8, 0}, {10, 0}}, {{10, 0}, {10, 2}}, {{10, 6}, {10, 10}}}, strokes(corner, []float64{4, 4}))
	require.Empty(t, strokes(corner[:1], nil))
	require.Empty(t, strokes(nil, []float64{1, 1}))
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	c := chart()
	require.NoError(t, c.Write(&b, "png"))
	drawn, err := png.Decode(&b)
	require.NoError(t, err)
	l := c.layout(newFace())
	require.EqualValues(t, density*l.width, drawn.Bounds().Dx())
	at := func(x, y float64) color.Color { // in the units of the axes
		return drawn.At(int(density*(l.left+x*l.x.scale)), int(density*(l.bottom-y*l.y.scale)))
	}
	require.Equal(t, red.Light, at(3.5, 100))
	require.Equal(t, blue.Light, at(2.5, 150))
	require.Equal(t, grid.Light, at(3.5, 200))
	require.Equal(t, paper.Light, at(3.3, 120))

	// Some pixels of the text in the legend are dark.
	dark := 0
	for x := int(density * l.legend); x < drawn.Bounds().Dx(); x++ {
		for y := range drawn.Bounds().Dy() {
			if drawn.At(x, y) == ink.Light {
				dark++
			}
		}
	}
	require.Greater(t, dark, 100)
}

func TestEmpty(t *testing.T) {
	for _, kind := range []string{"svg", "png"} {
		require.NoError(t, (&Chart{}).Write(io.Discard, kind))
		require.NoError(t, (&Chart{Groups: []Group{{Lines: []Line{{}}}}}).Write(io.Discard, kind))
		require.ErrorIs(t, (&Chart{}).Write(testkit.Broken{}, kind), os.ErrClosed)
	}
	require.EqualError(t, (&Chart{}).Write(io.Discard, "bmp"), `unknown kind of picture "bmp", want svg or png`)
}
