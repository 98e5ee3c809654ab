package workloads

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/coverage"
	"pianola/profile"
	"pianola/replay"
)

var update = flag.Bool("update", false, "write the figures of the traces into the cards")

// The edges and the compute of each trace explain its run time: on a simulated clock, without
// the times of calls that a replay does not make, it takes as long as the program.
func TestRunTime(t *testing.T) {
	cards, err := List(".")
	require.NoError(t, err)
	for _, card := range cards {
		t.Run(card.Name, func(t *testing.T) {
			trace := openTrace(t, card.Trace())
			recorded, err := profile.RunTime(trace.Events())
			require.NoError(t, err)
			res, err := replay.Run(t.Context(), trace, replay.Options{Backend: replay.Simulated})
			require.NoError(t, err)
			require.InEpsilon(t, recorded, res.Elapsed.Seconds(), 0.06)
		})
	}
}

// maxTrace is the maximum size of a trace in the repository.
const maxTrace = 1 << 20

func openTrace(t *testing.T, name string) *bin.Trace {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), maxTrace, name)
	trace, err := bin.Open(bytes.NewReader(data), int64(len(data)), bin.DefaultLimit)
	require.NoError(t, err)
	return trace
}

// The figures of each card are those of its trace. record.sh runs this with -update.
func TestCards(t *testing.T) {
	cards, err := List(".")
	require.NoError(t, err)
	for _, card := range cards {
		t.Run(card.Name, func(t *testing.T) {
			trace := openTrace(t, card.Trace())
			figures, err := figuresOf(trace)
			require.NoError(t, err)
			if *update {
				card.Figures = *figures
				var b bytes.Buffer
				e := yaml.NewEncoder(&b)
				e.SetIndent(2)
				require.NoError(t, e.Encode(card))
				require.NoError(t, os.WriteFile(filepath.Join(card.Dir, cardName), b.Bytes(), 0o644))
			}
			require.Equal(t, *figures, card.Figures, "the card is not that of the trace; make workloads ONLY=%s makes both", card.Name)
			for what, text := range map[string]string{"program": card.Program, "version": card.Version, "does": card.Does, "licence": card.Licence} {
				require.NotEmpty(t, text, what)
			}
			require.NotEmpty(t, card.Sensitive)
			for _, name := range []string{"record.sh", "profile.svg"} {
				require.FileExists(t, filepath.Join(card.Dir, name))
			}
		})
	}
}

// The library has at least twelve workloads, each with a verdict: its recording is
// complete.
func TestComplete(t *testing.T) {
	cards, err := List(".")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(cards), 12)
	for _, card := range cards {
		h := openTrace(t, card.Trace()).Header()
		account := coverage.Of(h)
		require.True(t, account.Known, card.Name)
		require.Empty(t, account.Withheld(), card.Name)
		unexplained, _ := h.Value(format.MetaUnexplained)
		require.Contains(t, []string{"", "0"}, unexplained, card.Name)
	}
}

// private matches texts that identify the recording machine or user.
var private = regexp.MustCompile(`(?m)(^|[" =:])/?(root|home|work|tmp)(/.*|[" ]|$)`)

// No trace, card or picture has names of the machine that recorded.
func TestNeutral(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	cards, err := List(".")
	require.NoError(t, err)
	for _, card := range cards {
		trace := openTrace(t, card.Trace())
		h := trace.Header()
		_, told := h.Value(format.MetaHost)
		require.False(t, told, "%s: the name of the host", card.Name)
		text := slices.Concat([]string{string(h.Append(nil))}, trace.Strings())
		for _, name := range []string{cardName, "profile.svg"} {
			data, err := os.ReadFile(filepath.Join(card.Dir, name))
			require.NoError(t, err)
			text = append(text, string(data))
		}
		for _, s := range text {
			require.Empty(t, private.FindAllString(s, 3), card.Name)
			if len(host) > 4 {
				require.NotContains(t, s, host, card.Name)
			}
		}
	}
}

func TestList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [b]*")
	put := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, cardName), []byte(text), 0o644))
	}
	cards, err := List(dir)
	require.NoError(t, err)
	require.Empty(t, cards)
	put("two", "program: b\n")
	put("one", "program: a\nfigures: {events: 3, reads: {calls: 1, bytes: 2}}\n")
	cards, err = List(dir)
	require.NoError(t, err)
	require.Len(t, cards, 2)
	require.Equal(t, "one", cards[0].Name)
	require.Equal(t, "a", cards[0].Program)
	require.Equal(t, Movement{1, 2}, cards[0].Figures.Reads)
	require.Equal(t, filepath.Join(dir, "one", "trace.bin"), cards[0].Trace())

	for text, want := range map[string]string{
		"colour: red\n": "field colour not found",
		"program: [\n":  "line",
		"program: " + strings.Repeat("a", maxCard): "larger than 64 KiB",
		"figures: {events: many}\n":                "cannot unmarshal",
		"a: &a [x,x]\nb: [*a,*a]\nprogram: *a\n":   "cannot unmarshal",
	} {
		put("wrong", text)
		_, err = List(dir)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "wrong/workload.yaml")
	}
	for _, name := range []string{"three", "", "../one", "/etc", "One", "-x", strings.Repeat("a", maxName+1)} {
		_, err = Load(dir, name)
		require.ErrorIs(t, err, ErrUnknown, name)
	}
}

// The pages have the figures of the cards: the run times of the application in outputs of the suite,
// and the card that is an example.
func TestFiguresInPages(t *testing.T) {
	tables := regexp.MustCompile(`(?m)^workload +run time +s .*\n((?:.+\n)+)`)
	row := regexp.MustCompile(`(?m)^([a-z0-9-]+) (?: +application )? *([0-9]+\.([0-9]+)) `)
	pages, err := filepath.Glob("../docs/*/*.md")
	require.NoError(t, err)
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, table := range tables.FindAllStringSubmatch(string(text), -1) {
			for _, cells := range row.FindAllStringSubmatch(table[1], -1) {
				card, err := Load(".", cells[1])
				require.NoError(t, err, page)
				require.Equal(t, strconv.FormatFloat(card.Figures.RunSeconds, 'f', len(cells[3]), 64), cells[2], "%s: run time of %s", page, cells[1])
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 6)

	text, err := os.ReadFile("../docs/reference/workloads.md")
	require.NoError(t, err)
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	var shown Card
	require.NoError(t, yaml.Unmarshal([]byte(example), &shown))
	card, err := Load(".", "postgresql")
	require.NoError(t, err)
	require.Equal(t, Figures{Events: card.Figures.Events, RunSeconds: card.Figures.RunSeconds}, shown.Figures)
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "bin", "pianola")
	_, ok := Find(program)
	require.False(t, ok)
	for _, place := range []string{"share/pianola/workloads", "workloads"} { // the second comes first
		require.NoError(t, os.MkdirAll(filepath.Join(dir, place, "one"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, place, "one", cardName), nil, 0o644))
		found, ok := Find(program)
		require.True(t, ok)
		require.Equal(t, filepath.Join(dir, place), found)
	}
}

func TestPages(t *testing.T) {
	require.Zero(t, pages(nil))
	require.EqualValues(t, 7, pages([]extent{{4, 6}, {0, 3}, {2, 5}, {9, 10}, {1, 2}}))
}
