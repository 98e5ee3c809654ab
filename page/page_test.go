package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

func TestData(t *testing.T) {
	run := made(t, "trace.txt", 1)
	p := run.Profile
	d := parse(t, write(t, []Run{run}, nil))
	require.Len(t, d.Runs, 1)
	require.Nil(t, d.Comparison)
	got := d.Runs[0]
	require.Equal(t, p.RunTime, got.RunTime)
	require.Equal(t, newTotal(&p.All), got.All)
	require.Equal(t, []fact{{"started", "2026-01-02T03:04:05.678Z"}, {"kernel", "6.1"}}, got.Facts)
	require.Equal(t, p.Concurrency, got.Concurrency)
	require.Equal(t, "pwrite64", got.Latency[0].Op)
	require.Len(t, got.Heat, maxHeats)

	for k, c := range p.Categories {
		require.Equal(t, newTotal(&c), got.Categories[k])
		curve := d.Curves.Spent[0][k]
		if c.Nanos == 0 {
			require.Empty(t, curve)
			continue
		}
		require.Len(t, curve, len(d.Curves.Elapsed))
		require.Equal(t, c.Nanos, *curve[len(curve)-1], "the end of a curve")
	}
	require.Equal(t, p.Categories[profile.Reads].Bytes, sumOf(d.Rates.Runs[0].Read))
	require.Equal(t, p.Categories[profile.Writes].Bytes, sumOf(d.Rates.Runs[0].Written))
	io := p.IO()
	var calls int64
	for _, of := range d.Rates.Runs[0].Calls {
		calls += sumOf(of)
	}
	require.Equal(t, io.Calls, calls)

	var rows []struct{ Name string }
	require.NoError(t, json.Unmarshal(got.Tables["file"].Rows, &rows))
	require.Equal(t, len(rows), got.Tables["file"].All)
	require.Len(t, rows, 33)
}

func sumOf(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

func TestComparedData(t *testing.T) {
	runs, c := compared(t)
	d := parse(t, write(t, runs, c))
	require.Len(t, d.Runs, 2)
	comparison := d.Comparison.(map[string]any)
	require.Contains(t, comparison["answer"], "outside 10 % in ")
	require.Contains(t, comparison["answer"], "the replay takes 2")
	// Both have their values at the same times, the shorter none beyond its end.
	a, r := d.Curves.Spent[0][profile.Reads], d.Curves.Spent[1][profile.Reads]
	require.Nil(t, a[len(a)-1])
	require.Equal(t, runs[1].Profile.Categories[profile.Reads].Nanos, *r[len(r)-1])
	for i, elapsed := range d.Curves.Elapsed {
		if elapsed == runs[0].Profile.RunTime {
			require.Equal(t, runs[0].Profile.Categories[profile.Reads].Nanos, *a[i])
		}
	}
	require.NotEmpty(t, d.Rates.Runs[0].Read)
	require.NotEmpty(t, d.Rates.Runs[1].Read)
}

// Text from untrusted recordings is in the page as text only.
func TestHostileNames(t *testing.T) {
	page := string(write(t, []Run{made(t, evil, 1)}, nil))
	require.True(t, utf8.ValidString(page))
	require.Equal(t, 2, strings.Count(page, "<script"))
	require.Equal(t, 2, strings.Count(page, "</script"))
	require.NotContains(t, page, "<img")
	d := parse(t, []byte(page))
	require.Equal(t, "app --title "+strings.ReplaceAll(evil, "\xff", `\xff`), d.Command)
}

// The policy names what stands in the page, so that nothing else runs.
func TestPolicy(t *testing.T) {
	page := string(write(t, []Run{made(t, "a", 1)}, nil))
	policy := html.UnescapeString(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1])
	require.True(t, strings.HasPrefix(policy, "default-src 'none'; "))
	require.NotContains(t, policy, "unsafe")
	for _, element := range []string{"script", "style"} {
		text := regexp.MustCompile(`(?s)<` + element + `>(.*?)</` + element + `>`).FindStringSubmatch(page)[1]
		sum := sha256.Sum256([]byte(text))
		require.Contains(t, policy, element+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	require.NotRegexp(t, `(?i)(src|href)="?https?:`, page)
}

// A page is a few megabytes at most, whatever was recorded.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", 2000)
	r := &recording{Collector: &profile.Collector{Interval: 1000}, t: t, slow: 1}
	for i := range 3000 {
		r.file(1, "/"+long+strconv.Itoa(i), 20, 5)
	}
	for i := range int64(20000) {
		r.call(2, format.OpPwrite64, 3, 1<<20, "", 9, 0, 1<<20, i*7919%4096<<20)
	}
	run := Run{Name: long, Meta: []format.Meta{{Key: format.MetaCommand, Value: strings.Repeat(long, 100)}}, Profile: r.Profile()}
	require.Len(t, run.Profile.Files, 3001)
	page := write(t, []Run{run, run}, nil)
	require.Less(t, len(page), 6<<20)
	d := parse(t, page)
	require.Equal(t, 3001, d.Runs[0].Tables["file"].All)
	require.Less(t, len(d.Command), maxText+10)
	require.LessOrEqual(t, len(d.Rates.Runs[0].Calls), maxRates)
	io := run.Profile.IO()
	var calls int64
	for _, of := range d.Rates.Runs[0].Calls {
		calls += sumOf(of)
	}
	require.Equal(t, io.Calls, calls)
}

func TestEmpty(t *testing.T) {
	p := new(profile.Collector).Profile()
	d := parse(t, write(t, []Run{{Name: "empty", Profile: p}}, nil))
	require.Zero(t, d.Runs[0].All.Calls)
	require.Empty(t, d.Command)
}

func TestRates(t *testing.T) {
	of := func(calls ...int64) *profile.Intervals {
		v := &profile.Intervals{Nanos: 2}
		for i, n := range calls {
			s := profile.Span{Start: int64(2 * i)}
			s.Categories[profile.Reads] = profile.Total{Calls: n, Bytes: 10 * n}
			v.List = append(v.List, s)
		}
		return v
	}
	for _, c := range []struct {
		name  string
		nanos int64
		want  []int64
	}{
		{"the same", 2, []int64{4, 8, 0, 6}},
		{"a multiple", 4, []int64{12, 6}},
		{"no multiple", 3, []int64{8, 4, 6}},
		{"longer than all", 100, []int64{18}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRate(of(4, 8, 0, 6), c.nanos)
			require.Equal(t, c.want, r.Calls[profile.Reads])
			require.Equal(t, int64(180), sumOf(r.Read))
		})
	}
	require.Empty(t, newRate(&profile.Intervals{}, 0).Read)
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteError(t *testing.T) {
	require.ErrorIs(t, Write(brokenWriter{}, []Run{made(t, "a", 1)}, nil), errBroken)
}

// All scripts of a page share one scope: a name that is declared twice would be the
// later one everywhere.
func TestNamesAreDeclaredOnce(t *testing.T) {
	for _, list := range [][]string{scripts, experimentScripts} {
		declared := make(map[string]string)
		for _, name := range list {
			if strings.HasPrefix(name, "uplot/") {
				continue
			}
			text, err := files.ReadFile(name)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^(?:async )?(?:function|const|let) (\w+)`).FindAllStringSubmatch(string(text), -1) {
				require.Empty(t, declared[m[1]], "%s is declared in %s and %s", m[1], declared[m[1]], name)
				declared[m[1]] = name
			}
		}
		require.NotEmpty(t, declared)
	}
}
