package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile/tracefuzz"
	"pianola/format"
)

// mostMemory is how many bytes a command that reads a small input may have resident.
const mostMemory = 256 << 20

// reading is a command that reads an input of a form. In its words, IN is the input, BASE
// the input before it was changed, and OUT and OUT2 are files to write.
type reading struct {
	form  func(f *forms, data []byte) (changed, base []byte, err error)
	words string
}

// forms makes inputs of bytes.
type forms struct{ traces, recordings []*tracefuzz.Trace }

// made returns a changed input and its base, which an input without steps is.
func made(data []byte, mutated func(data []byte) *tracefuzz.Trace, write func(*tracefuzz.Trace) ([]byte, error)) (changed, base []byte, err error) {
	if changed, err = write(mutated(data)); err != nil {
		return nil, nil, err
	}
	base, err = write(mutated(data[:min(len(data), 1)]))
	return changed, base, err
}

func (f *forms) trace(data []byte) (changed, base []byte, err error) {
	return made(data, func(d []byte) *tracefuzz.Trace { return tracefuzz.Mutated(f.traces, d) }, (*tracefuzz.Trace).Bytes)
}

func (f *forms) intermediate(data []byte) (changed, base []byte, err error) {
	return made(data, func(d []byte) *tracefuzz.Trace { return tracefuzz.Mutated(f.traces, d) }, (*tracefuzz.Trace).Intermediate)
}

func (f *forms) recording(data []byte) (changed, base []byte, err error) {
	return made(data, func(d []byte) *tracefuzz.Trace { return tracefuzz.MutatedRecording(f.recordings, d) }, (*tracefuzz.Trace).Script)
}

// readings are chosen by the first byte of an input.
var readings = []reading{
	{(*forms).recording, "compile -o OUT --report OUT2 IN"},
	{(*forms).recording, "compile -o OUT --paths flat --script OUT2 IN"},
	{(*forms).recording, "profile --html OUT --json IN"},
	{(*forms).recording, "profile --plot OUT.svg --by file --all IN"},
	{(*forms).recording, "compare --html OUT --json BASE IN"},
	{(*forms).recording, "convert --format perfetto -o OUT IN"},
	{(*forms).recording, "convert --format parquet -o OUT IN"},
	{(*forms).intermediate, "compile -o OUT --script OUT2 IN"},
	{(*forms).intermediate, "profile --by thread --all IN"},
	{(*forms).trace, "convert -o OUT IN"},
	{(*forms).trace, "convert --format strace -o OUT IN"},
	{(*forms).trace, "convert --format fio -o OUT IN"},
	{(*forms).trace, "convert --format csv -o OUT IN"},
	{(*forms).trace, "convert --format json -o OUT IN"},
	{(*forms).trace, "convert --format parquet -o OUT IN"},
	{(*forms).trace, "convert --format perfetto -o OUT IN"},
	{(*forms).trace, "convert --format c -o OUT IN"},
	{(*forms).trace, "profile --html OUT --json IN"},
	{(*forms).trace, "profile --plot OUT.svg --interval 1us IN"},
	{(*forms).trace, "compare --html OUT BASE IN"},
	{(*forms).trace, "compare --plot OUT.svg --json IN BASE"},
}

// readMutated runs the command that the first byte chooses on the input that the others
// stand for. The command ends with success, a verdict, or an error that names the input,
// and within mostMemory.
func readMutated(t *testing.T, f *forms, tally *tracefuzz.Tally, data []byte) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	r := &readings[int(data[0])%len(readings)]
	changed, base, err := r.form(f, data[1:])
	if err != nil {
		return // no writer makes such an input
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(file("IN"), changed, 0o600))
	require.NoError(t, os.WriteFile(file("BASE"), base, 0o600))
	args := []string{"pianola"}
	for _, word := range strings.Fields(r.words) {
		if word[0] >= 'A' && word[0] <= 'Z' {
			word = file(word)
		}
		args = append(args, word)
	}
	changed, base = nil, nil
	said, memory, err := run(t, args)
	tally.Most = max(tally.Most, memory)
	tally.Count(t, err == nil)
	if err != nil {
		require.Contains(t, err.Error(), dir, "an error without the name of its file")
	}
	require.LessOrEqual(t, memory, int64(mostMemory), "%s\n%s", args, said)
	require.NotContains(t, said, "internal error")
	for _, b := range []byte(strings.ReplaceAll(said, "\n", " ")) {
		require.GreaterOrEqual(t, b, byte(' '), "a control character in %q", said)
	}
}

// ownMemory is how many bytes of them the program has resident that has read nothing.
const ownMemory = 24 << 20

// run runs a command line in this process, so that a fuzzer sees which code it reaches.
// It returns its messages, the most bytes that were resident meanwhile, and its error,
// if that is no verdict. The fuzzer's own memory in this process counts as ownMemory.
//
// The kernel keeps the count. That of the Go runtime lacks mapped files and memory that it
// gives back late, and a limit for the runtime would have it collect garbage more often
// than in a program of its own. Garbage of the inputs before is given back first.
func run(t *testing.T, args []string) (said string, memory int64, failed error) {
	t.Helper()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	messages, err := os.Create(filepath.Join(t.TempDir(), "messages"))
	require.NoError(t, err)
	defer messages.Close()
	os.Stdout, os.Stderr = null, messages

	app := newApp()
	args = optionsFirst(args, app.Commands)
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // reset the peak
	before := peak(t)
	err = app.RunContext(context.Background(), args)
	status := report(context.Background(), err)
	memory = peak(t) - before + ownMemory
	require.Contains(t, []int{0, ExitFailure, ExitInconclusive}, status, "%v", err)
	if e, ok := errors.AsType[*exitError](err); ok && e.err == nil {
		err = nil // a verdict
	}

	text, rerr := os.ReadFile(messages.Name())
	require.NoError(t, rerr)
	return string(text), memory, err
}

// peak returns the most bytes that were resident at a time.
func peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, found := bytes.Cut(text, []byte("\nVmHWM:"))
	require.True(t, found)
	kib, err := strconv.ParseInt(string(bytes.Fields(after)[0]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// The tables stay within the memory if a small trace has more files and threads than a profile lists.
func TestManyRowsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes seconds")
	}
	for name, add := range map[string]func(tr *tracefuzz.Trace, i int){
		"files": func(tr *tracefuzz.Trace, i int) {
			tr.Events = append(tr.Events, format.Event{Op: format.OpStat, TID: 1, Str: [format.MaxStrings][]byte{[]byte(fmt.Sprint(i))}})
		},
		"threads": func(tr *tracefuzz.Trace, i int) {
			tr.Header.Threads = append(tr.Header.Threads, format.Thread{Process: int32(i + 2)})
			tr.Events = append(tr.Events, format.Event{Op: format.OpStat, TID: int32(i + 2), Str: [format.MaxStrings][]byte{[]byte("f")}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trace.bin")
			func() { // its garbage is none of the command's
				tr := &tracefuzz.Trace{Header: format.Header{Threads: []format.Thread{{Process: 1}}}}
				for i := range 70_000 {
					add(tr, i)
				}
				text, err := tr.Bytes()
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, text, 0o600))
			}()
			for _, words := range []string{"profile", "compare " + file, "convert"} {
				_, memory, err := run(t, append(append([]string{"pianola"}, strings.Fields(words)...), file))
				require.NoError(t, err)
				t.Logf("%s: %d MiB", strings.Fields(words)[0], memory>>20)
				require.LessOrEqual(t, memory, int64(mostMemory), words)
			}
		})
	}
}

// FuzzReadings has the commands that read recordings and traces read changed ones.
func FuzzReadings(f *testing.F) {
	inputs := &forms{tracefuzz.Bases(f, "../.."), tracefuzz.Recordings(f, "../..")}
	for seed := range uint64(3 * len(readings)) {
		f.Add(append([]byte{byte(seed)}, tracefuzz.Random(seed)...))
	}
	var tally tracefuzz.Tally
	f.Fuzz(func(t *testing.T, data []byte) { readMutated(t, inputs, &tally, data) })
}
