package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/profile"
)

func compareCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "compare",
		Usage:     "say how true replays are to the application",
		UsageText: "pianola compare [--tolerance 10%] [--plot FILE] [--json] APPLICATION REPLAY…",
		Description: "Each operand is a script, a compiled trace or the log of a replay. The exit status is 1\n" +
			"where a time differs by more than the tolerance.\n\n" +
			"Example: pianola compare --plot profile.svg trace.txt replay.log",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tolerance", Value: "10%", Usage: "`PART` by which times may differ: 10% or 0.1"},
			&cli.StringFlag{Name: "plot", Usage: "draw the cumulative profiles into `FILE`.svg or .png"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: runCompare,
	})
}

func runCompare(c *cli.Context) error {
	if c.NArg() < 2 {
		return usage(c, "want a recording of the application and at least one replay")
	}
	tolerance, err := parseTolerance(c.String("tolerance"))
	if err != nil {
		return usage(c, "--tolerance: %v", err)
	}
	plot := c.String("plot")
	if err := checkPlot(plot); err != nil {
		return usage(c, "--plot: %v", err)
	}
	var series []profile.Series
	var profiles []*profile.Profile
	for i, name := range c.Args().Slice() {
		p, err := readProfile(name)
		if err != nil {
			return err
		}
		label := "application"
		if i > 0 {
			label = "replay"
		}
		if i > 1 || c.NArg() > 2 && i > 0 {
			label = fmt.Sprintf("replay %d", i)
		}
		series = append(series, profile.Series{Name: label, Profile: p})
		profiles = append(profiles, p)
	}
	result := profile.Compare(profiles[0], profiles[1:]...)
	if plot != "" {
		if err := writePlot(plot, series...); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		err = result.WriteJSON(os.Stdout, tolerance)
	} else {
		err = result.WriteText(os.Stdout, tolerance)
	}
	if err == nil && !result.Within(tolerance) {
		err = &exitError{status: exitFailure}
	}
	return err
}

func readProfile(name string) (*profile.Profile, error) {
	r, done, err := openRecording(name)
	if err != nil {
		return nil, err
	}
	defer done()
	return profile.Read(r)
}

func checkPlot(name string) error {
	switch filepath.Ext(name) {
	case ".svg", ".png", "":
		if name == "" || filepath.Ext(name) != "" {
			return nil
		}
	}
	return fmt.Errorf("%q ends neither in .svg nor in .png", name)
}

func writePlot(name string, series ...profile.Series) error {
	return writeOutput(name, func(o *output) error {
		return profile.Plot(o, strings.TrimPrefix(filepath.Ext(name), "."), series...)
	})
}

// parseTolerance reads "10%" or "0.1".
func parseTolerance(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v > 1e6 {
		return 0, fmt.Errorf("%q is no part such as 10%% or 0.1", s)
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// printJSON prints one document on standard output.
func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
