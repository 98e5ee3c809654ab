package profile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	scripts "pianola/format/script"
)

// The findings are numbered, below the first lines, in lines that fit a terminal.
func TestFindings(t *testing.T) {
	p := read(t, on(format.OpSync, 1, 0, 10, 0, ""))
	var without, with bytes.Buffer
	require.NoError(t, p.WriteText(&without, TextOptions{}))
	p.Diagnosis = []Finding{{Claim: "One took most", Seconds: 1, Text: strings.Repeat("word ", 30) + "end.", Try: "pianola lab trace.txt --try " + strings.Repeat("x", 100)}, {Claim: "Two", Seconds: 0.5, Text: "Short."}}
	require.NoError(t, p.WriteText(&with, TextOptions{}))
	require.True(t, strings.HasPrefix(without.String(), "sync took 100.0 % of the run time.\n"), without.String())
	require.True(t, strings.HasPrefix(with.String(), "One took most.\n"), with.String())
	for seconds, answer := range map[float64]string{0: "One took most.", 0.000001: "sync took 100.0 % of the run time.", 0.00001: "One took most."} {
		p.Diagnosis[0].Seconds, p.Diagnosis[1].Seconds = seconds, 0
		var text bytes.Buffer
		require.NoError(t, p.WriteText(&text, TextOptions{}))
		require.True(t, strings.HasPrefix(text.String(), answer+"\n"), "%v: %s", seconds, text.String())
	}
	_, rest, _ := strings.Cut(without.String(), "\n")
	lines := strings.Split(with.String(), "\n")[1:]
	at := strings.Index(rest, "\n\n")
	head := strings.Count(rest[:at], "\n") + 1
	require.Equal(t, []string{
		"",
		"1." + strings.Repeat(" word", 19),
		"  " + strings.Repeat(" word", 11) + " end.",
		"   try: " + p.Diagnosis[0].Try,
		"2. Short.",
		"",
	}, lines[head:head+6])
	require.Equal(t, strings.Join(lines[:head], "\n")+"\n"+strings.Join(lines[head+5:], "\n"), rest)
}

// A step of the critical path tells files from pipes, and a file knows what was moved of it,
// and through which descriptors.
func TestWhatRulesNeed(t *testing.T) {
	p, err := Read(scripts.NewReader(strings.NewReader(`# pianola script 1
1 0.000000 openat(AT_FDCWD, "/f", O_RDWR|O_DIRECT, 0600) = 3 <0.000001>
1 0.000010 openat(AT_FDCWD, "/f", O_RDWR|O_DSYNC|O_DIRECT, 0600) = 4 <0.000001>
1 0.000010 pwrite64(3, 0x1000, 10, 100) = 10 <0.000002>
1 0.000010 pwrite64(4, 0x1000, 20, 40) = 20 <0.000003>
1 0.000010 pread64(3, 0x1000, 5, 7) = 5 <0.000004>
1 0.000010 write(9, 0x1000, 5) = 5 <0.000005> {type=fifo}
1 0.000010 exit_group(0) = ?
`), "test"))
	require.NoError(t, err)
	categories := map[string]Category{}
	for _, s := range p.Critical {
		categories[s.Name] = s.Category
		require.Equal(t, s.Category == NumCategories, s.Op == format.OpNone || s.Op == format.OpExitGroup, s.Name)
	}
	require.Equal(t, Communication, categories["write"])
	require.Equal(t, Writes, categories["pwrite64"])
	require.Equal(t, noCategory, categories[StepCompute])
	f := p.Files[0]
	require.Equal(t, "/f", f.Name)
	require.Equal(t, []int64{40, 110, 7, 12}, []int64{f.Access[Writes].From, f.Access[Writes].To, f.Access[Reads].From, f.Access[Reads].To})
	require.EqualValues(t, format.RDWR|format.DIRECT, f.Flags)
	require.Equal(t, Total{Calls: 1, Bytes: 20, Nanos: 3000}, f.Synced)
}

// Beyond the steps that are told apart by file, files and pipes stay apart.
func TestStepsBeyond(t *testing.T) {
	var b strings.Builder
	b.WriteString("# pianola script 1\n")
	for i := range maxPathSteps {
		fmt.Fprintf(&b, "1 0.000010 stat(\"/f%d\", 0x1000) = 0 <0.000001>\n", i)
	}
	b.WriteString("1 0.000010 write(8, 0x1000, 5) = 5 <0.000002> {type=reg}\n1 0.000010 write(9, 0x1000, 5) = 5 <0.000003> {type=fifo}\n")
	p, err := Read(scripts.NewReader(strings.NewReader(b.String()), "test"))
	require.NoError(t, err)
	nanos := map[Category]int64{}
	for _, s := range p.Critical {
		if s.Name == "write" {
			require.Empty(t, s.File)
			nanos[s.Category] = s.Nanos
		}
	}
	require.Equal(t, map[Category]int64{Writes: 2000, Communication: 3000}, nanos)
}
