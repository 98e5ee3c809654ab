package provenance

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Build says how this program was built. A field that the build does not tell is
// empty.
type Build struct {
	Version  string `json:"version"`  // v0.1.0, or what git describe prints
	Commit   string `json:"commit"`   // hash
	Date     string `json:"date"`     // of the commit, RFC 3339, UTC
	Modified bool   `json:"modified"` // the working tree had other changes
	Go       string `json:"go"`       // go1.26.8
	Platform string `json:"platform"` // linux/amd64
}

// module is the path of this module, which can be a part of another program.
const module = "pianola"

// The Makefile sets them. The go command does so only where it may ask git, which
// refuses a clone of another user.
var built, commit, date string

// ThisBuild returns the build of this program: what the Makefile has set, else what
// the go command has left in the binary.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	b := buildOf(info)
	if built != "" {
		b.Version, b.Commit, b.Date = built, commit, date
		b.Modified = strings.HasSuffix(built, "-dirty")
	}
	b.Go, b.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	return b
}

// buildOf returns what the go command has left of the version and the commit.
func buildOf(info *debug.BuildInfo) (b Build) {
	of := &info.Main
	for _, d := range info.Deps {
		if d.Path == module {
			of = d
		}
	}
	if of.Path != module {
		return b
	}
	if of.Version != "(devel)" {
		b.Version = of.Version
	}
	if of != &info.Main {
		return b.ofPseudoVersion() // the commit in the settings is that of the other program
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b.ofPseudoVersion()
}

// ofPseudoVersion takes what is missing from a version without a tag, such as
// v0.0.0-20261123034643-ead882d01234.
func (b Build) ofPseudoVersion() Build {
	version, _, _ := strings.Cut(b.Version, "+")
	parts := strings.Split(version, "-")
	if b.Commit != "" || len(parts) < 3 {
		return b
	}
	stamp := parts[len(parts)-2]
	stamp = stamp[strings.LastIndexByte(stamp, '.')+1:]
	if at, err := time.Parse("20060102150405", stamp); err == nil {
		b.Commit, b.Date = parts[len(parts)-1], at.Format(time.RFC3339)
	}
	return b
}

// String returns the build in one line.
func (b Build) String() string {
	text := cmp.Or(b.Version, "(version unknown)")
	if b.Commit != "" {
		text += fmt.Sprintf(", commit %.12s", b.Commit)
		if b.Modified {
			text += " with changes"
		}
	}
	if b.Date != "" {
		text += " of " + b.Date
	}
	return text + ", " + b.Go + " " + b.Platform
}
