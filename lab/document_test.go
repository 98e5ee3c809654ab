package lab

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namesOf adds the names of the fields of a document, and of those in it.
func namesOf(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		namesOf(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names[name] = true
			}
			namesOf(f.Type, names)
		}
	}
}

// Each field of the document stands in its description, and each that stands
// there is in the document.
func TestDocumentIsDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/lab.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## The document\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	names := map[string]bool{}
	namesOf(reflect.TypeFor[document](), names)
	code := regexp.MustCompile("`([a-z0-9_]+)`")
	told := map[string]bool{}
	for _, m := range code.FindAllStringSubmatch(section, -1) {
		told[m[1]] = true
	}
	for name := range names {
		require.Contains(t, told, name, "a field that is not described")
	}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
				require.Contains(t, names, m[1], "no such field")
			}
		}
	}
}
