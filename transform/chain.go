package transform

import (
	"errors"
	"io"

	"pianola/format"
)

// Chain is a recording behind transforms.
type Chain struct {
	open    func() (format.Reader, error)
	funcs   []Func
	closers []io.Closer // of what was opened last, the innermost first
}

// NewChain returns a Chain of the recording that open opens from its beginning,
// and of transforms, the first of which reads the recording. What open returns
// is not closed by the Chain.
func NewChain(open func() (format.Reader, error), funcs ...Func) *Chain {
	return &Chain{open: open, funcs: funcs}
}

// Open begins with the first event. What was opened before is closed.
func (c *Chain) Open() (format.Reader, error) {
	if err := c.Close(); err != nil {
		return nil, err
	}
	r, err := c.open()
	if err != nil {
		return nil, err
	}
	for i, f := range c.funcs {
		before := NewChain(c.open, c.funcs[:i]...)
		c.closers = append(c.closers, before)
		if r, err = f(rewinder{r, before}); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		if closer, ok := r.(io.Closer); ok {
			c.closers = append(c.closers, closer)
		}
	}
	return r, nil
}

// Close closes what was opened last.
func (c *Chain) Close() error {
	var err error
	for i := len(c.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, c.closers[i].Close())
	}
	c.closers = nil
	return err
}

// Rewinder is a reader whose events can be read once more. Those that a Chain
// gives to its transforms are such.
type Rewinder interface {
	format.Reader

	// Again returns a reader that begins with the first event. The one that
	// it is called of, and those that it returned before, are of no use any
	// more.
	Again() (format.Reader, error)
}

type rewinder struct {
	format.Reader
	before *Chain
}

// Again implements Rewinder.
func (r rewinder) Again() (format.Reader, error) { return r.before.Open() }
