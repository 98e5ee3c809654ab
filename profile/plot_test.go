package profile

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// picture is what the tests look for in an SVG.
type picture struct {
	texts []string
	lines []string  // path data of strokes in a category's colour
	ys    []float64 // of texts, upwards from the lower edge of the page unless rotated
}

func parseSVG(t *testing.T, svg []byte) (p picture) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
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
			var path, style, y string
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "d":
					path = a.Value
				case "style":
					style = a.Value
				case "y":
					y = a.Value
				}
			}
			if inText {
				v, err := strconv.ParseFloat(y, 64)
				require.NoError(t, err)
				p.texts, p.ys = append(p.texts, ""), append(p.ys, -v)
			}
			if e.Name.Local == "path" && isCategoryColor(style) {
				p.lines = append(p.lines, path)
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

func isCategoryColor(style string) bool {
	for _, c := range []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7"} {
		if strings.Contains(style, "stroke:"+c) {
			return true
		}
	}
	return false
}

func TestPlotSVG(t *testing.T) {
	app, replay := read(t, testkit.Application(1, 1)...), read(t, testkit.Application(2, 1.1)...)
	var a, b bytes.Buffer
	require.NoError(t, Plot(&a, "svg", Series{Name: "application", Profile: app}, Series{Name: "replay", Profile: replay}))
	require.NoError(t, Plot(&b, "svg", Series{Name: "application", Profile: app}, Series{Name: "replay", Profile: replay}))
	require.Equal(t, a.String(), b.String())

	p := parseSVG(t, a.Bytes())
	for _, series := range []string{"application ", "replay "} {
		for k := range NumCalls {
			require.Contains(t, p.texts, series+k.String())
		}
	}
	require.Contains(t, p.texts, "elapsed time (s)")
	require.Contains(t, p.texts, "cumulative time in calls (s)")
	require.Len(t, p.lines, 2*8, "each series and category has a curve and a line in the legend")
	for _, line := range p.lines {
		require.LessOrEqual(t, strings.Count(line, "L"), plotPoints)
	}
	require.Contains(t, a.String(), "stroke-dasharray")
}

func TestPlotLeavesOutCategoriesWithoutTime(t *testing.T) {
	p := read(t, testkit.Event(format.OpRead, 0, 500, 10), testkit.Event(format.OpWrite, 500, 0, 10))
	var b bytes.Buffer
	require.NoError(t, Plot(&b, "svg", Series{Name: "application", Profile: p}))
	got := parseSVG(t, b.Bytes())
	require.Contains(t, got.texts, "application read")
	require.NotContains(t, got.texts, "application write")
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
	require.Contains(t, got.texts, strings.Repeat("long", 9)+"lon… read")
	require.Contains(t, got.texts, "a?\uFFFD<b>&\" write")
	for i, text := range got.texts {
		if strings.HasPrefix(text, "replay") {
			require.Positive(t, got.ys[i], "the legend lies on the page")
		}
	}
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
