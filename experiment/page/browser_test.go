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
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"pianola/experiment/check"
	"pianola/experiment/compare"
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
	requests []string // except the page itself
}

// open opens a page from disk and waits until it is built.
func open(t *testing.T, html []byte, width, height int64) *tab {
	t.Helper()
	return openAt(t, html, "", width, height)
}

// openAt opens a page with a fragment.
func openAt(t *testing.T, html []byte, fragment string, width, height int64) *tab {
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
	p.do(t, chromedp.EmulateViewport(width, height), chromedp.Navigate(url+fragment), chromedp.WaitReady(chromedp.CSS(`main[data-ready="true"]`)))
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
	require.Equal(t, "app --title "+strings.ReplaceAll(evil, "\xff", `\xff`), value[string](t, p, `document.querySelector('h1 code').textContent`))
	require.Equal(t, "node7, 2026-01-02 03:04 UTC", value[string](t, p, `document.querySelector('h1 .where-when').textContent`))
	require.Contains(t, value[string](t, p, `document.querySelector('.verdict').textContent`), "outside 10 %")
	p.drawn(t)
	require.Len(t, value[[]bool](t, p, areBlank), 12)

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
	require.Equal(t, "Use dark colours", value[string](t, p, `document.getElementById('theme').textContent`))
	p.click(t, `#theme`)
	require.Equal(t, "Use light colours", value[string](t, p, `document.getElementById('theme').textContent`))
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

// sum returns what the page says that the selection adds up to.
func (p *tab) sum(t *testing.T) string {
	t.Helper()
	return value[string](t, p, `document.querySelector('#selection .sum').textContent`)
}

// A selection in one place applies to all others and to the URL. Its chip, Escape and
// the browser's Back remove it. Unknown values are neither good nor bad, and a page of
// two systems has their names.
func TestBrowserInconclusive(t *testing.T) {
	runs := []Run{made(t, "nvme", 1), made(t, "sata", 1.15)}
	c := compare.Profiles([]*profile.Profile{runs[0].Profile}, []*profile.Profile{runs[1].Profile})
	c.Names = [2]string{"nvme", "sata"}
	p := open(t, write(t, runs, &Comparison{Comparison: c, Tolerance: 0.1}), 1280, 900)
	require.Equal(t, "? sata takes 11.5 % longer than nvme, one run of each; the most in write: 32.368 instead of 28.147 ms", value[string](t, p, `document.querySelector('.verdict.inconclusive strong').textContent`))
	require.Contains(t, value[string](t, p, `document.querySelector('.verdict').textContent`), "make 6 runs of each")
	require.Equal(t, ", undecided", value[string](t, p, `document.querySelector('#compared td .inconclusive .hidden').textContent`))
	require.Equal(t, []string{"", "nvme", "sata", "ratio"}, value[[]string](t, p, `[...document.querySelectorAll('#compared th')].slice(0, 4).map(h => h.textContent)`))
	require.NotContains(t, value[string](t, p, `document.querySelector('main').textContent`), "replay")
}

func TestBrowserSelection(t *testing.T) {
	run := made(t, "trace.txt", 1)
	html := write(t, []Run{run}, nil)
	p := open(t, html, 1280, 900)
	const hidden = `document.querySelector('#selection').hidden`
	require.True(t, value[bool](t, p, hidden))
	allOps := column(t, p, "operation", 0)
	allFiles := column(t, p, "file", 0)
	noteOf := func(section string) string {
		return value[string](t, p, fmt.Sprintf(`document.querySelector('#%s .note').textContent`, section))
	}

	// A file: the rows of other tables are those of its calls.
	file := "/data/a/part-03"
	p.click(t, `#file .more`)
	pick := func(table, name string) {
		require.True(t, value[bool](t, p, fmt.Sprintf(`(() => {
			const button = [...document.querySelectorAll('#%s tbody th button')].find(b => b.textContent === %q);
			button?.focus();
			button?.click();
			return Boolean(button);
		})()`, table, name)))
	}
	pick("file", file)
	require.ElementsMatch(t, []string{"openat", "pwrite64", "pread64", "fdatasync", "close"}, column(t, p, "operation", 0))
	require.Equal(t, []string{"2"}, column(t, p, "thread", 0))
	require.Equal(t, file, value[string](t, p, `document.activeElement.textContent`), "the row has the focus still")
	require.Equal(t, "49 calls, 537.0\u202fµs in them, 94.2\u202fkB read, 94.2\u202fkB written. ", p.sum(t))
	require.Equal(t, []string{"true"}, value[[]string](t, p, `[...document.querySelectorAll('#file tr.picked button')].map(b => b.ariaPressed)`))
	require.Contains(t, noteOf("profile"), "only of "+file)
	require.Contains(t, noteOf("latency"), "Only of "+file+", in powers of two")
	require.Contains(t, noteOf("sizes"), "for the whole run only")
	require.Contains(t, value[string](t, p, `document.querySelector('#heat .chart').ariaLabel`), file)
	require.Equal(t, "#file=/data/a/part-03", value[string](t, p, `location.hash`))
	p.drawn(t)

	// An operation as well: both together, and each table still offers the others of
	// its own kind.
	pick("operation", "pread64")
	require.Len(t, column(t, p, "operation", 0), 5)
	require.Contains(t, p.sum(t), "23 calls, ")
	require.Equal(t, "23", column(t, p, "thread", 3)[0])

	// A chart that was made for a selection follows the next one.
	const picture = `document.querySelector('#profile canvas').toDataURL()`
	p.drawn(t)
	value[bool](t, p, `(window.before = `+picture+`, selection.change({from: 0, to: 1e-4}), true)`)
	p.until(t, picture+` !== before`, "the part of the time in the chart")
	p.until(t, `document.querySelectorAll('.chip').length === 3`, "a chip of the time")
	value[bool](t, p, `(selection.change({from: null, to: null}), true)`)
	require.Equal(t, int64(23), value[int64](t, p, `selected(readData().runs[0], selection.now).reduce((n, c) => n + c.calls, 0)`))

	// Back and forth, and a chip.
	value[bool](t, p, `(history.go(-3), true)`)
	p.until(t, `location.hash === '#file=/data/a/part-03' && !document.querySelector('#operation tr.picked')`, "the browser's Back")
	value[bool](t, p, `(history.go(3), true)`)
	p.until(t, `document.querySelectorAll('.chip').length === 2`, "the browser's Forward")
	p.click(t, `.chip`)
	require.Equal(t, []string{"pread64"}, value[[]string](t, p, `[...document.querySelectorAll('.chip .words')].map(c => c.textContent)`))

	// Escape shows all again.
	p.do(t, chromedp.KeyEvent(kb.Escape))
	p.until(t, hidden, "Escape")
	require.Equal(t, allOps, column(t, p, "operation", 0))
	require.Equal(t, allFiles, column(t, p, "file", 0)[:len(allFiles)])
	require.Contains(t, noteOf("profile"), "by all threads together")
	require.Equal(t, "#", value[string](t, p, `location.hash || '#'`))

	// A thread from the timeline, by the keyboard.
	p.do(t, chromedp.Focus(chromedp.CSS(`#timeline .chart`)), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "#thread=1", value[string](t, p, `location.hash`))
	require.NotContains(t, column(t, p, "file", 0), file)

	// A part of the time, by the keyboard.
	p.do(t, chromedp.KeyEvent(kb.Escape), chromedp.Focus(chromedp.CSS(`#profile .chart`)), chromedp.KeyEvent(kb.End))
	value[bool](t, p, `(() => {
		const box = document.querySelector('#profile .chart');
		for (const key of ['Home', 'PageDown']) box.dispatchEvent(new KeyboardEvent('keydown', {key, shiftKey: key === 'PageDown', bubbles: true}));
		box.dispatchEvent(new KeyboardEvent('keyup', {key: 'Shift', bubbles: true}));
		return true;
	})()`)
	require.Regexp(t, `^#time=0-0\.\d+$`, value[string](t, p, `location.hash`))
	require.Contains(t, p.sum(t), "Calls that began from 0\u202fs to ")
	require.Contains(t, column(t, p, "file", 0), strings.ReplaceAll("/data/"+evil, "\xff", `\xff`))
	require.NotContains(t, column(t, p, "file", 0), "/data/c/part-29")
}

// The timeline zooms down to single calls. The keyboard reads and selects each.
func TestBrowserZoom(t *testing.T) {
	p := open(t, write(t, []Run{made(t, "trace.txt", 1)}, nil), 1280, 900)
	p.until(t, `document.querySelector('#timeline figure').dataset.calls === 'ready'`, "the calls")
	output := func() string { return value[string](t, p, `document.querySelector('#timeline output').textContent`) }
	p.do(t, chromedp.Focus(chromedp.CSS(`#timeline .chart`)))
	for range 8 {
		p.do(t, chromedp.KeyEvent("+"))
	}
	require.Regexp(t, `^#time=0\.\d+-0\.\d+$`, value[string](t, p, `location.hash`))
	require.Contains(t, value[string](t, p, `document.querySelector('#timeline').textContent`), "Each call is drawn.")
	p.do(t, chromedp.KeyEvent(kb.ArrowRight))
	require.Regexp(t, `^thread \d, \d.*s: \w+ /data/.*, result \d.*, \d.*s$`, output())
	first := output()
	p.do(t, chromedp.KeyEvent(kb.ArrowRight))
	require.NotEqual(t, first, output())
	require.Regexp(t, `^thread \d, `, output())
	p.click(t, `#timeline summary`)
	p.do(t, chromedp.WaitReady(`#timeline details table`)) // it is filled after the event of the click
	require.Contains(t, value[string](t, p, `document.querySelector('#timeline details table').textContent`), "offset")
	p.do(t, chromedp.Focus(chromedp.CSS(`#timeline .chart`)), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	require.Regexp(t, `^#thread=\d&file=/data/.*&operation=\w+&time=`, value[string](t, p, `location.hash`))
	p.drawn(t)
	value[bool](t, p, `([...document.querySelectorAll('#timeline .controls button')].find(b => b.textContent === 'Whole run').click(), true)`)
	require.NotContains(t, value[string](t, p, `location.hash`), "time")
}

// A link to a selection and a section shows both. A part that the page can't tell
// apart is said, not shown as nothing.
func TestBrowserLink(t *testing.T) {
	run := made(t, "trace.txt", 1)
	html := write(t, []Run{run}, nil)
	p := openAt(t, html, "#latency&thread=2&operation=fdatasync&time=nonsense&evil=%3Cimg%3E&file=%", 1280, 900)
	require.Equal(t, []string{"thread 2", "fdatasync"}, value[[]string](t, p, `[...document.querySelectorAll('.chip .words')].map(c => c.textContent)`))
	require.Contains(t, p.sum(t), "15 calls")
	require.Equal(t, []string{"fdatasync"}, value[[]string](t, p, `[...document.querySelectorAll('#latency .legend button')].map(b => b.textContent)`))
	p.until(t, `scrollY > 0`, "the section of the link")
	// The index goes on with the selection.
	value[bool](t, p, `([...document.querySelectorAll('nav a')].find(a => a.textContent === 'Files').click(), true)`)
	require.Equal(t, "#file&thread=2&operation=fdatasync", value[string](t, p, `location.hash`))

	p = openAt(t, html, "#file=/unknown", 1280, 900)
	for _, section := range []string{"#selection", "#profile", "#latency", "#operation"} {
		require.Contains(t, value[string](t, p, fmt.Sprintf(`document.querySelector('%s').textContent`, section)), "/unknown is none of these", section)
	}
}

// Tables and charts can be taken away.
func TestBrowserSave(t *testing.T) {
	r := &recording{Collector: &profile.Collector{}, t: t, slow: 1}
	r.file(1, "=cmd()", 3, 5)
	r.file(1, `/a,"b"`, 4, 50)
	p := open(t, write(t, []Run{{Name: "a", Profile: r.Profile()}}, nil), 1280, 900)
	// Downloads and copies are intercepted.
	value[bool](t, p, `(() => {
		window.saved = [];
		HTMLAnchorElement.prototype.click = function () { saved.push(fetchBlob(this.href, this.download)); };
		const blobs = new Map();
		const make = URL.createObjectURL;
		URL.createObjectURL = blob => { const url = make(blob); blobs.set(url, blob); return url; };
		window.fetchBlob = (url, name) => ({name, blob: blobs.get(url)});
		navigator.clipboard.writeText = async text => { window.copied = text; };
		return true;
	})()`)
	text := func() string {
		p.until(t, `saved.length > 0`, "nothing saved")
		value[bool](t, p, `(saved[0].blob.text().then(text => { window.text = text; }), true)`)
		p.until(t, `window.text !== undefined`, "no text")
		return value[string](t, p, `(() => { const all = saved[0].name + ': ' + text; saved = []; text = undefined; return all; })()`)
	}
	p.click(t, `#file .csv`)
	csv := text()
	require.True(t, strings.HasPrefix(csv, "pianola-files.csv: name,seconds,calls,errors,reads,writes,bytes_read,"), csv)
	lines := strings.Split(csv, "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^"/a,""b""",0\.000\d{6},11,0,4,4,16384,16384,`, lines[1])
	require.Regexp(t, `,0\.250000,1\.000000,4096:4,4096:4,`, lines[1])
	require.True(t, strings.HasPrefix(lines[2], "'=cmd(),0.000"), lines[2])
	p.click(t, `#file .copy`)
	p.until(t, `window.copied !== undefined && document.querySelector('#file .copy').textContent === 'Copied'`, "nothing copied")
	require.Contains(t, value[string](t, p, `copied`), "\"/a,\"\"b\"\"\"\t0.000")
	p.click(t, `#rates .csv`)
	require.True(t, strings.HasPrefix(text(), "pianola-throughput.csv: elapsed time,read,written\n0,"))

	for _, section := range []string{"profile", "timeline", "heat", "latency", "sizes", "mix"} {
		p.click(t, `#`+section+` .png`)
		p.until(t, `saved.length > 0`, "no picture of "+section)
		require.Equal(t, "image/png", value[string](t, p, `saved[0].blob.type`))
		require.Greater(t, value[int64](t, p, `saved.pop().blob.size`), int64(5000), section)
	}
}

// A page without events has nothing to draw, and says no more than it knows.
func TestBrowserEmpty(t *testing.T) {
	run := Run{Name: "empty", Profile: new(profile.Collector).Profile()}
	p := open(t, write(t, []Run{run}, nil), 1280, 900)
	require.Equal(t, "Pianola profile", value[string](t, p, `document.querySelector('h1').textContent`))
	require.Contains(t, value[string](t, p, `document.querySelector('.tiles').textContent`), "Run time0")
}

// Checks decide instead of the tolerance. A side of a baseline has neither curves nor
// files; the other one is drawn.
func TestBrowserChecks(t *testing.T) {
	runs, c := compared(t)
	whole := runs[0].Profile
	runs[0].Profile = &profile.Profile{RunTime: whole.RunTime, All: whole.All, Categories: whole.Categories, Ops: whole.Ops, Latency: whole.Latency, OpLatency: whole.OpLatency}
	sides := [2]check.Side{{Name: "baseline", Runs: []*profile.Profile{runs[0].Profile}}, {Name: "now", Runs: []*profile.Profile{runs[1].Profile}}}
	c.Comparison = compare.Profiles(sides[0].Runs, sides[1].Runs)
	c.Names = [2]string{"baseline", "now"}
	var checks []*check.Check
	for _, text := range []string{"sync.p99 > +10%", "run_time > 1h", "write.bytes_per_second < 1kB", "mapped_read.calls > 0", "unlink.calls < -10%", "mapped_read.p99 > +1%"} {
		one, err := check.Parse(text)
		require.NoError(t, err)
		checks = append(checks, one)
	}
	text := func(p *tab, where string) string {
		return value[string](t, p, `document.querySelector('`+where+`').textContent`)
	}
	c.Checks = check.Evaluate(checks[1:5], sides[0], sides[1], "")
	p := open(t, write(t, runs, c), 1280, 900)
	require.NotContains(t, text(p, ".verdict.within"), "10 %")
	require.Contains(t, text(p, "#checks tbody tr:nth-child(1)"), "run_time > 1hpassed")
	require.Regexp(t, `write.bytes_per_second < 1kBpassed[\d.]+ [kM]B/s[\d.]+ [kM]B/s0\.\d+–$`, strings.ReplaceAll(text(p, "#checks tbody tr:nth-child(2)"), "\u202f", " "))
	require.Contains(t, text(p, "#checks tbody tr:nth-child(3)"), "mapped_read.calls > 0passed00–")
	p.drawn(t)

	c.Checks = check.Evaluate(checks[5:], sides[0], sides[1], "")
	p = open(t, write(t, runs, c), 1280, 900)
	require.Contains(t, text(p, ".verdict.inconclusive"), "baseline")
	require.Contains(t, text(p, "#checks td .inconclusive"), "unknown")
	require.Contains(t, text(p, "#checks tbody"), "now has no mapped_read.p99")

	c.Checks = check.Evaluate(checks, sides[0], sides[1], "")
	p = open(t, write(t, runs, c), 1280, 900)
	require.Contains(t, text(p, ".verdict.outside"), "baseline")
	require.Contains(t, text(p, "#checks td .outside"), "failed")
}

// On paper charts are as wide as that and light, and tables have more rows. After it
// all is as before.
func TestBrowserPrint(t *testing.T) {
	run := made(t, "trace.txt", 1)
	p := open(t, write(t, []Run{run}, nil), 1600, 900)
	p.click(t, `#theme`)
	require.Len(t, column(t, p, "file", 0), 12)
	width := value[int64](t, p, `document.querySelector('#profile canvas').width`)
	require.Greater(t, width, int64(1000))
	value[bool](t, p, `(dispatchEvent(new Event('beforeprint')), true)`)
	require.Len(t, column(t, p, "file", 0), 30)
	require.Equal(t, "light", value[string](t, p, `document.documentElement.dataset.theme`))
	require.Less(t, value[int64](t, p, `document.querySelector('#profile canvas').width`), int64(700))
	require.Equal(t, value[[]int64](t, p, `[...document.querySelectorAll('#rates canvas')].map(c => c.width)`)[0],
		value[[]int64](t, p, `[...document.querySelectorAll('#rates canvas')].map(c => c.width)`)[1], "side by side")
	value[bool](t, p, `(dispatchEvent(new Event('afterprint')), true)`)
	require.Len(t, column(t, p, "file", 0), 12)
	require.Equal(t, "dark", value[string](t, p, `document.documentElement.dataset.theme`))
	p.until(t, fmt.Sprintf(`document.querySelector('#profile canvas').width === %d`, width), "the width on the screen")
}

// A table that is wider than its place has a shadow at the edge behind which it goes on, and
// nothing else is cut.
func TestBrowserScroll(t *testing.T) {
	runs, c := compared(t)
	for _, width := range []int64{1280, 400} {
		p := open(t, write(t, runs, c), width, 900)
		p.drawn(t)
		value[bool](t, p, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), document.querySelectorAll('#main input[type="checkbox"]').forEach(b => b.click()), true)`)
		p.shows(t, `#profile details table`)
		require.Empty(t, value[[]string](t, p, `[...document.querySelectorAll('body *')].filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible' &&
			!e.matches('.hidden, .chart *, select') && getComputedStyle(e).textOverflow !== 'ellipsis' && !getComputedStyle(e).backgroundAttachment.includes('local')).map(e => e.outerHTML.slice(0, 200))`))
		// The shadow is there while the table goes on, and not at its end.
		require.NotZero(t, value[int](t, p, `(window.wide = [...document.querySelectorAll('#file .scroll')].find(e => e.scrollWidth > e.clientWidth), wide.scrollIntoView({behavior: 'instant', block: 'center'}), wide.scrollWidth)`))
		require.NotEqual(t, p.edge(t), p.edgeAtEnd(t))
	}
}

// edge returns the picture of the right edge of the table wide.
func (p *tab) edge(t *testing.T) []byte {
	t.Helper()
	box := value[[4]float64](t, p, `(() => { const r = wide.getBoundingClientRect(); return [r.right - 6 + scrollX, (r.top + r.bottom) / 2 + scrollY, 6, 4]; })()`)
	shot := call(t, p, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Clip: &cdppage.Viewport{X: box[0], Y: box[1], Width: box[2], Height: box[3], Scale: 1}})
	return shot.Data
}

func (p *tab) edgeAtEnd(t *testing.T) []byte {
	t.Helper()
	value[bool](t, p, `(wide.scrollLeft = wide.scrollWidth, true)`)
	p.until(t, `wide.scrollLeft > 0`, "the table does not scroll")
	return p.edge(t)
}

// The categories have colours that differ from one another and from the page.
func TestBrowserColors(t *testing.T) {
	p := open(t, write(t, []Run{made(t, "a", 1)}, nil), 1280, 900)
	const luminance = `(hex => { const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; })`
	const hue = `(hex => { const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)); const [max, min] = [Math.max(r, g, b), Math.min(r, g, b)];
		return 60 * (max === r ? (g - b) / (max - min) : max === g ? 2 + (b - r) / (max - min) : 4 + (r - g) / (max - min)); })`
	for range 2 {
		for _, name := range []string{"read", "write", "sync", "metadata", "mapped-read", "mapped-write", "communication", "submit"} {
			contrast := value[float64](t, p, fmt.Sprintf(`(() => { const [a, b] = ['card', %q].map(name => %s(color(name)) + 0.05); return Math.max(a, b) / Math.min(a, b); })()`, name, luminance))
			require.GreaterOrEqual(t, contrast, 3.0, name)
		}
		difference := value[float64](t, p, fmt.Sprintf(`(() => { const d = Math.abs(%[1]s(color('read')) - %[1]s(color('mapped-read'))) %% 360; return Math.min(d, 360 - d); })()`, hue))
		require.Greater(t, difference, 60.0, "hues of reads and mapped reads")
		p.click(t, `#theme`)
	}
}

// A faster system is not a failure, so a comparison of two systems has no red mark.
// It begins with a picture: a bar for each side of each row, with intervals.
func TestBrowserSystems(t *testing.T) {
	var sides [2][]*profile.Profile
	var runs []Run
	for i, slow := range []float64{1.5, 1} {
		for k := range 6 {
			run := made(t, []string{"nvme", "sata"}[i], slow*(1+float64(k)/100))
			sides[i] = append(sides[i], run.Profile)
			if k == 0 {
				runs = append(runs, run)
			}
		}
	}
	c := compare.Profiles(sides[0], sides[1])
	c.Names = [2]string{"nvme", "sata"}
	p := open(t, write(t, runs, &Comparison{Comparison: c, Tolerance: 0.1}), 1280, 900)
	require.Equal(t, []string{"times", "compared"}, value[[]string](t, p, `[...document.querySelectorAll('main > section')].slice(0, 2).map(s => s.id)`))
	require.Contains(t, value[string](t, p, `document.querySelector('.verdict.differs strong').textContent`), "sata is 1.")
	require.Zero(t, value[int](t, p, `document.querySelectorAll('.outside').length`))
	require.Equal(t, []string{"Run time", "Read", "Write", "Sync", "Metadata"}, value[[]string](t, p, `[...document.querySelectorAll('#times h3')].map(h => h.textContent)`))
	require.Equal(t, 10, value[int](t, p, `[...document.querySelectorAll('#times .bar')].filter(b => b.getBoundingClientRect().width > 0).length`))
	require.Equal(t, 10, value[int](t, p, `document.querySelectorAll('#times .between').length`))

	// A replay that is quicker than its application is outside, and so is a run that is slower
	// than its baseline.
	c.Names = compare.DefaultNames
	p = open(t, write(t, runs, &Comparison{Comparison: c, Tolerance: 0.1}), 1280, 900)
	require.NotZero(t, value[int](t, p, `document.querySelectorAll('.verdict.outside').length`))
	c = compare.Profiles(sides[1], sides[0])
	c.Names = [2]string{"baseline", "now"}
	p = open(t, write(t, runs, &Comparison{Comparison: c, Tolerance: 0.1}), 1280, 900)
	require.NotZero(t, value[int](t, p, `document.querySelectorAll('.verdict.outside').length`))
}

// On a phone nothing reaches beyond the side of the screen, but what scrolls
// there by itself.
func TestBrowserPhone(t *testing.T) {
	runs, c := compared(t)
	runs[0].Profile.Diagnosis = []profile.Finding{{Rule: "sync", Text: "Syncs of /" + strings.Repeat("long", 30), Try: "pianola lab " + strings.Repeat("long", 30)}}
	for _, width := range []int64{320, 390} {
		p := open(t, write(t, runs, c), width, 800)
		p.drawn(t)
		// The index opens by a button, and the selection fits for any length of its name.
		require.Equal(t, "none", value[string](t, p, `getComputedStyle(document.querySelector('nav .links')).display`))
		p.click(t, `nav button`)
		p.shows(t, `nav .links a`)
		p.click(t, `#file tbody th button`)
		p.shows(t, `#selection .chip`)
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
