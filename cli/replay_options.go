package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/device"
	"pianola/format"
	"pianola/plugin"
	"pianola/replay"
	"pianola/replay/fileset"
)

// setting is an option of a replay with one value, or one that adds to the
// values before.
type setting struct {
	name string // of its flag
	set  func(o *replay.Options, value string) error
}

// ofDevice returns the setter of a part of the model of a device.
func ofDevice(set func(*device.Model, string) error) func(*replay.Options, string) error {
	return func(o *replay.Options, value string) error {
		if value == "" {
			return nil
		}
		o.Device = o.Device.Clone()
		return set(o.Device, value)
	}
}

// values returns the values that the command line has for a setting.
func (s *setting) values(c *cli.Context) []string {
	switch value := c.Value(s.name).(type) {
	case nil: // the command has no such option
		return nil
	case cli.StringSlice:
		return value.Value()
	default:
		return []string{fmt.Sprint(value)}
	}
}

// settings are the options that replay and lab have in common, and that a
// candidate of lab can change. Their names differ from those of transforms.
var settings = []setting{
	{"backend", func(o *replay.Options, v string) (err error) {
		o.Backend, err = replay.ParseBackend(v, extensions.backends...)
		return err
	}},
	{"cache", func(o *replay.Options, v string) (err error) { o.Cache, err = fileset.ParseCache(v); return err }},
	{"timing", func(o *replay.Options, v string) (err error) { o.Timing, err = replay.ParseTiming(v); return err }},
	{"speed", func(o *replay.Options, v string) (err error) { o.Speed, err = parseSpeed(v); return err }},
	{"wait", func(o *replay.Options, v string) (err error) { o.Wait, err = replay.ParseWait(v); return err }},
	{"order", func(o *replay.Options, v string) (err error) { o.Order, err = replay.ParseOrder(v); return err }},
	{"outside", func(o *replay.Options, v string) (err error) { o.Outside, err = replay.ParseOutside(v); return err }},
	{"compressibility", func(o *replay.Options, v string) (err error) { o.Compressibility, err = parsePercent(v); return err }},
	{"memory", func(o *replay.Options, v string) (err error) { o.Memory, err = parseSwitch(v); return err }},
	{"copies", func(o *replay.Options, v string) (err error) { o.Copies, err = parseCopies(v); return err }},
	{"landlock", func(o *replay.Options, v string) (err error) { o.Landlock, err = parseSwitch(v); return err }},
	{"map", func(o *replay.Options, v string) error {
		m, err := replay.ParseMap(v)
		o.Maps = append(slices.Clip(o.Maps), m)
		return err
	}},
	{"model", func(o *replay.Options, v string) error {
		if v == "" {
			return nil
		}
		f, err := readModel(v)
		if err != nil {
			return err
		}
		o.Device = o.Device.Clone()
		o.Device.Fitted = &f.Model
		return nil
	}},
	{"latency", ofDevice((*device.Model).AddLatency)},
	{"bandwidth", ofDevice((*device.Model).SetBandwidth)},
	{"iops", ofDevice((*device.Model).SetIOPS)},
	{"queue", ofDevice((*device.Model).SetQueue)},
}

// parseSpeed parses the divisor of compute.
func parseSpeed(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number", text)
	case !(v > 0) || math.IsInf(v, 1):
		return 0, fmt.Errorf("%s is not above 0", text)
	}
	return v, nil
}

// maxCopies bounds how often a trace is played side by side.
const maxCopies = 1024

func parseCopies(text string) (int, error) {
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number", text)
	case v < 1 || v > maxCopies:
		return 0, fmt.Errorf("%s is not from 1 to %d", text, maxCopies)
	}
	return v, nil
}

func parsePercent(text string) (int, error) {
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number", text)
	case v < 0 || v > 100:
		return 0, fmt.Errorf("%s is not from 0 to 100", text)
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

// settingOf returns the setting with a name, nil if there is none.
func settingOf(name string) *setting {
	if i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name }); i >= 0 {
		return &settings[i]
	}
	return nil
}

// parse sets the option in o to text. flag names the flag, or the step of a
// candidate, in errors.
func (s *setting) parse(c *cli.Context, o *replay.Options, flag, value string) error {
	if s.name == "backend" && plugin.Is(value) {
		return playBy(c, o, value)
	}
	if err := s.set(o, value); err != nil {
		if _, ok := errors.AsType[*fileError](err); ok {
			return err
		}
		return usage(c, "--%s: %w", flag, err)
	}
	return nil
}

// playBy sets a program as the backend.
func playBy(c *cli.Context, o *replay.Options, text string) error {
	p, err := parseProgram(c, text)
	if err != nil {
		return err
	}
	o.Backend = replay.NewBackend("program", func(ctx context.Context, t format.Trace) (replay.Player, error) {
		out, err := p.Backend(ctx, t)
		if err != nil {
			return nil, err // a nil interface, not a nil pointer in one
		}
		return out, nil
	})
	return nil
}

// commonOptions parses the options of settings that a command has.
func commonOptions(c *cli.Context) (o replay.Options, err error) {
	for i := range settings {
		s := &settings[i]
		for _, value := range s.values(c) {
			if err := s.parse(c, &o, s.name, value); err != nil {
				return o, err
			}
		}
	}
	known, ofInput := "files, bytes, descriptors, threads, memory and kernel", c.Command.Name != "replay" // others read recordings, too
	if ofInput {
		known = "files, bytes, descriptors, threads, memory, kernel and text"
	}
	for _, text := range c.StringSlice("limit") {
		name, n, err := parseLimit(text)
		if err == nil && !setLimit(&o.Limits, name, n) && !(ofInput && inputs.set(name, n)) {
			err = fmt.Errorf("%s: there is %s", text, known)
		}
		if err != nil {
			return o, usage(c, "--limit: %w", err)
		}
	}
	return o, nil
}

// replayOptions parses the options of replay.
func replayOptions(c *cli.Context) (o replay.Options, err error) {
	if o, err = commonOptions(c); err != nil {
		return o, err
	}
	o.Root, o.Strict, o.Keep = c.String("root"), c.Bool("strict"), c.Bool("keep")
	if o.Prepare, err = fileset.ParsePrepare(c.String("prepare")); err != nil {
		return o, usage(c, "--prepare: %w", err)
	}
	backend := c.String("backend")
	switch {
	case c.Int("runs") < 1:
		return o, usage(c, "--runs: %d is not above 0", c.Int("runs"))
	case o.Root != "" && o.Backend != replay.Posix:
		return o, usage(c, "--root: the backend %s has no use for it", backend)
	case len(o.Maps) > 0 && o.Backend != replay.Posix:
		return o, usage(c, "--map: the backend %s has no directories", backend)
	case o.Device != nil && o.Backend == replay.Posix && o.Device.SlowerOnly() != nil:
		return o, usage(c, "--latency: %w; --backend memory has them", o.Device.SlowerOnly())
	case o.Device != nil && o.Backend != replay.Posix && o.Backend != replay.Memory:
		return o, usage(c, "the backend %s has no device to model", backend)
	case o.Keep && o.Backend != replay.Posix:
		return o, usage(c, "--keep: the backend %s leaves no files", backend)
	case o.Prepare == fileset.PrepareNever && o.Root == "":
		return o, usage(c, "--prepare never: no --root that was prepared")
	case o.Prepare == fileset.PrepareOnly && o.Backend != replay.Posix:
		return o, usage(c, "--prepare only: the backend %s has no files", backend)
	case o.Prepare == fileset.PrepareOnly && c.IsSet("log"):
		return o, usage(c, "--log: nothing is replayed")
	}
	return o, nil
}

// parseLimit parses a limit such as bytes=10GiB.
func parseLimit(text string) (name string, n int64, err error) {
	name, value, _ := strings.Cut(text, "=")
	switch n, err = format.ParseSize(value); {
	case err != nil:
		return "", 0, fmt.Errorf("%s: %w", text, err)
	case n <= 0:
		return "", 0, fmt.Errorf("%s: not above 0", text)
	}
	return name, n, nil
}

// setLimit sets the limit with a name, and reports whether there is one.
func setLimit(l *replay.Limits, name string, n int64) bool {
	switch name {
	case "files":
		l.Files = n
	case "bytes":
		l.Bytes = n
	case "descriptors":
		l.Descriptors = n
	case "threads":
		l.Threads = int(n)
	case "memory":
		l.Memory = n
	case "kernel":
		l.Kernel = n
	default:
		return false
	}
	return true
}

// flagsOf returns the named flags of another command.
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
