package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pianola/profile/picture"
)

// samplesOf is the file into which the commands of a side can write samples of the figure of
// the picture, a number a line. Those of the last round are kept.
func samplesOf(dir string, s side) string { return filepath.Join(dir, "samples of "+s.name) }

// draw writes the picture of a row: samples as dots, or a bar for the figure of each side
// that has no samples. It writes none where no side has the figure.
func (r *result) draw(p part, dir, out string) error {
	c := &picture.Chart{Title: p.name(), Y: picture.Axis{Title: p.picture}, X: picture.Axis{Max: float64(len(p.sides))}}
	var lines []picture.Line
	for i, s := range p.sides {
		f := r.figure(s.name, p.picture)
		if f == nil {
			continue
		}
		l := picture.Line{Name: s.name, Value: digits(f.Median), Color: picture.Palette[i%len(picture.Palette)], Shape: picture.Bars}
		samples, err := readSamples(samplesOf(dir, s))
		if err != nil {
			return err
		}
		for k, v := range samples {
			l.Points = append(l.Points, picture.Point{X: float64(k), Y: v})
		}
		if len(samples) > 0 {
			l.Shape = picture.Dots
			c.X = picture.Axis{Title: "sample", Max: max(c.X.Max, float64(len(samples)))}
			// A few samples are far above the others, and would press these onto the axis.
			slices.Sort(samples)
			c.Y.Max = max(c.Y.Max, 1.5*samples[len(samples)*99/100])
		} else {
			l.Points = []picture.Point{{X: float64(i) + 0.5, Y: f.Median}}
			c.Y.Max = max(c.Y.Max, f.Median)
		}
		c.Description += fmt.Sprintf("%s: %s. ", s.name, l.Value)
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil
	}
	for _, l := range lines {
		for k := range l.Points {
			l.Points[k].Y = min(l.Points[k].Y, c.Y.Max)
		}
	}
	c.Groups = []picture.Group{{Name: r.Name, Lines: lines}}
	f, err := os.Create(filepath.Join(out, pictureOf(p)))
	if err != nil {
		return err
	}
	return cmp.Or(c.Write(f, "svg"), f.Close())
}

// digits prints three digits of a number, or all of those before the point.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))), 64)
}

// pictureOf names the file of the picture of a row.
func pictureOf(p part) string {
	return strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(p.name()) + ".svg"
}

func readSamples(path string) (samples []float64, err error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		v, err := strconv.ParseFloat(strings.TrimSpace(lines.Text()), 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Base(path), n, err)
		}
		samples = append(samples, v)
	}
	return samples, lines.Err()
}
