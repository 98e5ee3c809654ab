package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// evil is what strangers would like to say to a terminal: it sets the title,
// rings, clears, writes backwards, and forges lines. Each Q stands before what
// is also a part of some formats.
const evil = "\x1b]0;title\x07\u009b31m\x9b2J\u202e\u2066\u200f\u061c\x7fQ\rQ\nQ\tZ"

// oneLine is evil for where a line ends a word of its own.
var oneLine = strings.NewReplacer("\n", "", "\t", "").Replace(evil)

// structural is what commands say to a terminal themselves, to show progress.
var structural = strings.NewReplacer("\x1b[2K\r", "", "\x1b[0K", "", "\x1b[K", "", "\x1b[H\x1b[2J", "")

// requireVisible wants an output to hold nothing that acts on a terminal. The
// reader of a file of data is no terminal.
func requireVisible(t *testing.T, said string) {
	t.Helper()
	for _, part := range []string{"Q\r", "Q\n", "Q\t", "title\n"} {
		require.NotContains(t, said, part)
	}
	text := structural.Replace(said)
	require.True(t, utf8.ValidString(text), "%q", said)
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '\r' {
			require.False(t, format.Hidden(r), "%U in %q", r, said)
		}
	}
}

// newTerminal returns both ends of a terminal that changes nothing.
func newTerminal(t *testing.T) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	require.Zero(t, errno)
	slave = os.NewFile(peer, "terminal")
	mode, err := unix.IoctlGetTermios(int(peer), unix.TCGETS)
	require.NoError(t, err)
	mode.Oflag &^= unix.OPOST
	require.NoError(t, unix.IoctlSetTermios(int(peer), unix.TCSETS, mode))
	return master, slave
}

// pianola runs the command in a directory, on a terminal or with a pipe for both
// outputs, and returns what it said.
func pianola(t *testing.T, dir string, onTerminal bool, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args, cmd.Dir = append([]string{"pianola"}, args...), dir
	cmd.Stdout, cmd.Stderr = &said, &said
	if !onTerminal {
		_ = cmd.Run()
		return said.String()
	}
	master, slave := newTerminal(t)
	defer master.Close()
	cmd.Stdout, cmd.Stderr = slave, slave
	require.NoError(t, cmd.Start())
	slave.Close()
	_, _ = io.Copy(&said, master) // until EIO: the other end is closed
	_ = cmd.Wait()
	return said.String()
}

// hostileScript is a recording whose names and remarks are evil. A file opens in
// vain, so that a replay that finds it differs.
func hostileScript() string {
	name := func(s string) string { return string(format.AppendQuoted(nil, []byte(s+evil))) }
	return "# command: " + oneLine + "\n# kernel: " + oneLine + "\n# device: " + oneLine + "\n# replay notes: " + oneLine + "\n# recorder: ebpf\n" +
		"1 0.000000000 openat(AT_FDCWD, " + name("/w/a") + ", O_RDONLY) = 3 <0.000001000> {type=reg mode=0644 size=100}\n" +
		"1 0.000010000 read(3, 0x7f0000000000, 10) = 10 <0.000001000>\n" +
		"1 0.000010000 read(9, 0x7f0000000000, 10) = 10 <0.000001000>\n" +
		"1 0.000010000 openat(AT_FDCWD, " + name("/w/gone") + ", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000001000>\n" +
		"1 0.000010000 rename(" + name("/w/b") + ", " + name("/w/c") + ") = -1 EXDEV (Invalid cross-device link) <0.000001000>\n" +
		"1 0.000010000 openat(AT_FDCWD, " + name("/w/new") + ", O_RDWR|O_CREAT, 0644) = 4 <0.000001000> {type=reg mode=0644 size=0 new}\n" +
		"1 0.000010000 write(4, 0x7f0000000000, 10) = 10 <0.000001000>\n" +
		"1 0.000010000 close(3) = 0 <0.000001000>\n"
}

// TestTerminal: whatever traces, scripts, names of files and plug-ins hold, no
// command passes on what acts on a terminal.
func TestTerminal(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector: it is about text")
	}
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
		return name
	}
	script := file(evil+".txt", hostileScript())
	again := file("again"+evil+".txt", strings.NewReplacer("<0.000001000>", "<0.100000000>", "# kernel: ", "# kernel: other").Replace(hostileScript()))

	trace := file(evil+".bin", string(hostileTrace().bytes(t)))
	oddKey := hostileTrace()
	oddKey.Meta = []format.Meta{{Key: "a\x1b" + oneLine, Value: "x"}}
	keyed := file("keyed.bin", string(oddKey.bytes(t)))

	file("says", "#!/bin/sh\nprintf '%s\\n' "+shellQuote(oneLine)+" >&2\ncat\n")
	file("fails", "#!/bin/sh\nprintf '%s' "+shellQuote(oneLine)+" >&2\nprintf '%s\\n' "+shellQuote(oneLine)+"\nexit 3\n")
	file("makes", "#!/bin/sh\ncat again*.txt\n")
	plain := file("plain.txt", "1 0.0 open(\"/w/f\", O_RDONLY) = 3 <0.1>\n1 0.1 close(3) = 0 <0.1>\n")

	commands := [][]string{
		{"compile", "-o", "a" + evil + ".bin", "--report", "-", "--script", "-", script},
		{"compile", "--strict", script}, {"compile", "--paths", "flat", "-o", "flat.bin", "--report", "-", script},
		{"compile", evil}, {"compile", trace}, {"compile", "-o", evil + "/x", script}, {"compile", "-o", script, script},
		{"compile", "--anonymize", evil, script}, {"compile", "--filter", "path == " + evil, script}, {"compile", "--filter", evil, script},
		{"compile", "--with", evil, script}, {"compile", "--paths", evil, script}, {"compile", "--telemetry", evil, script},
		{"compile", "-o", "s.bin", "--with", "exec:./says", script}, {"compile", "--with", "exec:./fails", script},
		{"compile", "-o", "m.bin", "--report", "-", "exec:./makes"}, {"compile", "exec:./fails"}, {"compile", "exec:./none" + evil},
		{"compile", file("key.txt", "# k\x1b\u202ey: x\n"+hostileScript())},
		{"compile", file("operation.txt", "1 0.0 o"+evil+"() = 0 <0.1>\n"+hostileScript())},
		{"compile", file("unknown.txt", hostileScript()+"1 0.0 open(\"/w\", O_"+oneLine+") = 3 <0.1>\n")},
		{"compile", file("note.txt", hostileScript()+"1 0.0 open(\"/w\", O_RDONLY) = 3 <0.1> {type="+evil+"}\n")},
		{"compile", file("intermediate.txt", "open ( \"/w"+evil+"\n")},
		{"compile", file("fio.log", "fio version 2 iolog\n"+evil+" add\n"+evil+" open\n"+evil+" frob\n")},
		{"compile", file("nothing.txt", evil)},
		{"replay", "--backend", "memory", trace}, {"replay", "--backend", "memory", "--json", trace}, {"replay", "--backend", "memory", "--strict", trace},
		{"replay", "--backend", "memory", "--runs", "2", trace, trace}, {"replay", "--root", "r" + evil, trace},
		{"replay", "--root", "r" + evil, "--prepare", "only", trace}, {"replay", "--prepare", "only", trace, trace},
		{"replay", "--backend", "exec:./fails", trace}, {"replay", "--backend", "exec:./says", trace}, {"replay", "--backend", evil, trace},
		{"replay", keyed}, {"replay", evil}, {"replay", script}, {"replay", "--limit", evil, trace}, {"replay", "--log", evil + "/x", trace},
		{"replay", "--root", dir, trace},
		{"profile", script}, {"profile", "--all", script, trace}, {"profile", "--by", "file", trace}, {"profile", "--json", trace, script}, {"profile", "--json", script},
		{"profile", "--by", "process", script}, {"profile", "--format", "benchstat", trace},
		{"profile", "--by", evil, trace}, {"profile", evil}, {"profile", "--follow", file("whole"+evil+".txt", hostileScript()+"# lost: 0\n")},
		{"compare", script, again}, {"compare", "--json", script, again},
		{"compare", "--format", "benchstat", script, again}, {"compare", "--tolerance", evil, script, again}, {"compare", script, keyed},
		{"compare", "--plot", evil, script, again},
		{"lab", script, "--runs", "1", "--backend", "memory", "--try", "sync=none", "--try", "exec:./fails", "--try", "exec:./says", "--try", "backend=memory"},
		{"lab", script, "--runs", "1", "--json", "--backend", "memory", "--try", "exec:sh -c " + shellQuote("cat #"+oneLine)},
		{"lab", script, "--runs", "1", "--root", "l" + evil, "--try", "exec:sh -c " + shellQuote("cat #"+oneLine)}, {"lab", plain, "--try", evil}, {"lab", keyed, "--try", "cache=cold"},
		{"bench", "--tracer", "ptrace", "--runs", "1", "--root", "b" + evil, "--root", "c" + evil, "--html", "h" + evil, "-o", "o" + evil, "--", "wc", "-c", plain},
		{"bench", "--tracer", "ptrace", "--runs", "1", "--backend", "memory", "--html", "", "--json", "--setup", ": '" + evil + "'", "--", "test", "-e", script},
		{"bench", "--root", evil + "=", "true"}, {"bench", "--root", evil + "=r", "true"}, {"bench", "--setup", "exit 1 #" + evil, "true"}, {"bench", "--html", evil + "/x", "true"}, {"bench", "none" + evil},
		{"convert", keyed}, {"convert", script}, {"convert", "--format", "strace", script}, {"convert", "--format", "json", script}, {"convert", "--format", evil, trace}, {"convert", "-o", evil + "/x", trace},
		{"record", "--tracer", "ptrace", "-o", "never.txt", "--", "none" + evil}, {"record", "-o", evil + "/x", "--", "true"}, {"record", "--user", evil, "true"},
		{"record", "--tracer", evil, "true"}, {"record", "-o", script, "--", "true", script},
		{"doctor"}, {"doctor", "--json"}, {evil}, {"--" + evil}, {"compile", "--" + evil}, {"help", evil}, {"compile", "--help"},
	}
	for _, kind := range []string{"script", "strace", "json", "perfetto"} {
		commands = append(commands, []string{"convert", "--format", kind, trace})
	}
	for _, args := range commands {
		for _, onTerminal := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, terminal %t", args[0], onTerminal), func(t *testing.T) {
				said := pianola(t, dir, onTerminal, args...)
				t.Logf("%q: %q", args, said)
				require.NotContains(t, said, "goroutine ")
				requireVisible(t, said)
			})
		}
	}
	// Of these, files keep what the names are.
	for _, args := range [][]string{
		{"profile", "--by", "file", "--format", "csv", trace}, {"compare", "--format", "csv", trace, trace},
		{"convert", "--format", "csv", trace}, {"convert", "--format", "fio", trace}, {"convert", "--format", "fio2", trace}, {"convert", "--format", "fiofiles", trace},
	} {
		t.Run(strings.Join(args[:len(args)-1], " "), func(t *testing.T) {
			requireVisible(t, pianola(t, dir, true, args...))
			exact := pianola(t, dir, false, args...)
			require.Contains(t, exact, "\u202e")
			require.NotContains(t, exact, `\342`)
		})
	}
}

// hostileTrace is a trace with evil names, and with a remark that only a forger
// can write.
func hostileTrace() *hostile {
	h := newHostile(1)
	h.Meta = []format.Meta{{Key: "command: " + oneLine, Value: oneLine}, {Key: "start", Value: oneLine}}
	h.file(format.File{Path: "w" + evil, Type: format.TypeDir, Mode: 0o755, Cached: -1})
	h.file(format.File{Path: "w" + evil + "/a", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
	h.add(1, format.OpOpen, 3, "w"+evil+"/a", format.RDWR)
	h.add(1, format.OpRead, 50, 3, 0, 200)
	h.add(1, format.OpOpen, 4, "w"+evil+"/none", format.RDWR)
	h.add(1, format.OpClose, 0, 3)
	return h
}

// shellQuote quotes a word for a shell.
func shellQuote(s string) string { return "'" + s + "'" }
