package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pianola/format/provenance"
)

// study is what a file of docs/measured holds: rows, each of which has the same sides.
type study struct {
	name  string
	about string // what is measured, for readers of the file
	rows  []row
	// home is the storage on which a row begins, by name.
	home string
	// Commands of the shell, with the functions of sides.sh. They run in the row's
	// directory on its storage; the words of the row are $1 and so on.
	once, end string // before the first round, and after the last
	sides     []side
	cold      bool // files aren't in the page cache when a run begins
	// picture is the figure of which each row has a picture beside the file of the study.
	picture string
}

// row is a part of a study: its sides are measured in turn.
type row struct {
	name    string
	words   string // the parameters of all commands; the name, if empty
	limits  string // of a storage that has none of its own
	options string // of replays
	input   string // a file that is made before, if any (inputs)
}

// side is one of the ways that a row compares.
type side struct {
	name string
	on   string // the storage, home if empty
	// beside is another storage that the side uses, if any.
	beside string
	// of is the side beside which its figures are set, if any; of some, separated by |,
	// the first that has the figure.
	of      string
	do      string // commands, which note figures
	follows bool   // it uses what the side above leaves, and comes right after that
	guard   bool   // the guard measures it of two builds
	added   bool   // and what it adds to the side of
}

// storage is where files of a row are.
type storage struct {
	name   string
	system string // of a new image, without a page cache below it; the machine's own if empty
	limits string // what its device can do in a second; byRow has those of the row
}

const byRow = "by row"

// longest is how long a part runs: it ends before the round that would end later, and its
// commands end with it. It is left out if it has fewer rounds than least by then.
const (
	longest = 20 * time.Minute
	least   = 3
)

// bench measures studies.
type bench struct {
	only   []string // words, of which "STUDY/ROW" contains one; all if empty
	out    string   // the directory of the files
	dir    string   // in which a directory is made
	rounds int
	since  string // measure rows again that are of a commit before this one
	force  bool   // measure on a machine that isn't quiet, too

	// For tests; those of the machine if nil.
	busy     func() (share float64, err error)
	read     func() (provenance.Processors, error)
	deadline func(context.Context) (context.Context, context.CancelFunc)

	commit  string
	build   *build
	work    *workshop
	here    bool              // all storages are directories of the machine's own
	devices map[string]string // of what is mounted, by the name of the storage
}

var errBusy = errors.New("the machine is not quiet, which FORCE=1 ignores")

func (b *bench) run(ctx context.Context) (err error) {
	parts := wanted(studies, b.only)
	if len(parts) == 0 {
		return fmt.Errorf("nothing has %q in its name; there are: %s", b.only, strings.Join(names(studies), " "))
	}
	source, err := os.Getwd()
	if err != nil {
		return err
	}
	if b.commit, err = commit(ctx); err != nil {
		return err
	}
	if parts, err = b.missing(ctx, parts); err != nil || len(parts) == 0 {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if b.out, err = filepath.Abs(b.out); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(b.dir, "measure-"); err != nil {
		return err
	}
	// Servers run as users of their own.
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.build, err = makeBuild(ctx, "tree", source, filepath.Join(b.dir, "tree")); err != nil {
		return err
	}
	// The program finds the one that carries messages between ranks beside itself.
	if _, err := process(ctx, source, []string{"go", "build", "-o", b.build.pianola + "-ranks", "./cmd/pianola-ranks"}); err != nil {
		return err
	}
	b.work = &workshop{tree: b.build, dir: b.dir}
	if err := b.work.setUp(ctx); err != nil {
		return err
	}
	b.devices = map[string]string{}
	for i, p := range parts {
		fmt.Printf("%d of %d: %s\n", i+1, len(parts), p.name())
		err := b.part(ctx, p)
		if err := b.unmount(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "measure:", err)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errBusy):
			return fmt.Errorf("%s: %w", p.name(), err)
		case err != nil: // other parts may work
			fmt.Printf("%s: not measured: %v\n", p.name(), err)
		}
	}
	return nil
}

// part is a row of a study.
type part struct {
	*study
	row row
}

func (p part) name() string { return p.study.name + "/" + p.row.name }

// wanted returns the parts whose names contain one of the words.
func wanted(all []study, words []string) (parts []part) {
	for i := range all {
		for _, r := range all[i].rows {
			p := part{&all[i], r}
			if len(words) == 0 || containsAny(p.name(), words) {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

func containsAny(s string, words []string) bool {
	for _, word := range words {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

func names(all []study) (names []string) {
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

// missing leaves out the parts that stand in the files, if they aren't older than b.since.
func (b *bench) missing(ctx context.Context, parts []part) (todo []part, err error) {
	since := ""
	if b.since != "" {
		if since, err = lastChange(ctx, b.since); err != nil {
			return nil, err
		}
	}
	stand := 0
	for _, p := range parts {
		d, err := readDocument(b.out, p.study)
		if err != nil {
			return nil, err
		}
		r := d.row(p.row.name)
		switch {
		case r == nil:
			todo = append(todo, p)
		case since == "" || r.Commit == b.commit || descends(ctx, r.Commit, since):
			stand++
			fmt.Printf("%s: stands, of %s\n", p.name(), r.origin())
		default:
			fmt.Printf("%s: old, of %s\n", p.name(), r.origin())
			todo = append(todo, p)
		}
	}
	fmt.Printf("rows: %d; stand: %d; left: %d\n", len(parts), stand, len(todo))
	return todo, nil
}

// part measures a row and writes it into the file of its study.
func (b *bench) part(ctx context.Context, p part) error {
	start := time.Now()
	before, err := b.quiet(ctx)
	if err != nil {
		return err
	}
	limited := b.deadline
	if limited == nil {
		limited = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, longest)
		}
	}
	row, end := limited(ctx)
	defer end()
	sides, rounds, stolen, err := b.measure(row, p, start)
	leftOut := ""
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case row.Err() != nil && rounds < least:
		leftOut = fmt.Sprintf("%d rounds in %v, of at least %d", rounds, longest, least)
		sides, rounds = nil, 0
	case row.Err() != nil: // the rounds before are whole
	case err != nil:
		return err
	}
	after, err := b.quiet(ctx)
	if err != nil {
		return err
	}
	r := result{
		Name: p.row.name, Date: start.UTC().Format(time.RFC3339), Commit: b.commit, Machine: described(b.dir), Rounds: rounds, LeftOut: leftOut,
		Load: load{round(before), round(after), round(stolen)}, Quiet: max(before, after, stolen) <= quietShare, Sides: sides,
	}
	d, err := readDocument(b.out, p.study)
	if err != nil {
		return err
	}
	d.put(r, p.study)
	fmt.Printf("%s: %d rounds in %.0f s\n%s", p.name(), rounds, time.Since(start).Seconds(), r)
	return d.write(b.out)
}

// quiet returns how busy the machine is with other work, once it is quiet. What the
// last part has left to be written ends within a minute.
func (b *bench) quiet(ctx context.Context) (share float64, err error) {
	look := b.busy
	if look == nil {
		look = busy
	}
	for range int(time.Minute / watched) {
		if share, err = look(); err != nil || share <= quietShare || b.force || ctx.Err() != nil {
			return share, errors.Join(err, ctx.Err())
		}
	}
	return share, fmt.Errorf("%.0f %% of the processors are taken by other work: %w", 100*share, errBusy)
}

// begin makes what a row starts from, in its directory. The caller calls end, also if that
// fails.
func (b *bench) begin(ctx context.Context, p part) (dir string, end func() error, err error) {
	dir = filepath.Join(b.dir, "row")
	end = func() (err error) {
		if p.end != "" {
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer stop()
			_, err = b.do(ctx, p, side{name: "end", do: p.end}, dir)
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err = os.MkdirAll(dir, 0o755); err == nil && p.row.input != "" {
		err = b.work.input(ctx, p.row.input, dir)
	}
	if err == nil {
		_, err = b.do(ctx, p, side{name: "once", do: p.once}, dir)
	}
	return dir, end, err
}

// tries is how many times a side is measured while the host takes more than quietShare of
// the busy time of the processors.
const tries = 4

// undisturbed does a side, again if the host of the virtual machine took too much of the
// processors. The last try counts.
func (b *bench) undisturbed(ctx context.Context, p part, s side, dir string) (got sample, stolen float64, err error) {
	read := b.read
	if read == nil {
		read = provenance.ReadProcessors
	}
	for range tries {
		before, err := read()
		if err != nil {
			return nil, 0, err
		}
		if got, err = b.do(ctx, p, s, dir); err != nil {
			return nil, 0, err
		}
		after, err := read()
		if err != nil {
			return nil, 0, err
		}
		if stolen = after.All.StolenSince(before.All); stolen <= quietShare {
			break
		}
	}
	return got, stolen, nil
}

// measure takes the sides of a row in turn, and says which share of a side's busy time the
// host had at most. When the context ends, it returns the rounds that are whole.
func (b *bench) measure(ctx context.Context, p part, start time.Time) (results []sideResult, rounds int, most float64, err error) {
	dir, end, err := b.begin(ctx, p)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return nil, 0, 0, err
	}
	leftOut, samples := map[string]string{}, map[string][]sample{}
	var slowest, began time.Duration
	_, rounds, err = turnsWhile(b.rounds, groups(p.sides), func(g group) (sample, error) {
		for _, s := range p.sides[g.from:g.to] {
			got := sample{}
			if leftOut[s.name] == "" {
				var why leftOutError
				var stolen float64
				got, stolen, err = b.undisturbed(ctx, p, s, dir)
				if most = max(most, stolen); errors.As(err, &why) {
					leftOut[s.name] = string(why)
				} else if err != nil {
					return nil, err
				}
			}
			samples[s.name] = append(samples[s.name], got)
		}
		return nil, nil
	}, func() bool {
		now := time.Since(start)
		slowest, began = max(slowest, now-began), now
		return now+slowest < longest
	})
	if rounds == 0 || err != nil && ctx.Err() == nil {
		return nil, 0, 0, err
	}
	for _, s := range p.sides {
		samples[s.name] = samples[s.name][:rounds]
	}
	for _, s := range p.sides {
		results = append(results, s.result(samples, leftOut[s.name]))
	}
	if p.picture != "" {
		err = (&result{Name: p.row.name, Sides: results}).draw(p, dir, b.out)
	}
	return results, rounds, most, err
}

// group is sides that keep their order in all rounds, by index.
type group struct{ from, to int }

func groups(sides []side) (all []group) {
	for i, s := range sides {
		if s.follows {
			all[len(all)-1].to++
		} else {
			all = append(all, group{i, i + 1})
		}
	}
	return all
}

// leftOutError says why a side can't be measured on this machine.
type leftOutError string

func (e leftOutError) Error() string { return string(e) }

// do runs the commands of a side in the directory of its storage, and returns the
// figures that they note. dir is the directory of the row, for what isn't measured.
func (b *bench) do(ctx context.Context, p part, s side, dir string) (sample, error) {
	figures := filepath.Join(dir, "figures")
	if err := os.WriteFile(figures, nil, 0o644); err != nil {
		return nil, err
	}
	home, err := b.mount(ctx, p, p.home)
	if err != nil {
		return nil, err
	}
	place, beside := home, mounted{}
	if s.on != "" {
		if place, err = b.mount(ctx, p, s.on); err != nil {
			return nil, err
		}
	}
	if s.beside != "" {
		if beside, err = b.mount(ctx, p, s.beside); err != nil {
			return nil, err
		}
	}
	cold := ""
	if p.cold {
		cold = "yes"
	}
	words := p.row.words
	if words == "" {
		words = p.row.name
	}
	var script strings.Builder
	fmt.Fprintf(&script, "# %s\n", p.name()) // the line that errors show
	for _, v := range [][2]string{
		{"PIANOLA", b.build.pianola}, {"SOURCE", b.build.source}, {"DIR", b.dir}, {"FIGURES", figures}, {"OUT", dir}, {"START", home.dir}, {"TMPDIR", place.dir}, {"DEVICE", place.device}, {"LIMITS", place.limits},
		{"BESIDE", beside.device}, {"BESIDE_LIMITS", beside.limits}, {"BESIDE_PLACE", beside.dir}, {"COLD", cold}, {"OPTIONS", p.row.options},
		{"SAMPLES", samplesOf(dir, s)}, {"PICTURE", filepath.Join(b.out, pictureOf(p))},
	} {
		fmt.Fprintf(&script, "export %s='%s'\n", v[0], v[1])
	}
	script.WriteString(sourced + s.do)
	_, err = process(ctx, place.dir, append([]string{"sh", "-euc", script.String(), s.name}, strings.Fields(words)...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	text, err := os.ReadFile(figures)
	if err != nil {
		return nil, err
	}
	return noted(string(text))
}

// noted returns the figures of a side: lines of a number and a name, or one that begins
// with # and says why there are none.
func noted(text string) (sample, error) {
	got := sample{}
	for line := range strings.Lines(text) {
		if why, ok := strings.CutPrefix(line, "# "); ok {
			return nil, leftOutError(strings.TrimSpace(why))
		}
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || name == "" {
			return nil, fmt.Errorf("want a number and a name, not %q", line)
		}
		got[name] = value
	}
	return got, nil
}

// sourced is what all commands begin with.
const sourced = `. "$TOP/scripts/measure/sides.sh"` + "\n"

// mounted is a storage that is there, for a row.
type mounted struct {
	dir    string // of the row
	device string // if it is an image
	limits string
}

// mount makes the file system of a storage, if that isn't the machine's own and isn't
// there.
func (b *bench) mount(ctx context.Context, p part, name string) (m mounted, err error) {
	i := slices.IndexFunc(storages, func(st storage) bool { return st.name == name })
	if i < 0 {
		return m, fmt.Errorf("no storage %q", name)
	}
	st := storages[i]
	if b.here {
		st = storages[0]
	}
	device, ok := b.devices[st.name]
	if !ok && st.system != "" {
		b.devices[name] = "" // to be unmounted, also if this fails in the middle
		out, err := process(ctx, b.dir, []string{"sh", "-euc", sourced + `put_up "$1" "$2"; echo "$device"`, "put_up", st.system, name})
		if err != nil {
			return m, fmt.Errorf("storage %s: %w", name, err)
		}
		device = strings.TrimSpace(out)
		b.devices[name] = device
	}
	m = mounted{filepath.Join(b.dir, st.name, "row"), device, st.limits}
	if st.limits == byRow {
		m.limits = p.row.limits
	}
	return m, os.MkdirAll(m.dir, 0o755)
}

// unmount leaves nothing of a part, also of one that was interrupted.
func (b *bench) unmount(ctx context.Context) (err error) {
	for name := range b.devices {
		_, failed := process(context.WithoutCancel(ctx), b.dir, []string{"sh", "-euc", sourced + `take_down "$1"`, "take_down", name})
		err = errors.Join(err, failed)
		delete(b.devices, name)
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(b.dir, storages[0].name)))
}
