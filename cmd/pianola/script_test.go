package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"pianola/internal/bpftest"
	"pianola/record/ptrace"
)

func TestMain(m *testing.M) {
	ptrace.Main() // a command of a recorder without privileges begins in this program
	testscript.Main(m, map[string]func(){"pianola": main})
}

// Each script in testdata shows one behaviour of the command. Scripts whose
// name begins with "record" need eBPF.
func TestScripts(t *testing.T) {
	all, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	groups := map[string][]string{}
	for _, file := range all {
		name := "others"
		if strings.HasPrefix(filepath.Base(file), "record") {
			name = "record"
		}
		groups[name] = append(groups[name], file)
	}
	require.Len(t, groups, 2)
	for name, files := range groups {
		t.Run(name, func(t *testing.T) {
			if name == "record" {
				bpftest.Require(t)
			}
			shared, err := filepath.Abs("../../testdata")
			require.NoError(t, err)
			testscript.Run(t, testscript.Params{
				Files: files,
				Setup: func(e *testscript.Env) error {
					e.Setenv("TESTDATA", shared)
					return nil
				},
				Condition:     installed,
				UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
			})
		})
	}
}

// installed is the condition that a program is there.
func installed(program string) (bool, error) {
	_, err := exec.LookPath(program)
	return err == nil, nil
}
