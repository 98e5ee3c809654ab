package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"pianola/profile"
)

// requireBrowser returns the browser's program. A test skips without one, but
// fails where PIANOLA_REQUIRE_BROWSER=1 says that there must be one.
func requireBrowser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	require.NotEqual(t, "1", os.Getenv("PIANOLA_REQUIRE_BROWSER"), "no chromium")
	t.Skip("no chromium")
	return ""
}

// browserLimit is what a page gets for its whole test, which takes seconds: only
// where something is broken does it take so long, on however busy a machine.
const browserLimit = 5 * time.Minute

// tab is a page in a browser, and what it complained of.
type tab struct {
	context.Context
	mu       sync.Mutex
	faults   []string // errors of the console, exceptions, breaches of the policy
	requests []string // but for the page itself
}

// open opens a page from disk and waits until it is built.
func open(t *testing.T, html []byte, width, height int64) *tab {
	t.Helper()
	program := requireBrowser(t)
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, html, 0o600))

	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(browserLimit))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, browserLimit)
	t.Cleanup(cancel)

	p := &tab{Context: ctx}
	url := "file://" + file
	require.NoError(t, chromedp.Listen(ctx, func(event any) { p.listen(url, event) }))
	call(t, p, network.Enable, network.EnableParams{})
	call(t, p, log.Enable, cdp.Empty{})
	call(t, p, runtime.Enable, cdp.Empty{})
	p.do(t, chromedp.EmulateViewport(width, height), chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS(`main[data-ready="true"]`)))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.faults, "what the browser complains of")
		require.Empty(t, p.requests, "requests")
	})
	return p
}

func (p *tab) listen(url string, event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		p.faults = append(p.faults, fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value))
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, fmt.Sprintf("%s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description))
	case *log.EventEntryAdded:
		p.faults = append(p.faults, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if e.Request.URL != url && !strings.HasPrefix(e.Request.URL, "data:") {
			p.requests = append(p.requests, e.Request.URL)
		}
	}
}

func (p *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(p, actions...))
}

// call sends a command of the protocol.
func call[P, R any](t *testing.T, p *tab, command cdp.Command[P, R], params P) R {
	t.Helper()
	r, err := chromedp.Call(p, command, params)
	require.NoError(t, err)
	return r
}

// value returns what an expression is in the page.
func value[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(p, chromedp.Evaluate[T](expression))
	require.NoError(t, err)
	return v
}

// areBlank is an expression: of each canvas, whether all that it shows has one
// colour.
const areBlank = `[...document.querySelectorAll('canvas')].map(c => {
	if (c.width === 0 || c.height === 0) return true;
	const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});
	copy.drawImage(c, 0, 0);
	const pixels = new Uint32Array(copy.getImageData(0, 0, c.width, c.height).data.buffer);
	return pixels.every(p => p === pixels[0]);
})`

// column returns the texts of a column of a table's rows.
func column(t *testing.T, p *tab, table string, n int) []string {
	t.Helper()
	return value[[]string](t, p, fmt.Sprintf(`[...document.querySelectorAll('#%s tbody tr')].map(r => r.cells[%d].textContent)`, table, n))
}

func TestBrowser(t *testing.T) {
	runs, c := compared(t)
	p := open(t, write(t, runs, c), 1280, 900)
	require.Equal(t, "app --title "+strings.ReplaceAll(evil, "\xff", `\xff`), value[string](t, p, `document.querySelector('h1').textContent`))
	require.Contains(t, value[string](t, p, `document.querySelector('.verdict').textContent`), "outside 10 %")
	p.drawn(t)
	require.Len(t, value[[]bool](t, p, areBlank), 8)

	// Tables sort by the buttons in their heads, and filter.
	names := column(t, p, "file", 0)
	require.Len(t, names, 12)
	p.click(t, `#file th[data-key="name"] button`)
	require.Equal(t, "ascending", value[string](t, p, `document.querySelector('#file th[data-key="name"]').ariaSort`))
	sorted := column(t, p, "file", 0)
	require.True(t, slices.IsSorted(sorted))
	require.NotEqual(t, names, sorted)
	p.click(t, `#file th[data-key="name"] button`)
	require.True(t, slices.IsSortedFunc(column(t, p, "file", 0), func(a, b string) int { return strings.Compare(b, a) }))
	p.click(t, `#file th[data-key="seconds"] button`)
	require.Equal(t, names, column(t, p, "file", 0), "the longest first again")
	p.click(t, `#file .more`)
	require.Len(t, column(t, p, "file", 0), 33)
	p.do(t, chromedp.SendKeys(chromedp.CSS(`#file input[type="search"]`), "A/PART 0"))
	for _, name := range column(t, p, "file", 0) {
		require.Regexp(t, `^/data/a/part-\d*0\d*$`, name)
	}
	require.Contains(t, value[string](t, p, `document.querySelector('#file [role="status"]').textContent`), "match")

	// Those that differ most sort as well.
	names = column(t, p, "differ-files", 0)
	require.Len(t, names, 12)
	require.Equal(t, strings.ReplaceAll("/data/"+evil, "\xff", `\xff`), names[0])
	p.click(t, `#differ-files th[data-key="name"] button`)
	require.True(t, slices.IsSorted(column(t, p, "differ-files", 0)))

	// The theme changes with the button, and the charts with the theme.
	before := value[string](t, p, `getComputedStyle(document.body).backgroundColor`)
	p.click(t, `#theme`)
	require.Equal(t, "true", value[string](t, p, `document.getElementById('theme').ariaPressed`))
	require.NotEqual(t, before, value[string](t, p, `getComputedStyle(document.body).backgroundColor`))
	p.drawn(t)

	// The keyboard reads a chart and a map; the figures are there as a table.
	p.do(t, chromedp.Focus(chromedp.CSS(`#profile .chart`)), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.End))
	require.Contains(t, value[string](t, p, `document.querySelector('#profile output').textContent`), "replay write")
	p.do(t, chromedp.Focus(chromedp.CSS(`#heat .chart`)), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(t, value[string](t, p, `document.querySelector('#heat output').textContent`), "offset 0")
	p.do(t, chromedp.Focus(chromedp.CSS(`#timeline .chart`)), chromedp.KeyEvent(kb.ArrowRight))
	require.Regexp(t, `^thread 1, 0\x{202f}s to .*metadata .*; longest call openat /data/`, value[string](t, p, `document.querySelector('#timeline output').textContent`))
	p.click(t, `#profile summary`)
	p.shows(t, `#profile details table`)

	// Communication has a colour of its own, and a line that a button shows.
	require.Contains(t, value[string](t, p, `document.querySelector('.tiles').textContent`), "Communication3.005\u202fms10\u202fB in 2 calls, no I/O")
	require.NotEqual(t, "rgba(0, 0, 0, 0)", value[string](t, p, `getComputedStyle(document.querySelector('.stackwords .c-communication')).backgroundColor`))
	const line = `[...document.querySelectorAll('#profile .legend button')].find(b => b.textContent === 'application communication')`
	require.Equal(t, "false", value[string](t, p, line+`.ariaPressed`))
	value[bool](t, p, `(`+line+`.click(), true)`)
	require.Equal(t, "true", value[string](t, p, line+`.ariaPressed`))
	p.drawn(t)

	// A line can be hidden, another run and another file shown.
	p.click(t, `#profile .legend button`)
	require.Equal(t, "false", value[string](t, p, `document.querySelector('#profile .legend button').ariaPressed`))
	choose(t, p, `.which select`, "1")
	choose(t, p, `#heat select`, "3")
	p.drawn(t)
	require.Contains(t, value[string](t, p, `document.querySelector('#heat .chart').ariaLabel`), "/data/")
	choose(t, p, `#latency select`, "calls")
	choose(t, p, `#sizes select`, "bytes")
	p.drawn(t)
}

// A page without events has nothing to draw, and says no more than it knows.
func TestBrowserEmpty(t *testing.T) {
	run := Run{Name: "empty", Profile: new(profile.Collector).Profile()}
	p := open(t, write(t, []Run{run}, nil), 1280, 900)
	require.Equal(t, "Pianola profile", value[string](t, p, `document.querySelector('h1').textContent`))
	require.Contains(t, value[string](t, p, `document.querySelector('.tiles').textContent`), "Run time0")
}

// On a phone nothing reaches beyond the side of the screen, but what scrolls
// there by itself.
func TestBrowserPhone(t *testing.T) {
	runs, c := compared(t)
	for _, width := range []int64{320, 390} {
		p := open(t, write(t, runs, c), width, 800)
		p.drawn(t)
		p.click(t, `#file input[type="checkbox"]`)
		p.click(t, `#profile summary`)
		p.shows(t, `#profile details table`)
		require.Empty(t, value[[]string](t, p, fmt.Sprintf(`[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll table, .hidden, .chart *, option') &&
			e.getBoundingClientRect().right > %d).map(e => e.outerHTML.slice(0, 200))`, width)))
		require.LessOrEqual(t, value[int64](t, p, `document.documentElement.scrollWidth`), width)
	}
}

// click clicks on the first element that matches. The event goes to the element
// itself: a place on the screen can be another element's by the time that a
// click gets there, while charts are laid out.
func (p *tab) click(t *testing.T, selector string) {
	t.Helper()
	value[bool](t, p, fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector))
}

// shows waits until an element that matches takes place in the layout.
func (p *tab) shows(t *testing.T, selector string) {
	t.Helper()
	p.until(t, fmt.Sprintf(`document.querySelector(%q)?.getClientRects().length > 0`, selector), "nothing to be seen of "+selector)
}

// choose takes another of the choices of the first element that matches.
func choose(t *testing.T, p *tab, selector, choice string) {
	t.Helper()
	require.Equal(t, choice, value[string](t, p, fmt.Sprintf(`(() => {
		const box = document.querySelector(%q);
		box.value = %q;
		box.dispatchEvent(new Event('change'));
		return box.value;
	})()`, selector, choice)))
}

// drawn waits until all canvases show something.
func (p *tab) drawn(t *testing.T) {
	t.Helper()
	p.until(t, `!`+areBlank+`.includes(true)`, "canvases that stay blank")
}

// until waits until an expression is true. It leaves the page time between two
// looks, for to look can take longer than to draw.
func (p *tab) until(t *testing.T, expression, fault string) {
	t.Helper()
	_, err := chromedp.Run(p, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0)))
	require.NoError(t, err, fault)
}
