package pattern

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/testkit"
)

// The tables of the documentation are those of the structs.
func TestKeys(t *testing.T) {
	const name, mark = "../docs/reference/patterns.md", "-update. -->\n"
	page, err := os.ReadFile(name)
	require.NoError(t, err)
	text, _, found := strings.Cut(string(page), mark)
	require.True(t, found)
	var b strings.Builder
	for _, s := range []struct {
		title string
		of    any
	}{{"The pattern", document{}}, {"`directories` and `files`", entry{}}, {"`groups`", group{}}} {
		table(t, &b, s.title, "", reflect.TypeOf(s.of))
	}
	for i := 0; i < len(kinds); i++ {
		k := kinds[i]
		title, doc, typ := "`"+k.name+"`", k.doc, reflect.TypeOf(k.make()).Elem()
		// Steps of one type have one table.
		for i+1 < len(kinds) && reflect.TypeOf(kinds[i+1].make()).Elem() == typ {
			i++
			title += ", `" + kinds[i].name + "`"
			doc += "; " + kinds[i].doc
		}
		table(t, &b, title, doc, typ)
		if k.name == "mix" {
			table(t, &b, "`of` of a mix", "", reflect.TypeFor[alternative]())
		}
	}
	testkit.Golden(t, "../"+name, []byte(text+mark+b.String()))
}

// table appends the table of a struct.
func table(t *testing.T, b *strings.Builder, title, doc string, typ reflect.Type) {
	fmt.Fprintf(b, "\n### %s\n\n", title)
	if doc != "" {
		fmt.Fprintf(b, "%s%s.\n\n", strings.ToUpper(doc[:1]), doc[1:])
	}
	b.WriteString("| key | value | default | |\n| --- | --- | --- | --- |\n")
	for _, key := range keys(typ) {
		f, _ := field(typ, key)
		require.NotEmpty(t, f.Tag.Get("doc"), "%s of %s", key, title)
		standard, optional := f.Tag.Lookup("default")
		_, left := f.Tag.Lookup("optional")
		require.False(t, optional && left)
		switch {
		case optional:
			standard = "`" + standard + "`"
		case !left:
			standard = "needed"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key, value(f), standard, f.Tag.Get("doc"))
	}
}

// value says what a field takes.
func value(f reflect.StructField) string {
	words := "`" + strings.Join(strings.Fields(f.Tag.Get("of")), "` `") + "`"
	switch reflect.Zero(f.Type).Interface().(type) {
	case number:
		if unit := f.Tag.Get("unit"); unit != "" {
			return unit
		}
		return "number"
	case template:
		return "name of a file"
	case handle, variable:
		return "name"
	case text:
		return "text"
	case word:
		return words
	case []step:
		return "list of steps"
	}
	if f.Tag.Get("of") != "" {
		return "list of " + words
	}
	return "list"
}
