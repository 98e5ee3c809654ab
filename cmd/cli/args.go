package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"pianola/internal/console"
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
	of, command, rest := commands[i], args[:2:2], args[2:]
	grouped := of.Name == "compare"
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
		case !ended && operands == nil && of.Command(arg) != nil:
			of, command = of.Command(arg), append(command, arg)
		case ended || arg == "-" || !strings.HasPrefix(arg, "-"):
			operands = append(operands, arg)
		case !takesNext(of, arg):
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

// takesNext reports whether the value of an option, of a command or of one of its own, is
// the next word. The parser refuses options that the command doesn't have.
func takesNext(c *cli.Command, word string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	return slices.ContainsFunc(append(c.Subcommands, c), func(c *cli.Command) bool {
		o := optionOf(commandName(c), name)
		return o != nil && o.takesValue()
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
	if settable {
		for _, o := range settings() {
			names = append(names, o.name)
		}
	}
	if slices.Contains(names, word) {
		return "" // its argument is wrong
	}
	return didYouMean(word, names)
}

// These match the errors of package flag: an option that the command doesn't have, one
// without a value, and one with a wrong value.
var (
	unknownOption = regexp.MustCompile(`(?s)^flag provided but not defined: -(.*)$`)
	bareOption    = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	wrongValue    = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([^ :]+): (.*)$`)
)

// usageError makes an error of the parser one of the command line, which says what is
// wanted.
func usageError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if m := unknownOption.FindStringSubmatch(text); m != nil {
		return hinted(usage(c, "no option %s", dashed(m[1])), likeOption(c, m[1]))
	}
	if m := bareOption.FindStringSubmatch(text); m != nil {
		return usage(c, "%s: want a value", dashed(m[1]))
	}
	m := wrongValue.FindStringSubmatch(text)
	if m == nil {
		return usage(c, "%w", err)
	}
	value, name := m[1], m[2]
	if m[3] == "value out of range" {
		return usage(c, "%s: %s is out of range", dashed(name), value)
	}
	want, how := "true or false", ""
	switch o := optionOf(commandName(c.Command), name); o.value.(type) {
	case time.Duration:
		want = "a duration such as 5s or 1m30s"
	case float64:
		want = "a number"
	case int:
		want = "a whole number"
		if o.name == "pid" {
			want, how = "a process ID", "pgrep NAME prints process IDs; "
		}
	}
	return hinted(usage(c, "%s: want %s, not %s", dashed(name), want, value), how)
}

// hinted puts a text before the hint of an error of usage.
func hinted(err error, text string) error {
	if h, ok := errors.AsType[*console.Hint](err); ok {
		h.Text = text + h.Text
	}
	return err
}

// dashed returns the name of an option as a command line has it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// optionNames returns the names of the options of a command.
func optionNames(c *cli.Command) (names []string) {
	for _, o := range rowsOf(commandName(c)) {
		for _, name := range o.names() {
			names = append(names, dashed(name))
		}
	}
	return names
}

// likeOption returns the beginning of a hint for an option that the command doesn't have.
// The name of an option of another command is not a misspelling.
func likeOption(c *cli.Context, word string) string {
	own := optionNames(c.Command)
	now := renamedOptions[word]
	if now != "" && slices.Contains(own, strings.Fields(now)[0]) || strings.HasPrefix(now, "pianola "+commandName(c.Command)+" ") {
		return "it is " + now + " now; "
	}
	var others []string
	commands := c.Command.Subcommands
	if !slices.ContainsFunc(commands, func(c *cli.Command) bool { return slices.Contains(optionNames(c), dashed(word)) }) {
		commands = allCommands(c.App.Commands)
	}
	for _, other := range commands {
		if slices.Contains(optionNames(other), dashed(word)) {
			others = append(others, commandName(other))
		}
	}
	if others == nil {
		return didYouMean("--"+word, own)
	}
	return dashed(word) + " is an option of " + strings.Join(others, ", ") + "; "
}

// commandError is the error of a command line with an unknown subcommand.
func commandError(c *cli.Context, name string) error {
	commands := c.App.Commands
	if own := c.Command.Subcommands; own != nil && commandName(c.Command) != c.App.Name {
		commands = own
	}
	var names []string
	for _, known := range commands {
		if !known.Hidden {
			names = append(names, known.Name)
		}
	}
	text := didYouMean(name, names)
	if now := renamed[name]; now != "" {
		text = "pianola " + now + " does that now; "
	}
	return hinted(usage(c, "no command %q", name), text)
}

// renamed holds the commands that do what commands of other names did.
var renamed = map[string]string{"advise": "lab", "print": "convert", "workloads": "workload", "suite": "bench --workload all"}
