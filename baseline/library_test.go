package baseline

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

func library() *Library {
	p := &profile.Profile{RunTime: 5e9}
	p.Categories[profile.Syncs] = profile.Total{Calls: 3, Nanos: 7}
	return &Library{Name: "nvme", Workloads: map[string][]Run{
		"git":     {{Meta: []format.Meta{{Key: format.MetaKernel, Value: "6.1"}}, Profile: p}},
		"sqlite3": {{Profile: p}, {Profile: p}},
	}}
}

func TestLibrary(t *testing.T) {
	var b, again bytes.Buffer
	require.NoError(t, WriteLibrary(&b, library()))
	read, err := ReadLibrary(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, "nvme", read.Name)
	require.Len(t, read.Workloads["sqlite3"], 2)
	run := read.Workloads["git"][0]
	require.EqualValues(t, 5e9, run.Profile.RunTime)
	require.EqualValues(t, 3, run.Profile.Categories[profile.Syncs].Calls)
	require.Equal(t, []format.Meta{{Key: format.MetaKernel, Value: "6.1"}}, run.Meta)
	require.NoError(t, WriteLibrary(&again, read))
	require.Equal(t, b.String(), again.String())

	// A baseline of compare is none of suite, nor the other way round.
	_, err = Read(bytes.NewReader(b.Bytes()))
	require.ErrorIs(t, err, ErrFormat)
	b.Reset()
	require.NoError(t, Write(&b, "x", library().Workloads["git"]))
	_, err = ReadLibrary(&b)
	require.ErrorIs(t, err, ErrLibrary)
}

func TestLibraryErrors(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteLibrary(&b, library()))
	good := b.String()
	for _, test := range []struct{ text, want string }{
		{"", "at byte 0: not a baseline written by pianola bench --workload --save"},
		{"[]", "at byte 0: not a baseline written by pianola bench --workload --save"},
		{`{"name": "x"}`, "at byte 0: not a baseline written by pianola bench --workload --save"},
		{`{"pianola_suite_baseline": 2}`, "this program reads version 1"},
		{`{"pianola_suite_baseline": 1}`, "the baseline has no workloads"},
		{`{"pianola_suite_baseline": 1, "workloads": {}}`, "the baseline has no workloads"},
		{`{"pianola_suite_baseline": 1, "workloads": {"a": {"pianola_baseline": 1}}}`, "the baseline has no runs"},
		{good[:len(good)-20], "unexpected EOF"},
		{good + "{}", "unexpected data after the end of the baseline"},
		{strings.Replace(good, `"calls":3`, `"calls":-3`, 1), "out of range"},
	} {
		_, err := ReadLibrary(strings.NewReader(test.text))
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, "at byte ")
	}
}
