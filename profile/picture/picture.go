// Package picture draws a chart of lines, points and bars as SVG or PNG.
//
// Both kinds come from one layout, in pixels of a screen at its usual size:
//
//	 title of the y axis   of the right one
//	┌─────────────────────┬──────────────────┐
//	│ labels, lines, and  │ legend: a group, │
//	│ labels of the right │ its lines, their │
//	│ axis, if any        │ values           │
//	└─────────────────────┴──────────────────┘
//	      title of the x axis
//
// An SVG is text that a screen reader can read, follows the reader's choice of
// light or dark colours, and runs no script. A PNG is light, at twice the size.
// The same chart gives the same bytes.
package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"unicode"

	"golang.org/x/image/font"
)

// Chart is a chart whose axes begin at 0.
type Chart struct {
	Title       string  // for readers that can't see the chart
	Description string  // what the chart says, for them
	X, Y        Axis    // X without a title has no labels
	Right       Axis    // a second y axis, without a title for none
	Groups      []Group // the parts of the legend; the lines of the last are drawn on top
}

// Axis is an axis from 0 to Max, which is 1 unless it is positive.
type Axis struct {
	Title string
	Max   float64
}

// Group is a part of the legend.
type Group struct {
	Name  string
	Lines []Line
}

// Line is a line of the chart, or what else shows its points.
type Line struct {
	Name   string
	Value  string // the legend shows it beside the name
	Color  Color
	Right  bool // its Y is in units of the right axis
	Shape  Shape
	Dash   []float64 // lengths of strokes and gaps in pixels, nil for a solid line
	Points []Point   // in the units of the axes
}

// Shape is how the points of a line are shown.
type Shape int

const (
	Curve Shape = iota // by strokes from each to the next
	Dots
	Bars // from the x axis up to each
)

// Color is a colour on a light and on a dark background.
type Color struct{ Light, Dark color.RGBA }

// Point is a point in the units of the axes, or in pixels from the upper left corner.
type Point struct{ X, Y float64 }

// RGB returns an opaque colour, 0xrrggbb.
func RGB(rgb uint32) color.RGBA {
	return color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff}
}

// Palette are colours for lines in their order, which colour-blind readers can tell apart. They are
// those of the categories of calls in the HTML page.
var Palette = [...]Color{
	{RGB(0x0072b2), RGB(0x56b4e9)},
	{RGB(0xd55e00), RGB(0xf0883e)},
	{RGB(0x009e73), RGB(0x2fc99a)},
	{RGB(0xb0568f), RGB(0xdf95c1)},
	{RGB(0x4a9010), RGB(0x9be15d)},
	{RGB(0x8c2d19), RGB(0xffc94d)},
}

// The colours of everything but the lines are those of the HTML page.
var (
	paper = Color{RGB(0xffffff), RGB(0x181c22)}
	ink   = Color{RGB(0x1b1f24), RGB(0xe6e9ed)}
	muted = Color{RGB(0x57606a), RGB(0xa0a9b4)}
	grid  = Color{RGB(0xe8ebef), RGB(0x272d35)}
)

// The sizes of the layout, in pixels.
const (
	axesWidth  = 560
	axesHeight = 330
	margin     = 16
	fontSize   = 13
	lineHeight = 20
	ascent     = 4.5 // from the middle of a line of text down to its baseline
	lineWidth  = 1.75
	sample     = 26 // length of a line in the legend
	dotSize    = 2.5
	barShare   = 0.7 // of the room from one bar to the next
	gap        = 8
	xGap, yGap = 60, 45 // between labels of an axis, at least
)

// maxName is the number of characters of a name that are shown.
const maxName = 40

// stroke is how a line is drawn.
type stroke struct {
	color Color
	width float64
	dash  []float64
}

// anchor is the part of a text that is at its point.
type anchor int

const (
	start anchor = iota
	middle
	end
)

// box is a filled rectangle.
type box struct {
	corner        Point // the upper left one
	width, height float64
}

// canvas is what a chart is drawn on. Positions are in pixels; that of a text is
// on its baseline.
type canvas interface {
	fill(b box, c Color)
	dots(points []Point, size float64, c Color) // squares around the points
	line(points []Point, s stroke)
	text(at Point, a anchor, text string, c Color)
	writeTo(w io.Writer) error
}

// Write draws the chart as kind says: "svg", or "png".
func (c *Chart) Write(w io.Writer, kind string) error {
	face := newFace()
	l := c.layout(face)
	var to canvas
	switch kind {
	case "svg":
		to = newSVG(l.width, l.height, c.Title, c.Description)
	case "png":
		to = newPixels(l.width, l.height, face)
	default:
		return fmt.Errorf("unknown kind of picture %q, want svg or png", kind)
	}
	c.draw(to, l)
	return to.writeTo(w)
}

// layout is where the parts of a chart are.
type layout struct {
	x, y, right   axis
	left, bottom  float64 // where the axes meet
	legend        float64 // left edge
	width, height float64
}

// layout gives the legend as much room as its widest line needs in fonts that
// are wider than the one that is measured: a reader of an SVG uses his own.
func (c *Chart) layout(face font.Face) layout {
	const wider = 1.1
	l := layout{x: newAxis(c.X.Max, axesWidth, xGap), y: newAxis(c.Y.Max, axesHeight, yGap)}
	if c.X.Title == "" {
		l.x.ticks = nil
	}
	widest := func(a axis) (width float64) {
		for _, t := range a.ticks {
			width = max(width, textWidth(face, t.label))
		}
		return wider * width
	}
	l.left = math.Ceil(margin + widest(l.y) + gap)
	l.bottom = margin + lineHeight + gap + axesHeight
	l.legend = l.left + axesWidth + 2*margin
	if c.Right.Title != "" {
		l.right = newAxis(c.Right.Max, axesHeight, yGap)
		l.legend = math.Ceil(l.legend + gap + widest(l.right))
	}
	legend, lines := 0.0, 0
	for _, g := range c.Groups {
		legend = max(legend, textWidth(face, legible(g.Name)))
		lines += 2 + len(g.Lines)
		for i := range g.Lines {
			legend = max(legend, sample+3*gap+textWidth(face, legible(g.Lines[i].Name)+g.Lines[i].Value))
		}
	}
	l.width = math.Ceil(l.legend + wider*legend + margin)
	l.height = max(l.bottom+2*lineHeight+margin, 2*margin+float64(lines*lineHeight))
	return l
}

func (c *Chart) draw(to canvas, l layout) {
	to.fill(box{Point{}, l.width, l.height}, paper)
	thin := stroke{color: grid, width: 1}
	for _, t := range l.y.ticks {
		y := l.bottom - t.at
		to.line([]Point{{l.left, y}, {l.left + axesWidth, y}}, thin)
		to.text(Point{l.left - gap, y + ascent}, end, t.label, muted)
	}
	for _, t := range l.x.ticks {
		x := l.left + t.at
		to.line([]Point{{x, l.bottom}, {x, l.bottom - axesHeight}}, thin)
		to.text(Point{x, l.bottom + lineHeight}, middle, t.label, muted)
	}
	for _, t := range l.right.ticks {
		to.text(Point{l.left + axesWidth + gap, l.bottom - t.at + ascent}, start, t.label, muted)
	}
	to.line([]Point{{l.left, l.bottom - axesHeight}, {l.left, l.bottom}, {l.left + axesWidth, l.bottom}}, stroke{color: muted, width: 1})
	to.text(Point{margin, margin + lineHeight/2 + ascent}, start, c.Y.Title, ink)
	if c.Right.Title != "" {
		to.text(Point{l.left + axesWidth, margin + lineHeight/2 + ascent}, end, c.Right.Title, ink)
	}
	to.text(Point{l.left + axesWidth/2, l.bottom + 2*lineHeight + ascent}, middle, c.X.Title, ink)

	for _, g := range c.Groups {
		for i := range g.Lines {
			line := &g.Lines[i]
			points, y := make([]Point, len(line.Points)), l.y.scale
			if line.Right {
				y = l.right.scale
			}
			for k, p := range line.Points {
				points[k] = Point{l.left + p.X*l.x.scale, l.bottom - p.Y*y}
			}
			switch line.Shape {
			case Curve:
				to.line(points, line.stroke())
			case Dots:
				to.dots(points, dotSize, line.Color)
			case Bars:
				width := barShare * l.x.scale
				for _, p := range points {
					to.fill(box{Point{p.X - width/2, p.Y}, width, l.bottom - p.Y}, line.Color)
				}
			}
		}
	}
	at := Point{l.legend, margin + lineHeight/2 + ascent}
	right := l.width - margin
	for _, g := range c.Groups {
		to.text(at, start, legible(g.Name), ink)
		at.Y += lineHeight
		for i := range g.Lines {
			line := &g.Lines[i]
			y := at.Y - ascent
			if line.Shape == Curve {
				to.line([]Point{{at.X, y}, {at.X + sample, y}}, line.stroke())
			} else {
				to.dots([]Point{{at.X + sample/2, y}}, fontSize, line.Color)
			}
			to.text(Point{at.X + sample + gap, at.Y}, start, legible(line.Name), ink)
			to.text(Point{right, at.Y}, end, line.Value, muted)
			at.Y += lineHeight
		}
		at.Y += lineHeight
	}
}

func (l *Line) stroke() stroke { return stroke{l.Color, lineWidth, l.Dash} }

// legible shortens a name and replaces characters that can't be printed, some of
// which XML doesn't allow.
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
