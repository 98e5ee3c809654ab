package compile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// file returns the compiled trace of a recording, nil if it can't be compiled.
func file(recording string) []byte {
	var out bytes.Buffer
	_, err := compile.Compile(script.NewReader(strings.NewReader(recording), "in"), new(testkit.Spool), bin.NewWriter(&out, new(testkit.Spool)), compile.Options{Compensate: true, Names: true})
	if err != nil {
		return nil
	}
	return out.Bytes()
}

// transformed returns what transforms make of a compiled trace.
func transformed(t *testing.T, trace []byte, with ...string) ([]byte, error) {
	opened, err := bin.Open(bytes.NewReader(trace), int64(len(trace)), bin.DefaultLimit)
	require.NoError(t, err)
	var funcs []transform.Func
	for _, one := range with {
		f, err := transform.Builtin().ParseCompiled(one)
		require.NoError(t, err)
		funcs = append(funcs, f)
	}
	r, err := transform.OpenCompiled(opened, funcs...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	if err := compile.Copy(r, bin.NewWriter(&out, new(testkit.Spool))); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// printed returns a compiled trace as text.
func printed(t *testing.T, trace []byte) string {
	opened, err := bin.Open(bytes.NewReader(trace), int64(len(trace)), bin.DefaultLimit)
	require.NoError(t, err)
	var out bytes.Buffer
	w := script.NewIntermediateWriter(&out, opened.Header())
	events, err := testkit.ReadAll(opened.Events(), 100)
	require.NoError(t, err)
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Flush())
	return out.String()
}

// difference returns the first lines that differ.
func difference(a, b string) string {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, was[i], is[i])
		}
	}
	if len(was) != len(is) {
		return "one is longer"
	}
	return ""
}

// recordings returns made-up recordings, and those of this package's tests.
func recordings(t *testing.T) (all []string) {
	for seed := range uint64(100) {
		all = append(all, randomWoken(seed), randomClients(seed, 17))
	}
	var paths []string
	for _, packages := range []string{"..", "../*", "../*/*"} {
		found, err := filepath.Glob(packages + "/testdata/*.txt")
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	require.Greater(t, len(paths), 40)
	for _, p := range paths {
		text, err := os.ReadFile(p)
		require.NoError(t, err)
		recording, _, _ := strings.Cut(string(text), "\n---\n")
		all = append(all, recording)
	}
	return all
}

// A compiled trace that goes through no transform, and through stages that change
// nothing, is the same, byte by byte.
func TestTransformedByNothing(t *testing.T) {
	compiled, edges := 0, 0
	for i, recording := range recordings(t) {
		trace := file(recording)
		if trace == nil {
			continue
		}
		for _, with := range [][]string{nil, {"drop=op == sync && size == 7", "scale-compute=1"}} {
			again, err := transformed(t, trace, with...)
			if err == transform.ErrRequests {
				continue
			}
			require.NoError(t, err)
			if !bytes.Equal(trace, again) {
				require.Empty(t, difference(printed(t, trace), printed(t, again)), "recording %d, %v", i, with)
			}
			require.True(t, bytes.Equal(trace, again), "recording %d, %v", i, with)
			compiled++
			edges += strings.Count(printed(t, again), "after=")
		}
	}
	require.Greater(t, compiled, 400)
	require.Greater(t, edges, 1000)
}

// transformedFirst returns the compiled trace of what transforms make of a recording.
func transformedFirst(t *testing.T, recording string, with ...string) []byte {
	var funcs []transform.Func
	for _, one := range with {
		f, err := transform.Builtin().Parse(one)
		require.NoError(t, err)
		funcs = append(funcs, f)
	}
	chain := transform.NewChain(func() (format.Reader, error) { return script.NewReader(strings.NewReader(recording), "in"), nil }, funcs...)
	defer chain.Close()
	r, err := chain.Open()
	require.NoError(t, err)
	var out bytes.Buffer
	_, err = compile.Compile(r, new(testkit.Spool), bin.NewWriter(&out, new(testkit.Spool)), compile.Options{Compensate: true, Names: true})
	require.NoError(t, err)
	return out.Bytes()
}

// asText returns the events of a compiled trace.
func asText(t *testing.T, trace []byte) *text {
	opened, err := bin.Open(bytes.NewReader(trace), int64(len(trace)), bin.DefaultLimit)
	require.NoError(t, err)
	events, err := testkit.ReadAll(opened.Events(), 100)
	require.NoError(t, err)
	return &text{header: opened.Header(), events: events}
}

// Edges stay right when events are removed: with calls that take as long as recorded,
// the remaining events begin as in the recording. The minimum time of a replay is that
// of the recording, transformed and then compiled.
func TestWaitsOfTransformed(t *testing.T) {
	for seed := range uint64(20) {
		recording := randomWoken(seed)
		trace := file(recording)
		for _, with := range []string{"drop=op == stat && duration > 10us", "scale-compute=3", "drop=thread == 101", "drop=thread == 102"} {
			out, err := transformed(t, trace, strings.Replace(with, "== 10", "== ", 1))
			require.NoError(t, err)
			got, want := asText(t, out), asText(t, transformedFirst(t, recording, with))
			require.Len(t, got.events, len(want.events), "seed %d %s", seed, with)
			if strings.HasPrefix(with, "drop") {
				asRecorded(t, got, fmt.Sprintf("seed %d %s", seed, with), "")
			}
			is, _ := got.header.Floor()
			was, _ := want.header.Floor()
			most := 0.02
			if strings.HasPrefix(with, "scale") { // calls that are left out are compute in a trace
				most = 0.25
			}
			require.InEpsilon(t, was.Total, is.Total, most, "seed %d %s", seed, with)
		}
	}
}
