package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pianola/format"
	"pianola/format/provenance"
	"pianola/profile"
)

// document is the data of a page: the facts of each recording, and the documents that
// the packages profile and compare write as JSON.
type document struct {
	Runs       []run `json:"runs"`
	Comparison any   `json:"comparison,omitempty"` // compare.Comparison.Document
}

type run struct {
	Name     string `json:"name"`
	Coverage string `json:"coverage"` // in a sentence
	Facts    []fact `json:"facts"`
	Profile  any    `json:"profile"` // profile.Profile.FullDocument
}

// fact is a line about a recording.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// facts are the remarks of a recording that the page shows, below those of its
// provenance.
var facts = []struct{ key, name string }{
	{format.MetaReplay, "replay"},
	{format.MetaFileSystems, "file systems"},
	{format.MetaCwd, "working directory"},
	{format.MetaTool, "recorder"},
	{format.MetaCost, "recorder's cost per event, ns"},
	{format.MetaLost, "events lost"},
	{format.MetaLeftOut, "left out by compile"},
	{format.MetaExit, "exit status"},
}

func newDocument(runs []Run, c *Comparison) *document {
	d := &document{}
	for i := range runs {
		d.Runs = append(d.Runs, newRun(&runs[i]))
	}
	if c != nil {
		d.Comparison = c.Document(c.Tolerance)
	}
	return d
}

func newRun(r *Run) run {
	out := run{plain(r.Name), r.Profile.Coverage.String(), []fact{}, r.Profile.FullDocument(profile.Page)}
	add := func(key, name string) {
		if v := remark(r.Meta, key); v != "" {
			out.Facts = append(out.Facts, fact{name, v})
		}
	}
	for _, f := range provenance.Remarks {
		add(f.Key, f.Name)
	}
	for _, f := range facts {
		add(f.key, f.name)
	}
	return out
}

// remark returns a remark of a recording as text, "" for none.
func remark(meta []format.Meta, key string) string {
	h := format.Header{Meta: meta}
	v, _ := h.Value(key)
	return plain(v)
}

// plain returns untrusted text as valid UTF-8 of bounded length.
func plain(s string) string { return format.CutName(s) }

// heading returns the command that was recorded, and the machines and the date of the first
// recording; each is "" if it is unknown.
func heading(runs []Run) (command, where string) {
	var machines []string
	date := ""
	for i := range runs {
		of := func(key string) string { return remark(runs[i].Meta, key) }
		command = cmp.Or(command, of(format.MetaCommand))
		if host := of(format.MetaHost); host != "" && !slices.Contains(machines, host) {
			machines = append(machines, host)
		}
		if start, err := time.Parse(time.RFC3339, of(format.MetaStart)); err == nil && date == "" {
			date = start.Format("2006-01-02 15:04 MST")
		}
	}
	where = strings.Join(machines, " and ")
	if where != "" && date != "" {
		where += ", "
	}
	return command, where + date
}
