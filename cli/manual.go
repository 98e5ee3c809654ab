package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// manual is all that help, man pages and completion say of a command. It is made from
// the cli.Command, so that each text is written once:
//
//	Usage        what the command does, a phrase
//	UsageText    the synopsis, a line for each form
//	Description  paragraphs, the last of lines "Example: COMMAND"
//	Flags        the options; optionGroups sorts them
type manual struct {
	name     string // pianola record
	does     string
	synopsis []string
	text     []string // paragraphs
	examples []string
	options  []optionGroup
	commands []commandGroup // of pianola itself
}

// optionGroup is options under a title. The short help has only the group without one.
type optionGroup struct {
	title   string
	options []optionText
}

type optionText struct {
	names  string // -o, --output
	value  string // FILE; empty for a switch
	does   string
	normal string // the default; empty for none, 0 and 1
}

// commandGroup is commands under a title.
type commandGroup struct {
	title    string
	commands []*cli.Command
}

// optionGroups says which options only the long help has, and under which title. They
// have one name and one meaning in all commands. An option that no group lists is one
// of the short help.
var optionGroups = []struct {
	title   string
	options []string
}{
	{"The command", []string{"user", "setup", "recordings"}},
	{"Long recordings", []string{"max-size", "rotate", "last", "last-memory", "until", "after", "keep-files"}},
	{"Contents of the recording", []string{"no-faults", "no-command", "no-host"}},
	{"Layers", []string{"layer-text", "slow-functions"}},
	{"The recorder", []string{"tracer", "ring", "nice", "cpu"}},
	{"Names", []string{"anonymize", "no-names"}},
	{"Ranks", []string{"ranks", "rendezvous", "rendezvous-timeout"}},
	{"Pace", []string{"timing", "speed", "wait", "order", "outside"}},
	{"Backend", []string{"backend", "plugin-timeout"}},
	{"Files and memory", []string{"prepare", "map", "compressibility", "memory"}},
	{"Modelled device", []string{"model", "latency", "bandwidth", "iops", "queue"}},
	{"Saved runs", []string{"baseline", "save"}},
	{"Inputs and limits", []string{"trace", "library", "telemetry", "fold", "no-compensate", "limit", "landlock"}},
	{"Output", []string{"all", "wide", "format", "raw-csv", "interval", "calls"}},
	{helpTitle, []string{"h", "help"}},
}

// helpTitle is the title of the options of all commands for help, which is not named.
const helpTitle = "Help"

// manualOf returns the manual of a command.
func manualOf(c *cli.Command) *manual {
	m := &manual{name: "pianola " + c.Name, does: c.Usage, synopsis: strings.Split(c.UsageText, "\n")}
	m.describe(c.Description)
	m.group(c.Flags)
	return m
}

// manualOfAll returns the manual of pianola itself.
func manualOfAll(a *cli.App) *manual {
	m := &manual{name: a.Name, does: a.Usage, synopsis: strings.Split(a.UsageText, "\n")}
	m.describe(a.Description)
	m.group(a.Flags)
	for _, c := range a.Commands {
		if c.Hidden {
			continue
		}
		i := slices.IndexFunc(m.commands, func(g commandGroup) bool { return g.title == c.Category })
		if i < 0 {
			i = len(m.commands)
			m.commands = append(m.commands, commandGroup{title: c.Category})
		}
		m.commands[i].commands = append(m.commands[i].commands, c)
	}
	return m
}

// describe cuts a description into paragraphs and examples.
func (m *manual) describe(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(paragraph, "Example: ") {
			m.text = append(m.text, strings.ReplaceAll(paragraph, "\n", " "))
			continue
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			m.examples = append(m.examples, strings.TrimPrefix(line, "Example: "))
		}
	}
}

// group sorts flags into groups, those of the short help first.
func (m *manual) group(flags []cli.Flag) {
	m.options = make([]optionGroup, 1+len(optionGroups))
	for i, g := range optionGroups {
		m.options[i+1].title = g.title
	}
	for _, f := range flags {
		i := 0
		for k, g := range optionGroups {
			if slices.Contains(g.options, f.Names()[0]) {
				i = k + 1
			}
		}
		m.options[i].options = append(m.options[i].options, optionTextOf(f))
	}
	m.options = slices.DeleteFunc(m.options, func(g optionGroup) bool { return len(g.options) == 0 })
}

// optionTextOf returns the text of a flag. Its value is what stands between backquotes
// in its usage.
func optionTextOf(f cli.Flag) optionText {
	names := f.Names()
	slices.SortStableFunc(names, func(a, b string) int { return min(len(a), 2) - min(len(b), 2) })
	for i, name := range names {
		names[i] = "-" + name
		if len(name) > 1 {
			names[i] = "--" + name
		}
	}
	o := optionText{names: strings.Join(names, ", ")}
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return o
	}
	value, does := flag.UnquoteUsage(&flag.Flag{Usage: doc.GetUsage()})
	o.does = does
	if !doc.TakesValue() {
		return o
	}
	o.value = value
	switch normal := strings.Trim(doc.GetDefaultText(), `"`); normal {
	case "", "0", "0s", "1":
	default:
		o.normal = normal
	}
	return o
}

// head returns what the line of an option begins with.
func (o *optionText) head() string {
	if o.value == "" {
		return o.names
	}
	return o.names + " " + o.value
}

// text returns what the option does, with its default.
func (o *optionText) text() string {
	if o.normal == "" {
		return o.does
	}
	return fmt.Sprintf("%s (default: %s)", o.does, o.normal)
}

// exitStatuses are those of all commands, in order.
var exitStatuses = []struct{ status, meaning string }{
	{"0", "The work is done. Runs could be compared, however different they are."},
	{"1", "The work failed, a time is outside a --tolerance that was given, or a check of --fail-if failed."},
	{"2", "The command line is wrong."},
	{"3", "No verdict is possible: the recording holds too little of the application's I/O, or there are too few runs for a --tolerance or a --fail-if."},
	{"125", "pianola record failed. Otherwise it ends with the status of the recorded command."},
	{"126", "pianola record found the command but can't execute it."},
	{"127", "pianola record found no such command."},
	{"130", "Ctrl-C ended the work. Another signal does so with 128 and its number: 143 is SIGTERM, 129 SIGHUP."},
	{"141", "The reader of the output, such as head, has closed the pipe."},
}
