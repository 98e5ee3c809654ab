package profile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"pianola/format"
	"pianola/internal/stats"
)

// metricFamily is a metric of the intervals: a value for each category that occurs, or
// for each quantile of its durations.
type metricFamily struct {
	name, kind, unit, help string
	of                     func(t *Total) int64 // nil for the durations
}

// busy returns the time that threads spent in calls, and that requests were in flight.
func busy(t *Total) int64 { return t.Nanos + t.Flight }

// metricFamilies lists them. The names follow the rules of OpenMetrics: a name ends with
// its unit, and a sample of a counter with _total.
var metricFamilies = []metricFamily{
	{"pianola_calls", "counter", "", "Calls and requests that began.", func(t *Total) int64 { return t.Calls }},
	{"pianola_call_errors", "counter", "", "Calls and requests that failed.", func(t *Total) int64 { return t.Errors }},
	{"pianola_moved_bytes", "counter", "bytes", "Bytes that calls and requests moved.", func(t *Total) int64 { return t.Bytes }},
	{"pianola_busy_seconds", "counter", "seconds", "Time that threads spent in calls, all together, and that requests were in flight.", busy},
	{"pianola_queue_depth", "gauge", "", "Threads in calls, and requests in flight, on average over the interval.", busy},
	{"pianola_call_duration_seconds", "summary", "seconds", "How long the calls and requests took that began in the interval; quantile 1 is the longest.", nil},
}

// metricQuantiles are the values of the label quantile, as of stats.QuantileNames.
var metricQuantiles = [len(stats.QuantileNames)]string{"0.5", "0.9", "0.99", "0.999", "1"}

// until returns the end of an interval, in nanoseconds since the start.
func (p *Profile) until(v *Span) int64 { return min(v.Start+p.Intervals.Nanos, p.RunTime) }

// WriteOpenMetrics writes the intervals of profiles as OpenMetrics text, version 1.0, for
// Prometheus and what reads the same: counters from the start of each recording, and
// gauges and quantiles of single intervals. A sample has the time of the end of its
// interval: seconds since 1970, or since the start of a recording that does not say when
// that was.
func WriteOpenMetrics(w io.Writer, series []Series) error {
	b := bufio.NewWriter(w)
	for i := range metricFamilies {
		f := &metricFamilies[i]
		fmt.Fprintf(b, "# TYPE %s %s\n", f.name, f.kind)
		if f.unit != "" {
			fmt.Fprintf(b, "# UNIT %s %s\n", f.name, f.unit)
		}
		fmt.Fprintf(b, "# HELP %s %s\n", f.name, f.help)
		for j := range series {
			for k := range NumIO {
				if series[j].Profile.Categories[k].Calls > 0 {
					f.write(b, &series[j], k)
				}
			}
		}
	}
	b.WriteString("# EOF\n")
	return b.Flush()
}

// write writes the samples of a category, those of each metric together.
func (f *metricFamily) write(b *bufio.Writer, s *Series, k Category) {
	labels := fmt.Sprintf(`recording="%s",class="%s"`, metricLabel.Replace(s.Name), k.Key())
	sum := int64(0)
	for i := range s.Profile.Intervals.List {
		v := &s.Profile.Intervals.List[i]
		end := s.Profile.until(v)
		at := s.timestamp(end)
		switch f.kind {
		case "counter":
			sum += f.of(&v.Categories[k])
			value := strconv.FormatInt(sum, 10)
			if f.unit == "seconds" {
				value = string(format.AppendSeconds(nil, sum))
			}
			fmt.Fprintf(b, "%s_total{%s} %s %s\n", f.name, labels, value, at)
		case "gauge":
			fmt.Fprintf(b, "%s{%s} %.6f %s\n", f.name, labels, float64(f.of(&v.Categories[k]))/float64(max(end-v.Start, 1)), at)
		case "summary":
			if v.Latency[k] == nil {
				continue
			}
			for j, nanos := range v.Latency[k].List() {
				fmt.Fprintf(b, "%s{%s,quantile=\"%s\"} %s %s\n", f.name, labels, metricQuantiles[j], format.AppendSeconds(nil, nanos), at)
			}
		}
	}
}

// metricLabel escapes the value of a label.
var metricLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// timestamp returns so many nanoseconds after the start as seconds of OpenMetrics.
func (s *Series) timestamp(nanos int64) string {
	at := time.Unix(0, 0)
	if !s.Start.IsZero() {
		at = s.Start
	}
	at = at.Add(time.Duration(nanos))
	return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond())
}
