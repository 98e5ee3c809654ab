package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"pianola/format"
)

// progress shows how far long work has come: on standard error if that is a
// terminal, and nowhere else.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a display of work on so many bytes, or -1 for a number
// that is not known yet. It appears only if the work takes a while.
func newProgress(what string, total int64) *progress {
	if !isScreen(os.Stderr) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// set shows how much of how much is done.
func (p *progress) set(done, total int64) {
	if p.bar != nil {
		p.bar.ChangeMax64(total)
		p.bar.Set64(done)
	}
}

// describe says more about the work.
func (p *progress) describe(form string, args ...any) {
	if p.bar != nil {
		p.bar.Describe(format.Visible(fmt.Sprintf(form, args...)))
	}
}

// done takes the display away.
func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// newCounted returns a display of work in so many steps, with the time that is
// left.
func newCounted(what string, total int) *progress {
	if !isScreen(os.Stderr) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}
