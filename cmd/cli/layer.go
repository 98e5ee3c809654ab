package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/format/layer"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/table"
)

func layerCommand() *cli.Command {
	return noun(&cli.Command{
		Name:      "layer",
		Usage:     "show layers: libraries above the system calls, such as HDF5",
		UsageText: "pianola layer [list | check NAME [LIBRARY] | player NAME | new NAME HEADER]",
		Description: "A layer describes a library above the system calls: its functions, and which of their arguments are\n" +
			"paths, handles and numbers of bytes. record --layer records the calls of the library, and replay\n" +
			"--play-layer replays them. Without a command, layer lists the layers that ship.\n" +
			"\n" +
			"NAME is a layer that ships, or NAME.json, a description of your own (docs/reference/layers.md).\n" +
			"\n" +
			"Example: pianola layer list\n" +
			"Example: pianola layer check hdf5\n" +
			"Example: pianola layer player -o player.c hdf5",
	}, command(&cli.Command{
		Name: "list", HelpName: "layer list",
		Usage:       "list the layers that ship",
		UsageText:   "pianola layer list [OPTION]…",
		Description: "Prints a line for each layer, with the libraries that are installed here.\n\nExample: pianola layer list --json",
		Action:      listLayers,
	}), command(&cli.Command{
		Name: "check", HelpName: "layer check",
		Usage:     "compare a layer with a library",
		UsageText: "pianola layer check [OPTION]… NAME [LIBRARY]",
		Description: "Prints which functions of the layer a library has, or a statically linked program, and the\n" +
			"instruction that each begins with, on which the cost of a probe depends. LIBRARY is by default each\n" +
			"one that the dynamic linker would find.\n\n" +
			"Example: pianola layer check hdf5\n" +
			"Example: pianola layer check own.json ./libown.so.1",
		Action: checkLayer,
	}), command(&cli.Command{
		Name: "player", HelpName: "layer player",
		Usage:       "write the source of a program that replays recorded calls",
		UsageText:   "pianola layer player [OPTION]… NAME",
		Description: "Writes C for replay --play-layer (docs/reference/layers.md).\n\nExample: pianola layer player -o player.c hdf5",
		Action:      writePlayer,
	}), command(&cli.Command{
		Name: "new", HelpName: "layer new",
		Usage:       "begin a layer of your own",
		UsageText:   "pianola layer new [OPTION]… NAME HEADER",
		Description: "Writes a copy of a C header with guessed annotations, to be corrected (docs/reference/layers.md).\n\nExample: pianola layer new -o queue.h queue /usr/include/queue.h",
		Action:      draftLayer,
	}))
}

// layerRow is a layer in the output of list.
type layerRow struct {
	Name      string   `json:"layer"`
	Functions int      `json:"functions"`
	Libraries []string `json:"libraries"` // patterns
	Installed []string `json:"installed"` // files
}

func listLayers(c *cli.Context) error {
	if err := noOperands(c); err != nil {
		return err
	}
	rows := []layerRow{}
	for _, name := range layer.Names() {
		l, err := layer.Load(name)
		if err != nil {
			return err
		}
		rows = append(rows, layerRow{name, len(l.Functions), l.Libraries, append([]string{}, l.Installed()...)})
	}
	if c.Bool("json") {
		return printJSON(rows)
	}
	cells := [][]string{{"layer", "functions", "libraries", "installed"}}
	for _, r := range rows {
		installed := strings.Join(r.Installed, " ")
		if installed == "" {
			installed = "–"
		}
		cells = append(cells, []string{r.Name, strconv.Itoa(r.Functions), strings.Join(r.Libraries, " "), installed})
	}
	_, err := io.WriteString(session.Stdout("text"), table.Format(cells, table.AllLeft))
	return err
}

// layerFunction is a function of a layer in the output of check.
type layerFunction struct {
	Name   string      `json:"function"`
	Span   layer.Span  `json:"span"`
	State  string      `json:"state"` // found, missing, or late: chosen only when the library is loaded
	Entry  layer.Entry `json:"entry,omitempty"`
	Slow   bool        `json:"slow,omitempty"` // only record --slow-functions probes it
	Unread []string    `json:"unread,omitempty"`
}

// layerLibrary is a library in the output of check.
type layerLibrary struct {
	Library   string          `json:"library"`
	Functions []layerFunction `json:"functions"`
}

// writePlayer writes the source of a layer's player, and says which functions it leaves
// out.
func writePlayer(c *cli.Context) error {
	name, err := operand(c, "layer")
	if err != nil {
		return err
	}
	l, err := loadLayer(name)
	if err != nil {
		return err
	}
	w, err := session.files.Create(c.String("o"), files.Public)
	if err != nil {
		return err
	}
	if err := l.Player(w); err != nil {
		return err
	}
	for _, f := range l.Functions {
		if why := f.Unplayed(); why != "" {
			session.Say("layer: %s is not played: %s", f.Name, why)
		}
	}
	return w.Commit()
}

// draftLayer annotates a header. The library of NAME is libNAME.so.
func draftLayer(c *cli.Context) error {
	if c.NArg() != 2 {
		return usage(c, "want a name and a header, got %d operands", c.NArg())
	}
	name, path := c.Args().First(), c.Args().Get(1)
	header, err := os.Open(path)
	if err != nil {
		return err
	}
	defer header.Close()
	w, err := session.files.Create(c.String("o"), files.Public)
	if err != nil {
		return err
	}
	if err := layer.Draft(w, name, "lib"+name+".so*", header); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return w.Commit()
}

func loadLayer(name string) (*layer.Layer, error) {
	l, err := layer.Load(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: no such file", name)
	}
	return l, err
}

// checkLayer compares a layer with files, or else with those that are installed.
func checkLayer(c *cli.Context) error {
	if c.NArg() != 1 && c.NArg() != 2 {
		return usage(c, "want a layer and at most one library, got %d operands", c.NArg())
	}
	files := c.Args().Tail()
	l, err := loadLayer(c.Args().First())
	if err != nil {
		return err
	}
	if len(files) == 0 {
		if files = l.Installed(); len(files) == 0 {
			return console.WithHint(fmt.Errorf("layer %s: no %s is installed", l.Name, strings.Join(l.Libraries, " nor ")), "name the library, or a program that is linked statically")
		}
	}
	var libs []layerLibrary
	for _, file := range files {
		lib, err := l.Open(file)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s: no such file", file)
			}
			return err
		}
		libs = append(libs, libraryRow(l, lib))
	}
	if c.Bool("json") {
		return printJSON(struct {
			Layer     string         `json:"layer"`
			Libraries []layerLibrary `json:"libraries"`
		}{l.Name, libs})
	}
	for i, lib := range libs {
		if err := printLibrary(session.Stdout("text"), lib, i > 0); err != nil {
			return err
		}
	}
	return nil
}

func libraryRow(l *layer.Layer, lib *layer.Library) layerLibrary {
	r := layerLibrary{Library: lib.Name}
	if real, err := filepath.Abs(lib.Name); err == nil {
		r.Library = real
	}
	state := map[*layer.Function]layerFunction{}
	for _, p := range lib.Places {
		state[p.Function] = layerFunction{State: "found", Entry: p.Entry, Slow: p.Slow()}
	}
	for _, f := range lib.Missing {
		state[f] = layerFunction{State: "missing"}
	}
	for _, f := range lib.Late {
		state[f] = layerFunction{State: "late"}
	}
	for _, f := range l.Functions {
		row := state[f]
		row.Name, row.Span, row.Unread = f.Name, f.Span, f.Unread()
		r.Functions = append(r.Functions, row)
	}
	return r
}

func printLibrary(w io.Writer, lib layerLibrary, apart bool) error {
	found, slow := 0, 0
	cells := [][]string{{"function", "span", "first instruction", "can't be read"}}
	for _, f := range lib.Functions {
		entry := string(f.Entry)
		switch f.State {
		case "found":
			found++
			if f.Slow {
				slow++
				entry += ", needs --slow-functions"
			}
		case "late":
			entry = "chosen when it is loaded"
		default:
			entry = "missing"
		}
		unread := strings.Join(f.Unread, " ")
		if unread == "" {
			unread = "–"
		}
		cells = append(cells, []string{f.Name, string(f.Span), entry, unread})
	}
	blank := ""
	if apart {
		blank = "\n"
	}
	_, err := fmt.Fprintf(w, "%s%s: %d of %d functions, %d of them only with --slow-functions\n%s", blank, lib.Library, found, len(lib.Functions), slow, table.Format(cells, table.AllLeft))
	return err
}
