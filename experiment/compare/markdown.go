package compare

import (
	"bytes"
	"io"
	"strings"

	"pianola/experiment/check"
	"pianola/internal/table"
)

// WriteMarkdown writes the answer, the checks and the times as GitHub Markdown, for the
// summary of a CI job.
func (c *Comparison) WriteMarkdown(w io.Writer, o TextOptions) error {
	v := c.Judge(o.Tolerance)
	var b bytes.Buffer
	b.WriteString("### " + markdown(c.Answer(&v)) + "\n\n")
	c.markdownChecks(&b)
	markdownTable(&b, c.times(table.UnitOf(c.longest()), &v), table.FirstLeft)
	if o.All {
		markdownTable(&b, c.amounts(), table.FirstLeft)
	}
	for _, line := range append(c.Remarks(&v), c.Coverage.String()) {
		b.WriteString("- " + markdown(line) + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// marks are those of states.
var marks = map[check.State]string{check.Passed: "✅", check.Failed: "❌", check.Inconclusive: "⚠️", check.Unknown: "❔"}

func (c *Comparison) markdownChecks(b *bytes.Buffer) {
	if len(c.Checks) == 0 {
		return
	}
	b.WriteString("**" + markdown(check.Summary(c.Checks)) + "**\n\n")
	rows := [][]string{{"", "check", c.Names[0], c.Names[1], "change", ""}}
	for i := range c.Checks {
		o := &c.Checks[i]
		var words []string
		for _, s := range []string{o.Sure(), o.Why} {
			if s != "" {
				words = append(words, s)
			}
		}
		rows = append(rows, []string{marks[o.State] + " " + string(o.State), o.Check, o.Application(), o.Replay(), o.Change(), strings.Join(words, "; ")})
	}
	markdownTable(b, rows, func(i int) bool { return i < 2 || i == 5 })
	if note := check.Note(c.Checks); note != "" {
		b.WriteString(markdown(note) + "\n\n")
	}
}

// markdownTable writes a table, whose first row is its head.
func markdownTable(b *bytes.Buffer, rows [][]string, left func(column int) bool) {
	for i, row := range rows {
		b.WriteByte('|')
		for _, cell := range row {
			b.WriteString(" " + markdown(cell) + " |")
		}
		b.WriteByte('\n')
		if i > 0 {
			continue
		}
		b.WriteByte('|')
		for k := range row {
			if left(k) {
				b.WriteString(" --- |")
			} else {
				b.WriteString(" ---: |")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// markdown returns text in which nothing is markup.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[]<>|~#&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
