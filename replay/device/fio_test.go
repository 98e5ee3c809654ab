package device

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measuredFio is the output of fio 3.33 for a device with 1500 reads, 400 writes, 20 MiB
// read and 10 MiB written a second.
func measuredFio(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/fio.json")
	require.NoError(t, err)
	return text
}

func TestReadFio(t *testing.T) {
	jobs, skipped, err := ReadFio(bytes.NewReader(append([]byte("note: both iodepth >= 1\n"), measuredFio(t)...)))
	require.NoError(t, err)
	require.Empty(t, skipped)
	var samples []Sample
	byName := map[string]*Job{}
	for _, j := range jobs {
		samples = append(samples, j)
		byName[j.Name()] = j
	}
	deep := byName["randwrite-4k-deep"]
	require.Equal(t, 32, deep.depth)
	require.True(t, deep.direct)
	require.EqualValues(t, 4096, deep.size)
	require.InDelta(t, 0.0788, deep.write.mean, 0.0005)
	grow := byName["fsync-grow-4k-4-files"]
	require.Equal(t, 4, grow.depth)
	require.EqualValues(t, 3, grow.commits)
	require.Equal(t, 1, grow.syncEvery)
	place := byName["fdatasync-4k"]
	require.Zero(t, place.commits)
	require.InDelta(t, 0.005, place.sync.mean, 0.0002, "from what is left of its run time")

	f, err := Fit(t.Context(), samples, Cache{})
	require.NoError(t, err)
	require.InEpsilon(t, 1500, f.Read.Random.IOPS, 0.1)
	require.InEpsilon(t, 400, f.Write.Random.IOPS, 0.1)
	require.InEpsilon(t, 20.97e6, f.Read.Bandwidth, 0.1)
	require.InEpsilon(t, 10.49e6, f.Write.Bandwidth, 0.1)
	for _, s := range samples {
		for _, h := range Compare(s, f) {
			if h.Measured > 2 {
				require.InDelta(t, 0, h.Error(), 0.25, "%s of %s", h.Class, h.Name)
			}
		}
	}
}

func TestFioSkips(t *testing.T) {
	with := func(options string) string {
		return `{"fio version": "fio-3.33", "global options": {"direct": "1"}, "jobs": [{"jobname": "j", "job options": {` + options + `},
			"read": {"total_ios": 10, "iops": 10, "runtime": 1000, "lat_ns": {"mean": 1000}}, "write": {"total_ios": 10, "iops": 10, "runtime": 1000, "lat_ns": {"mean": 1000}}}]}`
	}
	for options, want := range map[string]string{
		`"rw": "randread", "bs": "4k"`:                           "",
		`"readwrite": "randrw:2", "bs": "64KiB", "iodepth": "4"`: "",
		`"rw": "trim"`:                                            "j: rw=trim is not modelled",
		`"rw": "write", "direct": "0"`:                            "j: its writes are the page cache's: neither direct nor synced",
		`"rw": "randread", "direct": "0"`:                         "j: its reads are in the page cache in part: direct=1 reads the device",
		`"rw": "randwrite", "fsync": "1", "overwrite": "1"`:       "j: an fsync after writes in place commits or not, depending on the clock: use fdatasync",
		`"rw": "write", "fsync": "1"`:                             "j: it has no times of its syncs",
		`"bssplit": "4k/50"`:                                      "j: bssplit is not modelled",
		`"bs": "4q"`:                                              "j: bs=4q: not a number that is known here",
		`"bs": "0"`:                                               "j: bs is not from 1 byte to 1 GiB",
		`"iodepth": "99999", "ioengine": "libaio"`:                "j: not from 1 to 1024 requests in flight",
		`"thinktime": "1y"`:                                       "j: thinktime=1y: not a time that is known here",
		`"thinktime": "10", "iodepth": "2", "ioengine": "libaio"`: "j: thinktime with an iodepth above 1 is not modelled",
	} {
		jobs, skipped, err := ReadFio(strings.NewReader(with(options)))
		require.NoError(t, err, options)
		if want == "" {
			require.Len(t, jobs, 1, options)
			continue
		}
		require.Equal(t, []string{want}, skipped, options)
	}
}

func TestFioErrors(t *testing.T) {
	two := `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "groupid": 0}, {"jobname": "b", "groupid": 0}]}`
	for text, want := range map[string]string{
		"":                        "not JSON of fio: want the output of fio --output-format=json",
		"fio: no such file\n":     "not JSON of fio",
		"{":                       "line 1: unexpected EOF",
		"note\n{\n\"jobs\": 5\n}": "line 3: jobs: want a []device.fioJob, not a number",
		"note\n{\n]":              "line 3: invalid character",
		"{}":                      `not JSON of fio: it has no "fio version"`,
		two:                       `jobs "a" and "b" ran at the same time: the option stonewall has them run one after the other`,
	} {
		_, _, err := ReadFio(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestFioNumbers(t *testing.T) {
	for text, want := range map[string]int64{"4096": 4096, "4k": 4096, "4K": 4096, "4KiB": 4096, "4kb": 4096, "1m": 1 << 20, "2g": 2 << 30, "0": 0} {
		v, err := parseFioSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, v, text)
	}
	for text, want := range map[string]time.Duration{"500": 500 * time.Microsecond, "10ms": 10 * time.Millisecond, "2s": 2 * time.Second} {
		v, err := parseFioTime(text)
		require.NoError(t, err, text)
		require.EqualValues(t, want, v, text)
	}
	for _, text := range []string{"", "k", "-1", "1e9", "99999999999999999999", "9999999999g"} {
		_, err := parseFioSize(text)
		require.Error(t, err, text)
	}
}

// A model can repeat the jobs of any JSON of fio.
func FuzzReadFio(f *testing.F) {
	f.Add(measuredFio(f))
	f.Add([]byte(`{"fio version": "fio-3.33", "jobs": [{"jobname": "j", "read": {"total_ios": 1, "iops": 1, "runtime": 1, "lat_ns": {"mean": 1, "percentile": {"50": 1}}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		jobs, _, err := ReadFio(bytes.NewReader(text))
		if err != nil {
			return
		}
		var s spreads
		for _, j := range jobs[:min(len(jobs), 4)] {
			j.measure(disk())
			j.spread(disk(), &s)
		}
		all := s.percentiles()
		require.NoError(t, (&Fitted{Read: disk().Read, Write: disk().Write, Spread: all}).Check())
	})
}
