package profile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	scripts "pianola/format/script"
)

// TestBlocked has lines of which each says, or does not say, what ended a wait.
func TestBlocked(t *testing.T) {
	const us = 1000
	for _, test := range []struct {
		line string
		want Blocked
	}{
		{"wait(FUTEX, 0x10) = 0 <0.000500> {by=2}", Blocked{By: [numWays]int64{wayFutex: 500 * us}}},
		{"wait(POLL, 0x3) = 0 <0.000500> {by=2}", Blocked{By: [numWays]int64{wayPoll: 500 * us}}},
		{"wait(OTHER, NULL) = 0 <0.000500> {by=2}", Blocked{By: [numWays]int64{wayRest: 500 * us}}},
		{"read(3, 0x10, 9) = 9 <0.000500> {type=fifo by=2+100000}", Blocked{By: [numWays]int64{wayPipe: 400 * us}}},
		{"read(3, 0x10, 9) = 9 <0.000500> {type=sock by=2}", Blocked{By: [numWays]int64{waySocket: 500 * us}}},
		{"read(3, 0x10, 9) = 9 <0.000500> {type=sock}", Blocked{Unknown: 500 * us}},
		{"read(3, 0x10, 9) = 9 <0.000019> {type=sock}", Blocked{}},
		{"read(3, 0x10, 9) = 9 <0.000500> {by=2}", Blocked{}}, // of a file
		{"wait4(2, NULL, 0, NULL) = 2 <0.000500> {by=2}", Blocked{By: [numWays]int64{wayProcess: 500 * us}}},
		{"wait4(2, NULL, 0, NULL) = 2 <0.000500>", Blocked{Unknown: 500 * us}},
		{"flock(3, LOCK_EX) = 0 <0.000500> {by=2}", Blocked{By: [numWays]int64{wayLock: 500 * us}}},
		{"fcntl(3, F_SETLKW, 0x10, F_WRLCK, 0, 1) = 0 <0.000500>", Blocked{Unknown: 500 * us}},
		{"fcntl(3, F_SETLK, 0x10, F_WRLCK, 0, 1) = 0 <0.000500>", Blocked{}},
		{"fsync(3) = 0 <0.000500> {ready=1000 own=2000 timer=3000 storage=4000 wait=5000}", Blocked{Timer: 3 * us, Storage: 4 * us, Unknown: 5 * us}},
	} {
		p, err := Read(scripts.NewReader(strings.NewReader("# pianola script 1\n# recorder: ebpf\n1 0.000100 "+test.line+"\n"), "test"))
		require.NoError(t, err)
		require.Equal(t, &test.want, p.Blocked, test.line)
	}
	p, err := Read(scripts.NewReader(strings.NewReader("1 0.000100 wait4(2, NULL, 0, NULL) = 2 <0.000500>\n"), "test"))
	require.NoError(t, err)
	require.Nil(t, p.Blocked, "strace does not tell")
}

func TestBlockedDocument(t *testing.T) {
	b := Blocked{By: [numWays]int64{wayPipe: 2e9}, Timer: 1e9, Storage: 5e8, Unknown: 25e7}
	text, err := json.Marshal(b.document())
	require.NoError(t, err)
	require.JSONEq(t, `{"explained_seconds": 3.5, "unexplained_seconds": 0.25, "timer_seconds": 1, "storage_seconds": 0.5, "woken_in": {"futex_seconds": 0,
		"poll_seconds": 0, "socket_seconds": 0, "pipe_seconds": 2, "process_seconds": 0, "signal_seconds": 0, "lock_seconds": 0, "rest_seconds": 0}}`, string(text))
}
