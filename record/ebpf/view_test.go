package ebpf_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/bpftest"
	"pianola/record/ebpf"
)

func TestView(t *testing.T) {
	plain := ebpf.Event{Start: 1, Dur: 1<<48 - 1, Ret: -2, Args: [6]uint64{1, 2, 3, 4}, Tid: 5, Nr: 511, Flags: ebpf.FlagKilled, Faults: 65535, Type: 15}
	wide := plain
	wide.Args[5], wide.Off = 6, 7
	rich := wide
	rich.Flags |= ebpf.FlagRich
	details := &ebpf.Details{Ino: 8, Len: [2]uint16{2, 3}}
	tests := []struct {
		name    string
		event   ebpf.Event
		details *ebpf.Details
		strings string
		bytes   int
	}{
		{"plain", plain, nil, "", 64},
		{"wide", wide, nil, "", 88},
		{"rich", rich, details, "abcde", 88 + 56 + 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := bpftest.Record(test.event, test.details, test.strings)
			require.Len(t, record, test.bytes)
			var e ebpf.Event
			d, strings, ok := ebpf.View(record, &e)
			require.True(t, ok)
			require.Equal(t, test.event, e)
			require.Equal(t, test.details, d)
			require.Equal(t, test.strings, string(strings))
			for n := range record {
				_, _, ok := ebpf.View(bytes.Clone(record[:n]), &e)
				require.False(t, ok, "cut at %d", n)
			}
		})
	}
}

func TestViewRichWithoutDetails(t *testing.T) {
	e := ebpf.Event{Flags: ebpf.FlagRich}
	_, _, ok := ebpf.View(bpftest.Record(e, nil, ""), &e)
	require.False(t, ok)
}
