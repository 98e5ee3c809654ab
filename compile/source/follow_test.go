package source

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A tail gives what is appended while it waits, and ends with the recording or
// with the user's patience.
func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "growing")
	w, err := os.Create(name)
	require.NoError(t, err)
	defer w.Close()
	r, err := os.Open(name)
	require.NoError(t, err)
	defer r.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shown, ended := 0, false
	tail := &tail{ctx: ctx, file: r, next: time.Now(), ended: func() bool { return ended }, show: func() error { shown++; return nil }}
	buf := make([]byte, 10)
	append := func(text string) {
		_, err := w.WriteString(text)
		require.NoError(t, err)
	}
	append("a")
	n, err := tail.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "a", string(buf[:n]))
	require.Equal(t, 1, shown)

	result := make(chan string)
	go func() {
		n, err := tail.Read(buf)
		result <- string(buf[:n])
		result <- errorText(err)
	}()
	append("b")
	require.Equal(t, "b", <-result)
	require.Empty(t, <-result)

	ended = true
	_, err = tail.Read(buf)
	require.Equal(t, io.EOF, err)

	ended = false
	go func() {
		_, err := tail.Read(buf)
		result <- errorText(err)
	}()
	cancel()
	require.Equal(t, "EOF", <-result)

	tail.ctx, tail.next = context.Background(), time.Time{}
	tail.show = func() error { return os.ErrClosed }
	_, err = tail.Read(buf)
	require.Equal(t, os.ErrClosed, err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
