package cli

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// A name in sameOptions stands for an option of some command. No command has two options
// of a group, so the one that is suggested is the only one.
func TestSameOptions(t *testing.T) {
	commands := newApp().VisibleCommands()
	for _, same := range sameOptions {
		for _, name := range same {
			require.True(t, slices.ContainsFunc(commands, func(c *cli.Command) bool {
				return slices.Contains(optionNames(c), dashed(name))
			}), "no command has %s", name)
		}
		for _, c := range commands {
			var found []string
			for _, f := range c.VisibleFlags() {
				if slices.ContainsFunc(f.Names(), func(name string) bool { return slices.Contains(same, name) }) {
					found = append(found, f.Names()[0])
				}
			}
			require.LessOrEqual(t, len(found), 1, "%s has %v", c.Name, found)
		}
	}
}
