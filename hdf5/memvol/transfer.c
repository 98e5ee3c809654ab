/* transfer.c: transfers between selected elements of values and of the program's
   memory, with conversion of their types. */
#include "memvol.h"
#include <string.h>

enum { SEQUENCES = 128, CONVERTED = 256 << 10 };

/* A walk visits the elements of a selection as sequences of neighbours. */
typedef struct walk {
	hid_t iterator; /* or H5I_INVALID_HID: one sequence */
	size_t size;    /* bytes of an element */
	hsize_t offsets[SEQUENCES];
	size_t lengths[SEQUENCES];
	size_t count, i;
} walk;

static bool walk_start(walk *w, hid_t space, size_t n, size_t size)
{
	w->size = size;
	w->iterator = H5I_INVALID_HID;
	w->i = w->count = 0;
	if (space == H5S_ALL) {
		w->offsets[0] = 0;
		w->lengths[0] = n * size;
		w->count = n > 0;
		return true;
	}
	w->iterator = H5Ssel_iter_create(space, size, 0);
	return w->iterator >= 0;
}

static void walk_end(walk *w)
{
	if (w->iterator >= 0)
		H5Ssel_iter_close(w->iterator);
}

/* Returns the next sequence, at most so many elements of it, or -1. */
static ptrdiff_t walk_next(walk *w, size_t most, hsize_t *offset)
{
	if (w->i == w->count) {
		size_t elements;
		w->i = w->count = 0;
		if (w->iterator < 0 || H5Ssel_iter_get_seq_list(w->iterator, SEQUENCES, SIZE_MAX, &w->count, &elements, w->offsets, w->lengths) < 0 || w->count == 0) {
			FAIL(DATASPACE, CANTNEXT, "a selection ends early");
			return -1;
		}
	}
	size_t n = w->lengths[w->i] / w->size;
	if (n > most)
		n = most;
	*offset = w->offsets[w->i];
	w->offsets[w->i] += n * w->size;
	w->lengths[w->i] -= n * w->size;
	if (w->lengths[w->i] == 0)
		w->i++;
	return (ptrdiff_t)n;
}

/* Moves n elements between a selection of buf and packed memory; buf NULL: the
   elements are copies of one. */
static bool gather(walk *w, const char *buf, const char *one, char *packed, size_t n)
{
	while (n > 0) {
		hsize_t offset;
		ptrdiff_t k = walk_next(w, n, &offset);
		if (k < 0)
			return false;
		if (buf)
			memcpy(packed, buf + offset, (size_t)k * w->size);
		else
			for (ptrdiff_t i = 0; i < k; i++)
				memcpy(packed + (size_t)i * w->size, one, w->size);
		packed += (size_t)k * w->size;
		n -= (size_t)k;
	}
	return true;
}

static bool scatter(walk *w, char *buf, const char *packed, size_t n)
{
	while (n > 0) {
		hsize_t offset;
		ptrdiff_t k = walk_next(w, n, &offset);
		if (k < 0)
			return false;
		memcpy(buf + offset, packed, (size_t)k * w->size);
		packed += (size_t)k * w->size;
		n -= (size_t)k;
	}
	return true;
}

/* Copies n elements from one selection to another. */
static bool copy_selected(walk *to, char *out, walk *from, const char *in, size_t n)
{
	while (n > 0) {
		hsize_t a, b;
		ptrdiff_t k = walk_next(from, n, &a);
		if (k < 0)
			return false;
		n -= (size_t)k;
		while (k > 0) {
			ptrdiff_t m = walk_next(to, (size_t)k, &b);
			if (m < 0)
				return false;
			memcpy(out + b, in + a, (size_t)m * to->size);
			a += (size_t)m * to->size;
			k -= m;
		}
	}
	return true;
}

/* A transfer between the elements that a file space selects and memory. */
typedef struct transfer {
	values *v;
	hid_t mem_type, dxpl;
	hid_t mem, file; /* spaces; H5S_ALL: everything, or as much as the other selects */
	hid_t owned;     /* a space that the transfer has made */
	size_t n;
} transfer;

static bool prepare(transfer *t, values *v, hid_t mem_type, hid_t mem, hid_t file, hid_t dxpl)
{
	*t = (transfer){.v = v, .mem_type = mem_type, .dxpl = dxpl, .mem = mem, .file = file, .owned = H5I_INVALID_HID};
	if (file == H5S_PLIST) {
		FAIL(DATASPACE, UNSUPPORTED, "a selection in the transfer property list is not supported");
		return false;
	}
	if (dxpl != H5P_DEFAULT && dxpl != H5P_DATASET_XFER_DEFAULT && H5Pget_data_transform(dxpl, NULL, 0) > 0) {
		FAIL(DATASET, UNSUPPORTED, "data transforms are not supported");
		return false;
	}
	if (file == H5S_ALL) {
		t->n = values_count(v);
		if (mem == H5S_ALL || mem == H5S_BLOCK) {
			t->mem = H5S_ALL;
			return true;
		}
	} else {
		if (H5Sextent_equal(file, v->space) <= 0) {
			/* The selection was made before the extent changed. */
			if ((t->owned = H5Scopy(v->space)) < 0 || H5Sselect_copy(t->owned, file) < 0) {
				FAIL(DATASPACE, BADSELECT, "the selection in the file has other dimensions than the dataset");
				return false;
			}
			t->file = t->owned;
		}
		if (H5Sselect_valid(t->file) <= 0) {
			FAIL(DATASPACE, BADRANGE, "the selection in the file is not within the dataset");
			return false;
		}
		t->n = (size_t)H5Sget_select_npoints(t->file);
		if (mem == H5S_ALL)
			t->mem = t->file;
		else if (mem == H5S_BLOCK)
			t->mem = H5S_ALL;
	}
	if (t->mem != H5S_ALL && t->mem != t->file) {
		if (H5Sselect_valid(t->mem) <= 0) {
			FAIL(DATASPACE, BADRANGE, "the selection in memory is not within its dataspace");
			return false;
		}
		hssize_t n = H5Sget_select_npoints(t->mem);
		if (n < 0 || (size_t)n != t->n) {
			FAIL(DATASPACE, BADVALUE, "%lld elements are selected in memory and %zu in the file", (long long)n, t->n);
			return false;
		}
	}
	return true;
}

/* Converts blocks of elements, in memory of its own. */
typedef struct converter {
	hid_t from, to, dxpl;
	size_t block; /* elements */
	char *buf, *old;
	H5T_bkg_t background;
	walk file, mem, mem_old, file_old;
} converter;

static void converter_free(converter *c)
{
	free(c->buf);
	free(c->old);
	walk_end(&c->file);
	walk_end(&c->mem);
	walk_end(&c->mem_old);
	walk_end(&c->file_old);
	free(c);
}

static converter *converter_new(transfer *t, bool write)
{
	values *v = t->v;
	converter *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->file.iterator = c->mem.iterator = c->mem_old.iterator = c->file_old.iterator = H5I_INVALID_HID;
	c->from = write ? t->mem_type : v->stored;
	c->to = write ? v->stored : t->mem_type;
	/* The program's functions that allocate sequences are for its own memory. */
	c->dxpl = write && values_held(v) ? H5P_DEFAULT : t->dxpl;
	H5T_cdata_t *data;
	size_t mem_size = H5Tget_size(t->mem_type), wide = mem_size > v->size ? mem_size : v->size;
	if (mem_size == 0 || !H5Tfind(c->from, c->to, &data)) {
		converter_free(c);
		FAIL(DATATYPE, CANTCONVERT, "HDF5 has no conversion between the type in memory and that of the dataset");
		return NULL;
	}
	c->background = values_held(v) && write ? H5T_BKG_YES : data->need_bkg;
	c->block = CONVERTED / wide ? CONVERTED / wide : 1;
	if (c->block > t->n)
		c->block = t->n;
	c->buf = malloc(c->block * wide);
	if (c->background != H5T_BKG_NO)
		c->old = calloc(c->block, wide);
	if (!c->buf || (c->background != H5T_BKG_NO && !c->old) ||
	    !walk_start(&c->file, t->file, t->n, v->size) || !walk_start(&c->mem, t->mem, t->n, mem_size) ||
	    (c->background == H5T_BKG_YES && !(write ? walk_start(&c->file_old, t->file, t->n, v->size) : walk_start(&c->mem_old, t->mem, t->n, mem_size)))) {
		converter_free(c);
		fail_again();
		return NULL;
	}
	return c;
}

static bool write_converted(transfer *t, const char *buf)
{
	converter *c = converter_new(t, true);
	if (!c)
		return false;
	bool ok = true;
	for (size_t done = 0, k; ok && done < t->n; done += k) {
		k = t->n - done < c->block ? t->n - done : c->block;
		ok = gather(&c->mem, buf, NULL, c->buf, k) && (c->background != H5T_BKG_YES || gather(&c->file_old, t->v->data, NULL, c->old, k));
		blobs_of(t->v);
		ok = ok && H5Tconvert(c->from, c->to, k, c->buf, c->old, c->dxpl) >= 0 && scatter(&c->file, t->v->data, c->buf, k);
	}
	converter_free(c);
	if (!ok)
		fail_again();
	return ok;
}

static bool read_converted(transfer *t, char *buf)
{
	values *v = t->v;
	converter *c = converter_new(t, false);
	if (!c)
		return false;
	char *one = v->data ? NULL : malloc(v->size);
	bool ok = v->data || (one && values_fill(v, one, 1));
	for (size_t done = 0, k; ok && done < t->n; done += k) {
		k = t->n - done < c->block ? t->n - done : c->block;
		ok = gather(&c->file, v->data, one, c->buf, k) && (c->background != H5T_BKG_YES || gather(&c->mem_old, buf, NULL, c->old, k)) &&
		     H5Tconvert(c->from, c->to, k, c->buf, c->old, c->dxpl) >= 0 && scatter(&c->mem, buf, c->buf, k);
	}
	free(one);
	if (!v->data)
		blobs_free(v);
	converter_free(c);
	if (!ok)
		fail_again();
	return ok;
}

static bool same_type(const transfer *t)
{
	return !values_held(t->v) && (t->mem_type == t->v->type || H5Tequal(t->mem_type, t->v->type) > 0);
}

static bool write_equal(transfer *t, const char *buf)
{
	values *v = t->v;
	if (t->file == H5S_ALL && t->mem == H5S_ALL) {
		memcpy(v->data, buf, t->n * v->size);
		return true;
	}
	walk file, mem;
	bool ok = walk_start(&file, t->file, t->n, v->size);
	ok = walk_start(&mem, t->mem, t->n, v->size) && ok && copy_selected(&file, v->data, &mem, buf, t->n);
	walk_end(&file);
	walk_end(&mem);
	return ok;
}

static bool read_equal(transfer *t, char *buf)
{
	values *v = t->v;
	if (t->file == H5S_ALL && t->mem == H5S_ALL) {
		memcpy(buf, v->data, t->n * v->size);
		return true;
	}
	walk file, mem;
	bool ok = walk_start(&file, t->file, t->n, v->size);
	ok = walk_start(&mem, t->mem, t->n, v->size) && ok && copy_selected(&mem, buf, &file, v->data, t->n);
	walk_end(&file);
	walk_end(&mem);
	return ok;
}

/* Elements that nothing was written to and that have no fill value are zeros in
   memory, whatever their type there. */
static bool read_zeros(transfer *t, char *buf)
{
	walk mem;
	bool ok = walk_start(&mem, t->mem, t->n, H5Tget_size(t->mem_type));
	for (size_t n = t->n; ok && n > 0;) {
		hsize_t offset;
		ptrdiff_t k = walk_next(&mem, n, &offset);
		ok = k > 0;
		if (ok) {
			memset(buf + offset, 0, (size_t)k * mem.size);
			n -= (size_t)k;
		}
	}
	walk_end(&mem);
	return ok;
}

bool values_write(values *v, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, const void *buf)
{
	transfer t;
	bool ok = prepare(&t, v, mem_type, mem_space, file_space, dxpl);
	if (ok && t.n > 0)
		ok = values_allocate(v, file_space == H5S_ALL && same_type(&t)) && (same_type(&t) ? write_equal(&t, buf) : write_converted(&t, buf));
	if (t.owned >= 0)
		H5Sclose(t.owned);
	if (!ok)
		fail_again();
	return ok;
}

bool values_read(values *v, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf)
{
	transfer t;
	bool ok = prepare(&t, v, mem_type, mem_space, file_space, dxpl);
	if (ok && t.n > 0) {
		if (!v->data && !v->fill)
			ok = read_zeros(&t, buf);
		else
			ok = v->data && same_type(&t) ? read_equal(&t, buf) : read_converted(&t, buf);
	}
	if (t.owned >= 0)
		H5Sclose(t.owned);
	if (!ok)
		fail_again();
	return ok;
}
