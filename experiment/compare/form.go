package compare

import (
	"io"

	"pianola/experiment/check"
	"pianola/internal/console"
)

// Form is an output format of comparisons.
type Form struct {
	Name  string
	Write func(c *Comparison, w io.Writer, o TextOptions) error
}

// Forms lists them, the default first.
var Forms = []Form{
	{"text", (*Comparison).WriteText},
	{"json", func(c *Comparison, w io.Writer, o TextOptions) error {
		return console.WriteJSON(w, c.Document(o.Tolerance))
	}},
	{"csv", func(c *Comparison, w io.Writer, _ TextOptions) error { return c.WriteCSV(w) }},
	{"benchstat", func(c *Comparison, w io.Writer, _ TextOptions) error { return c.WriteBenchstat(w) }},
	{"markdown", (*Comparison).WriteMarkdown},
	{"junit", (*Comparison).writeJUnit},
}

// writeJUnit writes the checks as a report of JUnit.
func (c *Comparison) writeJUnit(w io.Writer, o TextOptions) error {
	v := c.Judge(o.Tolerance)
	return check.WriteJUnit(w, "pianola compare", c.Answer(&v)+"\n"+check.Text(c.Checks), c.Checks)
}
