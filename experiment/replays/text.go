package replays

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/replay"
)

// WriteText writes the totals of several traces, and of each trace how true its complete runs
// are, and what was replayed: by operation for a single run, in a line for each of several
// runs. Copies have a row in the totals. It needs a run.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if len(r.list) > 1 {
		r.writeTotals(&b)
	} else if len(r.list[0].beside) > 0 {
		writeRows(&b, r.list)
		fmt.Fprintln(&b)
	}
	if len(r.list) > len(r.traces) {
		for _, t := range r.traces {
			r.writeCopies(&b, t)
		}
	} else {
		for _, p := range r.list {
			if len(r.list) > 1 {
				fmt.Fprintf(&b, "\n%s:\n", p.label())
			}
			if err := p.write(&b); err != nil {
				return err
			}
		}
	}
	for _, p := range r.list {
		p.writeBeside(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// write writes how true the complete runs are, and then what was replayed.
func (p *played) write(b *bytes.Buffer) error {
	if c := p.compare(); c != nil {
		if err := c.WriteText(b, compare.TextOptions{Tolerance: compare.NoTolerance}); err != nil {
			return err
		}
		fmt.Fprintln(b)
	}
	if len(p.runs) == 1 {
		p.runs[0].write(b)
	} else {
		p.writeRuns(b)
	}
	return nil
}

// writeBeside writes how the runs of the other backends differed from the recording.
func (p *played) writeBeside(b *bytes.Buffer) {
	for _, other := range p.beside {
		for _, r := range other.runs {
			for _, note := range r.Notes {
				fmt.Fprintf(b, "%s: %s\n", strings.TrimSpace(other.label()), note)
			}
			for i := range r.Differences {
				fmt.Fprintf(b, "%s differed: %s\n", strings.TrimSpace(other.label()), &r.Differences[i])
			}
		}
	}
}

func (p *played) writeRuns(b *bytes.Buffer) {
	rows := [][]string{{"run", "elapsed ms", "executed", "failed", "differed", "late p50", "p99", "p99.9", "max", "waited for others"}}
	var united []*replay.Result // by ranks, and not ended early
	for i, r := range p.runs {
		row := []string{table.Count(int64(i + 1)), millis(r.Elapsed.Nanoseconds()), table.Count(r.Executed), table.Count(r.Failed), table.Count(r.Differed)}
		for _, nanos := range r.Lateness.List() {
			row = append(row, millis(nanos))
		}
		rows = append(rows, append(slices.Delete(row, 6, 7), millis(r.OrderWait.Nanoseconds()))) // without p90
		if len(r.Ranks) > 0 {
			united = append(united, r.Result)
		}
	}
	indented(b, rows)
	for i, r := range p.runs {
		if len(r.Differences) > 0 || r.Interrupted {
			fmt.Fprintf(b, "run %d:\n", i+1)
			r.writeDifferences(b)
		}
	}
	writeLeft(b, p.runs)
	if len(united) > 0 {
		writeRanks(b, united)
	}
}

// write writes the results of the events of a single run.
func (r *run) write(b *bytes.Buffer) {
	as := "all results are as recorded"
	if r.Differed > 0 {
		as = fmt.Sprintf("%s other than recorded", table.Plural(int(r.Differed), "result"))
	}
	fmt.Fprintf(b, "%s replayed: %s\n", table.Plural(int(r.Executed), "event"), as)
	rows := [][]string{{"operation", "executed", "left out", "regrouped", "failed", "differed"}}
	for _, o := range append(r.operations(), operation{"all", r.counts()}) {
		rows = append(rows, []string{o.name, table.Count(o.Executed), table.Count(o.LeftOut), table.Count(o.Regrouped), table.Count(o.Failed), table.Count(o.Differed)})
	}
	if r.Regrouped == 0 {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 3, 4)
		}
	}
	indented(b, rows)
	r.writeDifferences(b)
	writeLeft(b, []*run{r})
	if c := &r.Changes; r.Options.Change != nil {
		fmt.Fprintf(b, "changed by the program: %d calls inserted, %d altered, %d removed; waited for it: %d times, %v\n", c.Inserted, c.Altered, c.Removed, c.Late, c.Waited.Round(time.Microsecond))
	}
	for _, note := range r.Notes {
		fmt.Fprintln(b, note)
	}
	fmt.Fprintf(b, "lateness: p50 %v, p99 %v, p99.9 %v, max %v; waited for other threads: %v\n",
		tens(r.Lateness.P50), tens(r.Lateness.P99), tens(r.Lateness.P999), tens(r.Lateness.Max), r.OrderWait.Round(time.Microsecond))
	if len(r.Ranks) > 0 {
		writeRanks(b, []*replay.Result{r.Result})
	}
	if floor := r.profile.Floor; floor != nil {
		fmt.Fprintln(b, floor.Text())
	}
	if r.Options.Memory {
		fmt.Fprintf(b, "memory: at most %d bytes of the application's touched at a time\n", r.MemoryBytes)
	}
}

// writeDifferences writes how a run differed from the recording.
func (r *run) writeDifferences(b *bytes.Buffer) {
	for i := range r.Differences {
		fmt.Fprintln(b, "differed:", &r.Differences[i])
	}
	r.writeLacks(b)
	if r.Interrupted {
		fmt.Fprintln(b, "incomplete: not all events were replayed")
	}
}

// writeLeft writes how many events runs left because the last reply to a client ended them.
func writeLeft(b *bytes.Buffer, runs []*run) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, r := range runs {
		least, most = min(least, r.Left), max(most, r.Left)
	}
	if most == 0 {
		return
	}
	count := table.Plural(int(most), "event")
	if least < most {
		count = fmt.Sprintf("%d to %s", least, count)
	}
	verb := "were"
	if most == 1 {
		verb = "was"
	}
	fmt.Fprintf(b, "%s of the recording %s not replayed: the last reply to a client ended the replay\n", count, verb)
}

// milliseconds is the unit of all times of replays that are not those of single calls.
var milliseconds = table.Unit{Name: "ms", Seconds: 1e-3}

func millis(nanos int64) string { return milliseconds.Format(format.Seconds(nanos)) }

// tens prints nanoseconds, rounded to tens.
func tens(nanos int64) string { return time.Duration(nanos).Round(10 * time.Nanosecond).String() }

// indented writes a table whose columns are all aligned to the right.
func indented(b *bytes.Buffer, rows [][]string) {
	for i := range rows {
		rows[i] = append([]string{""}, rows[i]...)
	}
	b.WriteString(table.Format(rows, table.AllRight))
}

// writeRanks writes a row for each rank, and how long it took one to hear of another. Of
// several runs it writes medians, and the extremes of elapsed times.
func writeRanks(b *bytes.Buffer, runs []*replay.Result) {
	each := func(value func(*replay.Result) int64) (all []int64) {
		for _, r := range runs {
			all = append(all, value(r))
		}
		return all
	}
	seconds := func(nanos int64) string { return table.Fixed(format.Seconds(nanos), 6) }
	head := []string{"rank", "node", "recorded", "executed", "elapsed s", "started late", "clock within"}
	if len(runs) > 1 {
		head = slices.Insert(head, 5, "least", "most")
	}
	rows := [][]string{head}
	for i := range runs[0].Ranks {
		one := &runs[0].Ranks[i]
		elapsed := each(func(r *replay.Result) int64 { return int64(r.Ranks[i].Elapsed) })
		late := each(func(r *replay.Result) int64 { return int64(r.Ranks[i].Late) })
		row := []string{
			table.Count(int64(one.Rank)), format.Visible(one.Node), rankList(one.Recorded), table.Count(one.Events),
			seconds(stats.Median(elapsed)), time.Duration(stats.Median(late)).String(), one.Clock.String(),
		}
		if len(runs) > 1 {
			row = slices.Insert(row, 5, seconds(slices.Min(elapsed)), seconds(slices.Max(elapsed)))
		}
		rows = append(rows, row)
	}
	indented(b, rows)
	if len(runs[0].Ranks) > 1 {
		fmt.Fprintf(b, "between ranks: %s; known to the other rank after p50 %v, p99 %v, max %v\n", table.Plural(int(runs[0].Edges.Count), "edge"),
			tens(stats.Median(each(func(r *replay.Result) int64 { return r.Edges.Latency.P50 }))),
			tens(stats.Median(each(func(r *replay.Result) int64 { return r.Edges.Latency.P99 }))),
			tens(slices.Max(each(func(r *replay.Result) int64 { return r.Edges.Latency.Max }))))
	}
}

// WritePrepared writes what was prepared if nothing is replayed. It needs a run.
func (r *Report) WritePrepared(w io.Writer) error {
	var b bytes.Buffer
	for _, played := range r.list {
		if len(r.list) > 1 {
			fmt.Fprintf(&b, "%s: ", played.label())
		}
		p := &played.runs[0].Prepared
		fmt.Fprintf(&b, "prepared: %d files and %d fillers, %d of them kept, %d names removed, %d bytes written, in %v\n",
			p.Files, p.Fillers, p.Kept, p.Removed, p.Bytes, p.Elapsed.Round(time.Millisecond))
		played.runs[0].writeLacks(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeLacks writes how the files of a replay differed from the application's.
func (r *run) writeLacks(b *bytes.Buffer) {
	if n := r.Prepared.Substituted; n > 0 {
		fmt.Fprintf(b, "substituted: empty files stand for %d pipes, sockets and devices\n", n)
	}
	if n := r.Prepared.Missing; n > 0 {
		fmt.Fprintf(b, "missing: %d files of the fileset; first %q\n", n, r.Prepared.Example)
	}
}
