package cli

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/format"
)

// noHost returns the flag of all commands that write where something ran.
func noHost() cli.Flag {
	return &cli.BoolFlag{Name: "no-host", Usage: "leave out the name of the machine"}
}

// outputFlags name outputs, which a file need not say of itself.
var outputFlags = []string{"o", "log", "json", "quiet"}

// optionsOf returns the remark that says with which options, and operands, a command
// runs; none if there are none. With --no-command it leaves out the option that is a
// command line.
func optionsOf(c *cli.Context, operands ...string) []format.Meta {
	var words []string
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !c.IsSet(name) || slices.Contains(outputFlags, name) || name == "setup" && c.Bool("no-command") {
			continue
		}
		switch v := c.Value(name).(type) {
		case bool:
			if v {
				words = append(words, "--"+name)
			}
		case cli.StringSlice:
			for _, one := range v.Value() {
				words = append(words, "--"+name, one)
			}
		default:
			words = append(words, "--"+name, fmt.Sprint(v))
		}
	}
	words = append(words, operands...)
	if words == nil {
		return nil
	}
	return []format.Meta{{Key: format.MetaOptions, Value: format.CommandLine(words)}}
}
