package internal

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planned reads the tables of the plan in CONTRIBUTING.md: the place of each package of
// today, and the rooms that each room may import besides itself and internal.
func planned(t *testing.T) (places map[string]string, rooms map[string][]string) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	_, plan, found := strings.Cut(string(text), "\n## The plan of the house\n")
	require.True(t, found)
	places, rooms = make(map[string]string), make(map[string][]string)
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(plan) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		names := quoted.FindAllStringSubmatch(cells[0], -1)
		switch {
		case len(names) > 0:
			where, _, _ := strings.Cut(cells[1], ";")
			where, _, _ = strings.Cut(where, ", without")
			to := strings.Split(where, ", ")
			for i, name := range names {
				place := name[1]
				if where != "stay" && where != "stays" {
					require.Len(t, to, len(names), line)
					place = to[i]
				}
				require.Empty(t, places[name[1]], "%s has two places", name[1])
				places[name[1]] = place
			}
		case len(cells) == 3 && cells[0] != "room" && cells[0] != "---":
			for room := range strings.SplitSeq(cells[0], ", ") {
				rooms[room] = strings.Split(cells[2], ", ")
			}
		}
	}
	return places, rooms
}

// roomOf returns the room of a place.
func roomOf(place string) string {
	room, _, _ := strings.Cut(place, "/")
	return room
}

// TestPlan holds that each package has a place in the plan, and that no import between two
// packages is one that the plan forbids. Kits for tests may import what they test.
func TestPlan(t *testing.T) {
	places, rooms := planned(t)
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, places, len(lines), "packages that have a place but are gone")
	for _, line := range lines {
		words := strings.Fields(strings.ReplaceAll(line, "pianola/", ""))
		from := places[words[0]]
		require.NotEmpty(t, from, "%s has no place in the plan of CONTRIBUTING.md", words[0])
		may, known := rooms[roomOf(from)]
		require.True(t, known, "%s: no such room", from)
		for _, imported := range words[1:] {
			to, ours := places[imported]
			if !ours || roomOf(to) == roomOf(from) || roomOf(to) == "internal" || strings.HasPrefix(from, "internal/testkit") || slices.Contains(may, "all") {
				continue
			}
			require.Contains(t, may, roomOf(to), "%s, which goes to %s, imports %s, which goes to %s", words[0], from, imported, to)
		}
	}
}
