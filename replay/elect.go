package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"pianola/ranks"
	"pianola/replay/sandbox"
)

// tokenPrefix begins the name of the file by which the players of a root elect who prepares
// it.
const tokenPrefix = ".pianola-ranks-"

// elected is what a player says after an election.
type elected struct {
	Preparer int  // of the root that it sees
	Made     bool // it has made the directory
}

// elect decides which of the players that see one root prepares it: the one that makes a
// file in it. It may be that each node has a root of its own, by the same name.
func (e *engine) elect(ctx context.Context) error {
	s := e.Session
	if s == nil || s.Size == 1 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(e.Root), 0o755); err != nil {
		return fmt.Errorf("create the root: %w", err)
	}
	own := elected{Made: os.Mkdir(e.Root, 0o700) == nil}
	token := filepath.Join(e.Root, tokenPrefix+s.Run)
	f, err := os.OpenFile(token, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		defer os.Remove(token)
		_, err = f.WriteString(strconv.Itoa(s.Rank))
		err = errors.Join(err, f.Close())
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("elect who prepares the root: %w", err)
	}
	if _, err := s.Gather(ctx, nil); err != nil { // all have made their files, or found one
		return err
	}
	text, err := os.ReadFile(token)
	if err == nil {
		own.Preparer, err = strconv.Atoi(string(text))
	}
	if err != nil {
		return fmt.Errorf("elect who prepares the root: %w", err)
	}
	all, err := ranks.GatherJSON(ctx, s, own) // all have read their file
	if err != nil {
		return err
	}
	e.joins = own.Preparer != s.Rank
	for _, other := range all {
		e.made = e.made || other.Made && other.Preparer == s.Rank
	}
	e.preparerNode = s.Nodes[own.Preparer]
	return nil
}

// prepared waits until all roots are prepared.
func (e *engine) prepared(ctx context.Context) error {
	if e.Session == nil {
		return nil
	}
	_, err := e.Session.Gather(ctx, nil)
	return err
}

// openRoot opens a root. That of another player is there once it is prepared.
func (e *engine) openRoot(ctx context.Context, dir string, parent *sandbox.Root) (*sandbox.Root, error) {
	if !e.joins {
		r, err := sandbox.OpenRoot(dir, parent)
		if err == nil && e.made {
			r.Made()
		}
		return r, err
	}
	if err := e.prepared(ctx); err != nil {
		return nil, err
	}
	return sandbox.JoinRoot(dir)
}
