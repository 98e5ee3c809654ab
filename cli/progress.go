package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"pianola/format"
)

// progress shows the progress of long work on standard error, if that is a
// terminal and --quiet is not set.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a progress bar for total bytes, -1 for a number that is
// not known yet. It appears only if the work takes a while.
func newProgress(what string, total int64) *progress {
	if quiet || !isScreen(os.Stderr) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		// The library's own goroutine for a bar of unknown length reads the bar
		// without its lock; set and describe draw often enough.
		progressbar.OptionSetSpinnerChangeInterval(0),
	)}
}

// set shows that done of total bytes are done.
func (p *progress) set(done, total int64) {
	if p.bar != nil {
		p.bar.ChangeMax64(total)
		p.bar.Set64(done)
	}
}

// describe changes the text beside the bar.
func (p *progress) describe(form string, args ...any) {
	if p.bar != nil {
		p.bar.Describe(format.Visible(fmt.Sprintf(form, args...)))
	}
}

// done removes the bar.
func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// newCounted returns a progress bar for total items, with the remaining time.
func newCounted(what string, total int) *progress {
	if quiet || !isScreen(os.Stderr) {
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
