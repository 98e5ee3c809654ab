package cli

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/format/export"
	"pianola/layer"
	"pianola/plugin"
	"pianola/profile"
)

// The scripts of shells. They call the hidden command __complete with the words of a
// command line up to the cursor. The first line that it prints says what completes the
// last word, and what follows is for it:
//
//	words            the lines that follow, each a word, a tab, and what it means
//	part             as words, but the word goes on: no space follows
//	files [.EXT]…    files with one of these endings, or any if there are none
//	dirs             directories, after the last = of the word
//	users            names of users
//	command N        word N and all after it are a command line; pianola itself is word 0
var (
	//go:embed completion/pianola.bash
	bashCompletion string
	//go:embed completion/pianola.zsh
	zshCompletion string
	//go:embed completion/pianola.fish
	fishCompletion string
)

var completionScripts = map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

func completionCommand() *cli.Command {
	shells := slices.Sorted(maps.Keys(completionScripts))
	return plain(&cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes commands in " + strings.Join(shells, ", "),
		UsageText: "pianola completion " + strings.Join(shells, "|"),
		Description: "Packages and make install put the scripts where the shells find them. Otherwise, load the script\n" +
			"when the shell starts: the examples are lines for ~/.bashrc, ~/.zshrc and\n" +
			"~/.config/fish/config.fish.\n\n" +
			"Example: source <(pianola completion bash)\n" +
			"Example: source <(pianola completion zsh)\n" +
			"Example: pianola completion fish | source",
		Action: func(c *cli.Context) error {
			name, err := operand(c, "shell")
			if err != nil {
				return err
			}
			script, ok := completionScripts[name]
			if !ok {
				return usage(c, "no completion for %q: want %s", name, strings.Join(shells, ", "))
			}
			_, err = io.WriteString(os.Stdout, script)
			return err
		},
	})
}

// completeCommand is what the scripts call.
func completeCommand() *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true, SkipFlagParsing: true, HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			_, err := io.WriteString(os.Stdout, complete(c.App, c.Args().Slice()).String())
			return err
		},
	}
}

// completion is what completes a word.
type completion struct {
	kind  string
	words []candidate
}

type candidate struct{ word, means string }

func (c completion) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, c.kind)
	for _, w := range c.words {
		fmt.Fprintf(&b, "%s\t%s\n", w.word, w.means)
	}
	return b.String()
}

// complete returns what completes the last of the words after pianola.
func complete(a *cli.App, words []string) completion {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	if len(words) == 1 {
		if strings.HasPrefix(last, "-") {
			return completeFlags(a.Flags, last)
		}
		return completeCommands(a, last)
	}
	c := a.Command(words[0])
	if c == nil || c.Hidden {
		return completion{kind: "words"}
	}
	flag, ended := "", false // the option whose value comes next; only operands follow
	var operands []string
	for i, word := range words[1 : len(words)-1] {
		switch {
		case flag != "":
			flag = ""
		case word == "--" && !ended:
			ended = true
		case !ended && strings.HasPrefix(word, "-") && word != "-":
			if takesNext(c, word) {
				flag = strings.TrimLeft(word, "-")
			}
		case takesCommand(c):
			return completion{kind: fmt.Sprint("command ", i+2)}
		default:
			operands = append(operands, word)
		}
	}
	name, value, assigned := strings.Cut(last, "=")
	switch {
	case flag != "":
		return completeValue(c, flag, last, "")
	case !ended && assigned && takesNext(c, name) && strings.HasPrefix(last, "-"):
		return completeValue(c, strings.TrimLeft(name, "-"), value, name+"=")
	case !ended && strings.HasPrefix(last, "-"):
		return completeFlags(c.Flags, last)
	case takesCommand(c):
		return completion{kind: fmt.Sprint("command ", len(words))}
	}
	return completeOperand(a, c, operands, last)
}

func completeCommands(a *cli.App, begin string) completion {
	out := completion{kind: "words"}
	for _, c := range a.Commands {
		if !c.Hidden && strings.HasPrefix(c.Name, begin) {
			out.words = append(out.words, candidate{c.Name, c.Usage})
		}
	}
	return out
}

func completeFlags(flags []cli.Flag, begin string) completion {
	out := completion{kind: "words"}
	for _, f := range flags {
		means := optionTextOf(f).does
		for _, name := range strings.Split(optionTextOf(f).names, ", ") {
			if strings.HasPrefix(name, begin) {
				out.words = append(out.words, candidate{name, means})
			}
		}
	}
	return out
}

// operandFiles are the endings of files that commands take. A recording that another
// program wrote can have any name, so other files are offered where none has these.
var operandFiles = map[string]string{
	"replay":  "files .bin",
	"profile": "files .txt .zst .bin .log",
	"compare": "files .txt .zst .bin .log",
	"compile": "files .txt .zst .strace .iolog .bin",
	"lab":     "files .txt .zst .bin",
	"model":   "files .txt .zst .bin",
	"convert": "files .bin .txt .zst .log",
}

// completeOperand completes the operand after those before it.
func completeOperand(a *cli.App, c *cli.Command, before []string, begin string) completion {
	switch c.Name {
	case "help":
		return completeCommands(a, begin)
	case "completion":
		return oneOf(begin, "", slices.Sorted(maps.Keys(completionScripts))...)
	case "workload":
		switch {
		case len(before) == 0:
			return oneOf(begin, "", "list", "show")
		case before[0] == "show" && len(before) == 1:
			return oneOf(begin, "", shippedNames()...)
		}
	case "layer":
		switch {
		case len(before) == 0:
			return oneOf(begin, "", "list", "check", "player")
		case before[0] != "list" && len(before) == 1:
			return oneOf(begin, "", layer.Names()...)
		case before[0] == "check" && len(before) == 2:
			return completion{kind: "files"}
		}
	}
	return completion{kind: cmp.Or(operandFiles[c.Name], "words")}
}

// valueFiles are the kinds of completions of options whose values are files, by name of
// the option, with its command where commands differ.
var valueFiles = map[string]string{
	"record o": "files .txt .zst", "compile o": "files .bin", "bench o": "dirs", "convert o": "files", "script": "files .txt", "report": "files .txt",
	"anonymize": "files", "root": "dirs", "map": "dirs", "library": "dirs", "log": "files .log .txt", "plot": "files .svg .png", "html": "files .html",
	"application": "files .txt .zst .bin", "baseline": "files .json", "save": "files .json", "user": "users", "setup": "command 0",
	"layer o": "files .c", "model o": "files .json", "model": "files .json", "fio": "files .json", "check": "files .json",
}

// valueWords are the values of options that are one of several words, by name of the
// option, with its command where commands differ.
var valueWords = map[string]func() []string{
	"tracer":         words("auto", "ebpf", "ptrace"),
	"paths":          words("tree", "flat"),
	"telemetry":      words("read", "write"),
	"prepare":        words("auto", "always", "never", "only"),
	"cache":          words("recorded", "warm", "cold", "asis"),
	"timing":         words("compute", "schedule", "afap"),
	"wait":           words("auto", "spin", "sleep"),
	"order":          words("resource", "thread", "total"),
	"outside":        words("closed", "timed"),
	"backend":        backendWords,
	"by":             profile.Views,
	"profile format": func() []string { return profileForms },
	"convert format": export.Kinds,
	"format":         comparisonWords, // of compare and bench
}

func words(all ...string) func() []string { return func() []string { return all } }

func backendWords() []string {
	names := []string{"posix", "null", "memory"}
	for _, b := range extensions.backends {
		names = append(names, b.String())
	}
	return names
}

func comparisonWords() (names []string) {
	for _, f := range comparisonForms {
		names = append(names, f.name)
	}
	return names
}

// valueStarts are the beginnings of values that go on.
var valueStarts = map[string][]string{
	"latency":       {"read:", "write:", "sync:", "metadata:"},
	"compile limit": {"memory=", "text="},
	"profile limit": {"text="},
	"compare limit": {"text="},
	"convert limit": {"text="},
	"replay limit":  {"files=", "bytes=", "descriptors=", "threads=", "memory=", "kernel="},
	"limit":         {"files=", "bytes=", "descriptors=", "threads=", "memory=", "kernel=", "text="},
}

// completeValue completes the value of an option. All candidates begin with before,
// which is what stands before the value in the word.
func completeValue(c *cli.Command, name, begin, before string) completion {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			name = f.Names()[0]
		}
	}
	of := c.Name + " " + name
	if name == "with" || name == "try" {
		return completeStep(c, name == "try", begin, before)
	}
	for _, key := range []string{of, name} {
		if all, ok := valueWords[key]; ok {
			return oneOf(begin, before, all()...)
		}
		if starts, ok := valueStarts[key]; ok {
			out := oneOf(begin, before, starts...)
			out.kind = "part"
			return out
		}
		if kind, ok := valueFiles[key]; ok {
			return completion{kind: kind}
		}
	}
	switch name {
	case "workload":
		if i := strings.LastIndexByte(begin, ','); i >= 0 {
			begin, before = begin[i+1:], before+begin[:i+1]
		}
		return oneOf(begin, before, append(shippedNames(), "quick", "all")...)
	case "pid":
		return completion{"words", processes(begin, before)}
	case "cgroup":
		return completion{"part", cgroups(begin, before)}
	}
	return completion{kind: "words"}
}

func oneOf(begin, before string, all ...string) completion {
	out := completion{kind: "words"}
	for _, word := range all {
		if strings.HasPrefix(word, begin) {
			out.words = append(out.words, candidate{before + word, ""})
		}
	}
	return out
}

// completeStep completes a transform, or a candidate of lab: transforms and options of
// replay, joined by +.
func completeStep(c *cli.Command, settable bool, begin, before string) completion {
	if i := strings.LastIndexByte(begin, '+'); settable && i >= 0 {
		begin, before = begin[i+1:], before+begin[:i+1]
	}
	if name, value, ok := strings.Cut(begin, "="); ok {
		if settable && settingOf(name) != nil {
			return completeValue(c, name, value, before+name+"=")
		}
		for _, t := range extensions.transforms {
			if t.Name == name {
				return oneOf(value, before+name+"=", literals(t.Arg.Form)...)
			}
		}
		return completion{kind: "words"}
	}
	out := completion{kind: "part"}
	add := func(word, means string) {
		if strings.HasPrefix(word, begin) {
			out.words = append(out.words, candidate{before + word, means})
		}
	}
	for _, t := range extensions.transforms {
		word := t.Name
		if t.Arg.Form != "" && !t.Arg.Optional {
			word += "="
		}
		add(word, t.Doc)
	}
	for i := range settings {
		if settable {
			add(settings[i].name+"=", "the option of replay")
		}
	}
	add(plugin.Prefix, "a program")
	return out
}

// literals returns the words of the form of an argument, such as none of none|SIZE, that
// stand for themselves.
func literals(form string) (all []string) {
	for word := range strings.SplitSeq(form, "|") {
		if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == "" {
			all = append(all, word)
		}
	}
	return all
}

// processes returns the numbers of processes, with their names.
func processes(begin, before string) (all []candidate) {
	dirs, _ := filepath.Glob("/proc/" + escapeGlob(begin) + "[0-9]*")
	if exact := "/proc/" + begin; begin != "" && !slices.Contains(dirs, exact) {
		dirs = append(dirs, exact)
	}
	for _, dir := range dirs {
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if number := filepath.Base(dir); err == nil && strings.Trim(number, "0123456789") == "" {
			all = append(all, candidate{before + number, strings.TrimSpace(string(name))})
		}
	}
	return all
}

// cgroups returns the cgroups one level below the part of a path that is complete.
func cgroups(begin, before string) (all []candidate) {
	const root = "/sys/fs/cgroup"
	dirs, _ := filepath.Glob(root + "/" + escapeGlob(strings.TrimPrefix(begin, "/")) + "*/")
	for _, dir := range dirs {
		all = append(all, candidate{before + strings.TrimPrefix(dir, root), ""})
	}
	return all
}
