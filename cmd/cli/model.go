package cli

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/compile/source"
	"pianola/format"
	"pianola/format/provenance"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/replay/device"
)

func modelCommand() *cli.Command {
	return noun(&cli.Command{
		Name:      "model",
		Usage:     "fit a model of a storage device, for replay --model",
		UsageText: "pianola model fit|check [OPTION]…",
		Description: "A model says how long the calls take that reach a device. docs/devices.md describes its contents.\n" +
			"\n" +
			"Example: pianola model fit -o disk.json --fio fio.json\n" +
			"Example: pianola model check disk.json wednesday.txt",
	}, command(&cli.Command{
		Name: "fit", HelpName: "model fit",
		Usage:     "fit a model to measurements of a device",
		UsageText: "pianola model fit [OPTION]… -o FILE [--fio JSON]… [TRACE…]",
		Description: "Fits a model to recordings, compiled traces and logs of replays that were made on a device, and to\n" +
			"results of fio. Prints the error of the model on data that it was not fitted to: each of several\n" +
			"recordings or jobs is held out in turn; of one recording, each half. docs/devices.md has the fio jobs\n" +
			"that a model needs.\n" +
			"\n" +
			"Example: pianola model fit -o disk.json --fio fio.json\n" +
			"Example: pianola model fit -o disk.json monday.txt tuesday.txt",
		Action: fitModel,
	}), command(&cli.Command{
		Name: "check", HelpName: "model check",
		Usage:     "compare a model with recordings",
		UsageText: "pianola model check [OPTION]… FILE TRACE…",
		Description: "Compares the model in FILE with recordings, compiled traces and logs of replays that were made on the\n" +
			"device.\n\n" +
			"Example: pianola model check disk.json wednesday.txt",
		Action: checkModel,
	}))
}

func fitModel(c *cli.Context) error {
	name := c.String("o")
	switch {
	case name == "":
		return usage(c, "want -o FILE for the model")
	case c.NArg() == 0 && len(c.StringSlice("fio")) == 0:
		return usage(c, "want a recording made on the device")
	}
	cache := device.Cache{Capacity: sizeOf(c, "capacity"), Dirty: sizeOf(c, "dirty"), Readahead: sizeOf(c, "readahead")}
	samples, used, err := samplesOf(c, cache)
	if err != nil {
		return err
	}
	out, err := session.files.Create(name, files.Public)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		here = "."
	}
	about := slices.Concat(optionsOf(c, c.Args().Slice()...), used, provenance.Dir(here, c.Bool("no-host")))
	shown := session.Bytes("fitting")
	f, err := device.NewFile(c.Context, samples, cache, about)
	shown.Finish()
	if err != nil {
		return interrupted(err)
	}
	if err := f.Write(out); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(f)
	}
	w := session.Stdout("text")
	if _, err := io.WriteString(w, f.Model.Text()); err != nil {
		return err
	}
	return device.WriteHeldOut(w, "held out", f.HeldOut)
}

// samplesOf reads the operands and the results of fio, and returns what was used of them.
func samplesOf(c *cli.Context, cache device.Cache) (samples []device.Sample, used []format.Meta, err error) {
	names := map[string]bool{}
	for _, name := range c.Args().Slice() {
		s, meta, err := recordingOn(name, cache)
		if err != nil {
			return nil, nil, err
		}
		if names[name] {
			return nil, nil, usage(c, "%s: given twice", name)
		}
		names[name] = true
		samples, used = append(samples, s), append(used, meta...)
	}
	for _, name := range c.StringSlice("fio") {
		jobs, skipped, err := device.OpenFio(&session.files, name)
		if err != nil {
			return nil, nil, err
		}
		for _, why := range skipped {
			console.Warn("%s: left out: %s", name, why)
		}
		if len(jobs) == 0 {
			return nil, nil, console.WithHint(fmt.Errorf("%s: no job measures a device", name), "docs/devices/device.fio has such jobs")
		}
		for _, j := range jobs {
			samples = append(samples, j)
		}
		used = append(used, format.Meta{Key: "from fio", Value: fmt.Sprintf("%s: %d jobs", name, len(jobs))})
	}
	return samples, used, nil
}

// recordingOn reads a recording, a compiled trace or the log of a replay, and says what it
// used of it.
func recordingOn(name string, cache device.Cache) (*device.Recording, []format.Meta, error) {
	src, err := recordings.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	r, err := src.Compiled(compile.Options{Compensate: true})
	if err != nil {
		return nil, nil, err
	}
	s, err := device.NewRecording(name, r, cache)
	if err != nil {
		return nil, nil, source.Named(name, err)
	}
	return s, s.About(r.Header()), nil
}

// checkModel compares a model with recordings.
func checkModel(c *cli.Context) error {
	if c.NArg() < 2 {
		return usage(c, "want a model and a recording made on the device")
	}
	name := c.Args().First()
	m, err := device.Open(&session.files, name)
	if err != nil {
		return err
	}
	list := []device.HeldOut{}
	for _, name := range c.Args().Tail() {
		s, _, err := recordingOn(name, m.Model.Cache)
		if err != nil {
			return err
		}
		list = append(list, device.Compare(s, &m.Model)...)
	}
	if c.Bool("json") {
		return printJSON(struct {
			Model    string           `json:"model"`
			Compared []device.HeldOut `json:"compared"`
		}{name, list})
	}
	return device.WriteHeldOut(session.Stdout("text"), "recording", list)
}
