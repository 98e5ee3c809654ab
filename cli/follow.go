package cli

import (
	"bytes"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pianola/diagnosis"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/profile"
)

// followShow is the interval between two views of the profile.
const followShow = time.Second

// followProfile shows the profile of a script that is being written, until its
// recorder ends or the user interrupts. If the output is not a terminal, the
// profile is printed once, at the end.
func followProfile(c *cli.Context, o *profileReport) error {
	name := c.Args().First()
	plot, err := session.files.CreateIf(o.plot, files.Public)
	if err != nil {
		return err
	}
	defer plot.Abort()
	watched := o.form == "text" && console.IsScreen(os.Stdout)
	collector := &profile.Collector{Interval: o.interval, Tails: o.by == "interval" || watched, NoParts: true}
	if watched && o.interval == 0 {
		collector.Interval = followShow.Nanoseconds()
	}
	series := func() []profile.Series {
		p := collector.Profile()
		p.Diagnosis = diagnosis.Of(p, diagnosis.Subject{Name: name})
		return []profile.Series{{Name: name, Profile: p}}
	}
	var show func() error
	if watched {
		show = func() error {
			return showScreen(func(w io.Writer, lines int) error {
				if o.by != "" {
					return o.write(w, series())
				}
				return collector.Profile().WriteWatch(w, lines)
			})
		}
	}
	events, end, err := recordings.Follow(c.Context, name, followShow, show)
	if err != nil {
		return err
	}
	defer end()
	if err := collector.Read(events); err != nil {
		return err
	}
	if err := putPlot(plot, series()...); err != nil {
		return err
	}
	if watched {
		os.Stdout.WriteString(clearScreen) // the whole profile replaces the last view
	}
	return o.write(cells(c, o.form, session.Stdout(o.form)), series())
}

// Sequences of terminals. A view is written over the last one, so that it does not
// flicker.
const (
	home        = "\x1b[H"
	clearRest   = "\x1b[K\n"
	clearBelow  = "\x1b[J"
	clearScreen = home + "\x1b[2J"
)

// showScreen replaces the contents of a terminal. write is told how many lines there
// are. Lines that do not fit are cut off, so that the top stays in place.
func showScreen(write func(w io.Writer, lines int) error) error {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	var b bytes.Buffer
	if err := write(console.Visibly(&b), height-1); err != nil {
		return err
	}
	out := []byte(home)
	for i, line := range bytes.Split(bytes.TrimRight(b.Bytes(), "\n"), []byte("\n")) {
		if i == height-1 {
			break
		}
		out = append(append(out, cutLine(line, width)...), clearRest...)
	}
	_, err = os.Stdout.Write(append(out, clearBelow...))
	return err
}

// cutLine returns the first characters of a line.
func cutLine(line []byte, width int) []byte {
	runes := bytes.Runes(line)
	return []byte(string(runes[:min(len(runes), width)]))
}
