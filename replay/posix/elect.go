package posix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/replay/ranks"
	"pianola/replay/sandbox"
)

// tokenPrefix begins the name of the file by which the players of a root elect who prepares
// it.
const tokenPrefix = ".pianola-ranks-"

// election is the result of an election for a root.
type election struct {
	joins bool   // another process prepares the root
	node  string // where that runs
	made  bool   // this process, or one that joins it, has made the directory
	own   bool   // this process has made it
}

// elected is what a player knows about a root after an election.
type elected struct {
	Preparer int  // of the root that it sees
	Made     bool // it has made the directory
}

// elect decides which of the players that see one root prepares it: the one that makes a
// file in it. Each node may have a root of its own, with the same name. All players
// have the same number of roots.
func (e *Executor) elect(ctx context.Context, dirs []string) error {
	e.elections = make([]election, len(dirs))
	s := e.Session
	if s == nil || s.Size == 1 {
		return nil
	}
	own := make([]elected, len(dirs))
	token := func(i int) string { return filepath.Join(dirs[i], tokenPrefix+s.Run) }
	for i, dir := range dirs {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return fmt.Errorf("create the root: %w", err)
		}
		err := os.Mkdir(dir, 0o700)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("create the root: %w", err)
		}
		own[i].Made = err == nil
		e.elections[i].own = own[i].Made
		f, err := os.OpenFile(token(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			defer os.Remove(token(i))
			_, err = f.WriteString(strconv.Itoa(s.Rank))
			err = errors.Join(err, f.Close())
		} else if errors.Is(err, os.ErrExist) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("elect who prepares %s: %w", dir, err)
		}
	}
	if _, err := s.Gather(ctx, nil); err != nil { // all have made their files, or found them
		return err
	}
	for i, dir := range dirs {
		text, err := os.ReadFile(token(i))
		if err == nil {
			own[i].Preparer, err = strconv.Atoi(string(text))
		}
		if n := own[i].Preparer; err == nil && (n < 0 || n >= s.Size) {
			err = fmt.Errorf("there is no rank %d", n)
		}
		if err != nil {
			return fmt.Errorf("elect who prepares %s: %w", dir, err)
		}
	}
	all, err := ranks.GatherJSON(ctx, s, own) // all have read their files
	if err != nil {
		return err
	}
	for i := range e.elections {
		k, preparer := &e.elections[i], own[i].Preparer
		k.joins, k.node = preparer != s.Rank, s.Nodes[preparer]
		for _, other := range all {
			k.made = k.made || other[i].Made && other[i].Preparer == s.Rank
		}
	}
	return nil
}

// removeTokens removes the files of earlier elections, whose players were killed, from a
// directory that is not a root yet.
func removeTokens(dir string) {
	if _, err := os.Lstat(filepath.Join(dir, sandbox.Marker)); err == nil {
		return
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME, 0) // leaves a directory that is not a root unchanged
	if err != nil {
		return // also a directory of another user
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxTokens)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tokenPrefix) && entry.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// maxTokens is how many names of a directory removeTokens reads: a directory with other
// files is not a root.
const maxTokens = 1000

// joins reports whether another process prepares a root.
func (e *Executor) joins(i int) bool { return i < len(e.elections) && e.elections[i].joins }

// removeCreated removes the directories that this process has made for roots that it did not open.
func (e *Executor) removeCreated() {
	for i, dir := range e.dirs() {
		if len(e.elections) > 0 && e.elections[i].own && (i >= len(e.roots) || e.roots[i] == nil) {
			_ = unix.Rmdir(dir) // which fails if another process uses it
		}
	}
}

// awaitPrepared waits until all roots are prepared.
func (e *Executor) awaitPrepared(ctx context.Context) error {
	if e.Session == nil {
		return nil
	}
	_, err := e.Session.Gather(ctx, nil)
	return err
}

// isFirst reports whether this process is the one that reports what all processes would
// find.
func (e *Executor) isFirst() bool { return e.Session == nil || e.Session.Rank == 0 }
