package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// build is Pianola as it stands in a source tree.
type build struct {
	name    string // as it is printed
	source  string // the tree
	pianola string // the program
	dir     string // where its runs work
}

// makeBuild builds the program of a source tree into dir.
func makeBuild(ctx context.Context, name, source, dir string) (*build, error) {
	b := &build{name: name, source: source, pianola: filepath.Join(dir, "pianola"), dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	command := []string{"go", "build", "-trimpath", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", b.pianola, "./cmd/pianola"}
	_, _, err := process(ctx, source, command)
	return b, err
}

// benchmark returns the test program of a package, which it builds at the first call.
// It is an error if the tree has no such package.
func (b *build) benchmark(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	_, _, err := process(ctx, b.source, []string{"go", "test", "-c", "-o", program, "./" + pkg})
	return program, err
}

// run runs the program with arguments, in the directory of the build.
func (b *build) run(ctx context.Context, args ...string) (sample, string, error) {
	return process(ctx, b.dir, append([]string{b.pianola}, args...))
}

// checkout adds a working tree of a revision in dir, which the caller removes.
func checkout(ctx context.Context, revision, dir string) (remove func(), err error) {
	if _, _, err := process(ctx, ".", []string{"git", "worktree", "add", "--detach", dir, revision}); err != nil {
		return nil, err
	}
	return func() {
		// The context may have ended.
		if _, _, err := process(context.WithoutCancel(ctx), ".", []string{"git", "worktree", "remove", "--force", dir}); err != nil {
			fmt.Fprintln(os.Stderr, "measure:", err)
		}
	}, nil
}
