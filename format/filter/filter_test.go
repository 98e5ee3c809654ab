package filter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestFilter(t *testing.T) {
	read := &Subject{Thread: 11, Process: 10, Rank: 3, Command: "sqlite3", Op: format.OpPread64, Path: "/srv/data/app.db", Size: 65536, Result: 65536, Duration: 2_500_000, Time: 3e9}
	stat := &Subject{Thread: 10, Process: 10, Rank: -1, Op: format.OpStat, Path: "/etc/nosuch", Size: -1, Result: -2, Duration: format.Unknown}
	for _, c := range []struct {
		text       string
		read, stat bool
	}{
		{"class == read", true, false},
		{"class != read", false, true},
		{"op == pread64", true, false},
		{"op == pread64 || op == stat", true, true},
		{"op ~ p*", true, false},
		{"thread == 11", true, false},
		{"process == 10 && thread != 11", false, true},
		{"rank == 3", true, false},
		{"rank != 3", false, false},
		{"command == sqlite3", true, false},
		{"command != sqlite3", false, false},
		{"! command == sqlite3", false, true},
		{"path ~ *.db", true, false},
		{`path ~ "/srv/*/app.d?"`, true, false},
		{"path !~ /etc/*", true, false},
		{"size >= 64KiB", true, false},
		{"size < 64KiB", false, false},
		{"size == 65.536kB", true, false},
		{"result == ENOENT", false, true},
		{"result < 0", false, true},
		{"duration > 2ms", true, false},
		{"duration <= 2ms", false, false},
		{"time >= 1s && time < 10s", true, false},
		{"(class == read || class == metadata) && !(result == ENOENT)", true, false},
		{"class==read&&size>1", true, false},
		{"!!class == read", true, false},
	} {
		f, err := Parse(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.read, f(read), "read: %s", c.text)
		require.Equal(t, c.stat, f(stat), "stat: %s", c.text)
	}
}

func TestSpans(t *testing.T) {
	inside := &Subject{Op: format.OpPwrite64, Size: 10, Spans: []string{"mpi:MPI_File_write", "stdio:fwrite"}}
	outside := &Subject{Op: format.OpPwrite64, Size: 10}
	span := &Subject{Size: 10, Span: "hdf5:H5Dwrite", Duration: 5}
	for _, c := range []struct {
		text                  string
		inside, outside, span bool
	}{
		{"span ~ MPI_*", true, false, false},
		{"span == fwrite", true, false, false},
		{"span == stdio:fwrite", true, false, false},
		{"span != fwrite", false, false, true},
		{"span !~ H5*", true, false, false},
		{"!span ~ *", false, true, false},
		{"span ~ hdf5:*", false, false, true},
		{"class == write", true, true, false},
		{"op != read", true, true, false},
		{"size == 10 && duration < 6ns", false, false, true},
	} {
		f, err := Parse(c.text)
		require.NoError(t, err, c.text)
		inside.Duration, outside.Duration = format.Unknown, format.Unknown
		require.Equal(t, []bool{c.inside, c.outside, c.span}, []bool{f(inside), f(outside), f(span)}, c.text)
	}
	require.True(t, UsesSpan(`size > 1 && !(span ~ "*")`))
	require.False(t, UsesSpan("path == span"))
	require.False(t, UsesSpan("span"))
	e := &format.Event{TID: 7, Span: &format.Span{Layer: "a", Function: "f", Bytes: 3}}
	require.Equal(t, Subject{Thread: 7, Process: 6, Rank: -1, Size: 3, Span: "a:f"}, NewSubject(e, 6, -1, "", ""))
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `filter "": at byte 0: expected a comparison`,
		"size":                     `filter "size": at byte 4: expected == != < <= > >= ~ or !~`,
		"size >":                   `filter "size >": at byte 6: expected a value`,
		"size > many":              `filter "size > many": at byte 7: "many" is not a size (want for example 4096, 64KiB or 1.5MB)`,
		"colour == red":            `filter "colour == red": at byte 0: unknown field "colour"; the fields are thread, process, rank, command, op, class, path, span, size, result, duration and time`,
		"op == frob":               `filter "op == frob": at byte 6: no operation "frob"`,
		"class == io":              `filter "class == io": at byte 9: no class "io"`,
		"path < x":                 `filter "path < x": at byte 5: operator < does not apply to path`,
		"span > x":                 `filter "span > x": at byte 5: operator > does not apply to span`,
		"size ~ 4*":                `filter "size ~ 4*": at byte 5: operator ~ does not apply to size`,
		"(size > 1":                `filter "(size > 1": at byte 9: want ) here`,
		"size > 1 size < 2":        `filter "size > 1 size < 2": at byte 9: want && or || here, not "size"`,
		"time > 3":                 `filter "time > 3": at byte 7: "3" is not a duration (want for example 10s, 2.5ms or 300us)`,
		"size > 1 &&":              `filter "size > 1 &&": at byte 11: expected a comparison`,
		`path ~ "*.db`:             `filter "path ~ \"*.db": at byte 7: string without an end`,
		`path ~ "*.\q"`:            `filter "path ~ \"*.\\q\"": at byte 7: malformed string`,
		`size > 1 && "`:            `filter "size > 1 && \"": at byte 12: string without an end`,
		`path ~ *.db"`:             `filter "path ~ *.db\"": at byte 11: string without an end`,
		`size > 1 ""`:              `filter "size > 1 \"\"": at byte 9: want && or || here, not ""`,
		`path ~ '*.db'`:            `filter "path ~ '*.db'": at byte 7: put '\'' into double quotes`,
		"path == é":                `filter "path == é": at byte 8: put 'é' into double quotes`,
		"size = 1":                 `filter "size = 1": at byte 5: expected == != < <= > >= ~ or !~`,
		"size > 9999999999999999G": `filter "size > 9999999999999999G": at byte 7: "9999999999999999G" is not a size (want for example 4096, 64KiB or 1.5MB)`,
	} {
		_, err := Parse(text)
		require.EqualError(t, err, want)
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"class == read && size >= 64KiB", `!(path ~ "*.db" || result == ENOENT)`, "((((", "time<1s", `op == "`} {
		f.Add(s)
	}
	subject := &Subject{Command: "c", Op: format.OpRead, Path: "/p"}
	f.Fuzz(func(t *testing.T, text string) {
		wants, err := Parse(text)
		if err != nil {
			require.IsType(t, &Error{}, err)
			return
		}
		wants(subject)
	})
}
