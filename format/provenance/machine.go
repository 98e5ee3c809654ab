package provenance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// read returns the text of a file below the root, without space around it; empty if
// it can't be read.
func (s system) read(path ...string) string {
	text, err := os.ReadFile(filepath.Join(s.root, filepath.Join(path...)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// cpu returns the model of the first processor.
func (s system) cpu() string {
	fields := map[string]string{}
	for line := range strings.Lines(s.read("proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); fields[key] == "" {
			fields[key] = strings.TrimSpace(value)
		}
	}
	if part := fields["CPU part"]; part != "" { // arm64 has numbers only
		return "implementer " + fields["CPU implementer"] + " part " + part
	}
	return fields["model name"]
}

// load returns the load averages of the last 1, 5 and 15 minutes.
func (s system) load() string {
	fields := strings.Fields(s.read("proc/loadavg"))
	if len(fields) < 3 {
		return ""
	}
	return strings.Join(fields[:3], " ")
}

// Ticks are times of processors together since the machine began, in hundredths of a second.
type Ticks struct {
	All    uint64
	Idle   uint64 // also while something waited for storage
	Stolen uint64 // taken by the host of a virtual machine
}

// Busy returns for how long processors had something to do, with what the host took.
func (t *Ticks) Busy() uint64 { return t.All - t.Idle }

// StolenSince returns which share of the busy time since an earlier reading the host had.
func (t *Ticks) StolenSince(from Ticks) float64 {
	busy := float64(t.Busy()) - float64(from.Busy())
	if busy <= 0 {
		return 0
	}
	return min(max((float64(t.Stolen)-float64(from.Stolen))/busy, 0), 1)
}

// Processors says what processors did.
type Processors struct {
	All     Ticks // of all processors
	Allowed Ticks // of those that this process may use
}

// ReadProcessors reads /proc/stat: proc_stat(5).
func ReadProcessors() (p Processors, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p, err
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return p, fmt.Errorf("read which processors may be used: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(line, "cpu")
		if !ok {
			break
		}
		name, values, _ := strings.Cut(name, " ")
		to := &p.All
		if name != "" {
			if n, err := strconv.Atoi(name); err != nil || !allowed.IsSet(n) {
				continue
			}
			to = &p.Allowed
		}
		if err := to.add(values); err != nil {
			return p, fmt.Errorf("/proc/stat: %w", err)
		}
	}
	return p, nil
}

// add adds a line of /proc/stat without its name.
func (t *Ticks) add(values string) error {
	for i, word := range strings.Fields(values) {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return err
		}
		switch i {
		case 0, 1, 2, 5, 6: // user, nice, system, irq, softirq
		case 3, 4: // idle, iowait
			t.Idle += n
		case 7:
			t.Stolen += n
		default:
			continue // part of another one
		}
		t.All += n
	}
	return nil
}

// pressure returns in which part of the last ten seconds some task waited for each
// resource, in per cent.
func (s system) pressure() string {
	var parts []string
	for _, resource := range []string{"cpu", "io", "memory"} {
		_, rest, _ := strings.Cut(s.read("proc/pressure", resource), "some avg10=")
		if share, _, ok := strings.Cut(rest, " "); ok {
			parts = append(parts, resource+"="+share)
		}
	}
	return strings.Join(parts, " ")
}
