package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// parting is the word between two groups of operands.
const parting = "--"

// optionsFirst returns a command line with the options of the subcommand before its
// operands, as the parser wants them. Words after "--" are operands. The operands of
// record and bench are the command line of another program, so they stay.
//
// A "--" after an operand of compare parts two groups. It stays among the
// operands, which the parser passes on as they are: it takes away only the "--"
// that stands before all of them here.
func optionsFirst(args []string, commands []*cli.Command) []string {
	if len(args) < 2 {
		return args
	}
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[1]) })
	if i < 0 || takesCommand(commands[i]) || commands[i].SkipFlagParsing {
		return args
	}
	command, rest := args[:2], args[2:]
	grouped := commands[i].Name == "compare"
	ended := false // all other words are operands
	var options, operands []string
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case grouped && arg == parting && len(operands) > 0 && operands[len(operands)-1] != parting:
			operands = append(operands, arg)
		case arg == "--" && !ended:
			ended = true
		case ended || arg == "-" || !strings.HasPrefix(arg, "-"):
			operands = append(operands, arg)
		case !takesNext(commands[i], arg):
			options = append(options, arg)
		case len(rest) == 0: // the parser says that the value is missing
			return slices.Concat(command, options, []string{arg})
		default:
			options = append(options, arg, rest[0])
			rest = rest[1:]
		}
	}
	return slices.Concat(command, options, []string{"--"}, operands)
}

// takesCommand reports whether the operands of a command are another command line.
func takesCommand(c *cli.Command) bool { return c.Name == "record" || c.Name == "bench" }

// takesNext reports whether the value of an option is the next word. The parser
// refuses options that it does not know.
func takesNext(c *cli.Command, option string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(option, "-"), "-")
	return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool {
		_, isSwitch := f.(*cli.BoolFlag)
		return !isSwitch && slices.Contains(f.Names(), name)
	})
}

// didYouMean returns the beginning of a hint with the name that a word is likely
// to be a misspelling of. It is empty if there is none.
func didYouMean(word string, names []string) string {
	const similar = 0.85 // of two words that differ in a letter or two: sync and synk, replay and replya
	best, likest := similar, ""
	for _, name := range names {
		// The weights of the prefix are those that Winkler gives.
		if s := smetrics.JaroWinkler(word, name, 0.7, 4); s > best {
			best, likest = s, name
		}
	}
	if likest == "" {
		return ""
	}
	return "did you mean " + likest + "? "
}

// likeStep is didYouMean for the names of transforms, and of the options of replay
// that a candidate of lab can set.
func likeStep(word string, settable bool) string {
	var names []string
	for _, t := range extensions.transforms {
		names = append(names, t.Name)
	}
	for i := range settings {
		if settable {
			names = append(names, settings[i].name)
		}
	}
	if slices.Contains(names, word) {
		return "" // its argument is wrong
	}
	return didYouMean(word, names)
}

// usageError makes an error of the parser one of the command line, with a hint for
// a misspelt option.
func usageError(c *cli.Context, err error, _ bool) error {
	wrong := usage(c, "%w", err)
	word, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if h, ok := errors.AsType[*hint](wrong); ok && unknown {
		var names []string
		for _, f := range c.Command.VisibleFlags() {
			for _, name := range f.Names() {
				if len(name) > 1 {
					names = append(names, "--"+name)
				}
			}
		}
		h.text = didYouMean("--"+word, names) + h.text
	}
	return wrong
}

// commandError is the error of a command line with an unknown subcommand.
func commandError(c *cli.Context, name string) error {
	var names []string
	for _, known := range c.App.VisibleCommands() {
		names = append(names, known.Name)
	}
	wrong := usage(c, "no command %q", name)
	if h, ok := errors.AsType[*hint](wrong); ok {
		h.text = didYouMean(name, names) + h.text
	}
	return wrong
}
