package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sides with samples are drawn as dots, the others as bars.
func TestPictures(t *testing.T) {
	p := part{&study{name: "s", picture: "a call, µs", sides: []side{{name: "bars"}, {name: "nothing"}, {name: "more"}}}, row{name: "write, of 10x10"}}
	figures := func(v float64) []figureResult {
		return []figureResult{{Name: "a call, µs", summary: summary{Median: v}}}
	}
	r := &result{Name: p.row.name, Sides: []sideResult{{Name: "bars", Figures: figures(12.3456)}, {Name: "nothing"}, {Name: "more", Figures: figures(1234.5)}}}
	dir, out := t.TempDir(), t.TempDir()
	drawn := func() string {
		require.NoError(t, r.draw(p, dir, out))
		text, err := os.ReadFile(filepath.Join(out, "s-write-of-10x10.svg"))
		require.NoError(t, err)
		for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
			if _, err := d.Token(); err == io.EOF {
				return string(text)
			} else {
				require.NoError(t, err)
			}
		}
	}
	text := drawn()
	require.Contains(t, text, "bars: 12.3. more: 1234. ")
	require.NotContains(t, text, "sample")

	require.NoError(t, os.WriteFile(samplesOf(dir, p.sides[0]), []byte("1\n2.5\n3\n"), 0o644))
	require.Contains(t, drawn(), ">sample</text>")

	require.NoError(t, os.WriteFile(samplesOf(dir, p.sides[0]), []byte("1\nx\n"), 0o644))
	require.ErrorContains(t, r.draw(p, dir, out), `samples of bars:2: strconv.ParseFloat: parsing "x"`)

	// A row without the figure has no picture.
	r.Sides, p.row.name = r.Sides[1:2], "none"
	require.NoError(t, r.draw(p, dir, out))
	require.NoFileExists(t, filepath.Join(out, "s-none.svg"))
}
