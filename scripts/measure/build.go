package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// build is Pianola as it stands in a source tree.
type build struct {
	name    string // as it is printed
	source  string // the tree
	pianola string // the program
}

// makeBuild builds the program of a source tree into dir.
func makeBuild(ctx context.Context, name, source, dir string) (*build, error) {
	b := &build{name: name, source: source, pianola: filepath.Join(dir, "pianola")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	command := []string{"go", "build", "-trimpath", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", b.pianola, "./cmd/pianola"}
	_, err := process(ctx, source, command)
	return b, err
}

// checkout adds a working tree of a revision in dir, which the caller removes.
func checkout(ctx context.Context, revision, dir string) (remove func(), err error) {
	if _, err := process(ctx, ".", []string{"git", "worktree", "add", "--detach", dir, revision}); err != nil {
		return nil, err
	}
	return func() {
		// The context may have ended.
		if _, err := process(context.WithoutCancel(ctx), ".", []string{"git", "worktree", "remove", "--force", dir}); err != nil {
			fmt.Fprintln(os.Stderr, "measure:", err)
		}
	}, nil
}
