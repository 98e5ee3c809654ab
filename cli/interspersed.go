package cli

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// interspersed returns the operands of a command and sets the flags among them
// and after them. What follows "--" is an operand.
func interspersed(c *cli.Context) (operands []string, err error) {
	args := c.Args().Slice()
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(operands, args[i+1:]...), nil
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			operands = append(operands, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch f := flagsOf(c.Command, name); {
		case len(f) == 0:
			return nil, usage(c, "flag provided but not defined: -%s", name)
		case given:
		case isSwitch(f[0]):
			value = "true"
		case i+1 == len(args):
			return nil, usage(c, "flag needs an argument: -%s", name)
		default:
			i++
			value = args[i]
		}
		if err := c.Set(name, value); err != nil {
			return nil, usage(c, "invalid value %q for flag -%s: %w", value, name, err)
		}
	}
	return operands, nil
}

func isSwitch(f cli.Flag) bool {
	_, ok := f.(*cli.BoolFlag)
	return ok
}
