/* directory.c: named entries, found by name or by place in an order. */
#include "memvol.h"
#include <string.h>

enum { FEW = 8 }; /* entries up to which a look at each is as fast as a hash table */

static size_t hash(const char *name, size_t length)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */
	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)name[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static bool named(const entry *e, const char *name, size_t length)
{
	return !strncmp(e->name, name, length) && !e->name[length];
}

static void put(directory *d, entry *e)
{
	size_t i = hash(e->name, strlen(e->name));
	while (d->slots[i &= d->slot_count - 1])
		i++;
	d->slots[i] = e;
}

static bool rehash(directory *d, size_t slots)
{
	entry **fresh = calloc(slots, sizeof *fresh);
	if (!fresh)
		return false;
	free(d->slots);
	d->slots = fresh;
	d->slot_count = slots;
	for (size_t i = 0; i < d->count; i++)
		put(d, d->entries[i]);
	return true;
}

entry *directory_find(const directory *d, const char *name, size_t length)
{
	if (d->slots) {
		for (size_t i = hash(name, length);; i++) {
			entry *e = d->slots[i &= d->slot_count - 1];
			if (!e || named(e, name, length))
				return e;
		}
	}
	for (size_t i = 0; i < d->count; i++)
		if (named(d->entries[i], name, length))
			return d->entries[i];
	return NULL;
}

bool directory_add(directory *d, entry *e)
{
	if (d->count == d->capacity) {
		size_t capacity = d->capacity ? 2 * d->capacity : 4;
		entry **more = realloc(d->entries, capacity * sizeof *more);
		if (!more)
			return false;
		d->entries = more;
		d->capacity = capacity;
	}
	if (d->count >= FEW && 2 * (d->count + 1) > d->slot_count && !rehash(d, d->slots ? 4 * d->slot_count : 8 * FEW))
		return false;
	e->order = d->next_order++;
	d->entries[d->count++] = e;
	if (d->slots)
		put(d, e);
	free(d->sorted);
	d->sorted = NULL;
	return true;
}

void directory_remove(directory *d, entry *e)
{
	/* The order of creation rises, so the place is found by halving. */
	size_t low = 0, high = d->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (d->entries[middle]->order < e->order)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(d->entries + low, d->entries + low + 1, (--d->count - low) * sizeof *d->entries);
	if (d->slots) {
		size_t mask = d->slot_count - 1, gap = hash(e->name, strlen(e->name)) & mask;
		while (d->slots[gap] != e)
			gap = (gap + 1) & mask;
		d->slots[gap] = NULL;
		/* Entries behind the gap that belong at or before it move into it. */
		for (size_t i = (gap + 1) & mask; d->slots[i]; i = (i + 1) & mask) {
			size_t home = hash(d->slots[i]->name, strlen(d->slots[i]->name)) & mask;
			if (((i - home) & mask) >= ((i - gap) & mask)) {
				d->slots[gap] = d->slots[i];
				d->slots[i] = NULL;
				gap = i;
			}
		}
	}
	free(d->sorted);
	d->sorted = NULL;
}

/* The entry keeps its place in the order of creation. */
bool directory_rename(directory *d, entry *e, const char *name)
{
	char *copy = strdup(name), *old = e->name;
	if (!copy)
		return false;
	e->name = copy;
	if (d->slots && !rehash(d, d->slot_count)) {
		e->name = old;
		free(copy);
		return false;
	}
	free(old);
	free(d->sorted);
	d->sorted = NULL;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(entry *const *)a)->name, (*(entry *const *)b)->name);
}

/* Returns NULL past the last entry, or where memory is short. */
entry *directory_at(directory *d, H5_index_t index, H5_iter_order_t order, hsize_t n)
{
	if (n >= d->count)
		return NULL;
	if (order == H5_ITER_DEC)
		n = d->count - 1 - n;
	if (index == H5_INDEX_CRT_ORDER)
		return d->entries[n];
	if (!d->sorted) {
		d->sorted = malloc(d->count * sizeof *d->sorted);
		if (!d->sorted)
			return NULL;
		memcpy(d->sorted, d->entries, d->count * sizeof *d->sorted);
		qsort(d->sorted, d->count, sizeof *d->sorted, by_name);
	}
	return d->sorted[n];
}

void directory_free(directory *d)
{
	free(d->entries);
	free(d->sorted);
	free(d->slots);
	*d = (directory){0};
}
