package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/compile/source"
	"pianola/device"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/provenance"
	"pianola/table"
)

func modelCommand() *cli.Command {
	return noun(&cli.Command{
		Name:      "model",
		Usage:     "fit a model of a storage device, for replay --model",
		UsageText: "pianola model fit|check [OPTION]…",
		Description: "A model says how long the calls take that reach a device. docs/devices.md says what a model holds.\n" +
			"\n" +
			"Example: pianola model fit -o disk.json --fio fio.json\n" +
			"Example: pianola model check disk.json wednesday.txt",
	}, command(&cli.Command{
		Name: "fit", HelpName: "model fit",
		Usage:     "fit a model to what was measured on a device",
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
	defer out.Abort()
	if one, ok := samples[0].(*device.Recording); ok && len(samples) == 1 {
		first, second := one.Halves()
		samples = []device.Sample{first, second}
	}
	shown := session.Bytes("fitting")
	f := &device.File{Meta: aboutModel(c, used)}
	fitted, err := device.Fit(c.Context, samples, cache)
	if err == nil {
		f.Model = *fitted
		f.HeldOut, err = device.HoldOut(c.Context, samples, cache)
	}
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
	if _, err := io.WriteString(w, describeModel(&f.Model)); err != nil {
		return err
	}
	return printHeldOut(w, "held out", f.HeldOut)
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
		jobs, skipped, err := readFio(name)
		if err != nil {
			return nil, nil, err
		}
		for _, why := range skipped {
			console.Warn("%s: left out: %s", name, why)
		}
		if len(jobs) == 0 {
			return nil, nil, console.WithHint(fmt.Errorf("%s: no job tells anything of a device", name), "docs/devices/device.fio has those that do")
		}
		for _, j := range jobs {
			samples = append(samples, j)
		}
		used = append(used, format.Meta{Key: "from fio", Value: fmt.Sprintf("%s: %d jobs", name, len(jobs))})
	}
	return samples, used, nil
}

// fileError is the error of a file that a model is in or is made of, and no wrong usage.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

// readModel reads a fitted model.
func readModel(name string) (*device.File, error) {
	f, err := session.files.Open(name)
	if err != nil {
		return nil, &fileError{err}
	}
	defer f.Close()
	m, err := device.ReadFile(f)
	if err != nil {
		return nil, &fileError{placed(name, err)}
	}
	return m, nil
}

// placed returns an error with the file and, where it has one, the line.
func placed(name string, err error) error {
	if e, ok := errors.AsType[*device.FileError](err); ok && e.Line > 0 {
		return fmt.Errorf("%s:%d: %w", name, e.Line, e.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func readFio(name string) ([]*device.Job, []string, error) {
	f, err := session.files.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	jobs, skipped, err := device.ReadFio(f)
	if err != nil {
		return nil, nil, placed(name, err)
	}
	return jobs, skipped, nil
}

// recordingOn reads a recording, a compiled trace or the log of a replay.
func recordingOn(name string, cache device.Cache) (*device.Recording, []format.Meta, error) {
	s, h, err := readRecordingOn(name, cache)
	if err != nil {
		return nil, nil, source.Named(name, err)
	}
	if s.Len() == 0 {
		return nil, nil, fmt.Errorf("%s: no call of it reaches a device: no sync, no direct access, no read that misses the page cache", name)
	}
	meta := []format.Meta{{Key: "from recording", Value: fmt.Sprintf("%s: %d calls that reach the device", name, s.Len())}}
	for _, key := range []string{format.MetaMount, format.MetaDevice, format.MetaCPU, format.MetaKernel} {
		if v, ok := h.Value(key); ok {
			meta = append(meta, format.Meta{Key: "recording's " + key, Value: v})
		}
	}
	return s, meta, nil
}

func readRecordingOn(name string, cache device.Cache) (*device.Recording, *format.Header, error) {
	src, err := recordings.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if src.Log {
		events, err := src.Open()
		if err != nil {
			return nil, nil, err
		}
		events = format.NewCausalReader(events)
		s, err := device.NewRecording(name, events, cache)
		return s, events.Header(), err
	}
	t, err := src.Trace(compile.Options{Compensate: true})
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	s, err := device.NewRecording(name, t.Events(), cache)
	return s, t.Header(), err
}

// aboutModel returns how and where a model is fitted, and from what.
func aboutModel(c *cli.Context, used []format.Meta) (list []device.Remark) {
	here, err := os.Getwd()
	if err != nil {
		here = "."
	}
	for _, m := range slices.Concat(optionsOf(c, c.Args().Slice()...), used, provenance.Dir(here, c.Bool("no-host"))) {
		list = append(list, device.Remark{Key: m.Key, Value: m.Value})
	}
	return list
}

// checkModel compares a model with recordings.
func checkModel(c *cli.Context) error {
	if c.NArg() < 2 {
		return usage(c, "want a model and a recording made on the device")
	}
	name := c.Args().First()
	m, err := readModel(name)
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
	return printHeldOut(session.Stdout("text"), "recording", list)
}

// printHeldOut prints what a model says beside what was measured.
func printHeldOut(w io.Writer, what string, list []device.HeldOut) error {
	rows := [][]string{{what, "class", "calls", "measured s", "model s", "off"}}
	var sum, off float64
	var each []float64
	for _, h := range list {
		rows = append(rows, []string{format.Visible(h.Name), h.Class, fmt.Sprint(h.Calls), table.Fixed(h.Measured, 3), table.Fixed(h.Predicted, 3), percentOff(h.Error())})
		sum += h.Measured
		off += math.Abs(h.Predicted - h.Measured)
		each = append(each, math.Abs(h.Error()))
	}
	if _, err := io.WriteString(w, table.Format(rows, table.FirstLeft)); err != nil {
		return err
	}
	if sum == 0 {
		return nil
	}
	slices.Sort(each)
	_, err := fmt.Fprintf(w, "off by %s %% in the median, %s %% of the measured time\n", table.Fixed(100*each[len(each)/2], 1), table.Fixed(100*off/sum, 1))
	return err
}

func percentOff(part float64) string { return fmt.Sprintf("%+.1f%%", 100*part) }

// describeModel returns the parameters of a model as a table.
func describeModel(f *device.Fitted) string {
	rows := [][]string{{"", "latency", "requests/s", "bandwidth MB/s"}}
	for _, d := range []struct {
		name string
		of   *device.Direction
	}{{"read", &f.Read}, {"write", &f.Write}} {
		rows = append(rows,
			[]string{d.name + ", random", microseconds(d.of.Random.Latency), table.Fixed(d.of.Random.IOPS, 0), table.Fixed(d.of.Bandwidth/1e6, 1)},
			[]string{d.name + ", sequential", microseconds(d.of.Sequential.Latency), table.Fixed(d.of.Sequential.IOPS, 0), table.Fixed(d.of.Bandwidth/1e6, 1)})
	}
	text := table.Format(rows, table.FirstLeft)
	text += fmt.Sprintf("flush: %s and %.2f requests; commit: %s, %.2f requests and %.2f for each block of metadata\n",
		microseconds(f.Sync.Flush), f.Sync.FlushRequests, microseconds(f.Sync.Commit), f.Sync.CommitFixed, f.Sync.CommitBlock)
	if f.Shared {
		text += "reads and writes share the requests and the bandwidth\n"
	}
	if f.Burst > 0 {
		text += fmt.Sprintf("an idle device saves up %s\n", microseconds(f.Burst))
	}
	return text
}

func microseconds(seconds float64) string { return table.Fixed(seconds*1e6, 1) + " µs" }
