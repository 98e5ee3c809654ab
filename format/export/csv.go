package export

import (
	"io"

	"pianola/format"
)

// csvWriter writes CSV as in RFC 4180: lines end with CR LF, and quoted fields
// can hold anything. A null is an empty field; an empty name is "".
type csvWriter struct {
	out  text
	row  *row
	name []byte
}

func newCSV(w io.Writer, h *format.Header) (Writer, error) {
	c := &csvWriter{out: newText(w), row: newRow(h)}
	for k := range columns {
		if k > 0 {
			c.out.b = append(c.out.b, ',')
		}
		c.out.b = append(c.out.b, columns[k].name...)
	}
	c.out.b = append(c.out.b, "\r\n"...)
	return c, nil
}

func (c *csvWriter) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if c.row.enters(e) {
			continue
		}
		if e.Span != nil {
			c.row.setSpan(e)
		} else if err := c.row.set(e); err != nil {
			return err
		}
		for k := range c.row.columns {
			if k > 0 {
				c.out.b = append(c.out.b, ',')
			}
			if v := &c.row.columns[k]; v.kind == name {
				c.name = format.AppendName(c.name[:0], v.text)
				c.out.b = appendField(c.out.b, c.name)
			} else {
				c.out.b = v.appendUnquoted(c.out.b)
			}
		}
		c.out.b = append(c.out.b, "\r\n"...)
		if err := c.out.flushFull(); err != nil {
			return err
		}
	}
	return c.out.err
}

func (c *csvWriter) Close() error { return c.out.flush() }

// appendField appends text, in quotes if it needs them.
func appendField(dst, text []byte) []byte {
	quote := len(text) == 0
	for _, c := range text {
		quote = quote || c == ',' || c == '"' || c == '\r' || c == '\n'
	}
	if !quote {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
