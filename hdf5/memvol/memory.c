/* memory.c: blocks of memory, counted against the limit.

   A block of LARGE bytes or more is mapped, and a freed one is kept for the next
   of its class, since the first touch of fresh pages takes longer than the copy
   into them. Classes are four to a power of two. */

#include "memvol.h"
#include <string.h>
#include <sys/mman.h>

enum { LARGE = 256 << 10, HUGE_PAGE = 2 << 20, KEPT = 64 };

static size_t used; /* bytes of all blocks, as they were asked for */
static struct { void *p; size_t size; } kept[KEPT]; /* oldest first */
static size_t kept_count, kept_bytes;

static size_t class_of(size_t size)
{
	size_t step = LARGE / 4;
	while (size > 8 * step)
		step *= 2;
	return (size + step - 1) / step * step;
}

static void forget(size_t i)
{
	kept_bytes -= kept[i].size;
	memmove(kept + i, kept + i + 1, (--kept_count - i) * sizeof *kept);
}

static void *large_new(size_t size, bool zeroed)
{
	size_t whole = class_of(size);
	for (size_t i = kept_count; i-- > 0;)
		if (kept[i].size == whole) {
			void *p = kept[i].p;
			forget(i);
			return zeroed ? memset(p, 0, size) : p;
		}
	void *p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (whole >= HUGE_PAGE)
		madvise(p, whole, MADV_HUGEPAGE); /* a hint: it may fail */
	return p;
}

static void large_free(store *s, void *p, size_t size)
{
	size_t whole = class_of(size);
	if (whole > s->settings.keep) {
		munmap(p, whole);
		return;
	}
	while (kept_count == KEPT || kept_bytes + whole > s->settings.keep) {
		munmap(kept[0].p, kept[0].size);
		forget(0);
	}
	kept[kept_count].p = p;
	kept[kept_count++].size = whole;
	kept_bytes += whole;
}

void blocks_return(void)
{
	while (kept_count) {
		munmap(kept[0].p, kept[0].size);
		forget(0);
	}
}

void *block_new(store *s, size_t size, bool zeroed)
{
	if (size == 0)
		size = 1;
	size_t limit = s->settings.limit;
	if (used > limit || size > limit - used) {
		FAIL(RESOURCE, NOSPACE, "%zu bytes are wanted and %zu are in use, of the limit of %zu", size, used, limit);
		return NULL;
	}
	void *p = size >= LARGE ? (size > PTRDIFF_MAX ? NULL : large_new(size, zeroed)) : zeroed ? calloc(1, size) : malloc(size);
	if (p)
		used += size;
	else
		FAIL(RESOURCE, NOSPACE, "the system has no memory for %zu bytes", size);
	return p;
}

void block_free(store *s, void *p, size_t size)
{
	if (!p)
		return;
	if (size == 0)
		size = 1;
	used -= size;
	if (size >= LARGE)
		large_free(s, p, size);
	else
		free(p);
}

/* Within one class only the count changes; a mapping grows by moving its pages. */
void *block_resize(store *s, void *p, size_t old, size_t new)
{
	if (!p)
		return block_new(s, new, false);
	size_t limit = s->settings.limit;
	if (new > old && (used > limit || new - old > limit - used)) {
		FAIL(RESOURCE, NOSPACE, "%zu bytes more are wanted and %zu are in use, of the limit of %zu", new - old, used, limit);
		return NULL;
	}
	void *to = NULL;
	if (old >= LARGE && new >= LARGE && new <= PTRDIFF_MAX) {
		size_t whole = class_of(new);
		to = class_of(old) == whole ? p : mremap(p, class_of(old), whole, MREMAP_MAYMOVE);
		if (to == MAP_FAILED)
			to = NULL;
	} else if (old < LARGE && new < LARGE && old && new) {
		to = realloc(p, new);
	} else {
		to = block_new(s, new, false);
		if (!to)
			return NULL;
		memcpy(to, p, old < new ? old : new);
		block_free(s, p, old);
		return to;
	}
	if (!to) {
		FAIL(RESOURCE, NOSPACE, "the system has no memory for %zu bytes", new);
		return NULL;
	}
	used += new - old;
	return to;
}
