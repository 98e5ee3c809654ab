package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// grouped is the text of a pattern of one group.
func grouped(head, steps string) string {
	return "pattern: 1\n" + head + "groups:\n- steps:\n  " + strings.ReplaceAll(steps, "\n", "\n  ") + "\n"
}

// play returns at most so many events of a pattern.
func play(text string, most int) (*format.Header, []format.Event, error) {
	p, err := Parse(strings.NewReader(text), "w.yaml")
	if err != nil {
		return nil, nil, err
	}
	r := p.Reader()
	var events []format.Event
	batch := make([]format.Event, 7)
	for len(events) < most {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			events = append(events, batch[i].Clone())
		}
		if errors.Is(err, io.EOF) {
			return r.Header(), events, nil
		}
		if err != nil {
			return r.Header(), events, err
		}
	}
	return r.Header(), events, nil
}

// printed returns the events of a pattern as a script, without its remarks.
func printed(t *testing.T, text string) string {
	t.Helper()
	_, events, err := play(text, 10000)
	require.NoError(t, err)
	var b bytes.Buffer
	w := script.NewWriter(&b)
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Flush())
	var lines []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// The calls and results of each step.
func TestSteps(t *testing.T) {
	head := "directories: [d]\nfiles: [{path: \"f{i}\", count: 2, size: 10000}]\n"
	for steps, want := range map[string]string{
		"- open: f0\n- read: {size: 4096, count: 4}\n- close": `
openat(AT_FDCWD, "f0", O_RDWR) = 3 {type=reg mode=0644 size=10000}
read(3, 0x10000000000, 4096) = 4096
read(3, 0x10000000000, 4096) = 4096
read(3, 0x10000000000, 4096) = 1808
read(3, 0x10000000000, 4096) = 0
close(3) = 0`,
		"- open: {path: n, access: write, flags: [create, exclusive, sync], as: a}\n- open: {path: n, as: b}\n- write: {file: a, size: 1KiB, start: 1K}\n- fstat: b\n- close: a\n- open: {path: n, as: c, flags: truncate}\n- fsync: c\n- fdatasync: c": `
openat(AT_FDCWD, "n", O_WRONLY|O_SYNC|O_CREAT|O_EXCL, 0644) = 3 {type=reg mode=0644 size=0 new}
openat(AT_FDCWD, "n", O_RDWR) = 4 {type=reg mode=0644 size=0}
pwrite64(3, 0x10000000000, 1024, 1000) = 1024
fstat(4, 0x10000000000) = 0 {type=reg mode=0644 size=2024}
close(3) = 0
openat(AT_FDCWD, "n", O_RDWR|O_TRUNC) = 3 {type=reg mode=0644 size=0}
fsync(3) = 0
fdatasync(3) = 0`,
		"- open: {path: f0, flags: append}\n- write: {size: 10}\n- write: {size: 10, start: 0}\n- seek: {to: -20, from: end}\n- read: {size: 30, vector: 3}\n- seek: {to: 5}\n- seek: {to: 5, from: current}\n- read: {size: 8, start: 1, vector: 4, total: 12}": `
openat(AT_FDCWD, "f0", O_RDWR|O_APPEND) = 3 {type=reg mode=0644 size=10000}
write(3, 0x10000000000, 10) = 10
pwrite64(3, 0x10000000000, 10, 0) = 10
lseek(3, -20, SEEK_END) = 10000
readv(3, 0x10000000000, 3, 30) = 20
lseek(3, 5, SEEK_SET) = 5
lseek(3, 5, SEEK_CUR) = 10
preadv(3, 0x10000000000, 4, 1, 8) = 8
preadv(3, 0x10000000000, 4, 9, 4) = 4`,
		"- open: f1\n- write: {size: 100, order: strided, start: 50, stride: 1K, count: 3}\n- read: {size: 4K, order: reverse}\n- truncate: {size: 5}\n- truncate: {path: f1, size: 7}\n- truncate: {path: no}\n- fallocate: {size: 10, start: 10}\n- fallocate: {size: 10, start: 100, mode: punch}\n- read: {size: 100, start: 0}": `
openat(AT_FDCWD, "f1", O_RDWR) = 3 {type=reg mode=0644 size=10000}
pwrite64(3, 0x10000000000, 100, 50) = 100
pwrite64(3, 0x10000000000, 100, 1050) = 100
pwrite64(3, 0x10000000000, 100, 2050) = 100
pread64(3, 0x10000000000, 4000, 4000) = 4000
pread64(3, 0x10000000000, 4000, 0) = 4000
ftruncate(3, 5) = 0
truncate("f1", 7) = 0
truncate("no", 0) = -1 ENOENT (No such file or directory)
fallocate(3, 0, 10, 10) = 0
fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 100, 10) = 0
pread64(3, 0x10000000000, 100, 0) = 20`,
		"- mkdir: d\n- mkdir: d/e\n- mkdir: no/e\n- rename: {from: f0, to: d/e/x}\n- unlink: f0\n- rename: {from: f0, to: f1}\n- rename: {from: f1, to: no/f1}\n- rename: {from: f1, to: d/e/x}\n- rename: {from: d/e/x, to: d/e/x}\n- stat: d\n- stat: d/e/x\n- stat: no/x\n- unlink: d/e/x\n- mkdir: g\n- rename: {from: d/e, to: g}\n- rmdir: g\n- rmdir: g\n- readdir: d": `
mkdirat(AT_FDCWD, "d", 0755) = -1 EEXIST (File exists)
mkdirat(AT_FDCWD, "d/e", 0755) = 0
mkdirat(AT_FDCWD, "no/e", 0755) = -1 ENOENT (No such file or directory)
renameat(AT_FDCWD, "f0", AT_FDCWD, "d/e/x") = 0
unlinkat(AT_FDCWD, "f0", 0) = -1 ENOENT (No such file or directory)
renameat(AT_FDCWD, "f0", AT_FDCWD, "f1") = -1 ENOENT (No such file or directory)
renameat(AT_FDCWD, "f1", AT_FDCWD, "no/f1") = -1 ENOENT (No such file or directory)
renameat(AT_FDCWD, "f1", AT_FDCWD, "d/e/x") = 0
renameat(AT_FDCWD, "d/e/x", AT_FDCWD, "d/e/x") = 0
newfstatat(AT_FDCWD, "d", 0x10000000000, 0) = 0 {type=dir mode=0755}
newfstatat(AT_FDCWD, "d/e/x", 0x10000000000, 0) = 0 {type=reg mode=0644 size=10000}
newfstatat(AT_FDCWD, "no/x", 0x10000000000, 0) = -1 ENOENT (No such file or directory)
unlinkat(AT_FDCWD, "d/e/x", 0) = 0
mkdirat(AT_FDCWD, "g", 0755) = 0
renameat(AT_FDCWD, "d/e", AT_FDCWD, "g") = 0
unlinkat(AT_FDCWD, "g", AT_REMOVEDIR) = 0
unlinkat(AT_FDCWD, "g", AT_REMOVEDIR) = -1 ENOENT (No such file or directory)
openat(AT_FDCWD, "d", O_RDONLY|O_DIRECTORY) = 3 {type=dir mode=0755}
getdents64(3, 0x10000000000, 32768) = 48
getdents64(3, 0x10000000000, 32768) = 0
close(3) = 0`,
		"- let: {value: 3, as: n}\n- repeat:\n    times: n\n    as: i\n    steps:\n    - if: {condition: i % 2 == 0 || n < 2, steps: [stat: \"x{i * 10}\"]}\n- repeat: {times: 0, steps: [stat: never]}\n- stat: \"{min(7, n)}{max(7, n)}{-(2 - n)}{(1 + 2) * 3 >= 9 && 2 != 3}{choose(5: 4)}{6..6}{7 / 2}\"": `
newfstatat(AT_FDCWD, "x0", 0x10000000000, 0) = -1 ENOENT (No such file or directory)
newfstatat(AT_FDCWD, "x20", 0x10000000000, 0) = -1 ENOENT (No such file or directory)
newfstatat(AT_FDCWD, "3711463", 0x10000000000, 0) = -1 ENOENT (No such file or directory)`,
	} {
		text := printed(t, grouped(head, steps))
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString("\n" + strings.TrimPrefix(strings.TrimSpace(line), "1 0.000000000 "))
		}
		require.Equal(t, want+"\nexit_group(0) = ?", b.String(), steps)
	}
}

// Only what the pattern asks for takes time.
func TestTime(t *testing.T) {
	require.Equal(t, `1 0.000000000 newfstatat(AT_FDCWD, "a", 0x10000000000, 0) = -1 ENOENT (No such file or directory)
1 1.500000000 newfstatat(AT_FDCWD, "b", 0x10000000000, 0) = -1 ENOENT (No such file or directory) {timer=500000000}
1 0.000000000 openat(AT_FDCWD, "f", O_RDWR|O_CREAT, 0644) = 3 {type=reg mode=0644 size=0 new}
1 0.000001000 write(3, 0x10000000000, 1) = 1
1 0.000001000 write(3, 0x10000000000, 1) = 1
1 0.000000000 exit_group(0) = ?
`, printed(t, grouped("", "- stat: a\n- compute: 1s\n- sleep: 500ms\n- stat: b\n- open: {path: f, flags: create}\n- write: {size: 1, count: 2, compute: 1us}\n")))
}

// Shuffled offsets come once each in every pass, random ones lie in the range,
// both on their grid, and what is drawn hangs on the seed.
func TestOffsets(t *testing.T) {
	offsets := func(seed int, steps string) (offs []int64) {
		_, events, err := play(grouped(fmt.Sprintf("seed: %d\nfiles: [{path: f, size: 1000K}]\n", seed), "- open: f\n"+steps), 10000)
		require.NoError(t, err)
		for _, e := range events {
			if e.Op == format.OpPread64 {
				require.Equal(t, e.Args[2], e.Ret)
				offs = append(offs, e.Args[3])
			}
		}
		return offs
	}
	shuffled := offsets(1, "- read: {size: 1000, order: shuffled, start: 500K, count: 1000}\n")
	require.Len(t, shuffled, 1000)
	require.NotEqual(t, shuffled[:500], shuffled[500:])
	for pass := range slices.Chunk(shuffled, 500) {
		require.False(t, slices.IsSorted(pass))
		pass = slices.Sorted(slices.Values(pass))
		for i, off := range pass {
			require.Equal(t, 500_000+int64(i)*1000, off)
		}
	}
	random := offsets(1, "- read: {size: 1..3000, order: random, align: 500, start: 100, range: 100K, count: 1000}\n")
	require.Len(t, random, 1000)
	for _, off := range random {
		require.Zero(t, (off-100)%500)
		require.GreaterOrEqual(t, off, int64(100))
		require.Less(t, off, int64(100_100))
	}
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(random)))), 150)
	require.Equal(t, random, offsets(1, "- read: {size: 1..3000, order: random, align: 500, start: 100, range: 100K, count: 1000}\n"))
	require.NotEqual(t, random, offsets(2, "- read: {size: 1..3000, order: random, align: 500, start: 100, range: 100K, count: 1000}\n"))
}

func TestPermuted(t *testing.T) {
	for n := range uint64(70) {
		seen := map[uint64]bool{}
		for k := range n + 1 {
			seen[permuted(k, n+1, 99)] = true
		}
		require.Len(t, seen, int(n+1))
	}
}

// Numbers are drawn with the frequencies that are asked for.
func TestDraws(t *testing.T) {
	const times = 20000
	_, events, err := play(grouped("", fmt.Sprintf(`- mix:
    times: %d
    of:
    - {weight: 70, steps: [stat: "a{choose(30: 1, 10: 2)}"]}
    - {weight: 30, steps: [stat: "{exponential(1000)}", rmdir: "{normal(1000, 100)}", unlink: "{10..19}"]}
`, times)), 3*times)
	require.NoError(t, err)
	count := map[string]float64{}
	for _, e := range events {
		name := string(e.Str[0])
		var n float64
		if _, err := fmt.Sscan(name, &n); err == nil {
			name = e.Op.String() + fmt.Sprint(e.Args[2] == format.AtRemovedir)
			count["sum "+name] += n
		}
		count[name]++
	}
	require.InEpsilon(t, times*0.7*0.75, count["a1"], 0.05)
	require.InEpsilon(t, times*0.7*0.25, count["a2"], 0.05)
	require.InEpsilon(t, times*0.3, count["newfstatatfalse"], 0.05)
	require.InEpsilon(t, 1000, count["sum newfstatatfalse"]/count["newfstatatfalse"], 0.1)
	require.InEpsilon(t, 1000, count["sum unlinkattrue"]/count["unlinkattrue"], 0.01)
	require.InEpsilon(t, 14.5, count["sum unlinkatfalse"]/count["unlinkatfalse"], 0.05)
}

// Each fault is told with its line.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `1: an empty pattern`,
		"pattern: 2\ngroups:\n": `2: "groups" needs a list`,
		"pattern: 2\ngroups: [{steps: [close]}]\n": `1: "2" is 2: expected a value from 1 to 1`,
		"pattern: 1\n":                   `1: "groups" is missing`,
		"- 1\n":                          `1: expected keys: pattern, name, seed, directories, files, groups`,
		"pattern: 1\nfoo: 1\n":           `2: unknown key "foo", expected one of pattern, name, seed, directories, files, groups`,
		"pattern: 1\nseed: 1\nseed: 2\n": `3: duplicate key "seed"`,
		"pattern: [1\n":                  `1: did not find expected ',' or ']'`,
		"pattern: 1\ngroups: &a []\n":    `2: anchors and aliases are not supported`,
		"pattern: 1\nname: \"a\\nb\"\n":  `2: "name" must be a single line`,
		"pattern: 1\nname: {a: b}\n":     `2: "name" needs a single value`,
		"pattern: 1\ngroups: [{steps: [close]}]\n---\na: 1\n":                                              `3: unexpected second document`,
		"pattern: 1\ngroups: [{processes: 5000, steps: [close]}]\n":                                        `2: "5000" is 5000: expected a value from 1 to 4096`,
		"pattern: 1\ngroups: [{processes: 64, threads: 65, steps: [sync]}]":                                `2: unknown step "sync"`,
		"pattern: 1\ngroups: [{processes: 64, threads: 65, steps: [close]}]":                               `2: more than 4096 threads in total`,
		"pattern: 1\nfiles:\n- {path: a}\n- {path: \"{0 * i}\", count: 2}\ngroups: [{steps: [stat: a]}]\n": `4: "0": it is listed twice`,
		"pattern: 1\ndirectories: [{path: a, size: 1}]\ngroups: [{steps: [stat: a]}]\n":                    `2: a directory has no size`,
		"pattern: 1\nfiles: [a, a/b]\ngroups: [{steps: [stat: a]}]\n":                                      `2: "a/b": a part of the path is not a directory`,
		"pattern: 1\nfiles: [/a]\ngroups: [{steps: [stat: a]}]\n":                                          `2: "/a": a name must be relative to the root of the replay`,
		"pattern: 1\nfiles: [{path: \"{i}\", count: 1.5}]\ngroups: [{steps: [stat: a]}]\n":                 `2: "1.5": "1.5" is not a number such as 4096, 64KiB or 1.5MB`,
	} {
		_, _, err := play(text, 10)
		require.EqualError(t, err, "w.yaml:"+want, text)
	}
	for steps, want := range map[string]string{
		"- {open: f, close: f}":             `a step has one key, not 2; begin each step with a dash`,
		"- [open]":                          `expected a step`,
		"- open":                            `"path" is missing`,
		"- open: {path: f, flags: [creat]}": `"flags" must be one of append, create, direct, dsync, exclusive, noatime, sync, truncate, not "creat"`,
		"- open: {path: f, access: read, flags: truncate}":            `append and truncate need a file opened for writing`,
		"- open: {path: f, as: 1f}":                                   `"1f": a name consists of letters, digits and underscores, and begins with a letter`,
		"- open: f":                                                   `open "f": no such file; list it in files, or create it`,
		"- open: {path: d/f, flags: create}":                          `open "d/f": no such directory; make it with mkdir, or list it in directories`,
		"- open: g\n- open: g":                                        `"f" is already open`,
		"- open: {path: g, flags: exclusive}":                         `open "g": the file exists, but the flag exclusive requires a new one`,
		"- close: g":                                                  `no step of the group opens a file as "g"`,
		"- if: {condition: 0, steps: [open: g]}\n- close":             `"f" is not open`,
		"- stat: ../a":                                                `"../a": a part of a name cannot be empty, "." or ".."`,
		"- stat: \"a{b\"":                                             `"a{b": missing closing brace`,
		"- stat: \"a}b\"":                                             `"a}b": unmatched closing brace`,
		"- stat: \"{b}\"":                                             `"b": variable "b" is not defined here`,
		"- stat: \"{0-1}\"":                                           `"0-1" is -1: expected a value from 0 to 1125899906842624`,
		"- stat: \"{1/0}\"":                                           `"1/0": division by zero`,
		"- stat: \"{9223372036854775807+1}\"":                         `"9223372036854775807+1": out of range`,
		"- stat: \"{4611686018427387904*2}\"":                         `"4611686018427387904*2": out of range`,
		"- stat: \"{2..1}\"":                                          `"2..1": nothing from 2 to 1`,
		"- stat: \"{1 2}\"":                                           `"1 2": unexpected "2"`,
		"- stat: \"{(1}\"":                                            `"(1": missing closing parenthesis`,
		"- stat: \"{1+}\"":                                            `"1+": expected a number at the end`,
		"- stat: \"{min(1)}\"":                                        `"min(1)": min takes 2 values`,
		"- stat: \"{f(1)}\"":                                          `"f(1)": unknown function "f"`,
		"- stat: \"{choose(0: 1)}\"":                                  `"choose(0: 1)": choose takes WEIGHT: VALUE, …`,
		"- compute: 10":                                               `"10": a time needs a unit: ns, us, ms, s, m or h`,
		"- compute: 0\n- compute: 5 + 1..9":                           `"5 + 1..9": a time needs a unit: ns, us, ms, s, m or h`,
		"- compute: 10KiB":                                            `"10KiB": "10KiB" is not a time such as 10ms or 1.5s`,
		"- sleep: 20000h * 10000":                                     `"20000h * 10000": out of range`,
		"- open: g\n- read: {size: 4, ofset: 1}":                      `unknown key "ofset", expected one of file, size, count, total, order, start, range, stride, align, vector, compute`,
		"- open: g\n- read":                                           `"size" is missing`,
		"- open: g\n- read: {size: 2GiB}":                             `"2GiB" is 2147483648: expected a value from 1 to 1073741824`,
		"- open: g\n- read: {size: 1, count: 1, total: 1}":            `use either count or total, not both`,
		"- open: g\n- read: {size: 1, order: strided}":                `the order strided needs a stride, and other orders do not take one`,
		"- open: g\n- read: {size: 1, align: 1}":                      `align applies only to the order random`,
		"- open: g\n- read: {size: 1, range: 1}":                      `range applies only to the orders random, shuffled and reverse`,
		"- open: g\n- write: {size: 8, order: shuffled}":              `a block of 8 bytes does not fit into the range of 4`,
		"- open: g\n- write: {size: 8, order: random}":                `a block of 8 bytes does not fit into the range of 4`,
		"- open: {path: g, flags: direct}\n- write: {size: 8}":        `direct I/O needs sizes and offsets that are multiples of 512 bytes, not 8 bytes at offset 0`,
		"- open: g\n- write: {size: 8, start: 1024TiB}":               `a file is larger than 1125899906842624 bytes`,
		"- open: g\n- seek: {to: -1}":                                 `offset -1 of "f" is negative or too large`,
		"- repeat: {times: 1000000000000, steps: [compute: 1ns]}":     `a thread runs a million steps without a call`,
		"- repeat: {times: 1000000000001, steps: [close]}\n- open: g": `"1000000000001" is 1000000000001: expected a value from 0 to 1000000000000`,
		"- repeat: {times: 2, as: i, steps: [{let: {value: 1, as: b}}]}\n- stat: \"{b}\"": `"b": variable "b" is not defined here`,
		"- open: g/x":                              `open "g/x": a part of the path is not a directory`,
		"- stat: g/x":                              `"g/x": a part of the path is not a directory`,
		"- mkdir: g/x":                             `mkdir "g/x": a part of the path is not a directory`,
		"- rmdir: g":                               `rmdir "g": a part of the path is not a directory`,
		"- mkdir: d\n- unlink: d":                  `unlink "d": is a directory`,
		"- mkdir: d\n- truncate: {path: d}":        `truncate "d": is a directory`,
		"- mkdir: d\n- open: d":                    `open "d": is a directory`,
		"- mkdir: d\n- rename: {from: d, to: d/e}": `rename "d" to "d/e": a directory cannot be moved into itself`,
		"- mkdir: d\n- rename: {from: d, to: g}":   `rename "d" to "g": a part of the path is not a directory`,
		"- mkdir: d\n- rename: {from: g, to: d}":   `rename "g" to "d": is a directory`,
		"- if: {condition: 1, steps: [mkdir: d, rename: {from: g, to: d/g}, rmdir: d]}":                           `rmdir "d": the directory is not empty`,
		"- if: {condition: 1, steps: [mkdir: d, mkdir: e, rename: {from: g, to: d/g}, rename: {from: e, to: d}]}": `rename "e" to "d": the directory is not empty`,
		"- readdir: g": `readdir "g": no such directory`,
		"- " + strings.Repeat("repeat: {times: 1, steps: [", 40) + "close" + strings.Repeat("]}", 40): `steps are nested more than 32 deep`,
	} {
		_, _, err := play(grouped("files: [{path: g, size: 4}]\n", steps), 10)
		require.ErrorAs(t, err, new(*Error), steps)
		_, got, _ := strings.Cut(err.Error(), ":")
		line, got, _ := strings.Cut(got, ": ")
		require.Equal(t, want, got, steps)
		require.Contains(t, []string{"5", "6"}, line, steps)
	}
}

// Excessive requests of a short text fail before they take memory, and errors about a
// long text are short.
func TestBounds(t *testing.T) {
	for text, want := range map[string]string{
		"pattern: 1\ndirectories:\n- {path: d, count: 1048576}\n- d\ngroups: [{steps: [stat: a]}]\n": "4: more than a million files and directories at a time",
		"pattern: 1\ngroups:\n" + strings.Repeat("- {processes: 2, steps: [barrier: group]}\n", 400): "330: more than a million open descriptors at a time, including those that processes start with",
	} {
		_, _, err := play(text, 1<<20)
		require.EqualError(t, err, "w.yaml:"+want)
	}
	long := strings.Repeat("1", 100_000)
	for _, steps := range []string{long, "- " + long, "- stat: {" + long + ": 1}", "- stat: " + long, "- stat: \"{" + long + "\"", "- stat: \"}" + long + "\"", "- stat: \"{" + long + "}\"", "- open: {path: a, as: " + long + "}", "- barrier: " + long} {
		_, _, err := play(grouped("", steps), 10)
		require.Error(t, err)
		require.Less(t, len(err.Error()), 1000)
	}
}

// A process that has ended has no descriptors.
func TestDescriptorsOfTheEnded(t *testing.T) {
	p, err := Parse(strings.NewReader("pattern: 1\ngroups:\n- processes: 3\n  threads: 2\n  steps:\n  - open: {path: a, flags: create}\n  - barrier\n"), "w.yaml")
	require.NoError(t, err)
	r := p.Reader()
	batch := make([]format.Event, 7)
	for err == nil {
		_, err = r.Read(batch)
	}
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, r.open)
}

// A barrier that not all come to is an error, and so are too many.
func TestBarrierErrors(t *testing.T) {
	_, _, err := play("pattern: 1\ngroups:\n- threads: 4\n  steps:\n  - if: {condition: rank > 0, steps: [barrier]}\n", 100)
	require.EqualError(t, err, "w.yaml:5: a barrier of 4 threads is reached by only 3")
	_, events, err := play("pattern: 1\ngroups:\n- threads: 1024\n  steps:\n  - repeat: {times: 1000, steps: [barrier: group]}\n", 1<<20)
	require.EqualError(t, err, "w.yaml:5: threads wait at barriers more than 262144 times; a barrier of n threads counts as 2n waits")
	require.Less(t, len(events), 1<<20)
}

// Memory does not grow with the number of operations.
func TestStreams(t *testing.T) {
	p, err := Parse(strings.NewReader("pattern: 1\nfiles: [{path: f, size: 1GiB}]\ngroups:\n- threads: 4\n  steps:\n  - open: f\n  - read: {size: 4KiB, order: shuffled, count: 1000000000}\n"), "w.yaml")
	require.NoError(t, err)
	r := p.Reader()
	batch := make([]format.Event, 512)
	read := func() {
		n, err := r.Read(batch)
		require.NoError(t, err)
		require.NotZero(t, n)
	}
	for range 10 {
		read()
	}
	require.LessOrEqual(t, testing.AllocsPerRun(1000, read), 1.0)
}

// The examples make the calls that their first lines say.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../docs/patterns/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		_, events, err := play(string(text), 1<<20)
		require.NoError(t, err)
		calls, moved := map[string]int64{}, map[string]int64{}
		for _, e := range events {
			if e.Dur >= 0 && (e.Op == format.OpRead || e.Op == format.OpWrite) {
				continue // of a barrier
			}
			calls[e.Op.String()]++
			if e.Op.Info().Result == format.ResultBytes {
				moved[e.Op.String()] += e.Ret
			}
		}
		said := 0
		for line := range strings.Lines(string(text)) {
			for prefix, got := range map[string]map[string]int64{"# calls: ": calls, "# bytes: ": moved} {
				list, ok := strings.CutPrefix(line, prefix)
				for _, word := range strings.Fields(list) {
					if !ok {
						break
					}
					op, number, _ := strings.Cut(word, "=")
					require.Equal(t, number, fmt.Sprint(got[op]), "%s: %s of %s", name, prefix, op)
					said++
				}
			}
		}
		require.NotZero(t, said, name)
		t.Log(name, calls, moved)
	}
}

// The examples of the documentation are some, and do what it says.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/patterns.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, rest, found := strings.Cut(rest, "```")
	require.True(t, found)
	_, events, err := play(text, 1<<20)
	require.NoError(t, err)
	require.Greater(t, len(events), 40_000)
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	text, _, found = strings.Cut(rest, "```")
	require.True(t, found)
	_, events, err = play(grouped("files: [{path: f, size: 100MiB}]\n", "- open: f\n"+strings.TrimSpace(text)), 1<<20)
	require.NoError(t, err)
	hot := 0
	for _, e := range events {
		if e.Op == format.OpPread64 && e.Args[3] < 1000*4096 {
			hot++
		}
	}
	require.InEpsilon(t, 8000, hot, 0.05)
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"pattern: 1\n": true, "# c\n\n---\npattern: 1": true, "# pianola script 1\n": false, "": false, "name: x\npattern: 1\n": false, "\ufeffpattern: 1\n": true, "4096 8192 20\n": false,
	} {
		require.Equal(t, want, Is([]byte(text)), text)
	}
}

// FuzzParse demands that nothing panics or runs away, and that what a pattern
// makes can be printed and read again as a script.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../docs/patterns/*.yaml")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add(grouped("", "- stat: \"{normal(1, 2) % 3}\"\n"))
	f.Fuzz(func(t *testing.T, text string) {
		h, events, err := play(text, 1000)
		if err != nil {
			require.ErrorAs(t, err, new(*Error))
		}
		if h == nil {
			return
		}
		var b bytes.Buffer
		w := script.NewWriter(&b)
		require.NoError(t, w.WriteHeader(h))
		require.NoError(t, w.Write(events))
		require.NoError(t, w.Flush())
		again := 0
		batch := make([]format.Event, 64)
		for r := script.NewReader(&b, "printed"); ; {
			n, err := r.Read(batch)
			again += n
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		require.Equal(t, len(events), again)
	})
}
