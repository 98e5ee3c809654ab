package profile

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pianola/internal/table"
)

// Finding is one thing to look at: what takes the time, by how much, and what to do
// about it.
type Finding struct {
	Rule    string  `json:"rule"`          // that found it
	Claim   string  `json:"-"`             // what the text begins with: what takes how much of the time
	Text    string  `json:"text"`          // sentences
	Seconds float64 `json:"seconds"`       // that it is about
	Share   float64 `json:"share"`         // of the run time or, as the text says, of the time that threads did not wait
	Try     string  `json:"try,omitempty"` // a command, for a shell

	Candidates []string `json:"-"` // candidates of the lab that the command tries
	ReadsOnly  bool     `json:"-"` // it is about reads only
}

// findingWidth is how many characters a line of a finding has, where words allow.
const findingWidth = table.Width

// diagnosis shows what to look at first.
func (o *overview) diagnosis() {
	for i := range o.Diagnosis {
		if i == 0 {
			o.b.WriteByte('\n')
		}
		f := &o.Diagnosis[i]
		o.line("%s", wrap(strconv.Itoa(i+1)+". "+f.Text, findingWidth, "   "))
		if f.Try != "" {
			o.line("   try: %s", f.Try)
		}
	}
}

// wrap breaks a text between words, but not before a per cent sign, into lines of at most
// so many characters. All but the first begin with the indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(strings.ReplaceAll(text, " %", "\x00%"), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return strings.ReplaceAll(b.String(), "\x00", " ")
}
