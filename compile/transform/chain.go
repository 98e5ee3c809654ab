package transform

import (
	"errors"
	"io"

	"pianola/format"
)

// Chain is a recording to which transforms are applied.
type Chain struct {
	open    func() (format.Reader, error)
	funcs   []Func
	closers []io.Closer // of the last Open, the innermost first
}

// NewChain returns a Chain of transforms, the first of which reads the
// recording through format.Submissions. open opens the recording at its beginning. The
// Chain does not close what open returns.
func NewChain(open func() (format.Reader, error), funcs ...Func) *Chain {
	return &Chain{open: open, funcs: funcs}
}

// Open starts at the first event. It closes what was opened before.
func (c *Chain) Open() (format.Reader, error) {
	if err := c.Close(); err != nil {
		return nil, err
	}
	r, err := c.open()
	if err != nil {
		return nil, err
	}
	if len(c.funcs) > 0 && lineageOf(r) == nil {
		r = format.Submissions(r) // requests are where the program made them
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

// Rewinder is a reader that can be read again. A Chain gives Rewinders to its
// transforms.
type Rewinder interface {
	format.Reader

	// Again returns a reader that starts at the first event. It makes the
	// receiver, and all readers that it returned before, invalid.
	Again() (format.Reader, error)
}

type rewinder struct {
	format.Reader
	before *Chain
}

// Again implements Rewinder.
func (r rewinder) Again() (format.Reader, error) { return r.before.Open() }
