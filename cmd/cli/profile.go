package cli

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/compile/source"
	"pianola/experiment/page"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/profile"
	"pianola/profile/diagnosis"
)

// profileForms are the output formats of profile, the default first.
var profileForms = []string{"text", "json", "csv", "benchstat", "openmetrics"}

func profileCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "profile",
		Usage: "show where the time goes: operations, files, threads",
		UsageText: "pianola profile [OPTION]… TRACE…\n" +
			"pianola profile --follow [OPTION]… RECORDING",
		Description: "Each operand is a recording, a compiled trace or the log of a replay, and gets a profile of its own.\n" +
			"Times are as recorded, so they include the recorder's own cost. docs/reference/profile.md explains each figure.\n" +
			"\n" +
			"Example: pianola profile trace.txt\n" +
			"Example: pianola profile --by file --sort bytes_read --top 5 trace.txt\n" +
			"Example: pianola profile --html profile.html trace.txt",
		Action: runProfile,
	})
}

// profileReport is the report that the command line selects.
type profileReport struct {
	form, by, sort string
	top            int // rows of a table, 0 for all
	text           profile.TextOptions
	interval       int64
	plot, html     string
	extent         profile.Extent
	from, to       int64 // the part of the run whose single calls the page holds, nanoseconds; to is 0 without a page or its charts
}

func runProfile(c *cli.Context) error {
	o, err := profileOptions(c)
	if err != nil {
		return err
	}
	if err := parseLimits(c, nil); err != nil {
		return err
	}
	if c.Bool("follow") {
		return followProfile(c, o)
	}
	defer endOn(c.Context)()
	spareMemory()
	plot, err := session.files.CreateIf(o.plot, files.Public)
	if err != nil {
		return err
	}
	html, err := session.files.CreateIf(o.html, files.Public)
	if err != nil {
		return err
	}
	var series []profile.Series
	var runs []page.Run
	for _, name := range c.Args().Slice() {
		collector := &profile.Collector{Rows: profile.RowsWithin(recordings.Limits.Reading()), Interval: o.interval, From: o.from, To: o.to, Tails: o.by == "interval", NoParts: o.html == "" && o.extent == profile.Sums}
		meta, subject, err := collect(collector, name)
		if err != nil {
			return err
		}
		p := collector.Profile()
		p.Diagnosis = diagnosis.Of(p, subject)
		series = append(series, profile.Series{Name: name, Profile: p, Start: startOf(meta)})
		runs = append(runs, page.Run{Name: name, Meta: meta, Profile: p})
	}
	if err := putPlot(plot, o.by == "interval", series...); err != nil {
		return err
	}
	if err := html.Put(func(w io.Writer) error { return page.Write(w, runs, nil) }); err != nil {
		return err
	}
	return o.write(cells(c, o.form, session.Stdout(o.form)), series)
}

// spareMemory has garbage collected early from then on where a profile of very many files
// or threads takes most of 256 MiB, or of what is available. Otherwise there can be as much
// garbage as memory in use.
func spareMemory() { debug.SetMemoryLimit(min(192<<20, recordings.Limits.Reading())) }

// profileOptions checks the command line.
func profileOptions(c *cli.Context) (*profileReport, error) {
	o := &profileReport{
		form: c.String("format"), by: c.String("by"), sort: c.String("sort"), top: c.Int("top"),
		interval: c.Duration("interval").Nanoseconds(), plot: c.String("plot"), html: c.String("html"),
	}
	switch {
	case c.NArg() == 0:
		return nil, usage(c, "want a recording, got no operand")
	case c.Bool("follow") && c.NArg() > 1:
		return nil, usage(c, "--follow takes one script, got %d operands", c.NArg())
	case c.IsSet("html") && c.NArg() > page.MaxRuns:
		return nil, usage(c, "--html shows at most %d recordings, got %d", page.MaxRuns, c.NArg())
	case c.Bool("json") && c.IsSet("format") && o.form != "json":
		return nil, usage(c, "--json and --format %s exclude each other", o.form)
	case c.IsSet("interval") && c.Duration("interval") < time.Microsecond:
		return nil, usage(c, "--interval is at least 1µs, not %v", c.Duration("interval"))
	}
	if err := checkPlot(o.plot); err != nil {
		return nil, usage(c, "--plot: %v", err)
	}
	if c.Bool("json") {
		o.form = "json"
	}
	if c.Bool("all") && o.form == "json" && o.by == "" {
		o.extent = profile.Charts
	}
	if o.html != "" || o.extent == profile.Charts {
		o.to = math.MaxInt64
	}
	if c.IsSet("calls") {
		var err error
		if o.from, o.to, err = parsePart(c.String("calls")); err != nil {
			return nil, usage(c, "--calls: %v", err)
		}
	}
	if o.form == "openmetrics" {
		if o.by != "" && o.by != "interval" {
			return nil, usage(c, "--format openmetrics is that of --by interval, not %s", o.by)
		}
		o.by = "interval"
	}
	// A column or a number of rows implies a table.
	if o.by == "" && (o.sort != "" || c.IsSet("top") || o.form == "csv") {
		o.by = profile.Views()[0]
	}
	if c.Bool("all") || o.form != "text" && !c.IsSet("top") {
		o.top = 0
	}
	o.text = profile.TextOptions{All: o.top == 0, Wide: c.Bool("wide")}
	if o.by != "" && o.sort != "" {
		t, err := new(profile.Profile).Table(o.by)
		if err == nil {
			err = t.Sort(o.sort)
		}
		if err != nil {
			return nil, usage(c, "--sort: %v", err)
		}
	}
	return o, nil
}

// parsePart parses a part of a run, such as 1.5s-2s, in nanoseconds.
func parsePart(text string) (from, to int64, err error) {
	begin, end, _ := strings.Cut(text, "-")
	a, errA := time.ParseDuration(begin)
	b, errB := time.ParseDuration(end)
	if errA != nil || errB != nil || a < 0 || b <= a {
		return 0, 0, fmt.Errorf("want a part of the run such as 1.5s-2s, not %q", text)
	}
	return a.Nanoseconds(), b.Nanoseconds(), nil
}

// collect adds a recording to the profile, unchanged: it subtracts and leaves
// out nothing. It returns the recording's remarks, and what it is for a diagnosis.
func collect(c *profile.Collector, name string) (_ []format.Meta, what diagnosis.Subject, _ error) {
	what.Name = name
	src, err := recordings.Open(name)
	if err != nil {
		return nil, what, err
	}
	defer src.Close()
	r, err := src.Events()
	if err != nil {
		return nil, what, err
	}
	if err := c.Read(r); err != nil {
		return nil, what, source.Named(name, err)
	}
	if !src.IsTrace() {
		warnLost(name, r.Header())
	}
	if _, replayed := r.Header().Value(format.MetaReplay); replayed {
		what.Kind = diagnosis.Log
	}
	return r.Header().Meta, what, nil
}

// startOf returns when a recording began, the zero time where its remarks don't say.
func startOf(meta []format.Meta) (at time.Time) {
	for _, m := range meta {
		if m.Key == format.MetaStart {
			at, _ = time.Parse(time.RFC3339Nano, m.Value)
		}
	}
	return at
}

// warnLost warns if a recording is known to be incomplete.
func warnLost(name string, h *format.Header) {
	_, recorded := h.Value(format.MetaTool)
	lost, ended := h.Value(format.MetaLost)
	switch n, _, _ := strings.Cut(lost, " "); {
	case recorded && !ended:
		console.Warn("%s: warning: the recording has no end", name)
	case ended && n != "0":
		console.Warn("%s: warning: the recorder lost %s events", name, n)
	}
	if h.Interrupted() {
		console.Warn("%s: warning: the replay was interrupted: not all events were replayed", name)
	}
	for _, s := range h.Foreign() {
		console.Warn("%s: warning: %s", name, s)
	}
}

// write prints profiles. Text has a heading for each if there are several.
func (o *profileReport) write(w io.Writer, series []profile.Series) error {
	switch o.form {
	case "json":
		return o.writeJSON(w, series)
	case "openmetrics":
		return profile.WriteOpenMetrics(w, series)
	}
	for i, s := range series {
		if o.form == "text" && len(series) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", format.Visible(s.Name))
		}
		if err := o.writeOne(w, s.Profile); err != nil {
			return err
		}
	}
	return nil
}

func (o *profileReport) writeOne(w io.Writer, p *profile.Profile) error {
	switch {
	case o.form == "benchstat":
		return p.WriteBenchstat(w, "")
	case o.by == "":
		return p.WriteText(w, o.text)
	}
	t, all, err := o.table(p)
	if err != nil {
		return err
	}
	if o.form == "csv" {
		return t.WriteCSV(w)
	}
	if err := t.WriteText(w, o.text); err != nil {
		return err
	}
	if o.top > 0 && all > o.top {
		_, err = fmt.Fprintf(w, "… of %d rows; --all shows them\n", all)
	}
	return err
}

// table returns the selected table, and how many rows it has in all.
func (o *profileReport) table(p *profile.Profile) (t *profile.Table, all int, err error) {
	if t, err = p.Table(o.by); err != nil {
		return nil, 0, err
	}
	if o.sort != "" {
		err = t.Sort(o.sort)
	}
	if o.top > 0 {
		all = t.Cut(o.top)
	}
	return t, all, err
}

// writeJSON prints one document: an object for one profile, an array for
// several.
func (o *profileReport) writeJSON(w io.Writer, series []profile.Series) error {
	docs := []any{}
	for _, s := range series {
		if o.by == "" {
			docs = append(docs, s.Profile.FullDocument(o.extent))
			continue
		}
		t, _, err := o.table(s.Profile)
		if err != nil {
			return err
		}
		docs = append(docs, t)
	}
	if len(docs) == 1 {
		return console.WriteJSON(w, docs[0])
	}
	return console.WriteJSON(w, docs)
}
