package provenance

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuildOf(t *testing.T) {
	const hash = "ead882d012345678901234567890123456789012"
	stamped := []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-11-23T03:46:43Z"}, {Key: "vcs.modified", Value: "true"}}
	module := func(path, version string) debug.Module { return debug.Module{Path: path, Version: version} }
	for _, test := range []struct {
		name string
		info debug.BuildInfo
		want Build
	}{
		{"go install of a tag", debug.BuildInfo{Main: module("pianola", "v1.2.3")}, Build{Version: "v1.2.3"}},
		{"go install of a commit", debug.BuildInfo{Main: module("pianola", "v0.0.0-20261123034643-ead882d01234")},
			Build{Version: "v0.0.0-20261123034643-ead882d01234", Commit: "ead882d01234", Date: "2026-11-23T03:46:43Z"}},
		{"go install of a commit after a tag", debug.BuildInfo{Main: module("pianola", "v1.2.4-0.20261123034643-ead882d01234+incompatible")},
			Build{Version: "v1.2.4-0.20261123034643-ead882d01234+incompatible", Commit: "ead882d01234", Date: "2026-11-23T03:46:43Z"}},
		{"a release candidate", debug.BuildInfo{Main: module("pianola", "v1.2.3-rc-one-two")}, Build{Version: "v1.2.3-rc-one-two"}},
		{"go build in a clone", debug.BuildInfo{Main: module("pianola", "v1.2.3+dirty"), Settings: stamped},
			Build{Version: "v1.2.3+dirty", Commit: hash, Date: "2026-11-23T03:46:43Z", Modified: true}},
		{"go build without git", debug.BuildInfo{Main: module("pianola", "(devel)")}, Build{}},
		{"another program that uses the module", debug.BuildInfo{Main: module("other", "v7.0.0"), Deps: []*debug.Module{{Path: "pianola", Version: "v1.0.0"}}, Settings: stamped},
			Build{Version: "v1.0.0"}},
		{"another program", debug.BuildInfo{Main: module("other", "v7.0.0"), Settings: stamped}, Build{}},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, buildOf(&test.info)) })
	}
}

func TestBuildString(t *testing.T) {
	b := Build{Version: "v1.2.3", Commit: "ead882d012345678", Date: "2026-11-23T03:46:43Z", Modified: true, Go: "go1.26.8", Platform: "linux/arm64"}
	require.Equal(t, "v1.2.3, commit ead882d01234 with changes of 2026-11-23T03:46:43Z, go1.26.8 linux/arm64", b.String())
	require.Equal(t, "(version unknown), go1.26.8 linux/arm64", Build{Go: "go1.26.8", Platform: "linux/arm64"}.String())
}

// The Makefile's values replace all that the go command knows.
func TestThisBuild(t *testing.T) {
	defer func() { built, commit, date = "", "", "" }()
	built, commit, date = "v0.1.0-3-gead882d-dirty", "ead882d", "2026-11-23T03:46:43Z"
	require.Equal(t, Build{built, commit, date, true, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, ThisBuild())
}
