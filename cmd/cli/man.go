package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// WriteManPages writes the manual pages of pianola and of its commands to a directory:
// pianola.1, pianola-record.1, …. version and date stand in their footers.
func WriteManPages(dir, version string, date time.Time) error {
	a := newApp()
	a.Setup()
	all := manualOfAll(a)
	pages := []*manual{all}
	var others []string
	for _, c := range allCommands(a.Commands) {
		m := manualOf(c)
		pages = append(pages, m)
		others = append(others, m.pageName())
	}
	for _, m := range pages {
		see := []string{"pianola"}
		if m == all {
			see = others
		}
		page := m.roff(version, date, see)
		if err := os.WriteFile(filepath.Join(dir, m.pageName()+".1"), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pageName is the name of the manual page: pianola-record.
func (m *manual) pageName() string { return strings.ReplaceAll(m.name, " ", "-") }

// roff returns the manual page, in the macros of man(7).
func (m *manual) roff(version string, date time.Time, see []string) string {
	var t strings.Builder
	line := func(form string, args ...any) { fmt.Fprintf(&t, form+"\n", args...) }
	line(`.TH %s 1 "%s" "pianola %s" "Pianola"`, strings.ToUpper(escapeRoff(m.pageName())), date.UTC().Format(time.DateOnly), escapeRoff(version))
	line(".SH NAME\n%s \\- %s", escapeRoff(m.pageName()), escapeRoff(m.does))
	line(".SH SYNOPSIS\n.nf")
	for _, form := range m.synopsis {
		line("%s", roffLine(form))
	}
	line(".fi\n.SH DESCRIPTION")
	for i, paragraph := range m.text {
		if i > 0 {
			line(".PP")
		}
		line("%s", roffLine(paragraph))
	}
	for _, g := range m.commands {
		line(".SS %s", roffLine(g.title))
		for _, c := range g.commands {
			line(".TP\n\\fB%s\\fR(1)\n%s", escapeRoff(strings.ReplaceAll("pianola "+commandName(c), " ", "-")), roffLine(c.Usage))
		}
	}
	line(".SH OPTIONS")
	for _, g := range m.options {
		if g.title != "" {
			line(".SS %s", roffLine(g.title))
		}
		for i := range g.options {
			o := &g.options[i]
			head := `\fB` + strings.ReplaceAll(escapeRoff(o.names), ", ", `\fR, \fB`) + `\fR`
			if o.value != "" {
				head += ` \fI` + escapeRoff(o.value) + `\fR`
			}
			line(".TP\n%s\n%s", head, roffLine(o.text()))
		}
	}
	if m.also != nil {
		line(".PP\n%s", roffLine(m.others()))
	}
	if m.name == "pianola" {
		line(".SH EXIT STATUS")
		for _, s := range exitStatuses {
			line(".TP\n.B %s\n%s", s.status, roffLine(s.meaning))
		}
		line(".SH ENVIRONMENT\n.TP\n.B TMPDIR\n%s", roffLine("the directory of temporary files, which can be as large as the recordings"))
		line(".TP\n.B NO_COLOR\n%s", roffLine("has no effect: Pianola prints no colours"))
	}
	line(".SH EXAMPLES\n.nf")
	for _, example := range m.examples {
		line("%s", roffLine(example))
	}
	line(".fi")
	line(".SH SEE ALSO")
	for i, name := range see {
		comma := ","
		if i == len(see)-1 {
			comma = ""
		}
		line(`\fB%s\fR(1)%s`, escapeRoff(name), comma)
	}
	return t.String()
}

// roffLine returns text as a line that is no request.
func roffLine(text string) string {
	text = escapeRoff(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// escapeRoff returns text without escapes of roff. A - becomes that of command lines,
// and quotes stay straight.
func escapeRoff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`).Replace(text)
}
