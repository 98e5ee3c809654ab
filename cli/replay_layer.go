package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/files"
	"pianola/layer"
	"pianola/plugin"
	"pianola/provenance"
	"pianola/replay"
	"pianola/replay/fileset"
	"pianola/replay/sandbox"
	"pianola/replay/spans"
	"pianola/table"
)

// replayLayer replays the spans of a layer. A program plays them.
func replayLayer(c *cli.Context) error {
	if err := checkMode(c, "play-layer"); err != nil {
		return err
	}
	text := c.String("backend")
	switch {
	case !plugin.Is(text):
		return usage(c, "--play-layer: want --backend %sPLAYER, a program that pianola layer player makes", plugin.Prefix)
	case c.NArg() != 1:
		return usage(c, "--play-layer: want one trace")
	}
	l, err := loadLayer(c.String("play-layer"))
	if err != nil {
		return fmt.Errorf("--play-layer: %w", err)
	}
	program, err := parseProgram(c, text)
	if err != nil {
		return err
	}
	o, err := commonOptions(c)
	if err != nil {
		return err
	}
	o.Backend, o.Root, o.Keep = replay.Posix, c.String("root"), c.Bool("keep")
	if o.Prepare != fileset.PrepareAuto && o.Prepare != fileset.PrepareNever {
		return usage(c, "--prepare: auto or never with --play-layer")
	}
	t, err := recordings.OpenTrace(c.Args().First(), o.Limits.Complete(1).Memory, nil)
	if err != nil {
		return withHint(err)
	}
	defer t.Close()
	calls, err := spans.New(t.Trace, l, o.Limits.Complete(1).Memory)
	if err != nil {
		return fmt.Errorf("%s: layer %s: %w", c.Args().First(), l.Name, err)
	}
	if err := prepareLayer(c, t.Trace, calls.Paths(), &o); err != nil {
		return err
	}
	if c.String("root") == "" && !o.Keep {
		defer removeRoot(o.Root)
	}
	return playLayer(c, t.Trace, l, calls, program, o)
}

// fewerFiles is a trace of which only some files are prepared.
type fewerFiles struct {
	format.Trace
	header format.Header
}

func (n *fewerFiles) Header() *format.Header { return &n.header }

// withFiles keeps the files that the trace finds of those with the application's names.
func withFiles(t format.Trace, names []string) *fewerFiles {
	n := &fewerFiles{t, *t.Header()}
	files, apps := map[string]*format.File{}, n.header.AppNames()
	byName := map[string]string{}
	for i := range n.header.Files {
		f := &n.header.Files[i]
		files[path.Clean(f.Path)] = f
		byName[path.Join("/", apps.Of(f.Path))] = path.Clean(f.Path)
	}
	keep := map[string]bool{}
	var add func(at string)
	add = func(at string) {
		f := files[at]
		if f == nil || keep[at] {
			return
		}
		keep[at] = true
		add(path.Dir(at))
		switch {
		case f.Link != "":
			add(path.Clean(f.Link))
		case f.Type == format.TypeLnk && !path.IsAbs(f.Target):
			add(path.Join(path.Dir(at), f.Target))
		}
	}
	for _, name := range names {
		for at := path.Join("/", name); at != "/"; at = path.Dir(at) {
			add(byName[at])
		}
	}
	n.header.Files, n.header.Descriptors = nil, nil
	for _, f := range t.Header().Files {
		if keep[path.Clean(f.Path)] {
			n.header.Files = append(n.header.Files, f)
		}
	}
	return n
}

// prepareLayer makes the files of these names that the trace finds, in a new directory
// without --root.
func prepareLayer(c *cli.Context, t *bin.Trace, names []string, o *replay.Options) (err error) {
	if o.Root == "" {
		if o.Root, err = os.MkdirTemp(".", "pianola-root-"); err != nil {
			return err
		}
		if o.Keep {
			session.Say("replay: keeping %s", o.Root)
		}
	}
	if o.Prepare == fileset.PrepareNever {
		return nil
	}
	prepared := session.Bytes("preparing files")
	with := *o
	with.Prepare, with.Progress = fileset.PrepareOnly, showPreparation(prepared)
	_, err = replay.Run(c.Context, withFiles(t, names), with)
	prepared.Finish()
	if err != nil && c.String("root") == "" {
		removeRoot(o.Root)
	}
	return err
}

// removeRoot removes a root that this run has made, unless something is mounted below it.
func removeRoot(dir string) {
	_ = sandbox.Clear(dir)
	_ = os.Remove(dir) // fails unless the directory is empty
}

// layerFiles finds the places of the application's files below a root.
type layerFiles struct {
	root   *os.Root
	byName map[string]string // of those that the trace finds
}

func newLayerFiles(t *bin.Trace, root string) (*layerFiles, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	names := t.Header().AppNames()
	m := &layerFiles{root: dir, byName: map[string]string{}}
	for _, f := range t.Header().Files {
		m.byName[path.Join("/", names.Of(f.Path))] = path.Clean(f.Path)
	}
	return m, nil
}

// place returns the place of a file, whose directory it makes. It lies below the root,
// whatever the path is.
func (m *layerFiles) place(name string) (string, bool) {
	name = path.Join("/", name)
	for _, pseudo := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(name, pseudo) {
			return "", false
		}
	}
	at, ok := m.byName[name]
	if !ok {
		at = strings.TrimPrefix(name, "/")
	}
	if at == "" || at == "." || strings.IndexByte(at, 0) >= 0 {
		return "", false
	}
	if err := m.root.MkdirAll(path.Dir(at), 0o777); err != nil {
		return "", false
	}
	// A symbolic link of the trace must not lead the player outside.
	if _, err := m.root.Lstat(at); err == nil {
		if _, err := m.root.Stat(at); err != nil {
			return "", false
		}
	}
	return at, true
}

// playLayer replays the spans with prepared files, and prints what became of them.
func playLayer(c *cli.Context, t *bin.Trace, l *layer.Layer, calls *spans.Replay, program *plugin.Program, o replay.Options) (err error) {
	placed, err := newLayerFiles(t, o.Root)
	if err != nil {
		return err
	}
	defer placed.root.Close()
	if program.Dir, err = filepath.Abs(o.Root); err != nil {
		return err
	}
	with := spans.Options{
		Timing: o.Timing, Wait: o.Wait, Speed: o.Speed, Strict: c.Bool("strict"), Place: placed.place,
		Open: func(ctx context.Context, _ int32) (spans.Player, error) { return program.Spans(ctx, t.Header()) },
	}
	about := slices.Concat(optionsOf(c, c.Args().Slice()...), provenance.Dir(o.Root, c.Bool("no-host")))
	var log *files.Output
	if c.IsSet("log") {
		if log, err = session.files.Create(c.String("log"), files.Private); err != nil {
			return err
		}
		defer log.Abort()
		w := script.NewWriter(log)
		h := logHeader(t.Header(), about)
		for _, m := range t.Header().Meta {
			if m.Key == format.MetaLayer {
				h.Meta = append(h.Meta, m)
			}
		}
		h.Set(format.MetaReplay, fmt.Sprintf("timing=%s speed=%g wait=%s layer=%s backend=program", o.Timing, cmp.Or(o.Speed, 1), o.Wait, l.Name))
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		one := make([]format.Event, 1)
		with.Log = func(e *format.Event) error {
			one[0] = *e
			return w.Write(one)
		}
		defer func() {
			if ferr := w.Flush(); ferr == nil && err == nil {
				err = log.Commit()
			}
		}()
	}
	r, err := calls.Run(c.Context, with)
	if err != nil && len(r.Functions) == 0 {
		return interrupted(err)
	}
	if c.Bool("json") {
		if perr := printJSON(layerDocumentOf(l, r)); perr != nil {
			return perr
		}
	} else if perr := printLayerReplay(session.Stdout("text"), l, r); perr != nil {
		return perr
	}
	if err != nil {
		return interrupted(err)
	}
	return nil
}

// layerReplay is the document of replay --play-layer --json.
type layerReplay struct {
	Layer           string              `json:"layer"`
	Functions       []layerReplayRow    `json:"functions"`
	All             layerReplayRow      `json:"all"`
	NotPlayed       []layerReplayReason `json:"not_played"`
	Lateness        map[string]float64  `json:"lateness_seconds"`
	Elapsed         float64             `json:"elapsed_seconds"`
	RecordedElapsed float64             `json:"recorded_elapsed_seconds"`
	Nested          int64               `json:"nested"`
	CallsInside     int64               `json:"calls_inside"`
	CallsOutside    int64               `json:"calls_outside"`
	OutsideSeconds  float64             `json:"outside_seconds"`
}

type layerReplayRow struct {
	Function string  `json:"function"`
	Span     string  `json:"span,omitempty"`
	Played   int64   `json:"played"`
	Not      int64   `json:"not_played"`
	Failed   int64   `json:"failed"`
	Differed int64   `json:"differed"`
	Recorded float64 `json:"recorded_seconds"`
	Seconds  float64 `json:"seconds"`
}

type layerReplayReason struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

func layerDocumentOf(l *layer.Layer, r *spans.Result) *layerReplay {
	d := &layerReplay{
		Layer: l.Name, Functions: []layerReplayRow{}, NotPlayed: []layerReplayReason{}, All: layerReplayRow{Function: "all"},
		Elapsed: r.Elapsed.Seconds(), RecordedElapsed: r.Recorded.Seconds(), Nested: r.Nested,
		CallsInside: r.Inside, CallsOutside: r.Outside, OutsideSeconds: format.Seconds(r.OutNanos),
		Lateness: map[string]float64{"p50": format.Seconds(r.Lateness.P50), "p99": format.Seconds(r.Lateness.P99), "max": format.Seconds(r.Lateness.Max)},
	}
	for _, f := range r.Functions {
		row := layerReplayRow{f.Name, f.Kind, f.Calls, f.Refused, f.Failed, f.Differed, format.Seconds(f.Recorded), format.Seconds(f.Nanos)}
		d.Functions = append(d.Functions, row)
		d.All.Played += row.Played
		d.All.Not += row.Not
		d.All.Failed += row.Failed
		d.All.Differed += row.Differed
		d.All.Recorded += row.Recorded
		d.All.Seconds += row.Seconds
	}
	for _, why := range r.Reasons {
		d.NotPlayed = append(d.NotPlayed, layerReplayReason{why.Text, why.Count})
	}
	return d
}

func printLayerReplay(w io.Writer, l *layer.Layer, r *spans.Result) error {
	d := layerDocumentOf(l, r)
	rows := [][]string{{"function", "played", "not played", "failed", "differed", "recorded ms", "replayed ms"}}
	for _, f := range append(d.Functions, d.All) {
		rows = append(rows, []string{
			f.Function, table.Count(f.Played), table.Count(f.Not), table.Count(f.Failed), table.Count(f.Differed),
			fmt.Sprintf("%.3f", f.Recorded*1e3), fmt.Sprintf("%.3f", f.Seconds*1e3),
		})
	}
	if _, err := io.WriteString(w, table.Format(rows, func(column int) bool { return column == 0 })); err != nil {
		return err
	}
	for _, why := range d.NotPlayed {
		fmt.Fprintf(w, "not played: %d calls: %s\n", why.Count, why.Reason)
	}
	if n := r.First; n != nil {
		was := "succeeded"
		if n.Failed {
			was = "failed"
		}
		fmt.Fprintf(w, "differed: first %s of thread %d: recorded %d, which %s, got %d\n", n.Function, n.Thread, n.Recorded, was, n.Got)
	}
	fmt.Fprintf(w, "run time: recorded %v, replayed %v\n", r.Recorded.Round(time.Microsecond), r.Elapsed.Round(time.Microsecond))
	fmt.Fprintf(w, "system calls: %s within these calls; %s others, of %v, are not replayed\n", table.Count(r.Inside), table.Count(r.Outside), time.Duration(r.OutNanos).Round(time.Microsecond))
	_, err := fmt.Fprintf(w, "lateness: p50 %v, p99 %v, max %v\n", tens(r.Lateness.P50), tens(r.Lateness.P99), tens(r.Lateness.Max))
	return err
}
