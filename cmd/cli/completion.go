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

	"pianola/format/layer"
	"pianola/internal/glob"
	"pianola/internal/plugin"
	"pianola/replay"
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
			return completeOptions("pianola", last)
		}
		return completeCommands(a.Commands, last)
	}
	c := a.Command(words[0])
	if c == nil || c.Hidden {
		return completion{kind: "words"}
	}
	flag, ended := "", false // the option whose value comes next; only operands follow
	var operands []string
	for i, word := range words[1 : len(words)-1] {
		if sub := c.Command(word); sub != nil && flag == "" && operands == nil && !ended {
			c = sub
			continue
		}
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
		return completeOptions(commandName(c), last)
	case len(operands) == 0 && c.Subcommands != nil:
		return completeCommands(c.Subcommands, last)
	case takesCommand(c):
		return completion{kind: fmt.Sprint("command ", len(words))}
	}
	return completeOperand(a, c, operands, last)
}

func completeCommands(commands []*cli.Command, begin string) completion {
	out := completion{kind: "words"}
	for _, c := range commands {
		if !c.Hidden {
			out.add(begin, "", c.Name, c.Usage)
		}
	}
	return out
}

func completeOptions(command, begin string) completion {
	out := completion{kind: "words"}
	for _, o := range rowsOf(command) {
		t := o.text()
		for name := range strings.SplitSeq(t.names, ", ") {
			out.add(begin, "", name, t.does)
		}
	}
	return out
}

// operandFiles are the endings of files that commands take. A recording that another
// program wrote can have any name, so other files are offered where none has these.
var operandFiles = map[string]string{
	"replay":      "files .bin",
	"profile":     "files .txt .zst .bin .log",
	"compare":     "files .txt .zst .bin .log",
	"compile":     "files .txt .zst .strace .iolog .bin",
	"lab":         "files .txt .zst .bin",
	"model fit":   "files .txt .zst .bin",
	"model check": "files .txt .zst .bin",
	"convert":     "files .bin .txt .zst .log",
}

// completeOperand completes the operand after those before it.
func completeOperand(a *cli.App, c *cli.Command, before []string, begin string) completion {
	switch name := commandName(c); {
	case name == "help":
		return completeCommands(a.Commands, begin)
	case name == "completion":
		return ofWords(slices.Sorted(maps.Keys(completionScripts))...)(begin, "")
	case name == "workload show" && len(before) == 0:
		return ofWords(shippedNames()...)(begin, "")
	case (name == "layer check" || name == "layer player") && len(before) == 0:
		return ofLayers(begin, "")
	case (name == "layer check" || name == "layer new") && len(before) == 1, name == "model check" && len(before) == 0:
		return completion{kind: "files"}
	}
	return completion{kind: cmp.Or(operandFiles[commandName(c)], "words")}
}

// completer completes the value of an option. All candidates begin with before, which is
// what stands before the value in the word.
type completer func(begin, before string) completion

func ofKind(kind string) completer {
	return func(_, _ string) completion { return completion{kind: kind} }
}

// ofFiles offers files with one of these endings, or any if there are none.
func ofFiles(endings ...string) completer {
	return ofKind(strings.Join(append([]string{"files"}, endings...), " "))
}

func ofDirs(_, _ string) completion { return completion{kind: "dirs"} }

func ofWords(all ...string) completer {
	return func(begin, before string) completion {
		out := completion{kind: "words"}
		for _, word := range all {
			out.add(begin, before, word, "")
		}
		return out
	}
}

// ofBeginnings offers beginnings of values that go on.
func ofBeginnings(all ...string) completer {
	return func(begin, before string) completion {
		out := ofWords(all...)(begin, before)
		out.kind = "part"
		return out
	}
}

// ofLimits offers the names of limits.
func ofLimits(names []string) completer {
	var all []string
	for _, name := range names {
		all = append(all, name+"=")
	}
	return ofBeginnings(all...)
}

// add adds a word, if it goes on as the value begins.
func (c *completion) add(begin, before, word, means string) {
	if strings.HasPrefix(word, begin) {
		c.words = append(c.words, candidate{before + word, means})
	}
}

func ofBackends(begin, before string) completion {
	var names []string
	for _, b := range append(replay.Backends(), extensions.backends...) {
		names = append(names, b.String())
	}
	return ofWords(names...)(begin, before)
}

func ofLayers(begin, before string) completion { return ofWords(layer.Names()...)(begin, before) }

// ofWorkloads offers workloads, of which there can be several with commas between them.
func ofWorkloads(begin, before string) completion {
	if i := strings.LastIndexByte(begin, ','); i >= 0 {
		begin, before = begin[i+1:], before+begin[:i+1]
	}
	return ofWords(append(shippedNames(), "quick", "all")...)(begin, before)
}

// completeValue completes the value of an option.
func completeValue(c *cli.Command, name, begin, before string) completion {
	if o := optionOf(commandName(c), name); o != nil {
		return o.offer(begin, before)
	}
	return completion{kind: "words"}
}

// offer completes a value of the option.
func (o *option) offer(begin, before string) completion {
	if o.complete != nil {
		return o.complete(begin, before)
	}
	return ofWords(o.oneOf...)(begin, before)
}

func ofTransforms(begin, before string) completion { return completeStep(nil, begin, before) }

// ofCandidates offers candidates of lab: transforms and options of replay, joined by +.
func ofCandidates(begin, before string) completion {
	if i := strings.LastIndexByte(begin, '+'); i >= 0 {
		begin, before = begin[i+1:], before+begin[:i+1]
	}
	return completeStep(settings(), begin, before)
}

// completeStep completes a transform, or one of some options.
func completeStep(options []*option, begin, before string) completion {
	if name, value, ok := strings.Cut(begin, "="); ok {
		for _, o := range options {
			if o.name == name {
				return o.offer(value, before+name+"=")
			}
		}
		for _, t := range extensions.transforms {
			if t.Name == name {
				return ofWords(literals(t.Arg.Form)...)(value, before+name+"=")
			}
		}
		return completion{kind: "words"}
	}
	out := completion{kind: "part"}
	for _, t := range extensions.transforms {
		word := t.Name
		if t.Arg.Form != "" && !t.Arg.Optional {
			word += "="
		}
		out.add(begin, before, word, t.Doc)
	}
	for _, o := range options {
		out.add(begin, before, o.name+"=", "the option of replay")
	}
	out.add(begin, before, plugin.Prefix, "a program")
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

// ofProcesses offers the numbers of processes, with their names.
func ofProcesses(begin, before string) completion {
	out := completion{kind: "words"}
	dirs, _ := filepath.Glob("/proc/" + glob.EscapePath(begin) + "[0-9]*")
	if exact := "/proc/" + begin; begin != "" && !slices.Contains(dirs, exact) {
		dirs = append(dirs, exact)
	}
	for _, dir := range dirs {
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if number := filepath.Base(dir); err == nil && strings.Trim(number, "0123456789") == "" {
			out.words = append(out.words, candidate{before + number, strings.TrimSpace(string(name))})
		}
	}
	return out
}

// ofCgroups offers the cgroups one level below the part of a path that is complete.
func ofCgroups(begin, before string) completion {
	out := completion{kind: "part"}
	const root = "/sys/fs/cgroup"
	dirs, _ := filepath.Glob(root + "/" + glob.EscapePath(strings.TrimPrefix(begin, "/")) + "*/")
	for _, dir := range dirs {
		out.words = append(out.words, candidate{before + strings.TrimPrefix(dir, root), ""})
	}
	return out
}
