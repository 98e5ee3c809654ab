package layer

import (
	"embed"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

//go:embed *.json
var shipped embed.FS

// Names returns the layers that ship, sorted.
func Names() (names []string) {
	entries, err := shipped.ReadDir(".")
	if err != nil {
		panic(err) // internal error: it is embedded
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Load returns a layer: one that ships, by its name, or else that of a description, by
// the name of its file, which has a slash or ends in .json.
func Load(name string) (*Layer, error) {
	if strings.Contains(name, "/") || path.Ext(name) == ".json" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		l, err := Parse(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return l, nil
	}
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("no layer %.100q: %s; one of your own is a file NAME.json", name, strings.Join(Names(), ", "))
	}
	f, err := shipped.Open(name + ".json")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f)
}
