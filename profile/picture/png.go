package picture

import (
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// density is how many pixels of a PNG are one of the layout.
const density = 2

var regular = sync.OnceValue(func() *opentype.Font {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return f
})

// newFace returns the font of PNGs, by whose widths all layouts are made. A face
// belongs to one goroutine.
func newFace() font.Face {
	f, err := opentype.NewFace(regular(), &opentype.FaceOptions{Size: density * fontSize, DPI: 72})
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return f
}

// textWidth returns the width of a text in pixels of the layout.
func textWidth(face font.Face, text string) float64 {
	return float64(font.MeasureString(face, text)) / 64 / density
}

// pixels is a canvas of pixels, with the light colours.
type pixels struct {
	image  *image.RGBA
	face   font.Face
	raster *vector.Rasterizer
}

func newPixels(width, height float64, face font.Face) *pixels {
	w, h := int(math.Ceil(width*density)), int(math.Ceil(height*density))
	return &pixels{image.NewRGBA(image.Rect(0, 0, w, h)), face, vector.NewRasterizer(w, h)}
}

func (p *pixels) fill(b box, c Color) {
	at := func(v float64) int { return int(math.Round(density * v)) }
	r := image.Rect(at(b.corner.X), at(b.corner.Y), at(b.corner.X+b.width), at(b.corner.Y+b.height))
	draw.Draw(p.image, r.Intersect(p.image.Bounds()), image.NewUniform(c.Light), image.Point{}, draw.Src)
}

func (p *pixels) dots(points []Point, size float64, c Color) {
	for _, at := range points {
		p.fill(box{Point{at.X - size/2, at.Y - size/2}, size, size}, c)
	}
}

// line fills the outlines of all strokes at once: where they overlap, the colour
// is the same.
func (p *pixels) line(points []Point, s stroke) {
	if len(points) == 0 {
		return
	}
	low, high := points[0], points[0]
	for _, at := range points {
		low = Point{min(low.X, at.X), min(low.Y, at.Y)}
		high = Point{max(high.X, at.X), max(high.Y, at.Y)}
	}
	box := image.Rect(int(density*(low.X-s.width)), int(density*(low.Y-s.width)), int(density*(high.X+s.width))+1, int(density*(high.Y+s.width))+1).Intersect(p.image.Bounds())
	p.raster.Reset(box.Dx(), box.Dy())
	corner := Point{float64(box.Min.X) / density, float64(box.Min.Y) / density}
	dashes(points, s.dash, func(from, to Point) { p.outline(from.minus(corner), to.minus(corner), s.width) })
	p.raster.Draw(p.image, box, image.NewUniform(s.color.Light), image.Point{})
}

func (p Point) minus(q Point) Point { return Point{p.X - q.X, p.Y - q.Y} }

// outline adds a straight stroke with round ends. All outlines run the same way
// round, because the areas of those that don't would cancel where they overlap.
func (p *pixels) outline(from, to Point, width float64) {
	along := math.Atan2(to.Y-from.Y, to.X-from.X)
	const corners = 8 // of a round end
	draw := p.raster.MoveTo
	for k, center := range [...]Point{from, to} {
		for i := range corners + 1 {
			angle := along + math.Pi*(0.5+float64(k)+float64(i)/corners)
			draw(float32(density*(center.X+width/2*math.Cos(angle))), float32(density*(center.Y+width/2*math.Sin(angle))))
			draw = p.raster.LineTo
		}
	}
	p.raster.ClosePath()
}

// dashes calls draw for each straight stroke of a line: all of it where lengths
// is empty, else strokes and gaps of those lengths in turn.
func dashes(points []Point, lengths []float64, draw func(from, to Point)) {
	k, left := 0, math.Inf(1)
	if len(lengths) > 0 {
		left = lengths[0]
	}
	for i := range len(points) - 1 {
		from, to := points[i], points[i+1]
		rest := math.Hypot(to.X-from.X, to.Y-from.Y)
		for rest > left {
			next := Point{from.X + (to.X-from.X)*left/rest, from.Y + (to.Y-from.Y)*left/rest}
			if k%2 == 0 {
				draw(from, next)
			}
			from, rest, k = next, rest-left, k+1
			left = lengths[k%len(lengths)]
		}
		if k%2 == 0 {
			draw(from, to)
		}
		left -= rest
	}
}

func (p *pixels) text(at Point, a anchor, text string, c Color) {
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(c.Light), Face: p.face}
	left := at.X - textWidth(p.face, text)*float64(a)/2
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(math.Round(64 * density * left)), Y: fixed.Int26_6(math.Round(64 * density * at.Y))}
	d.DrawString(text)
}

func (p *pixels) writeTo(w io.Writer) error { return png.Encode(w, p.image) }
