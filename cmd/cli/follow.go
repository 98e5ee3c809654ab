package cli

import (
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/profile"
	"pianola/profile/diagnosis"
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
			return console.Redraw(func(w io.Writer, lines int) error {
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
	if err := putPlot(plot, o.by == "interval", series()...); err != nil {
		return err
	}
	if watched {
		console.ClearScreen() // the whole profile replaces the last view
	}
	return o.write(cells(c, o.form, session.Stdout(o.form)), series())
}
