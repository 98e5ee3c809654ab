package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
)

// fonts are those of the HTML page.
const fonts = `system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif`

// svg is a canvas of elements. Their attributes have the light colours. A style
// sheet, by the classes of elements, has the dark ones, for viewers that prefer
// them.
type svg struct {
	width, height      float64
	title, description string
	body               bytes.Buffer
	colors             []Color // class cN is the colour with index N
}

func newSVG(width, height float64, title, description string) *svg {
	return &svg{width: width, height: height, title: title, description: description}
}

// class returns the number of a colour's class.
func (s *svg) class(c Color) int {
	i := slices.Index(s.colors, c)
	if i < 0 {
		i = len(s.colors)
		s.colors = append(s.colors, c)
	}
	return i
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// number prints pixels with as many digits as a screen can show.
func number(v float64) string {
	return string(bytes.TrimSuffix(bytes.TrimRight(strconv.AppendFloat(nil, v, 'f', 2, 64), "0"), []byte(".")))
}

// escaped returns text for between two tags.
func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
	return b.String()
}

func (s *svg) fill(b box, c Color) {
	fmt.Fprintf(&s.body, "<rect class=\"f%d\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"/>\n",
		s.class(c), number(b.corner.X), number(b.corner.Y), number(b.width), number(b.height), hex(c.Light))
}

// dots are short strokes of one path, because a chart can have thousands of them.
func (s *svg) dots(points []Point, size float64, c Color) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&s.body, `<path class="s%d" stroke="%s" stroke-width="%s" d="`, s.class(c), hex(c.Light), number(size))
	for _, p := range points {
		fmt.Fprintf(&s.body, "M%s %sh%s", number(tenth(p.X-size/2)), number(tenth(p.Y)), number(size))
	}
	s.body.WriteString("\"/>\n")
}

// tenth rounds to a tenth of a pixel, which no eye can see.
func tenth(v float64) float64 { return math.Round(10*v) / 10 }

func (s *svg) line(points []Point, to stroke) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&s.body, `<path class="s%d" stroke="%s" stroke-width="%s"`, s.class(to.color), hex(to.color.Light), number(to.width))
	for i, d := range to.dash {
		s.body.WriteString([2]string{` stroke-dasharray="`, " "}[min(i, 1)] + number(d))
	}
	if to.dash != nil {
		s.body.WriteByte('"')
	}
	s.body.WriteString(` d="`)
	s.path(points)
	s.body.WriteString("\"/>\n")
}

// path writes the data of a path: its first point, then the steps from each point
// to the next, in tenths of a pixel, without those that lead nowhere.
func (s *svg) path(points []Point) {
	var at [2]int
	command := byte('M')
	for _, p := range points {
		next := [2]int{int(math.Round(10 * p.X)), int(math.Round(10 * p.Y))}
		if command == 'l' && next == at {
			continue
		}
		b := append(s.body.AvailableBuffer(), command)
		b = tenths(b, next[0]-at[0])
		if y := next[1] - at[1]; y < 0 {
			b = tenths(b, y) // its sign separates it from x
		} else {
			b = tenths(append(b, ' '), y)
		}
		s.body.Write(b)
		at, command = next, 'l'
	}
}

// tenths appends n tenths.
func tenths(b []byte, n int) []byte {
	if n%10 == 0 {
		return strconv.AppendInt(b, int64(n/10), 10)
	}
	return strconv.AppendFloat(b, float64(n)/10, 'f', 1, 64)
}

func (s *svg) text(at Point, a anchor, text string, c Color) {
	fmt.Fprintf(&s.body, "<text class=\"f%d\" x=\"%s\" y=\"%s\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n",
		s.class(c), number(at.X), number(at.Y), [...]string{"start", "middle", "end"}[a], hex(c.Light), escaped(text))
}

func (s *svg) writeTo(w io.Writer) error {
	var head bytes.Buffer
	width, height := number(s.width), number(s.height)
	fmt.Fprintf(&head, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="title description" font-family="%s" font-size="%d">
<title id="title">%s</title>
<desc id="description">%s</desc>
<style>@media (prefers-color-scheme: dark) {
`, width, height, width, height, fonts, fontSize, escaped(s.title), escaped(s.description))
	for i, c := range s.colors {
		fmt.Fprintf(&head, ".f%d { fill: %s } .s%d { stroke: %s }\n", i, hex(c.Dark), i, hex(c.Dark))
	}
	head.WriteString("}</style>\n<g fill=\"none\" stroke-linejoin=\"round\">\n")
	s.body.WriteString("</g>\n</svg>\n")
	if _, err := head.WriteTo(w); err != nil {
		return err
	}
	_, err := s.body.WriteTo(w)
	return err
}
