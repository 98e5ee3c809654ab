package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/urfave/cli/v2"

	"pianola/lab"
	"pianola/replay"
	"pianola/replay/fileset"
)

// settings are the options of replay that a laboratory takes for all runs, and
// that a candidate can change. Their names are those of replay's flags, and
// none is a transform's.
var settings = []struct {
	name string
	set  func(o *replay.Options, value string) error
}{
	{"backend", func(o *replay.Options, v string) (err error) {
		o.Backend, err = replay.ParseBackend(v, extensions.backends...)
		return err
	}},
	{"cache", func(o *replay.Options, v string) (err error) { o.Cache, err = fileset.ParseCache(v); return err }},
	{"timing", func(o *replay.Options, v string) (err error) { o.Timing, err = replay.ParseTiming(v); return err }},
	{"speed", func(o *replay.Options, v string) (err error) { o.Speed, err = parseSpeed(v); return err }},
	{"wait", func(o *replay.Options, v string) (err error) { o.Wait, err = replay.ParseWait(v); return err }},
	{"order", func(o *replay.Options, v string) (err error) { o.Order, err = replay.ParseOrder(v); return err }},
	{"compressibility", func(o *replay.Options, v string) (err error) { o.Compressibility, err = parsePercent(v); return err }},
	{"memory", func(o *replay.Options, v string) (err error) { o.Memory, err = parseSwitch(v); return err }},
	{"landlock", func(o *replay.Options, v string) (err error) { o.Landlock, err = parseSwitch(v); return err }},
}

// parseSpeed reads what compute is divided by.
func parseSpeed(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%q is no number above 0", text)
	}
	return v, nil
}

func parsePercent(text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 || v > 100 {
		return 0, fmt.Errorf("%q is no number from 0 to 100", text)
	}
	return v, nil
}

func parseSwitch(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("want true or false, not %q", text)
}

// setting returns what sets the option of that name, nil if there is none.
func setting(name string) func(*replay.Options, string) error {
	for _, s := range settings {
		if s.name == name {
			return s.set
		}
	}
	return nil
}

// baselineOptions reads the options that the command line sets for all runs.
func baselineOptions(c *cli.Context) (o replay.Options, named []lab.Option, err error) {
	for _, s := range settings {
		value := fmt.Sprint(c.Value(s.name))
		if err := s.set(&o, value); err != nil {
			return o, nil, usage(c, "--%s: %w", s.name, err)
		}
		named = append(named, lab.Option{Name: s.name, Value: value})
	}
	for _, text := range c.StringSlice("limit") {
		if err := setLimit(&o.Limits, text); err != nil {
			return o, nil, usage(c, "--limit: %w", err)
		}
	}
	return o, named, nil
}

// flagsOf returns flags that another command has, too.
func flagsOf(other *cli.Command, names ...string) (flags []cli.Flag) {
	for _, name := range names {
		for _, f := range other.Flags {
			if f.Names()[0] == name {
				flags = append(flags, f)
			}
		}
	}
	return flags
}
