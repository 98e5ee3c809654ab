package provenance

import (
	"fmt"
	"slices"
	"strings"

	"pianola/format"
)

// Difference is a remark in which the sides of a comparison differ.
type Difference struct {
	Name        string `json:"name"` // for people
	Application string `json:"application"`
	Replay      string `json:"replay"`
	Intended    bool   `json:"intended"` // it may be what is compared
}

// Differences returns in what the runs of two sides differ, given the remarks of
// each run, in the order of Remarks. A remark that a side lacks does not differ. Of
// runs of one side that differ, all values are named.
func Differences(applications, replays [][]format.Meta) (all []Difference) {
	for _, r := range Remarks {
		if r.Role == Told {
			continue
		}
		a, b := values(applications, r.Key), values(replays, r.Key)
		if len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
			all = append(all, Difference{r.Name, strings.Join(a, " and "), strings.Join(b, " and "), r.Role == Compared})
		}
	}
	return all
}

// maxValue bounds what is shown of a value, in bytes: headers are untrusted.
const maxValue = 256

// values returns the distinct values that runs have of a remark, sorted, each as one
// line of text.
func values(runs [][]format.Meta, key string) (list []string) {
	for _, meta := range runs {
		if v, ok := (&format.Header{Meta: meta}).Value(key); ok {
			if len(v) > maxValue {
				v = v[:maxValue] + "…"
			}
			list = append(list, format.Visible(v))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Notes say the differences of sides with these names in at most two lines: a
// warning of what should be the same, and what may be compared.
func Notes(names [2]string, all []Difference) (lines []string) {
	var parts [2][]string
	for _, d := range all {
		k := 0
		if d.Intended {
			k = 1
		}
		parts[k] = append(parts[k], fmt.Sprintf("%s %s / %s", d.Name, d.Application, d.Replay))
	}
	for k, begin := range [2]string{"note: the sides differ in: ", fmt.Sprintf("storage, %s / %s: ", names[0], names[1])} {
		if len(parts[k]) > 0 {
			lines = append(lines, begin+strings.Join(parts[k], "; "))
		}
	}
	return lines
}
