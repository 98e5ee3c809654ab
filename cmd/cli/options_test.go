package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"pianola/replay"
)

// commandNames returns the full names of all commands, and that of pianola.
func commandNames() []string {
	names := []string{"pianola"}
	for _, c := range allCommands(newApp().Commands) {
		names = append(names, commandName(c))
	}
	return names
}

// free are options whose values are text that completion does not know.
var free = []string{
	"names", "filter", "sort", "until", "fail-if", "tolerance", "calls", "cpu", "iops", "queue", // names, expressions and numbers
	"max-size", "rotate", "last-memory", "ring", "fold", "capacity", "dirty", "readahead", "bandwidth", // sizes
}

// Each row is an option of existing commands, each of them once, and has a text, a
// group, and completion where its value is text.
func TestOptions(t *testing.T) {
	commands := commandNames()
	for _, g := range optionGroups {
		require.NotEmpty(t, g.title)
		for _, o := range g.options {
			require.NotEmpty(t, o.help, o.name)
			of := strings.Fields(o.short + " " + o.long + " " + o.also)
			require.NotEmpty(t, of, "no command has --%s", o.name)
			for i, name := range of {
				name = strings.ReplaceAll(name, "-", " ")
				require.Contains(t, commands, name, "--%s", o.name)
				require.NotContains(t, of[:i], of[i], "--%s", o.name)
				require.Same(t, o, optionOf(name, o.name), "two rows of %s have --%s", name, o.name)
			}
			for _, other := range strings.Fields(o.excludes + " " + o.needs) {
				require.True(t, slices.ContainsFunc(of, func(name string) bool { return optionOf(name, other) != nil }), "--%s: no --%s", o.name, other)
			}
			if o.check != nil {
				require.True(t, o.check(o.value) == nil || o.value == "" || o.value == 0 || o.value == time.Duration(0), "--%s: its default is wrong", o.name)
			}
			if o.oneOf != nil && o.value != "" {
				require.Contains(t, o.oneOf, o.value, o.name)
			}
			for _, mode := range strings.Fields(o.with) {
				require.True(t, slices.ContainsFunc(of, func(name string) bool { return optionOf(name, mode) != nil }), "--%s: no --%s", o.name, mode)
			}
			switch o.value.(type) {
			case string, []string:
				require.Equal(t, slices.Contains(free, o.name), o.complete == nil && o.oneOf == nil, "--%s: completion", o.name)
				require.Equal(t, 2, strings.Count(o.help, "`"), "--%s: a name of the value", o.name)
			case bool:
				require.Nil(t, o.complete, o.name)
				require.NotContains(t, o.help, "`", o.name)
			default:
				require.Equal(t, 2, strings.Count(o.help, "`"), "--%s: a name of the value", o.name)
			}
		}
	}
}

// A command has no name of an option twice, and its help is short. The options that it only
// names have their text in the help of another command.
func TestOptionsOfCommands(t *testing.T) {
	most := map[string][2]int{"bench": {10, 25}, "lab": {11, 25}} // of -h and of --help
	for _, command := range commandNames() {
		var short, long int
		seen := map[string]bool{}
		for _, o := range rowsOf(command) {
			for _, name := range o.names() {
				require.False(t, seen[name], "%s has --%s twice", command, name)
				seen[name] = true
			}
			switch {
			case isOf(command, o.short):
				short++
			case isOf(command, o.also):
				long--
				require.True(t, isOf("record", o.short, o.long) || isOf("replay", o.short, o.long) || isOf("compare", o.short, o.long), "--%s: only named", o.name)
			}
			long++
		}
		if n, ok := most[command]; ok {
			require.LessOrEqual(t, short, n[0], "%s -h", command)
			require.LessOrEqual(t, long, n[1], "%s --help", command)
		}
		require.LessOrEqual(t, short, 14, "%s -h", command)
	}
}

// A name has one text, except where its meaning or its default differs.
func TestOneMeaning(t *testing.T) {
	several := []string{"o", "root", "runs", "format", "ranks", "strict", "limit", "with"}
	texts := map[string]string{}
	for _, g := range optionGroups {
		for _, o := range g.options {
			for _, name := range o.names() {
				name = strings.Replace(name, "output", "o", 1)
				if before, ok := texts[name]; ok && !slices.Contains(several, name) {
					require.Equal(t, before, o.help, name)
				}
				texts[name] = o.help
			}
		}
	}
}

// lab may try the options that set something in a replay, and replay has all of them.
// bench takes all but copies, which no command is compared with.
func TestSettings(t *testing.T) {
	require.NotEmpty(t, settings())
	for _, o := range settings() {
		require.Same(t, o, optionOf("replay", o.name), o.name)
		require.Equal(t, o.name != "copies", optionOf("bench", o.name) != nil, o.name)
		require.False(t, extensions.transforms.Has(o.name), "%s is a transform, too", o.name)
	}
	require.Nil(t, settingOf("root"))
	var o replay.Options
	require.NoError(t, settingOf("strict").set(&o, "true"))
	require.True(t, o.Strict)
}

// Old names lead to options that some command has.
func TestRenamedOptions(t *testing.T) {
	for _, now := range renamedOptions {
		if command, ok := strings.CutPrefix(now, "pianola "); ok {
			require.Contains(t, commandNames(), command)
			continue
		}
		name := strings.TrimPrefix(strings.Fields(now)[0], "--")
		require.True(t, slices.ContainsFunc(commandNames(), func(c string) bool { return optionOf(c, name) != nil }), now)
	}
}

func TestChecks(t *testing.T) {
	for _, test := range []struct {
		check func(any) error
		value any
		want  string // the error; "" for none
	}{
		{between(1, 3), 3, ""},
		{between(1, 3), 4, "4 is not from 1 to 3"},
		{between(-20, 19), -21, "-21 is not from -20 to 19"},
		{above0, 1, ""},
		{above0, 0, "0 is not above 0"},
		{above0, -1, "-1 is below 0"},
		{above0, time.Duration(0), "0s is not above 0"},
		{above0, time.Second, ""},
		{notBelow0, time.Duration(0), ""},
		{notBelow0, -time.Second, "-1s is below 0"},
		{size(1, 1<<30), "1GiB", ""},
		{size(1, 1<<30), "2G", "2G is more than 1GiB"},
		{size(64<<10, 1<<30), "64kB", "64kB is less than 64KiB"},
		{size(1, 1<<30), "0", "0 is not above 0"},
		{size(1, 1<<30), "much", `"much" is not a size (want for example 4096, 64KiB or 1.5MB)`},
	} {
		err := test.check(test.value)
		if test.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.want)
		}
	}
}

func TestOptionText(t *testing.T) {
	for _, test := range []struct {
		option option
		want   optionText
	}{
		{option{name: "quiet", alias: "q", value: false, help: "say less"}, optionText{names: "-q, --quiet", does: "say less"}},
		{option{name: "o", alias: "output", value: "x.txt", help: "write `FILE`"}, optionText{names: "-o, --output", value: "FILE", does: "write FILE", normal: "x.txt"}},
		{option{name: "runs", value: 1, help: "`N` times"}, optionText{names: "--runs", value: "N", does: "N times"}},
		{option{name: "runs", value: 6, help: "`N` times"}, optionText{names: "--runs", value: "N", does: "N times", normal: "6"}},
		{option{name: "calls", value: "", shown: "all", help: "show `PART`"}, optionText{names: "--calls", value: "PART", does: "show PART", normal: "all"}},
		{option{name: "try", value: []string{}, help: "a `CANDIDATE`"}, optionText{names: "--try", value: "CANDIDATE", does: "a CANDIDATE"}},
	} {
		require.Equal(t, test.want, test.option.text())
	}
	require.Panics(t, func() { (&option{value: 1i}).flag() })
}

// Flags have the type and the default of their rows.
func TestFlags(t *testing.T) {
	for _, c := range allCommands(newApp().Commands) {
		require.Len(t, c.Flags, len(rowsOf(commandName(c))))
	}
	require.Equal(t, &cli.IntFlag{Name: "runs", Aliases: []string{}, Value: 1}, optionOf("replay", "runs").flag())
	require.Equal(t, "log", optionOf("replay", "o").name)
}
