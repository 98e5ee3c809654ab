package provenance

import (
	"os"
	"path/filepath"
	"strings"
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
