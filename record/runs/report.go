package runs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/table"
	"pianola/record"
)

// printStopped prints why calls were recorded in the slower way.
func (r *Recorder) printStopped(result *record.Result) {
	for _, why := range slices.Sorted(maps.Keys(result.Stopped)) {
		console.Warn("%s: %s: %s; it stopped at each recorded call", r.Name, table.Plural(result.Stopped[why], "process"), why)
	}
}

// printProbed prints which functions of the layers were found.
func (r *Recorder) printProbed(result *record.Result) {
	for _, l := range r.Record.Layers {
		functions, stepped := 0, 0
		var files []string
		for _, p := range result.Probed {
			if p.Layer != l.Name {
				continue
			}
			functions += p.Functions
			stepped += p.Stepped
			if p.Functions > 0 {
				files = append(files, filepath.Base(p.File))
			}
			if p.Err != nil {
				console.Warn("%s: layer %s: %s: %v", r.Name, l.Name, p.File, p.Err)
			}
			if p.Late > 0 {
				console.Warn("%s: layer %s: %s was probed %v after it was opened; calls before that are not recorded", r.Name, l.Name, p.File, p.Late.Round(time.Microsecond))
			}
		}
		switch {
		case functions+stepped == 0:
			console.Warn("%s: layer %s: no library was found: %s", r.Name, l.Name, strings.Join(l.Libraries, " "))
		case stepped > 0:
			console.Warn("%s: layer %s: %s not probed, because each call would cost several microseconds", r.Name, l.Name, table.Plural(stepped, "function"))
			console.Suggest("pianola layer check " + l.Name + " lists them; --slow-functions probes them, too")
		}
		if functions > 0 && result.Spans[l.Name] == 0 {
			console.Warn("%s: layer %s: no calls were recorded: no process called a probed function of %s", r.Name, l.Name, strings.Join(files, ", "))
		}
	}
}

// printLost prints how many events were lost.
func (r *Recorder) printLost(result *record.Result) {
	if result.Lost == 0 {
		return
	}
	var ops, processors []string
	for _, op := range slices.Sorted(maps.Keys(result.LostByOp)) {
		ops = append(ops, fmt.Sprintf("%s=%d", op, result.LostByOp[op]))
	}
	console.Warn("%s: %d events lost, %d recorded: %s", r.Name, result.Lost, result.Events, strings.Join(ops, " "))
	for cpu, n := range result.LostByCPU {
		if n > 0 {
			processors = append(processors, fmt.Sprintf("%d on processor %d", n, cpu))
		}
	}
	if len(processors) == 0 {
		return // a larger buffer would not have helped
	}
	console.Warn("%s: the buffer was full for %s", r.Name, strings.Join(processors, ", "))
	if ring := int64(r.Record.RingBytes); ring < record.MaxRingBytes {
		console.Suggest("a larger buffer loses fewer: --ring " + format.SizeText(min(4*ring, record.MaxRingBytes)))
	}
}
