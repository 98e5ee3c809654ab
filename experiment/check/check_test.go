package check

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/profile"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text, metric, unit string
		above              bool
		of                 Kind
		bound              float64
	}{
		{"run_time > +5%", "run_time", "seconds", true, Share, 0.05},
		{"sync.p99 > +10%", "sync.p99", "seconds", true, Share, 0.1},
		{" sync.p99>+10% ", "sync.p99", "seconds", true, Share, 0.1},
		{"fsync.p999 > 5ms", "fsync.p999", "seconds", true, Value, 0.005},
		{"run_time > 1.5m", "run_time", "seconds", true, Value, 90},
		{"openat.max > 250µs", "openat.max", "seconds", true, Value, 250e-6},
		{"mapped_read.seconds > +0%", "mapped_read.seconds", "seconds", true, Share, 0},
		{"submit_and_wait.p50 > +.5%", "submit_and_wait.p50", "seconds", true, Share, 0.005},
		{"read.bytes_per_second < -5%", "read.bytes_per_second", "bytes_per_second", false, Share, -0.05},
		{"read.bytes_per_second < 100MB/s", "read.bytes_per_second", "bytes_per_second", false, Value, 100e6},
		{"write.bytes > 64MiB", "write.bytes", "bytes", true, Value, 64 << 20},
		{"write.bytes < 1kB", "write.bytes", "bytes", false, Value, 1000},
		{"metadata.calls < -99.9%", "metadata.calls", "calls", false, Share, -0.999},
		{"metadata.calls > 1000", "metadata.calls", "calls", true, Value, 1000},
		{"fsync.calls > +0", "fsync.calls", "calls", true, Difference, 0},
		{"fsync.calls<-3", "fsync.calls", "calls", false, Difference, -3},
		{"write.bytes > +64KiB", "write.bytes", "bytes", true, Difference, 64 << 10},
		{"write.bytes > +0", "write.bytes", "bytes", true, Difference, 0},
		{"write.bytes > 0", "write.bytes", "bytes", true, Value, 0},
		{"sync.p99 > +5ms", "sync.p99", "seconds", true, Difference, 0.005},
		{"read.bytes_per_second < -1MB/s", "read.bytes_per_second", "bytes_per_second", false, Difference, -1e6},
		{"calls > +0", "calls", "calls", true, Difference, 0},
		{"bytes < -1%", "bytes", "bytes", false, Share, -0.01},
		{"requests.rate < -5%", "requests.rate", "requests_per_second", false, Share, -0.05},
		{"requests.rate < 1000", "requests.rate", "requests_per_second", false, Value, 1000},
		{"requests.rate < 1000/s", "requests.rate", "requests_per_second", false, Value, 1000},
		{"requests.count < -1", "requests.count", "requests", false, Difference, -1},
		{"requests.p99 > 20ms", "requests.p99", "seconds", true, Value, 0.02},
		{"bytes_per_second < 1MB", "bytes_per_second", "bytes_per_second", false, Value, 1e6},
	} {
		c, err := Parse(test.text)
		require.NoError(t, err, test.text)
		require.Equal(t, test.metric, c.Name, test.text)
		require.Equal(t, test.unit, c.unit.name, test.text)
		require.Equal(t, test.above, c.Above, test.text)
		require.Equal(t, test.of, c.Of, test.text)
		require.InDelta(t, test.bound, c.Bound, 1e-9, test.text)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want, hint, word string }{
		{"", `check "": at byte 0: expected a class, an operation, requests, calls, bytes, bytes_per_second or run_time`, "classes are", ""},
		{"synk.p99 > +10%", `check "synk.p99 > +10%": at byte 0: no class or operation "synk"`, "classes are", "synk"},
		{"sync > +10%", `check "sync > +10%": at byte 4: expected a figure after sync, such as sync.p99`, "p99", ""},
		{"sync.p98 > +10%", `check "sync.p98 > +10%": at byte 5: no figure "p98"`, "bytes_per_second", "p98"},
		{"requests > +10%", `check "requests > +10%": at byte 8: expected a figure after requests, such as requests.p99`, "figures are rate, count, p50, p90, p99, p999, max", ""},
		{"requests.bytes > 1kB", `check "requests.bytes > 1kB": at byte 9: no figure "bytes"`, "rate, count, p50", "bytes"},
		{"requests.rate > 5", `check "requests.rate > 5": at byte 14: a check of requests.rate needs <, because smaller is worse`, "requests.rate < -10%", ""},
		{"read.rate < -5%", `check "read.rate < -5%": at byte 5: no figure "rate"`, "bytes_per_second", "rate"},
		{"sync.p99", `check "sync.p99": at byte 8: expected > or < after sync.p99`, "sync.p99 > +10%", ""},
		{"sync.p99 >= 5ms", `check "sync.p99 >= 5ms": at byte 9: want > or <, not >=`, "", ""},
		{"sync.p99 < 5ms", `check "sync.p99 < 5ms": at byte 9: a check of sync.p99 needs >, because larger is worse`, "a check states the condition that fails: sync.p99 > +10%", ""},
		{"run_time < -5%", `check "run_time < -5%": at byte 9: a check of run_time needs >, because larger is worse`, "run_time > +10%", ""},
		{"read.bytes_per_second > +5%", `check "read.bytes_per_second > +5%": at byte 22: a check of read.bytes_per_second needs <, because smaller is worse`, "read.bytes_per_second < -10%", ""},
		{"read.calls > -5%", `check "read.calls > -5%": at byte 13: > needs a change with +, not -`, "smaller (< -5%)", ""},
		{"read.calls < +5%", `check "read.calls < +5%": at byte 13: < needs a change with -, not +`, "larger (> +5%)", ""},
		{"read.calls < -100%", `check "read.calls < -100%": at byte 13: a metric cannot change by -100%`, "", ""},
		{"read.calls > +2000000%", `check "read.calls > +2000000%": at byte 13: a metric cannot change by +2000000%`, "", ""},
		{"sync.p99 > 10%", `check "sync.p99 > 10%": at byte 11: a change needs a sign`, "write +10%", ""},
		{"sync.p99 > -5ms", `check "sync.p99 > -5ms": at byte 11: > needs a change with +, not -`, "smaller (< -5%)", ""},
		{"sync.calls < +1", `check "sync.calls < +1": at byte 13: < needs a change with -, not +`, "larger (> +5%)", ""},
		{"sync.bytes > +9", `check "sync.bytes > +9": at byte 15: no unit "" of sync.bytes`, "B, kB", ""},
		{"sync.calls > +0k", `check "sync.calls > +0k": at byte 15: no unit "k" of sync.calls`, "none, such as 1000", ""},
		{"calls.p99 > 5ms", `check "calls.p99 > 5ms": at byte 5: expected > or < after calls`, "calls > +10%", ""},
		{"p99 > 5ms", `check "p99 > 5ms": at byte 0: no class or operation "p99"`, "classes are", "p99"},
		{"sync.p99 > 5", `check "sync.p99 > 5": at byte 12: no unit "" of sync.p99`, "ns, us, µs, ms, s, m, h", ""},
		{"sync.p99 > 5MB", `check "sync.p99 > 5MB": at byte 12: no unit "MB" of sync.p99`, "ns, us", ""},
		{"sync.calls > 5k", `check "sync.calls > 5k": at byte 14: no unit "k" of sync.calls`, "none, such as 1000", ""},
		{"sync.p99 > ", `check "sync.p99 > ": at byte 11: expected a bound`, "+10% or 5ms", ""},
		{"sync.p99 > ++5%", `check "sync.p99 > ++5%": at byte 11: expected a bound`, "", ""},
		{"sync.p99 > +1.2.3%", `check "sync.p99 > +1.2.3%": at byte 11: expected a bound`, "", ""},
		{"sync.p99 > infs", `check "sync.p99 > infs": at byte 11: expected a bound`, "", ""},
		{"sync.bytes > 9999999999TiB", `check "sync.bytes > 9999999999TiB": at byte 13: 9999999999TiB is too large`, "", ""},
		{"sync.p99 > +10% and", `check "sync.p99 > +10% and": at byte 16: unexpected "and" after the bound`, "", ""},
	} {
		_, err := Parse(test.text)
		require.EqualError(t, err, test.want)
		wrong, ok := errors.AsType[*Error](err)
		require.True(t, ok)
		require.Contains(t, wrong.Hint, test.hint, test.text)
		require.Equal(t, test.word, wrong.Word, test.text)
		if test.word != "" {
			require.Greater(t, len(wrong.Names), 5)
		}
	}
}

// A parsed check prints as text that parses to the same check, and the position of an
// error lies in the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"run_time > +5%", "sync.p99 > 5ms", "read.bytes_per_second < -5%", "write.bytes < 1.5GiB", "read.calls > 1000", "synk", "a.b > +", "sync.p99 > µ", "fsync.calls > +0", "write.bytes < -1.5GiB", "calls > +0", "bytes > +1%", "bytes_per_second < -0", "sync.p99 > +5ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			wrong, ok := errors.AsType[*Error](err)
			require.True(t, ok)
			require.LessOrEqual(t, wrong.Offset, len(text))
			require.GreaterOrEqual(t, wrong.Offset, 0)
			return
		}
		again, err := Parse(c.String())
		require.NoError(t, err)
		require.Equal(t, c.String(), again.String())
		require.Equal(t, [4]any{c.Name, c.Above, c.Of, c.Bound}, [4]any{again.Name, again.Above, again.Of, again.Bound})
		require.Equal(t, c.Of != Value && !c.Above && c.Bound != 0, c.Bound < 0)
		base := Side{Name: "old", Runs: []*profile.Profile{{}, {RunTime: 1}}}
		require.NotEmpty(t, Text(Evaluate([]*Check{c}, base, base, "")))
	})
}
