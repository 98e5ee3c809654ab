// Package page writes a profile, a comparison, or the report of an experiment as one
// HTML page. The page holds its style, scripts and data, and loads nothing
// else, so it opens from disk.
//
//	Run, Comparison → document (JSON) → page.html + page.css + *.js → charts and tables in the browser
//
// The data of a page are the JSON documents of profile and compare as they are, with what
// is known of each recording. A profile's has the extent profile.Page, so the size of a page is
// bounded for any recording: tables show only the rows that took the most time, and say so.
//
// A reader can select a thread, a file, an operation and a part of the time. What a
// selection adds up to is found in the browser, from calls cut by all four (see
// profile.Parts): script/select.js holds the selection, and charts and tables follow it.
//
// Names and commands are untrusted. They are data that a script puts into text
// nodes. The page's security policy allows only the scripts and styles of this
// package, and no loading.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/profile"
)

// MaxRuns is how many runs a page can hold.
const MaxRuns = 8

// Run is one side of a page.
type Run struct {
	Name    string        // what the page calls it: "application"
	Meta    []format.Meta // the remarks of its recording
	Profile *profile.Profile
}

// Comparison is what a page shows about two runs.
type Comparison struct {
	*compare.Comparison
	Tolerance float64 // a part of 1
}

//go:embed page.html page.css script uplot/uPlot.iife.min.js uplot/uPlot.min.css
var files embed.FS

// parts are the files of a page, in order.
var (
	styles  = []string{"uplot/uPlot.min.css", "page.css"}
	scripts = []string{
		"uplot/uPlot.iife.min.js", "script/dom.js", "script/units.js", "script/theme.js", "script/select.js", "script/save.js", "script/parts.js", "script/chart.js",
		"script/bars.js", "script/grid.js", "script/heat.js", "script/ranks.js", "script/tails.js", "script/calls.js", "script/spans.js", "script/timeline.js", "script/table.js", "script/errors.js", "script/requests.js", "script/layers.js", "script/compare.js", "script/topbar.js", "script/page.js",
	}
	experimentScripts = []string{"script/dom.js", "script/units.js", "script/theme.js", "script/select.js", "script/save.js", "script/table.js", "script/bars.js", "script/experiment.js"}
)

// frame is the page without its data.
type frame struct {
	*template.Template
	Style  template.CSS
	Script template.JS
	Policy string
}

var (
	load           = sync.OnceValue(func() *frame { return newFrame(scripts) })
	loadExperiment = sync.OnceValue(func() *frame { return newFrame(experimentScripts) })
)

func newFrame(scripts []string) *frame {
	style, script := joined(styles), joined(scripts)
	return &frame{
		Template: template.Must(template.ParseFS(files, "page.html")),
		Style:    template.CSS(style),
		Script:   template.JS(script),
		Policy: "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; " +
			"style-src " + hash(style) + "; script-src " + hash(script),
	}
}

func joined(names []string) string {
	var b strings.Builder
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic("internal error: " + err.Error()) // it is embedded
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

// hash returns the hash of an inline script or style for the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes a page about one or more runs. If c is not nil, it compares
// them, and the first one is the application.
func Write(w io.Writer, runs []Run, c *Comparison) error {
	kind := "profile"
	if c != nil {
		kind = "comparison"
	}
	command, where := heading(runs)
	return load().write(w, kind, command, where, newDocument(runs, c))
}

// write writes a page of a kind about a command. where is the machine and the time of the run,
// "" if unknown.
func (f *frame) write(w io.Writer, kind, command, where string, data any) error {
	var title []string
	for _, words := range []string{command, where, "Pianola " + kind} {
		if words != "" {
			title = append(title, words)
		}
	}
	if err := f.Execute(w, struct {
		*frame
		Title, Kind, Command, Where string
		Data                        any
	}{f, strings.Join(title, " – "), kind, command, where, data}); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}
