package format

import "io"

// CellWriter makes CSV safe for spreadsheets: it puts a ' before a cell that they would
// take for a formula, because a name of unknown origin can look like one. These are
// cells that begin with = + - @, a tab or a carriage return and are not numbers. A cell
// may be split over several writes; the last line needs its line end.
type CellWriter struct {
	w       io.Writer
	within  bool   // not at the beginning of a cell
	quoted  bool   // inside quotes
	pending []byte // a sign and digits, which may be a number
	out     []byte // reused
}

// NewCellWriter returns a writer to w.
func NewCellWriter(w io.Writer) *CellWriter { return &CellWriter{w: w} }

// Write implements io.Writer. After an error of the underlying writer n is 0, even if
// it has written a part.
func (c *CellWriter) Write(p []byte) (n int, err error) {
	c.out = c.out[:0]
	for _, b := range p {
		end := !c.quoted && (b == ',' || b == '\n' || b == '\r')
		digit := b >= '0' && b <= '9' || b == '.'
		switch {
		case len(c.pending) > 0 && digit:
			c.pending = append(c.pending, b)
			continue
		case len(c.pending) > 0:
			number := len(c.pending) > 1 && end
			c.release(!number)
		case c.within || end:
		case b == '"' && !c.quoted: // the cell begins behind it
			c.quoted = true
			c.out = append(c.out, b)
			continue
		case b == '+' || b == '-':
			c.pending = append(c.pending, b)
			c.within = true
			continue
		case b == '=' || b == '@' || b == '\t' || b == '\r':
			c.out = append(c.out, '\'')
		}
		c.within = !end
		c.quoted = c.quoted != (b == '"')
		c.out = append(c.out, b)
	}
	if _, err := c.w.Write(c.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// release writes the pending bytes, as a formula or unchanged.
func (c *CellWriter) release(formula bool) {
	if formula {
		c.out = append(c.out, '\'')
	}
	c.out = append(c.out, c.pending...)
	c.pending = c.pending[:0]
}
