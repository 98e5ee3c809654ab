package sides

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pianola/experiment"
)

// groupNames returns names of two groups of files: the directories in which they
// differ, or else what the names of their files begin with, or else A and B. The name
// of a single file says more than its directory.
func groupNames(files [2][]string) [2]string {
	ways := [][2]string{directoryNames(files), {prefixOf(files[0]), prefixOf(files[1])}}
	if len(files[0]) == 1 && len(files[1]) == 1 {
		slices.Reverse(ways)
	}
	for _, names := range ways {
		if names[0] != names[1] && experiment.IsName(names[0]) && experiment.IsName(names[1]) {
			return names
		}
	}
	return [2]string{"A", "B"}
}

// directoryNames returns the first elements in which the directories of two groups
// differ, empty if the files of a group are in several.
func directoryNames(files [2][]string) (names [2]string) {
	var paths [2][]string
	for side, list := range files {
		dir := filepath.Dir(list[0])
		if slices.ContainsFunc(list, func(name string) bool { return filepath.Dir(name) != dir }) {
			return names
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			return names
		}
		paths[side] = strings.Split(dir, "/")
	}
	for i := range min(len(paths[0]), len(paths[1])) {
		if a, b := paths[0][i], paths[1][i]; a != b {
			return [2]string{a, b}
		}
	}
	return names
}

// prefixOf returns what the names of files begin with, without the number and the punctuation
// at its end: ext4 of ext4-10.log and ext4-11.log. The name of a single file is that without
// its suffix.
func prefixOf(files []string) string {
	prefix := stem(files[0])
	if len(files) == 1 {
		return prefix
	}
	for _, name := range files[1:] {
		prefix = commonPrefix(prefix, stem(name))
	}
	return strings.TrimRight(strings.TrimRightFunc(prefix, unicode.IsDigit), "-_.+~ ")
}

// stem returns the name of a file without its directory, its suffix and that of a
// compression: trace-6.1 of trace-6.1.txt.zst.
func stem(name string) string {
	name = filepath.Base(name)
	for _, packed := range []string{".zst", ".gz"} {
		name = strings.TrimSuffix(name, packed)
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func commonPrefix(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return strings.ToValidUTF8(a[:n], "")
}
