package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"pianola/stats"
)

// figure is a number that a measure gives. Less is better.
type figure struct {
	name string
	// least is the smallest difference that counts: below it is the noise of clocks,
	// pages and the allocator.
	least float64
}

// The figures of measures.
var (
	seconds     = figure{elapsed, 0.003}
	ofProcessor = figure{processor, 0.003}
	mebibytes   = figure{memory, 2}
	perCall     = figure{"a call, ns", 3}
	lateness50  = figure{"lateness p50, µs", 0.1}
	lateness99  = figure{"lateness p99, µs", 5}
	size        = figure{"size, KiB", 4}
	addedShare  = figure{"added, %", 2}
)

// measure is what the guard measures of a build.
type measure struct {
	name    string
	input   string   // that it reads, if any
	once    []string // a command of the build that prepares the runs, if any
	run     func(context.Context, *build) (sample, error)
	figures []figure
}

var measures = []measure{
	command("compile reads", "reads.txt", "compile", "-o", "out.bin", "reads.txt"),
	command("compile demo", "demo.txt", "compile", "-o", "out.bin", "demo.txt"),
	command("compile threads", "threads.txt", "compile", "-o", "out.bin", "threads.txt"),
	command("compile requests", "requests.txt", "compile", "-o", "out.bin", "requests.txt"),
	command("compile forks", "forks.txt", "compile", "-o", "out.bin", "forks.txt"),
	benchmark("script read", "format/script", "BenchmarkRead"),
	benchmark("script write", "format/script", "BenchmarkWrite"),
	benchmark("trace read", "format/bin", "BenchmarkEvents"),
	benchmark("trace write", "format/bin", "BenchmarkEncode"),
	command("profile script", "database.txt", "profile", "database.txt"),
	ofTrace("profile trace", "database.txt", "profile"),
	command("page", "database.txt", "profile", "--html", "page.html", "database.txt"),
	replay("replay reads, afap", "cached.txt", "--timing", "afap").timed(2_000_000),
	replay("replay requests, afap", "requests.txt", "--timing", "afap").timed(102_400),
	replay("replay reads, null", "cached.txt", "--timing", "afap", "--backend", "null").timed(2_000_000),
	replay("replay reads, paced", "paced.txt").late(),
	added("record a pread", nil, "../load", "pread", "1", "200000"),
	added("record a span", []string{"--layer", "stdio"}, "../calls", "500"),
	recordForks("record 500 forks"),
	command("record true", "", "record", "-o", "true.txt", "--", "true"),
	command("help", "", "--help"),
	sizeOf("program", "pianola", measure{}),
	sizeOf("trace of the demo", "demo.bin", ofTrace("", "demo.txt", "profile")),
}

// command is a run of the program as a whole.
func command(name, input string, args ...string) measure {
	return measure{name: name, input: input, figures: []figure{seconds, ofProcessor, mebibytes}, run: func(ctx context.Context, b *build) (sample, error) {
		got, _, err := b.run(ctx, args...)
		return got, err
	}}
}

// ofTrace is a command with the trace that the same build compiles from the input.
func ofTrace(name, input string, args ...string) measure {
	trace := strings.TrimSuffix(input, ".txt") + ".bin"
	m := command(name, input, append(args, trace)...)
	m.once = []string{"compile", "-o", trace, input}
	return m
}

// replayMeasure is a replay whose own account tells the time.
type replayMeasure struct {
	measure
	args []string
}

func replay(name, input string, args ...string) replayMeasure {
	args = append([]string{"replay", "--json"}, args...)
	r := replayMeasure{measure: ofTrace(name, input, args...), args: args}
	r.args = append(args, r.once[2])
	return r
}

// account returns the account of a run. Results that differ, or too few runs for a
// verdict, are no failure.
func (r replayMeasure) account(ctx context.Context, b *build) (sample, string, error) {
	return process(ctx, b.dir, append([]string{b.pianola}, r.args...), 1, 3)
}

// timed takes the time of an event, of so many.
func (r replayMeasure) timed(events float64) measure {
	r.figures = []figure{perCall, ofProcessor, mebibytes}
	r.run = func(ctx context.Context, b *build) (sample, error) {
		got, out, err := r.account(ctx, b)
		if err != nil {
			return nil, err
		}
		took, err := number(out, "elapsed")
		got[perCall.name] = took * 1e9 / events
		return got, err
	}
	return r.measure
}

// late takes how late events are.
func (r replayMeasure) late() measure {
	r.figures = []figure{lateness50, lateness99, ofProcessor, mebibytes}
	r.run = func(ctx context.Context, b *build) (sample, error) {
		got, out, err := r.account(ctx, b)
		if err != nil {
			return nil, err
		}
		for f, key := range map[figure]string{lateness50: "p50", lateness99: "p99"} {
			value, err := number(out, key)
			if err != nil {
				return nil, err
			}
			got[f.name] = value * 1e6
		}
		return got, nil
	}
	return r.measure
}

// number returns the first number of seconds with that key in a JSON document. The
// layout of documents can differ between the builds, and so can the ends of keys.
func number(document, key string) (float64, error) {
	found := regexp.MustCompile(`"` + key + `(?:_seconds)?": *([-0-9.e+]+)`).FindStringSubmatch(document)
	if found == nil {
		return 0, fmt.Errorf("no %s in %.200q", key, document)
	}
	return strconv.ParseFloat(found[1], 64)
}

var perOp = regexp.MustCompile(`([0-9.]+) ns/op`)

// benchmark is a Go benchmark of a package.
func benchmark(name, pkg, function string) measure {
	return measure{name: name, figures: []figure{perCall}, run: func(ctx context.Context, b *build) (sample, error) {
		program, err := b.benchmark(ctx, pkg)
		if err != nil {
			return nil, err
		}
		_, out, err := process(ctx, filepath.Join(b.source, pkg), []string{program, "-test.run", "^$", "-test.bench", "^" + function + "$", "-test.benchtime", "300ms"})
		if err != nil {
			return nil, err
		}
		found := perOp.FindStringSubmatch(out)
		if found == nil {
			return nil, fmt.Errorf("%s: no benchmark %s", pkg, function)
		}
		ns, err := strconv.ParseFloat(found[1], 64)
		return sample{perCall.name: ns}, err
	}}
}

// added is what recording adds to each call of a program that prints the nanoseconds of
// one: the median of three pairs.
func added(name string, options []string, program ...string) measure {
	return measure{name: name, figures: []figure{perCall}, run: func(ctx context.Context, b *build) (sample, error) {
		record := append(append([]string{b.pianola, "record", "-o", "added.txt"}, options...), "--")
		var more []float64
		for range 3 {
			plain, err := printed(ctx, b.dir, program)
			if err != nil {
				return nil, err
			}
			recorded, err := printed(ctx, b.dir, append(record, program...))
			if err != nil {
				return nil, err
			}
			more = append(more, recorded-plain)
		}
		return sample{perCall.name: stats.Median(more)}, nil
	}}
}

// printed returns the first number that a command prints.
func printed(ctx context.Context, dir string, command []string) (float64, error) {
	_, out, err := process(ctx, dir, command)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.Fields(out + " -")[0], 64)
}

// recordForks is the run time of a program with 500 children while it is recorded, as
// the recording has it, and what that adds to its run time without a recorder.
func recordForks(name string) measure {
	command := []string{"sh", "-c", forking(500)}
	return measure{name: name, figures: []figure{seconds, addedShare, ofProcessor, mebibytes}, run: func(ctx context.Context, b *build) (sample, error) {
		plain, _, err := process(ctx, b.dir, command)
		if err != nil {
			return nil, err
		}
		got, _, err := b.run(ctx, append([]string{"record", "-o", "forks.txt", "--"}, command...)...)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(filepath.Join(b.dir, "forks.txt"))
		if err != nil {
			return nil, err
		}
		_, rest, _ := strings.Cut(string(text), "\n# elapsed: ")
		took, err := strconv.ParseFloat(strings.Fields(rest + " -")[0], 64)
		got[elapsed], got[addedShare.name] = took, 100*(took/plain[elapsed]-1)
		return got, err
	}}
}

// sizeOf is the size of a file of the build, after what m does once.
func sizeOf(name, file string, m measure) measure {
	m.name, m.figures = name, []figure{size}
	m.run = func(_ context.Context, b *build) (sample, error) {
		info, err := os.Stat(filepath.Join(b.dir, file))
		if err != nil {
			return nil, err
		}
		return sample{size.name: float64(info.Size()) / 1024}, nil
	}
	return m
}
