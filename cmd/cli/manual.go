package cli

import (
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
//
// The table of options has the text of the options.
type manual struct {
	name     string // pianola record
	does     string
	synopsis []string
	text     []string // paragraphs
	examples []string
	options  []optionTexts
	also     []string       // names of options that are those of other commands
	of       []string       // the other commands
	commands []commandGroup // of pianola, or of a command
}

// optionTexts is options under a title. The short help has only those without one.
type optionTexts struct {
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

// manualOf returns the manual of a command.
func manualOf(c *cli.Command) *manual {
	m := &manual{name: "pianola " + commandName(c), does: c.Usage, synopsis: strings.Split(c.UsageText, "\n")}
	m.describe(c.Description)
	m.group(commandName(c))
	if c.Subcommands != nil {
		m.commands = []commandGroup{{"Commands", c.Subcommands}}
	}
	return m
}

// manualOfAll returns the manual of pianola itself.
func manualOfAll(a *cli.App) *manual {
	m := &manual{name: a.Name, does: a.Usage, synopsis: strings.Split(a.UsageText, "\n")}
	m.describe(a.Description)
	m.group(a.Name)
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

// group sorts the options of a command into groups, those of the short help first.
func (m *manual) group(command string) {
	groups := make([]optionTexts, 1+len(optionGroups))
	for i, g := range optionGroups {
		groups[i+1].title = g.title
		for _, o := range g.options {
			switch {
			case isOf(command, o.short):
				groups[0].options = append(groups[0].options, o.text())
			case isOf(command, o.long):
				groups[i+1].options = append(groups[i+1].options, o.text())
			case isOf(command, o.also):
				m.also = append(m.also, dashed(o.name))
				for _, other := range []string{"record", "replay", "compare"} {
					if isOf(other, o.short, o.long) && !slices.Contains(m.of, "pianola "+other) {
						m.of = append(m.of, "pianola "+other)
					}
				}
			}
		}
	}
	m.options = slices.DeleteFunc(groups, func(g optionTexts) bool { return len(g.options) == 0 })
}

// others says which options of other commands a command takes, too.
func (m *manual) others() string {
	return fmt.Sprintf("Also, as in %s: %s.", strings.Join(m.of, ", "), strings.Join(m.also, ", "))
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
