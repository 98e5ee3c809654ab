package process

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// simulated takes lines "TID call args = result" through a State, and returns what
// happened to descriptors and what there is at the end. An open is of the file that
// its path names.
func simulated(t *testing.T, lines string) (happened, left string) {
	t.Helper()
	s := NewState(&format.Header{})
	var log []string
	s.Closed = func(t *Thread, fd int32, d Descriptor) { log = append(log, fmt.Sprint("close ", fd, " ", d.File.Name)) }
	s.Dropped = func(d *Description) { log = append(log, "drop "+d.File.Name) }
	s.Start(nil)
	for line := range strings.SplitSeq(lines, "; ") {
		e := parsed(t, line)
		thread := s.Thread(&e)
		s.Apply(thread, &e)
		if e.Op == format.OpOpen {
			s.Put(thread.Table, e.Ret, Descriptor{Description: s.Open(&File{Name: string(e.Str[0])}, 0), Cloexec: e.Cloexec()})
		}
	}
	for _, tid := range []int32{1, 2, 3} {
		if thread := s.Living(tid); thread != nil {
			left += fmt.Sprint("; ", tid)
			for fd, d := range thread.Table.All {
				left += fmt.Sprint(" ", fd, d.File.Name)
			}
		}
	}
	return strings.Join(log, ", "), strings.TrimPrefix(left, "; ")
}

// parsed makes an event of "TID call args = result": an argument that is not a number
// is a path.
func parsed(t *testing.T, line string) format.Event {
	call, result, _ := strings.Cut(line, " = ")
	words := strings.Fields(call)
	op, ok := format.Lookup([]byte(words[1]))
	require.True(t, ok, line)
	e := format.Event{Op: op, Ret: format.NoResult}
	_, err := fmt.Sscan(words[0], &e.TID)
	require.NoError(t, err)
	if result != "?" {
		_, err := fmt.Sscan(result, &e.Ret)
		require.NoError(t, err)
	}
	for i, word := range words[2:] {
		if _, err := fmt.Sscan(word, &e.Args[i]); err != nil {
			e.Str[0] = []byte(word)
		}
	}
	return e
}

func TestTables(t *testing.T) {
	const thread, files = format.CloneThread | format.CloneFiles, format.CloneFiles
	for _, test := range []struct{ name, lines, happened, left string }{
		{"close", "1 open a = 3; 1 close 3 = 0", "close 3 a, drop a", "1"},
		{"a close that fails", "1 open a = 3; 1 close 3 = -5", "close 3 a, drop a", "1"},
		{"a close of what is not open", "1 open a = 3; 1 close 3 = -9", "", "1 3a"},
		{"only 32 bits count", "1 open a = 3; 1 close 4294967299 = 0", "close 3 a, drop a", "1"},
		{"a close that comes late", "1 open a = 3; 1 open b = 3; 1 close 3 = 0", "close 3 a, drop a", "1 3b"},
		{"two of them", "1 open a = 3; 1 open b = 3; 1 open c = 3; 1 close 3 = 0; 1 close 3 = 0", "drop a, close 3 b, drop b, close 3 c, drop c", "1"},
		{"a close that comes late behind dup", "1 open a = 3; 1 open b = 4; 1 dup 4 = 3; 1 close 3 = 0", "close 3 a, drop a", "1 3b 4b"},
		{"late in a table of threads", fmt.Sprint("1 clone ", thread, " = 2; 1 open a = 3; 2 open b = 3; 1 close 3 = 0"), "close 3 a, drop a", "1 3b; 2 3b"},
		{"dup2 over a number", "1 open a = 3; 1 open b = 4; 1 dup2 4 3 = 3", "close 3 a, drop a", "1 3b 4b"},
		{"dup2 onto itself", "1 open a = 3; 1 dup2 3 3 = 3", "", "1 3a"},
		{"dup2 over the last of a copy", "1 open a = 3; 1 dup2 3 40 = 40; 1 close 3 = 0; 1 dup2 40 40 = 40", "close 3 a", "1 40a"},
		{"dup2 while a close is late", "1 open a = 3; 1 open b = 3; 1 open c = 4; 1 dup2 4 3 = 3; 1 close 3 = 0", "close 3 b, drop b, close 3 a, drop a", "1 3c 4c"},
		{"dup2 from what is not known", "1 open a = 3; 1 dup2 7 3 = 3", "close 3 a, drop a", "1"},
		{"fork", "1 open a = 3; 1 fork = 2; 2 close 3 = 0; 2 open b = 3; 1 open c = 4", "close 3 a", "1 3a 4c; 2 3b"},
		{"a fork closes late for itself", "1 open a = 3; 1 open b = 3; 1 fork = 2; 2 close 3 = 0; 1 close 3 = 0", "close 3 b, close 3 a, drop a", "1 3b; 2"},
		{"close_range", "1 open a = 3; 1 open b = 4; 1 open c = 5000; 1 open d = 6; 1 close_range 4 4294967295 0 = 0", "close 4 b, drop b, close 6 d, drop d, close 5000 c, drop c", "1 3a"},
		{"close_range of a copy", "1 open a = 3; 1 fork = 2; 2 close_range 0 -1 0 = 0", "close 3 a", "1 3a; 2"},
		{"close_range for an exec", "1 open a = 3; 1 open b = 4; 1 close_range 4 4 4 = 0; 1 execve x = 0", "close 4 b, drop b", "1 3a"},
		{"F_SETFD", "1 open a = 3; 1 fcntl 3 2 1 = 0; 1 fork = 2; 1 fcntl 3 2 0 = 0; 1 execve x = 0; 2 execve x = 0", "close 3 a", "1 3a; 2"},
		{"F_DUPFD", "1 open a = 3; 1 fcntl 3 0 10 = 10; 1 fcntl 3 1030 10 = 11; 1 execve x = 0", "close 11 a", "1 3a 10a"},
		{"exec leaves the others their table", fmt.Sprint("1 open a = 3; 1 fcntl 3 2 1 = 0; 1 clone ", files, " = 2; 2 execve x = 0"), "close 3 a", "1 3a; 2"},
		{"exec that fails", "1 open a = 3; 1 fcntl 3 2 1 = 0; 1 execve x = -2", "", "1 3a"},
		{"unshare", fmt.Sprint("1 open a = 3; 1 clone ", thread, " = 2; 2 unshare ", files, " = 0; 2 close 3 = 0"), "close 3 a", "1 3a; 2"},
		{"exit closes with the last thread", fmt.Sprint("1 open a = 3; 1 clone ", thread, " = 2; 2 exit 0 = ?; 1 exit 0 = ?"), "drop a", ""},
		{"exit with a close that is late", "1 open a = 3; 1 open b = 3; 1 exit_group 0 = ?", "drop b, drop a", ""},
		{"an id again", "1 fork = 2; 2 open a = 3; 1 fork = 2", "drop a", "1; 2"},
		{"far numbers", "1 open a = 2147483647; 1 open b = 2048; 1 fork = 2; 2 close 2048 = 0; 1 close 2147483647 = 0", "close 2048 b, close 2147483647 a", "1 2048b; 2 2147483647a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			happened, left := simulated(t, test.lines)
			require.Equal(t, test.happened, happened)
			require.Equal(t, test.left, left)
		})
	}
}

// A descriptor for which a table has no room leads nowhere, and never to its former
// file.
func TestNoRoom(t *testing.T) {
	s := NewState(&format.Header{})
	s.Start(nil)
	dropped := 0
	s.Dropped = func(*Description) { dropped++ }
	first := s.Thread(&format.Event{TID: 1, Op: format.OpRead})
	put := func(t *Thread, fd int64) { s.Put(t.Table, fd, Descriptor{Description: s.Open(nil, 0)}) }
	put(first, 3)
	put(first, 5000)
	s.Apply(first, &format.Event{TID: 1, Op: format.OpFork, Ret: 2})
	second := s.Living(2)

	s.tables.most = s.held // not for an index
	put(second, 4)
	require.Nil(t, second.Table.At(3))
	require.NotNil(t, first.Table.At(3))
	require.Equal(t, 1, dropped)

	s.Apply(first, &format.Event{TID: 1, Op: format.OpFork, Ret: 3})
	third := s.Living(3)
	s.tables.most = s.held + third.Table.index.bytes() + pageBytes + highBytes
	s.Apply(third, &format.Event{TID: 3, Op: format.OpClose, Args: args(3)})
	s.tables.most = s.held // not for a page
	s.Apply(third, &format.Event{TID: 3, Op: format.OpClose, Args: args(5000)})
	require.Nil(t, third.Table.At(5000))
	require.NotNil(t, first.Table.At(5000))
	for _, thread := range []*Thread{first, second, third} {
		s.Apply(thread, &format.Event{TID: thread.TID, Op: format.OpExit, Ret: format.NoResult})
	}
	require.Zero(t, s.held)
	require.Equal(t, 3, dropped)
}

// Hold counts what tables took, and what they share once.
func TestHold(t *testing.T) {
	s := NewState(&format.Header{})
	took := 0
	s.Took = func(bytes int) { took += bytes }
	s.Start(nil)
	for _, line := range strings.Split("1 open a = 3; 1 open b = 3; 1 fork = 2; 2 open c = 4000; 1 close 3 = 0; 2 fork = 3; 3 dup2 3 9000 = 9000; 1 dup 3 = 4", "; ") {
		e := parsed(t, line)
		thread := s.Thread(&e)
		s.Apply(thread, &e)
		if e.Op == format.OpOpen {
			s.Put(thread.Table, e.Ret, Descriptor{Description: s.Open(nil, 0)})
		}
		held, descriptors, counted := 0, 0, map[any]bool{}
		first := func(x any) bool {
			before := counted[x]
			counted[x] = true
			return !before
		}
		for thread := range s.Threads {
			thread.Table.Hold(first, func(bytes int) { held += bytes }, func(*Descriptor) { descriptors++ })
		}
		require.LessOrEqual(t, held, took, line)
		require.GreaterOrEqual(t, held, s.held, line)
	}
}

// A thread that execs goes on under the id of its process's first thread, which the
// kernel has ended.
func TestExecTakesOverTheId(t *testing.T) {
	s := NewState(&format.Header{})
	s.Start(nil)
	first := s.Thread(&format.Event{TID: 1, Op: format.OpRead})
	s.Apply(first, &format.Event{TID: 1, Op: format.OpClone, Args: args(format.CloneThread | format.CloneFiles), Ret: 2})
	second := s.Living(2)
	exec := &format.Event{TID: 1, Op: format.OpExecve, Notes: &format.Notes{Has: format.NotedWas, Was: 2}}
	require.Same(t, second, s.Thread(exec))
	require.Nil(t, s.Living(2))
	require.Equal(t, 1, second.Process.Alive())
	require.Equal(t, 1, second.Table.users)
	require.Same(t, second, s.Thread(&format.Event{TID: 1, Op: format.OpRead}))
}
