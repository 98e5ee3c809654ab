package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"pianola/format"
	"pianola/internal/table"
)

// Progress appears when work takes longer than progressDelay, and is drawn again
// every progressPeriod.
const (
	progressDelay  = 500 * time.Millisecond
	progressPeriod = 200 * time.Millisecond
)

// clearLine erases the line of the terminal and returns to its beginning.
const clearLine = "\x1b[2K\r"

// Progress shows the progress of long work in one line on standard error, if that
// is a terminal: "reading: 12.3 MB of 88.1 MB, 4 s left". Its methods may be called
// concurrently.
type Progress struct {
	print func(n int64) string // amounts of done and total

	mu          sync.Mutex
	w           io.Writer  // nil if nothing is shown
	columns     func() int // of the terminal
	now         func() time.Time
	what        string
	done, total int64 // total is not positive while it isn't known
	begun, due  time.Time
	drawn       bool
}

// Bytes returns the progress of bytes, whose number is not known yet.
func (c *Console) Bytes(what string) *Progress {
	return c.Progress(what, -1, func(n int64) string { return table.Bytes(float64(n)) })
}

// Items returns the progress of total items.
func (c *Console) Items(what string, total int) *Progress {
	return c.Progress(what, int64(total), table.Count)
}

// Progress returns the progress of an amount that print prints. A quiet console shows none.
func (c *Console) Progress(what string, total int64, print func(int64) string) *Progress {
	p := &Progress{print: print, what: what, total: total, now: time.Now, columns: columns}
	if !c.Quiet && IsScreen(os.Stderr) {
		p.w = os.Stderr
		p.begun = p.now()
		p.due = p.begun.Add(progressDelay)
	}
	return p
}

// columns returns the width of the terminal on standard error.
func columns() int {
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// Set shows that done of total are done.
func (p *Progress) Set(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
	p.draw()
}

// Describe changes the text before the amounts.
func (p *Progress) Describe(form string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		p.what = format.Visible(fmt.Sprintf(form, args...))
		p.draw()
	}
}

// draw shows the line if it is due.
func (p *Progress) draw() {
	if p.w == nil {
		return
	}
	now := p.now()
	if now.Before(p.due) {
		return
	}
	p.due, p.drawn = now.Add(progressPeriod), true
	line := []rune(p.line(now.Sub(p.begun)))
	line = line[:min(len(line), p.columns()-1)] // a line that wraps can't be erased
	fmt.Fprint(p.w, clearLine, string(line))
}

// line returns the line after a time.
func (p *Progress) line(elapsed time.Duration) string {
	line := p.what
	switch {
	case p.total > 0:
		line += ": " + p.print(p.done) + " of " + p.print(p.total)
	case p.done > 0:
		line += ": " + p.print(p.done)
	}
	if 0 < p.done && p.done < p.total {
		left := elapsed.Seconds() * float64(p.total-p.done) / float64(p.done)
		line += fmt.Sprintf(", %v left", time.Duration(left*float64(time.Second)).Round(time.Second))
	}
	return line
}

// Pause removes the line until it is drawn again.
func (p *Progress) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, clearLine)
		p.drawn = false
	}
}

// Finish removes the line for good.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, clearLine)
	}
	p.w, p.drawn = nil, false
}
