package page

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"regexp"
	"slices"
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
	require.Equal(t, "trace.txt", d.Runs[0].Name)
	require.Equal(t, []fact{{"started", "2026-01-02T03:04:05.678Z"}, {"host", "node7"}, {"kernel", "6.1"}}, d.Runs[0].Facts)
	got := d.Runs[0].Profile
	require.Equal(t, format.Seconds(p.RunTime), got.RunTime)
	require.Equal(t, p.All.Calls, got.Events)
	require.Len(t, got.Concurrency, len(p.Concurrency))
	require.Equal(t, "pwrite64", got.Latency[0].Name)
	require.NotEmpty(t, got.Charts.Heat)
	require.Len(t, got.Files, 33)
	require.Empty(t, got.Charts.Rows)

	require.Len(t, got.Classes, int(profile.NumCategories))
	for _, line := range got.Charts.Curves.Lines {
		end := line.Seconds[len(line.Seconds)-1]
		at := slices.IndexFunc(got.Classes, func(c struct {
			Name    string
			Seconds float64
		}) bool {
			return c.Name == line.Name
		})
		require.Equal(t, got.Classes[at].Seconds, end, "the end of a curve")
		require.GreaterOrEqual(t, float64(len(line.Seconds)-1)*got.Charts.Curves.Column, got.RunTime)
	}
	var read, written, calls int64
	for _, v := range got.Intervals {
		require.Empty(t, v.Files)
		read, written, calls = read+v.Read, written+v.Written, calls+v.Calls
	}
	io := p.IO()
	require.Equal(t, []int64{p.Categories[profile.Reads].Bytes, p.Categories[profile.Writes].Bytes, io.Calls}, []int64{read, written, calls})
}

func TestComparedData(t *testing.T) {
	runs, c := compared(t)
	d := parse(t, write(t, runs, c))
	require.Len(t, d.Runs, 2)
	require.Contains(t, d.Comparison["answer"], "outside 10 % in ")
	require.Contains(t, d.Comparison["answer"], "the replay takes 2")
}

// The title says which command ran on which machine, and when.
func TestTitle(t *testing.T) {
	of := func(runs ...Run) string {
		return html.UnescapeString(regexp.MustCompile(`<title>(.*)</title>`).FindStringSubmatch(string(write(t, runs, nil)))[1])
	}
	run := func(meta ...format.Meta) Run {
		return Run{Profile: new(profile.Collector).Profile(), Meta: meta}
	}
	command, host, start := format.Meta{Key: format.MetaCommand, Value: "db --load"}, format.Meta{Key: format.MetaHost, Value: "a"}, format.Meta{Key: format.MetaStart, Value: "2026-01-02T03:04:05.678+01:00"}
	require.Equal(t, "db --load – a, 2026-01-02 03:04 +0100 – Pianola profile", of(run(command, host, start)))
	require.Equal(t, "db --load – a and b, 2026-01-02 03:04 +0100 – Pianola profile", of(run(host), run(command, format.Meta{Key: format.MetaHost, Value: "b"}, start)))
	require.Equal(t, "2026-01-02 03:04 +0100 – Pianola profile", of(run(start)))
	require.Equal(t, "a – Pianola profile", of(run(host, format.Meta{Key: format.MetaStart, Value: "yesterday"})))
	require.Equal(t, "Pianola profile", of(run()))
}

// Text from untrusted recordings is in the page as text only.
func TestHostileNames(t *testing.T) {
	page := string(write(t, []Run{made(t, evil, 1)}, nil))
	require.True(t, utf8.ValidString(page))
	require.Equal(t, 2, strings.Count(page, "<script"))
	require.Equal(t, 2, strings.Count(page, "</script"))
	require.NotContains(t, page, "<img")
	d := parse(t, []byte(page))
	require.Equal(t, "/data/"+strings.ReplaceAll(evil, "\xff", `\xff`), d.Runs[0].Profile.Files[0].Name)
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
	require.Equal(t, 3001, d.Runs[0].Profile.Charts.Rows["files"])
	require.Less(t, len(d.Runs[0].Profile.Files), 1000)
	require.LessOrEqual(t, len(d.Runs[0].Profile.Intervals), 512)
	io := run.Profile.IO()
	var calls int64
	for _, v := range d.Runs[0].Profile.Intervals {
		calls += v.Calls
	}
	require.Equal(t, io.Calls, calls)
}

func TestEmpty(t *testing.T) {
	p := new(profile.Collector).Profile()
	d := parse(t, write(t, []Run{{Name: "empty", Profile: p}}, nil))
	require.Zero(t, d.Runs[0].Profile.Events)
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
