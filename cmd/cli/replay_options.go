package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/internal/plugin"
	"pianola/replay"
	"pianola/replay/device"
	"pianola/replay/fileset"
)

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

// parseSpeed parses the divisor of compute.
func parseSpeed(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", text)
	case !(v > 0) || math.IsInf(v, 1):
		return 0, fmt.Errorf("%s is not above 0", text)
	}
	return v, nil
}

// maxCopies bounds how often a trace is played side by side.
const maxCopies = 1024

// maxBuffer bounds how many events a thread decodes at a time.
const maxBuffer = 1 << 20

func parseBuffer(text string) (int, error) {
	v, err := parseCount(text, 0, maxBuffer)
	return max(v, 1), err
}

// parseCount parses a number between bounds.
func parseCount(text string, least, most int) (int, error) {
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", text)
	case v < least || v > most:
		return 0, fmt.Errorf("%s is not from %d to %d", text, least, most)
	}
	return v, nil
}

func parsePause(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration (want for example 10s)", text)
	}
	return d, notBelow0(d)
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

// parse sets the option in o to text. flag names the flag, or the step of a
// candidate, in errors.
func (s *option) parse(c *cli.Context, o *replay.Options, flag, value string) error {
	if s.name == "backend" {
		switch what, only, err := plugin.Condition(value); {
		case err != nil:
			return usage(c, "--%s: %w", flag, err)
		case only != "":
			return usage(c, "--%s %s: the first backend gets all events", flag, value)
		case plugin.Is(what):
			return playBy(c, o, what)
		}
	}
	err := s.set(o, value)
	if _, ok := errors.AsType[*device.FileError](err); ok {
		return err
	}
	if s.name == "prepare" && err == nil {
		err = checkPrepare(c, o)
	}
	if err != nil {
		return usage(c, "--%s: %w", flag, err)
	}
	return nil
}

// checkPrepare returns an error for files that can't be prepared as the options say.
func checkPrepare(c *cli.Context, o *replay.Options) error {
	switch {
	case o.Prepare == fileset.PrepareNever && !c.IsSet("root"):
		return errors.New("never: want --root, with a directory that was prepared")
	case o.Prepare == fileset.PrepareOnly && commandName(c.Command) != "replay":
		return errors.New("only: pianola replay prepares without a replay")
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

// playBeside adds a further backend: "BACKEND if EXPR".
func playBeside(c *cli.Context, o *replay.Options, text string) error {
	if commandName(c.Command) != "replay" || c.IsSet("play-layer") {
		return usage(c, "--backend %s: want one backend", text)
	}
	what, only, err := plugin.Condition(text)
	if err != nil {
		return usage(c, "--backend: %w", err)
	}
	var of replay.Options
	if err := optionOf("replay", "backend").parse(c, &of, "backend", what); err != nil {
		return err
	}
	o.Beside = append(o.Beside, replay.Output{Name: text, Backend: of.Backend, Only: only})
	return nil
}

// rootsOf returns the roots of the backends that have one, in their order.
func rootsOf(o *replay.Options) (all []*string) {
	if o.Backend.Has().Roots {
		all = append(all, &o.Root)
	}
	for i := range o.Beside {
		if b := &o.Beside[i]; b.Backend.Has().Roots {
			all = append(all, &b.Root)
		}
	}
	return all
}

// changeBy sets a program that changes events while the replay runs.
func changeBy(c *cli.Context, o *replay.Options, text string) error {
	if !plugin.Is(text) {
		return usage(c, "--with: want %sPROGRAM, not %q; pianola compile --with applies transforms", plugin.Prefix, text)
	}
	p, err := parseProgram(c, text)
	if err != nil {
		return err
	}
	if p.Only != "" {
		return usage(c, "--with: %s: a program that changes events of a replay gets all of them", text)
	}
	o.Change = func(ctx context.Context, t format.Trace) (replay.Changer, error) {
		changes, err := p.Changes(ctx, t)
		if err != nil {
			return nil, err // a nil interface, not a nil pointer in one
		}
		return changes, nil
	}
	return nil
}

// commonOptions parses the options of a replay that a command has.
func commonOptions(c *cli.Context) (o replay.Options, err error) {
	for _, s := range rowsOf(commandName(c.Command)) {
		if s.set == nil {
			continue
		}
		for i, value := range s.values(c) {
			if i > 0 && s.name == "backend" {
				err = playBeside(c, &o, value)
			} else {
				err = s.parse(c, &o, s.name, value)
			}
			if err != nil {
				return o, err
			}
		}
	}
	if len(o.Maps) > 0 && !o.Backend.Has().Roots && commandName(c.Command) != "lab" { // a candidate of lab can have another backend
		return o, usage(c, "--map: the backend %s has no directories", o.Backend)
	}
	return o, parseLimits(c, &o.Limits)
}

// replayOptions parses the options of replay.
func replayOptions(c *cli.Context) (o replay.Options, err error) {
	if o, err = commonOptions(c); err != nil {
		return o, err
	}
	if text := c.String("with"); text != "" {
		if err := changeBy(c, &o, text); err != nil {
			return o, err
		}
	}
	o.Keep = c.Bool("keep")
	backend, given, roots := o.Backend, c.StringSlice("root"), rootsOf(&o)
	switch {
	case len(given) > 0 && len(roots) == 0:
		return o, usage(c, "--root: the backend %s has no use for it", backend)
	case len(given) > 0 && len(given) != len(roots):
		return o, usage(c, "--root: want %d, one for each backend with files, not %d", len(roots), len(given))
	case o.Device != nil && !o.Backend.Has().Device:
		return o, usage(c, "the backend %s has no device to model", backend)
	case o.Device != nil && !o.Backend.Has().Recorded && o.Device.SlowerOnly() != nil:
		return o, usage(c, "--latency: %w; the backends memory and simulated have them", o.Device.SlowerOnly())
	case o.Keep && len(roots) == 0:
		return o, usage(c, "--keep: the backend %s leaves no files", backend)
	case o.Prepare == fileset.PrepareOnly && !o.Backend.Has().Roots:
		return o, usage(c, "--prepare only: the backend %s has no files", backend)
	case o.Prepare == fileset.PrepareOnly && c.IsSet("log"):
		return o, usage(c, "--log: nothing is replayed")
	case o.Change != nil && o.Backend.Has().Simulated:
		return o, usage(c, "--with: the backend %s does not play in real time", backend)
	}
	for i, dir := range given {
		*roots[i] = dir
	}
	if err := o.CheckBeside(); err != nil {
		return o, usage(c, "--backend: %w", err)
	}
	return o, nil
}

// The limits that commands take that only read their inputs, and those of replays.
var (
	inputLimits  = []string{"memory", "text"}
	replayLimits = []string{"files", "bytes", "descriptors", "threads", "memory", "kernel", "text"}
)

// parseLimits sets the limits of a command line: those of a replay in l, nil for a command
// that replays nothing.
func parseLimits(c *cli.Context, l *replay.Limits) error {
	known := replayLimits
	if l == nil {
		known = inputLimits
	}
	for _, text := range c.StringSlice("limit") {
		name, n, err := parseLimit(text)
		switch {
		case err != nil:
		case !slices.Contains(known, name):
			err = fmt.Errorf("%s: want one of %s", text, strings.Join(known, ", "))
		case name == "text":
			recordings.Limits.Text = n
		case l == nil:
			recordings.Limits.Memory = n
		default:
			setLimit(l, name, n)
		}
		if err != nil {
			return usage(c, "--limit: %w", err)
		}
	}
	return nil
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

// setLimit sets the limit of a replay with a name.
func setLimit(l *replay.Limits, name string, n int64) {
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
	}
}
