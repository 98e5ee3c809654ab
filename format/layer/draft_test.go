package layer

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDraft(t *testing.T) {
	const header = `#include <stddef.h>
/* A queue. */
typedef struct queue { int fd; } queue;
queue *queue_open(const char *file,
                  int flags);
int queue_push(queue *q, const void *item, size_t size); // adds an item
int queue_count(const struct queue *q);
typedef int (*callback)(queue *q);
static inline int one(void) { return 1; }
void queue_close(queue *q);
`
	var b bytes.Buffer
	require.NoError(t, Draft(&b, "queue", "libqueue.so*", strings.NewReader(header)))
	require.Equal(t, `//layer queue "libqueue.so*"
#include <stddef.h>
/* A queue. */
typedef struct queue { int fd; } queue;
queue *queue_open(const char *file,
                  int flags);
//span open //path file //define queue result //error result == 0
int queue_push(queue *q, const void *item, size_t size); // adds an item
//span write //map queue q
int queue_count(const struct queue *q);
//span metadata //map queue q
typedef int (*callback)(queue *q);
static inline int one(void) { return 1; }
void queue_close(queue *q);
//span close //undefine queue q
`, b.String())

	require.EqualError(t, Draft(io.Discard, "a", "b", strings.NewReader("int x;\nint f(void) {\n}\n")), "no prototypes of functions")
	require.Error(t, Draft(io.Discard, "a", "b", strings.NewReader(strings.Repeat("a", 1<<20))))
}

func FuzzDraft(f *testing.F) {
	f.Add([]byte("int f(int a);\n"))
	f.Fuzz(func(t *testing.T, header []byte) {
		_ = Draft(io.Discard, "name", "lib.so", bytes.NewReader(header))
	})
}
