package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/table"
	"pianola/workloads"
)

func workloadCommand() *cli.Command {
	return noun(&cli.Command{
		Name:      "workload",
		Usage:     "show the recordings that ship with Pianola",
		UsageText: "pianola workload [list | show NAME]",
		Description: "Workloads are compiled traces of real programs: databases, compilers, archivers and others. Each has a\n" +
			"card with a description and the properties of storage to which it is sensitive. pianola bench\n" +
			"--workload replays them. Without a command, workload lists them.\n" +
			"\n" +
			"Example: pianola workload list\n" +
			"Example: pianola workload show postgresql",
	}, command(&cli.Command{
		Name: "list", HelpName: "workload list",
		Usage:       "list the workloads",
		UsageText:   "pianola workload list [OPTION]…",
		Description: "Prints a line for each workload, with a description.\n\nExample: pianola workload list --json",
		Action:      listWorkloads,
	}), command(&cli.Command{
		Name: "show", HelpName: "workload show",
		Usage:     "print the card of a workload",
		UsageText: "pianola workload show [OPTION]… NAME",
		Description: "The card has a description, the properties of storage to which the workload is sensitive, and figures\n" +
			"of its trace. Other commands accept the file of the trace, which the card names, like any trace.\n\n" +
			"Example: pianola workload show postgresql",
		Action: showWorkload,
	}))
}

// libraryOf returns the directory of the workloads that a command line selects.
func libraryOf(c *cli.Context) (dir string, err error) {
	if dir = c.String("library"); dir != "" {
		return dir, nil
	}
	dir, ok, err := shippedLibrary()
	if err == nil && !ok {
		err = console.WithHint(errors.New("no workloads in the directory of the program"), "--library DIR names the directory; it is workloads in the repository, and share/pianola/workloads of an installation")
	}
	return dir, err
}

// shippedLibrary returns the directory of the workloads beside the program, and false if
// there are none.
func shippedLibrary() (dir string, ok bool, err error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", false, err
	}
	dir, ok = workloads.Find(program)
	return dir, ok, nil
}

// shippedNames returns the names of the workloads beside the program, for completion.
func shippedNames() (names []string) {
	dir, ok, _ := shippedLibrary()
	if !ok {
		return nil
	}
	cards, _ := workloads.List(dir)
	for _, one := range cards {
		names = append(names, one.Name)
	}
	return names
}

// cardsOf returns the cards of the selected workloads, at least one.
func cardsOf(c *cli.Context) ([]*workloads.Card, error) {
	dir, err := libraryOf(c)
	if err != nil {
		return nil, err
	}
	cards, err := workloads.List(dir)
	if err == nil && len(cards) == 0 {
		err = fmt.Errorf("%s: no workloads", dir)
	}
	return cards, err
}

func listWorkloads(c *cli.Context) error {
	if err := noOperands(c); err != nil {
		return err
	}
	cards, err := cardsOf(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(map[string]any{"workloads": cards})
	}
	rows := [][]string{{"workload", "program", "run time s", "events", "threads", "read", "written", "syncs", "files", "before"}}
	for _, one := range cards {
		f := &one.Figures
		rows = append(rows, []string{
			one.Name, format.Visible(one.Program + " " + one.Version), table.Fixed(f.RunSeconds, 1), table.Count(f.Events), table.Count(int64(f.Threads)),
			table.Bytes(float64(f.Reads.Bytes + f.MappedReads.Bytes)), table.Bytes(float64(f.Writes.Bytes + f.MappedWrites.Bytes)),
			table.Count(f.Syncs), table.Count(f.Files), table.Bytes(float64(f.FileBytes)),
		})
	}
	_, err = io.WriteString(session.Stdout("text"), table.Format(rows, func(column int) bool { return column < 2 }))
	return err
}

func showWorkload(c *cli.Context) error {
	name, err := operand(c, "workload")
	if err != nil {
		return err
	}
	dir, err := libraryOf(c)
	if err != nil {
		return err
	}
	card, err := workloads.Load(dir, name)
	if errors.Is(err, workloads.ErrUnknown) {
		return console.WithHint(err, "pianola workload list shows them")
	} else if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(card)
	}
	f := &card.Figures
	moved := func(m workloads.Movement) string {
		return fmt.Sprintf("%s, %s", table.Plural(int(m.Calls), "call"), table.Bytes(float64(m.Bytes)))
	}
	lines := [][2]string{
		{"workload", card.Name},
		{"program", card.Program + " " + card.Version},
		{"description", card.Does},
		{"sensitive to", strings.Join(card.Sensitive, ", ")},
		{"recorded", fmt.Sprintf("%s, %s of I/O in all threads", table.Duration(f.RunSeconds), table.Duration(f.IOSeconds))},
		{"events", fmt.Sprintf("%d of %s in %s", f.Events, table.Plural(f.Threads, "thread"), table.Plural(f.Processes, "process"))},
		{"files before", fmt.Sprintf("%d, %s", f.Files, table.Bytes(float64(f.FileBytes)))},
		{"working set", table.Bytes(float64(f.WorkingSet))},
		{"reads", moved(f.Reads)},
		{"writes", moved(f.Writes)},
		{"syncs", table.Plural(int(f.Syncs), "call")},
		{"metadata", table.Plural(int(f.Metadata), "call")},
		{"mapped reads", moved(f.MappedReads)},
		{"mapped writes", moved(f.MappedWrites)},
		{"asynchronous", fmt.Sprintf("%d of these are requests of io_uring or libaio", f.Requests)},
		{"coverage", fmt.Sprintf("%s of the bytes, %s of the I/O time", table.Percent(f.Coverage.Bytes), table.Percent(f.Coverage.Time))},
		{"licence", card.Licence},
		{"trace", card.Trace()},
	}
	var b strings.Builder
	for _, line := range lines {
		if strings.HasPrefix(line[1], "0 ") {
			continue // it does none
		}
		fmt.Fprintf(&b, "%-15s%s\n", line[0]+":", format.Visible(line[1]))
	}
	_, err = io.WriteString(session.Stdout("text"), b.String())
	return err
}
