/* blob.c: strings and sequences of variable length, and references. HDF5's
   conversions put them here, and store what identifies them: a blob's address. */
#include "memvol.h"
#include <string.h>

struct blob {
	blob *next, **at;
	store *store;
	size_t size;
	char bytes[];
};

/* Who owns blobs that a conversion makes: a conversion doesn't tell for which dataset,
   and HDF5's lock is held. */
static values *owner;

void blobs_of(values *v) { owner = v; }

void blobs_free(values *v)
{
	while (v->blobs) {
		blob *b = v->blobs;
		v->blobs = b->next;
		block_free(b->store, b, sizeof *b + b->size);
	}
}

static herr_t blob_put(void *obj, const void *buf, size_t size, void *id, void *context)
{
	(void)context;
	store *s = ((handle *)obj)->node->store;
	blob *b = size < SIZE_MAX - sizeof *b ? block_new(s, sizeof *b + size, false) : NULL;
	if (!b)
		return -1;
	b->store = s;
	b->size = size;
	memcpy(b->bytes, buf, size);
	if ((b->next = owner->blobs))
		b->next->at = &b->next;
	b->at = &owner->blobs;
	owner->blobs = b;
	memcpy(id, &b, sizeof b);
	return 0;
}

static blob *blob_of(const void *id)
{
	blob *b;
	memcpy(&b, id, sizeof b);
	return b;
}

static herr_t blob_get(void *obj, const void *id, void *buf, size_t size, void *context)
{
	(void)obj;
	(void)context;
	const blob *b = blob_of(id);
	if (!b || size > b->size) {
		FAIL(VOL, BADVALUE, "%zu bytes are wanted of a blob of %zu", size, b ? b->size : 0);
		return -1;
	}
	memcpy(buf, b->bytes, size);
	return 0;
}

static herr_t blob_specific(void *obj, void *id, H5VL_blob_specific_args_t *args)
{
	(void)obj;
	blob *b = blob_of(id);
	switch (args->op_type) {
	case H5VL_BLOB_DELETE:
		if (b) {
			if ((*b->at = b->next))
				b->next->at = b->at;
			block_free(b->store, b, sizeof *b + b->size);
		}
		return 0;
	case H5VL_BLOB_ISNULL:
		*args->args.is_null.isnull = !b;
		return 0;
	case H5VL_BLOB_SETNULL:
		memset(id, 0, sizeof b);
		return 0;
	}
	return -1;
}

const H5VL_blob_class_t blob_class = {.put = blob_put, .get = blob_get, .specific = blob_specific};
