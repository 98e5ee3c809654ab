package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// helpWidth is how many columns help takes.
const helpWidth = 80

// helped prints the help that a command line asks for, and reports whether it does.
func helped(c *cli.Context, m *manual) (bool, error) {
	switch {
	case c.Bool("help"):
		return true, m.writeLong(os.Stdout)
	case c.Bool("h"):
		return true, m.writeShort(os.Stdout)
	}
	return false, nil
}

func helpCommand() *cli.Command {
	return plain(&cli.Command{
		Name:        "help",
		Usage:       "show all options of a command",
		UsageText:   "pianola help [COMMAND]",
		Description: "Does the same as pianola COMMAND --help.\n\nExample: pianola help record",
		Action: func(c *cli.Context) error {
			name := c.Args().First()
			if name == "" {
				return manualOfAll(c.App).writeLong(os.Stdout)
			}
			command := c.App.Command(name)
			if command == nil {
				return commandError(c, name)
			}
			if sub := command.Command(c.Args().Get(1)); sub != nil && c.NArg() == 2 {
				command = sub
			} else if c.NArg() > 1 {
				return usage(c, "want one command, got %d operands", c.NArg())
			}
			return manualOf(command).writeLong(os.Stdout)
		},
	})
}

// writeShort writes the help of one screen: examples and the most used options.
func (m *manual) writeShort(w io.Writer) error {
	var t strings.Builder
	fmt.Fprintf(&t, "%s: %s\n", m.name, m.does)
	m.addExamples(&t)
	addLines(&t, "Usage", m.synopsis)
	m.addCommands(&t)
	var more []string // titles of the other parts of the long help
	for _, g := range m.options {
		switch g.title {
		case "":
			g.add(&t, "Options")
		case helpTitle:
		default:
			more = append(more, strings.ToLower(g.title))
		}
	}
	switch {
	case m.commands != nil:
		fmt.Fprintf(&t, "\n%s\n", wrapped(fmt.Sprintf("%s COMMAND -h shows examples, %s COMMAND --help all options.", m.name, m.name), 0))
	case more != nil:
		fmt.Fprintf(&t, "\n%s\n", wrapped(fmt.Sprintf("%s --help shows more options: %s.", m.name, strings.Join(more, ", ")), 0))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// writeLong writes the whole help.
func (m *manual) writeLong(w io.Writer) error {
	var t strings.Builder
	fmt.Fprintf(&t, "%s: %s\n", m.name, m.does)
	addLines(&t, "Usage", m.synopsis)
	for _, paragraph := range m.text {
		fmt.Fprintf(&t, "\n%s\n", wrapped(paragraph, 0))
	}
	m.addExamples(&t)
	m.addCommands(&t)
	for _, g := range m.options {
		title := g.title
		if title == "" {
			title = "Options"
		}
		g.add(&t, title)
	}
	if m.also != nil {
		fmt.Fprintf(&t, "\n%s\n", wrapped(m.others(), 0))
	}
	if m.name == "pianola" {
		t.WriteString("\nExit status:\n")
		for _, s := range exitStatuses {
			addEntry(&t, s.status, s.meaning, 7)
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (m *manual) addExamples(t *strings.Builder) { addLines(t, "Examples", m.examples) }

func addLines(t *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(t, "  %s\n", line)
	}
}

func (m *manual) addCommands(t *strings.Builder) {
	for _, g := range m.commands {
		fmt.Fprintf(t, "\n%s:\n", g.title)
		for _, c := range g.commands {
			addEntry(t, c.Name, c.Usage, 14)
		}
	}
}

// The texts of options begin in the column after the widest head, up to this width.
const maxHead = 26

func (g *optionTexts) add(t *strings.Builder, title string) {
	width := 0
	for i := range g.options {
		if n := utf8.RuneCountInString(g.options[i].head()); n <= maxHead-4 {
			width = max(width, n)
		}
	}
	fmt.Fprintf(t, "\n%s:\n", title)
	for i := range g.options {
		addEntry(t, g.options[i].head(), g.options[i].text(), width+4)
	}
}

// addEntry adds a head and its text, in lines that begin in a column.
func addEntry(t *strings.Builder, head, text string, column int) {
	lines := wrapped(text, column)
	if n := 2 + utf8.RuneCountInString(head); n <= column-2 {
		fmt.Fprintf(t, "  %s%s%s\n", head, strings.Repeat(" ", column-n), strings.TrimLeft(lines, " "))
		return
	}
	fmt.Fprintf(t, "  %s\n%s\n", head, lines)
}

// wrapped returns a text in lines of at most helpWidth columns with an indent.
func wrapped(text string, indent int) string {
	space := strings.Repeat(" ", indent)
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case used == 0:
			b.WriteString(space)
			used = indent
		case used+1+n > helpWidth:
			b.WriteString("\n" + space)
			used = indent
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
