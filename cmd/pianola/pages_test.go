package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Every relative link of a page leads to a file of the repository, and every anchor to a
// heading of the page that it names.
func TestLinks(t *testing.T) {
	headings := map[string]map[string]bool{} // by page: the anchors of its headings
	links := map[string][]string{}
	eachPage(t, func(page, text string) { headings[page], links[page] = anchorsAndLinks(text) })
	for page, targets := range links {
		for _, target := range targets {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			name, anchor, anchored := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: no file for the link to %s", page, target)
				continue
			}
			if anchored && !headings[file][anchor] {
				t.Errorf("%s: no heading for the link to %s", page, target)
			}
		}
	}
}

// eachPage calls f with each page of the repository.
func eachPage(t *testing.T, f func(page, text string)) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	pages := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "demo") {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		pages++
		f(path, string(text))
		return err
	}))
	require.NotZero(t, pages)
}

// A cell of a table is short enough to be read in a table.
func TestTableCells(t *testing.T) {
	const longest = 250 // characters
	eachPage(t, func(page, text string) {
		inside := false
		for number, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inside = !inside
			}
			if inside || !strings.HasPrefix(line, "|") {
				continue
			}
			for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, ""), "|") {
				if n := utf8.RuneCountInString(strings.TrimSpace(cell)); n > longest {
					t.Errorf("%s:%d: a cell of %d characters", page, number+1, n)
				}
			}
		}
	})
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	htmlAnchor = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
)

// anchorsAndLinks returns what can be linked to in a page, and the targets of its links.
// Blocks of code have neither.
func anchorsAndLinks(text string) (anchors map[string]bool, links []string) {
	anchors = map[string]bool{}
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		}
		if inside {
			continue
		}
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			anchors[anchorOf(title)] = true
		}
		for _, found := range htmlAnchor.FindAllStringSubmatch(line, -1) {
			anchors[found[1]] = true
		}
		for _, found := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "``"), -1) {
			links = append(links, found[1])
		}
	}
	return anchors, links
}

// anchorOf returns the anchor that GitHub gives a heading: lower case, words joined by
// hyphens, without punctuation.
func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}
