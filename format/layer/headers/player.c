/* The part that all players have in common. A player reads a header and spans from its
   standard input, calls the library, and answers each span with the result and the
   time that the call took (docs/reference/plugins.md). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_ARGS 64
#define MOST_NUMBERS 1024
#define MOST_BYTES ((size_t)4 << 30) /* of a buffer */

enum kind { UNREAD, NUMBER, TEXT, NUMBERS };

struct value {
	enum kind kind;
	int cut;            /* the text is only the beginning */
	int pointed;        /* the number is what an address points to */
	long long number;   /* of NUMBER: an integer, an address, or what an address points to */
	char *text;
	long long *numbers;
	size_t count;       /* of numbers */
};

/* A span. The memory of its texts is that of the line. */
struct call {
	unsigned long thread;
	char *function;
	struct value args[MOST_ARGS];
	int count;
	long long result;
	int failed;
	const char *refusal; /* why it is not played */
	const char *remark;  /* how it is played otherwise than it was recorded */
	long long got;
	struct timespec begin, end;
};

static __thread struct call *current;

static void refuse(const char *why)
{
	if (!current->refusal)
		current->refusal = why;
}

__attribute__((unused)) static void remark(const char *what)
{
	if (!current->remark)
		current->remark = what;
}

static void fail(const char *text, ...)
{
	va_list args;
	va_start(args, text);
	fputs("player: ", stderr);
	vfprintf(stderr, text, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(1);
}

/* Buffers are reused, as programs do. */
struct buffer { char *memory; size_t size; };
static __thread struct buffer sources[MOST_ARGS], rooms[MOST_ARGS];
static __thread int sourced, roomed;
static __thread uint64_t seed = 0x9e3779b97f4a7c15;

static void *grown(struct buffer *b, size_t bytes, int fill)
{
	if (bytes <= b->size && b->memory)
		return b->memory;
	size_t size = (bytes / 4096 + 1) * 4096;
	char *memory = bytes > MOST_BYTES ? NULL : realloc(b->memory, size);
	if (!memory) {
		refuse("the buffer is too large");
		return NULL;
	}
	for (size_t i = b->size; fill && i < size; i += sizeof seed) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		memcpy(memory + i, &seed, sizeof seed);
	}
	b->memory = memory, b->size = size;
	return memory;
}

/* data returns bytes to write, room memory to read into, zeros memory that is zero.
   They hold until the call has returned. */
__attribute__((unused)) static void *data(size_t bytes) { return grown(&sources[sourced++ % MOST_ARGS], bytes, 1); }
__attribute__((unused)) static void *room(size_t bytes) { return grown(&rooms[roomed++ % MOST_ARGS], bytes, 0); }
__attribute__((unused)) static void *zeros(size_t bytes)
{
	void *memory = room(bytes);
	return memory ? memset(memory, 0, bytes) : NULL;
}

/* lasting returns memory that stays. */
__attribute__((unused)) static void *lasting(size_t bytes)
{
	void *memory = bytes > MOST_BYTES ? NULL : malloc(bytes);
	if (!memory)
		refuse("the buffer is too large");
	return memory;
}

/* Handles, by what they were in the recording. */
struct handle {
	int type;
	long long recorded, actual;
	struct handle *next;
};
#define BUCKETS (1 << 16)
static struct handle *handles[BUCKETS];
static pthread_mutex_t handling = PTHREAD_MUTEX_INITIALIZER;

/* A layer can have of its own KEYED, how it tells handles apart that are alike, and
   UNMAPPED, what it takes for a handle that no call has made. */
enum use { MAKE, LOOK, END };
static long long keyed(int type, long long recorded, enum use use);
static long long unmapped(int type, int pointer, long long recorded);
#define UNKNOWN_HANDLE "a handle comes from a call that was not recorded or not played"

static struct handle **place(int type, long long recorded)
{
	uint64_t hash = ((uint64_t)recorded + (uint64_t)type) * 0x9e3779b97f4a7c15;
	struct handle **at = &handles[hash >> 48];
	while (*at && ((*at)->recorded != recorded || (*at)->type != type))
		at = &(*at)->next;
	return at;
}

static void define(int type, long long recorded, long long actual)
{
	pthread_mutex_lock(&handling);
	recorded = keyed(type, recorded, MAKE);
	struct handle **at = place(type, recorded);
	if (!*at && !(*at = calloc(1, sizeof **at)))
		fail("no memory");
	(*at)->type = type, (*at)->recorded = recorded, (*at)->actual = actual;
	pthread_mutex_unlock(&handling);
}

__attribute__((unused)) static void undefine(int type, long long recorded)
{
	pthread_mutex_lock(&handling);
	struct handle **at = place(type, keyed(type, recorded, END)), *old = *at;
	if (old) {
		*at = old->next;
		free(old);
	}
	pthread_mutex_unlock(&handling);
}

/* Arguments. */

static struct value *argument(struct call *c, int i, enum kind kind)
{
	static struct value unread;
	struct value *v = i < c->count ? &c->args[i] : &unread;
	if (v->kind != kind)
		refuse("an argument was not recorded");
	return v;
}

__attribute__((unused)) static long long number(struct call *c, int i) { return argument(c, i, NUMBER)->number; }

__attribute__((unused)) static int is_null(struct call *c, int i)
{
	return i < c->count && c->args[i].kind == NUMBER && !c->args[i].pointed && c->args[i].number == 0;
}

__attribute__((unused)) static const char *text(struct call *c, int i)
{
	if (is_null(c, i))
		return NULL;
	struct value *v = argument(c, i, TEXT);
	if (v->cut)
		refuse("a text was recorded only in part");
	return v->text;
}

__attribute__((unused)) static struct value *array(struct call *c, int i, long long least)
{
	struct value *v = is_null(c, i) ? &c->args[i] : argument(c, i, NUMBERS);
	if (v->kind == NUMBERS && (long long)v->count < least)
		refuse("an array was recorded only in part");
	return v;
}

__attribute__((unused)) static long long mapped(int type, int pointer, long long recorded)
{
	long long actual = 0;
	pthread_mutex_lock(&handling);
	struct handle *h = *place(type, keyed(type, recorded, LOOK));
	if (h)
		actual = h->actual;
	pthread_mutex_unlock(&handling);
	return h ? actual : unmapped(type, pointer, recorded);
}

__attribute__((unused)) static long long handle(struct call *c, int i, int type, int pointer)
{
	return mapped(type, pointer, number(c, i));
}

static void begin_call(struct call *c) { clock_gettime(CLOCK_MONOTONIC, &c->begin); }
static void end_call(struct call *c) { clock_gettime(CLOCK_MONOTONIC, &c->end); }

struct function { const char *name; void (*play)(struct call *); };

/* A global is a variable of the library, which has none at NULL. */
struct global { int type; const char *name; const void *variable; size_t size; };

/* FUNCTIONS */

#ifndef BEFORE /* comes before each call */
#define BEFORE(function) (void)0
#endif

#ifndef KEYED
static long long keyed(int type, long long recorded, enum use use)
{
	(void)type, (void)use;
	return recorded;
}
#endif

#ifndef UNMAPPED
static long long unmapped(int type, int pointer, long long recorded)
{
	(void)type;
	if (pointer || recorded > 0)
		refuse(UNKNOWN_HANDLE);
	return recorded;
}
#endif

static int knows_globals;

static long long global_value(const struct global *g)
{
	long long n = 0;
	if (g->size == sizeof(int)) {
		int small;
		memcpy(&small, g->variable, sizeof small);
		return small;
	}
	memcpy(&n, g->variable, g->size < sizeof n ? g->size : sizeof n);
	return n;
}

/* The file of the library that was recorded, and of that which is called. */
static char recorded_library[256];

static const char *own_library(void)
{
	static char path[PATH_MAX];
	Dl_info info;
	void *at = dlsym(RTLD_DEFAULT, functions[0].name);
	if (!at || !dladdr(at, &info) || !info.dli_fname || !realpath(info.dli_fname, path))
		return NULL;
	char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Without the recorded values, those of this library are taken for them, if it is the
   recorded one. */
static void define_globals(void)
{
	const char *own = !knows_globals && globals[0].name && recorded_library[0] ? own_library() : NULL;
	if (own && strcmp(own, recorded_library) != 0)
		fail("%s was recorded, and this player calls %s, whose ids differ: the recording lacks the header lines that a player "
			"with the first library prints with --globals", recorded_library, own);
	if (!knows_globals)
		for (const struct global *g = globals; g->name; g++)
			if (g->variable)
				define(g->type, global_value(g), global_value(g));
	knows_globals = 1;
}

static void print_globals(const char *layer)
{
	for (const struct global *g = globals; g->name; g++)
		if (g->variable)
			printf("# global: %s %s %lld\n", layer, g->name, global_value(g));
}

/* Lines. */

static const char *parse_text(char **at, struct value *v)
{
	char *from = *at + 1, *to = from;
	v->kind = TEXT, v->text = from;
	while (*from && *from != '"') {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		int n = 0, digits = 0;
		switch (*++from) {
		case 'n': *to++ = '\n', from++; break;
		case 't': *to++ = '\t', from++; break;
		case 'r': *to++ = '\r', from++; break;
		case 'f': *to++ = '\f', from++; break;
		case 'v': *to++ = '\v', from++; break;
		case 'x':
			for (from++; digits < 2 && ((*from >= '0' && *from <= '9') || ((*from | 32) >= 'a' && (*from | 32) <= 'f')); digits++, from++)
				n = n * 16 + (*from <= '9' ? *from - '0' : (*from | 32) - 'a' + 10);
			*to++ = (char)n;
			break;
		case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7':
			for (; digits < 3 && *from >= '0' && *from <= '7'; digits++)
				n = n * 8 + *from++ - '0';
			*to++ = (char)n;
			break;
		case 0: return "a text does not end";
		default: *to++ = *from++;
		}
	}
	if (*from != '"')
		return "a text does not end";
	*at = from + 1;
	*to = 0;
	if (strncmp(*at, "...", 3) == 0) {
		v->cut = 1;
		*at += 3;
	}
	return NULL;
}

static const char *parse_number(char **at, long long *n)
{
	char *end;
	errno = 0;
	*n = (*at)[0] == '-' ? strtoll(*at, &end, 0) : (long long)strtoull(*at, &end, 0);
	if (end == *at || errno)
		return "a number is malformed";
	*at = end;
	return NULL;
}

static const char *parse_value(char **at, struct value *v, long long **pool)
{
	*v = (struct value){0};
	switch (**at) {
	case '?':
		++*at;
		return NULL;
	case '"':
		return parse_text(at, v);
	case '&':
		++*at;
		v->pointed = 1;
		break;
	case '[':
		v->kind = NUMBERS, v->numbers = *pool;
		for (++*at; **at && **at != ']';) {
			const char *wrong = parse_number(at, (*pool)++);
			if (wrong)
				return wrong;
			if (++v->count > MOST_NUMBERS)
				return "an array is too long";
			*at += strspn(*at, ", ");
		}
		if (**at)
			++*at;
		return NULL;
	case 'p':
		if (strncmp(*at, "path=\"", 6) == 0) {
			*at += 5;
			return parse_text(at, v);
		}
		break;
	case 'N':
		if (strncmp(*at, "NULL", 4) == 0) {
			*at += 4;
			v->kind = NUMBER;
			return NULL;
		}
	}
	v->kind = NUMBER;
	return parse_number(at, &v->number);
}

/* parse reads "[THREAD] LAYER:FUNCTION(ARGUMENTS) = RESULT <SECONDS> {NOTES}". */
static const char *parse(char *line, struct call *c, long long *pool)
{
	char *at = line, *colon;
	const char *wrong;
	if (!(colon = strchr(at, ':')))
		return "it is not a span";
	*colon = 0;
	if (strcmp(at, LAYER) != 0)
		return "it is of another layer";
	c->function = at = colon + 1;
	if (!(at = strchr(at, '(')))
		return "it has no arguments";
	*at++ = 0;
	c->count = 0;
	while (*at && *at != ')') {
		if (c->count == MOST_ARGS)
			return "too many arguments";
		if ((wrong = parse_value(&at, &c->args[c->count++], &pool)))
			return wrong;
		at += strspn(at, ", ");
	}
	if (strncmp(at, ") = ", 4) != 0)
		return "it has no result";
	at += 4;
	c->result = 0;
	if (*at != '?' && (wrong = parse_number(&at, &c->result)))
		return wrong;
	c->failed = (at = strchr(at, '{')) && strstr(at, "failed");
	return NULL;
}

static int by_name(const void *name, const void *f) { return strcmp(name, ((const struct function *)f)->name); }

static int in_threads, answers;

static void answer(struct call *c)
{
	char line[300];
	int n = in_threads ? snprintf(line, sizeof line, "%lu ", c->thread) : 0;
	if (c->refusal) {
		n += snprintf(line + n, sizeof line - n, "? %s\n", c->refusal);
	} else {
		long long took = (c->end.tv_sec - c->begin.tv_sec) * 1000000000LL + c->end.tv_nsec - c->begin.tv_nsec;
		n += snprintf(line + n, sizeof line - n, "%lld <%lld.%09lld>%s%s\n", c->got, took / 1000000000, took % 1000000000,
			c->remark ? " ? " : "", c->remark ? c->remark : "");
	}
	if (write(answers, line, n) != n)
		_exit(1);
}

/* play plays the span of a line, which begins after the number of its thread. */
static void play(char *line, unsigned long thread)
{
	static __thread long long *pool;
	static __thread struct call *c;
	if (!c && (!(pool = malloc(sizeof *pool * MOST_ARGS * (MOST_NUMBERS + 1))) || !(c = malloc(sizeof *c))))
		fail("no memory");
	c->thread = thread, c->refusal = c->remark = NULL;
	sourced = roomed = 0;
	current = c;
	const char *wrong = parse(line, c, pool);
	if (wrong)
		fail("%s: %s", line, wrong);
	struct function *f = bsearch(c->function, functions, sizeof functions / sizeof *functions, sizeof *functions, by_name);
	if (f)
		BEFORE(f->name);
	if (f)
		f->play(c);
	else
		refuse("the player does not play this function");
	answer(c);
}

/* A worker plays the spans of a thread. */
struct worker {
	unsigned long thread;
	pthread_mutex_t lock;
	pthread_cond_t given;
	char *line, *rest;
	struct worker *next;
};
static struct worker *workers;

/* Spans that threads have not answered. */
static int pending;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;

static void count(int more)
{
	pthread_mutex_lock(&counting);
	pending += more;
	pthread_cond_signal(&answered);
	pthread_mutex_unlock(&counting);
}

static void *work(void *of)
{
	struct worker *w = of;
	for (;;) {
		pthread_mutex_lock(&w->lock);
		while (!w->line)
			pthread_cond_wait(&w->given, &w->lock);
		char *line = w->line;
		w->line = NULL;
		pthread_mutex_unlock(&w->lock);
		play(line + (w->rest - line), w->thread);
		free(line);
		count(-1);
	}
	return NULL;
}

static void pass_on(char *line, char *rest, unsigned long thread)
{
	struct worker *w = workers;
	while (w && w->thread != thread)
		w = w->next;
	if (!w) {
		pthread_t id;
		if (!(w = calloc(1, sizeof *w)))
			fail("no memory");
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->given, NULL);
		w->thread = thread, w->next = workers, workers = w;
		if (pthread_create(&id, NULL, work, w))
			fail("no thread");
		pthread_detach(id);
	}
	count(1);
	pthread_mutex_lock(&w->lock);
	w->line = line, w->rest = rest;
	pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&w->lock);
}

/* header reads a header line. */
static void header(char *line)
{
	static int threads;
	char name[200], layer[200], recorded[sizeof recorded_library];
	long long n;
	if (strncmp(line, "# thread: ", 10) == 0)
		in_threads = ++threads > 1;
	if (sscanf(line, "# spans: %lld", &n) == 1 && n != 1)
		fail("it knows version 1 of the protocol, not %lld", n);
	if (sscanf(line, "# layer: %199s %255s", layer, recorded) == 2 && strcmp(layer, LAYER) == 0)
		strcpy(recorded_library, recorded);
	if (sscanf(line, "# global: %199s %199s %lld", layer, name, &n) != 3 || strcmp(layer, LAYER) != 0)
		return;
	knows_globals = 1;
	for (const struct global *g = globals; g->name; g++)
		if (strcmp(g->name, name) == 0 && g->variable)
			define(g->type, n, global_value(g));
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--globals") == 0) {
		print_globals(LAYER);
		return 0;
	}
	if (argc != 1) {
		fprintf(stderr, "usage: %s <spans, or %s --globals\n", argv[0], argv[0]);
		return 2;
	}
	/* The library may write to the standard streams: that is no answer. */
	int in = fcntl(0, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	answers = fcntl(1, F_DUPFD_CLOEXEC, 3);
	if (in < 0 || null < 0 || answers < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		fail("open the standard streams: %s", strerror(errno));
	setup();
	FILE *lines = fdopen(in, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	while ((n = getline(&line, &size, lines)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (line[0] == '#') {
			header(line);
			continue;
		}
		define_globals();
		if (!in_threads) {
			play(line, 1);
			continue;
		}
		char *rest;
		unsigned long thread = strtoul(line, &rest, 10);
		if (rest == line)
			fail("%s: a thread's number is missing", line);
		pass_on(line, rest + strspn(rest, " "), thread);
		line = NULL, size = 0;
	}
	pthread_mutex_lock(&counting);
	while (pending > 0)
		pthread_cond_wait(&answered, &counting);
	return 0;
}
