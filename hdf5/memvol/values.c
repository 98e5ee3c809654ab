/* values.c: elements of a dataset or an attribute, in row-major order without
   gaps, whatever layout the program asked for.

   Strings and sequences of variable length and references stand in blobs. The
   library itself turns them into elements that hold a blob's address: values of
   such types are stored in the type's form for files (H5VLget_file_type), and
   every transfer is a conversion. Others are copied where the types are equal. */
#include "memvol.h"
#include <string.h>

enum { SEQUENCES = 128, CONVERTED = 256 << 10 };

struct blob {
	blob *next, **at;
	store *store;
	size_t size;
	char bytes[];
};

/* Where blobs go that a conversion makes: a conversion doesn't tell for which
   dataset, and HDF5's lock is held. */
static values *filling;

static bool ordinary(H5T_class_t class)
{
	return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM || class == H5T_BITFIELD || class == H5T_OPAQUE || class == H5T_TIME;
}

bool values_held(const values *v) { return v->stored != v->type; }

static size_t count_of(const values *v)
{
	hssize_t n = H5Sget_simple_extent_npoints(v->space);
	return n > 0 ? (size_t)n : 0;
}

static bool keep_fill(values *v, hid_t dcpl)
{
	H5D_fill_value_t defined;
	if (H5Pfill_value_defined(dcpl, &defined) < 0)
		return false;
	if (defined != H5D_FILL_VALUE_USER_DEFINED)
		return true;
	v->fill = calloc(1, H5Tget_size(v->type));
	if (!v->fill || H5Pget_fill_value(dcpl, v->type, v->fill) < 0)
		return false;
	return true;
}

/* Takes copies of the type and the space. */
bool values_init(values *v, store *s, hid_t type, hid_t space, hid_t dcpl)
{
	*v = (values){.store = s, .type = H5I_INVALID_HID, .stored = H5I_INVALID_HID, .space = H5I_INVALID_HID};
	if ((v->type = H5Tcopy(type)) < 0 || (v->space = H5Scopy(space)) < 0)
		goto failed;
	v->stored = v->type;
	H5T_class_t class = H5Tget_class(v->type);
	if (!ordinary(class)) {
		if (class == H5T_REFERENCE && H5Tequal(v->type, H5T_STD_REF) <= 0) {
			FAIL(DATATYPE, UNSUPPORTED, "references of HDF5 1.10 and older hold addresses in a native file; H5T_STD_REF is supported");
			goto failed;
		}
		hid_t stored = H5VLget_file_type(&s->anchor, connector_id(), v->type);
		if (stored < 0)
			goto failed;
		if (H5Tequal(stored, v->type) > 0)
			H5Tclose(stored);
		else
			v->stored = stored;
	}
	v->size = H5Tget_size(v->stored);
	hssize_t n = H5Sget_simple_extent_npoints(v->space);
	if (n < 0 || v->size == 0 || (size_t)n > PTRDIFF_MAX / v->size) {
		FAIL(DATASPACE, BADVALUE, "a dataspace is larger than memory can be");
		goto failed;
	}
	if (dcpl != H5P_DATASET_CREATE_DEFAULT && dcpl >= 0 && !keep_fill(v, dcpl))
		goto failed;
	return true;
failed:
	values_free(v);
	fail_again();
	return false;
}

static void blobs_free(values *v)
{
	while (v->blobs) {
		blob *b = v->blobs;
		v->blobs = b->next;
		block_free(b->store, b, sizeof *b + b->size);
	}
}

void values_free(values *v)
{
	block_free(v->store, v->data, v->bytes);
	blobs_free(v);
	if (v->fill && !ending && values_held(v)) {
		hid_t one = H5Screate(H5S_SCALAR);
		H5Treclaim(v->type, one, H5P_DEFAULT, v->fill);
		H5Sclose(one);
	}
	free(v->fill);
	if (v->stored != v->type)
		id_free(v->stored);
	id_free(v->type);
	id_free(v->space);
	v->data = NULL;
	v->fill = NULL;
	v->stored = v->type = v->space = H5I_INVALID_HID;
	if (v->committed) {
		node *type = v->committed;
		v->committed = NULL;
		type->opens--;
		node_release(type);
	}
}

/* Notes which datatype object of the same file a type is, if it is one. */
void values_commit(values *v, hid_t type)
{
	if (H5Tcommitted(type) <= 0)
		return;
	hid_t connector = H5VLget_connector_id(type);
	bool ours = connector >= 0 && connector == connector_id();
	if (connector >= 0)
		H5VLclose(connector);
	handle *h = ours ? H5VLobject(type) : NULL;
	if (h && h->node->store == v->store) {
		v->committed = h->node;
		h->node->opens++;
	}
}

/* Gives n elements from to the fill value. */
static bool fill_with(values *v, char *to, size_t n)
{
	if (!v->fill) {
		memset(to, 0, n * v->size);
		return true;
	}
	if (!values_held(v)) {
		for (; n > 0; n--, to += v->size)
			memcpy(to, v->fill, v->size);
		return true;
	}
	size_t wide = H5Tget_size(v->type);
	char *one = malloc(wide > v->size ? wide : v->size), *old = calloc(1, wide > v->size ? wide : v->size);
	bool ok = one && old;
	for (; ok && n > 0; n--, to += v->size) {
		memcpy(one, v->fill, wide);
		filling = v;
		ok = H5Tconvert(v->type, v->stored, 1, one, old, H5P_DEFAULT) >= 0;
		if (ok)
			memcpy(to, one, v->size);
	}
	free(one);
	free(old);
	return ok;
}

/* Makes room for all elements. */
static bool fill_all(values *v, bool overwritten)
{
	size_t n = count_of(v);
	if (v->data || n == 0)
		return true;
	bool zeroed = !v->fill && !(overwritten && !values_held(v));
	v->data = block_new(v->store, n * v->size, zeroed);
	if (!v->data)
		return false;
	v->bytes = n * v->size;
	if (v->fill && !overwritten)
		return fill_with(v, v->data, n);
	if (values_held(v) && v->fill)
		memset(v->data, 0, v->bytes); /* no blobs to be freed are read from here */
	return true;
}

bool values_allocate(values *v) { return fill_all(v, false); }

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
		t->n = count_of(v);
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

/* What converts blocks of elements, with the memory that it takes. */
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
		filling = t->v;
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
	bool ok = v->data || (one && fill_with(v, one, 1));
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
		ok = fill_all(v, file_space == H5S_ALL && same_type(&t)) && (same_type(&t) ? write_equal(&t, buf) : write_converted(&t, buf));
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

/* Moves the rows that both extents have, from the first to the last or back, so
   that none is overwritten before it has moved; those that are new are filled. */
static bool rearrange(values *v, char *to, const char *from, int rank, const hsize_t *old, const hsize_t *new)
{
	hsize_t at[H5S_MAX_RANK] = {0}, rows = 1, row = new[rank - 1] < old[rank - 1] ? new[rank - 1] : old[rank - 1];
	for (int i = 0; i < rank - 1; i++)
		rows *= new[i];
	for (hsize_t r = 0; r < rows; r++) {
		hsize_t source = 0;
		bool there = true;
		for (int i = 0; i < rank - 1; i++) {
			there = there && at[i] < old[i];
			source = source * old[i] + at[i];
		}
		char *place = to + r * new[rank - 1] * v->size;
		hsize_t kept = there ? row : 0;
		memcpy(place, from + (there ? source * old[rank - 1] * v->size : 0), kept * v->size);
		if (!fill_with(v, place + kept * v->size, new[rank - 1] - kept))
			return false;
		for (int i = rank - 2; i >= 0 && ++at[i] == new[i]; i--)
			at[i] = 0;
	}
	return true;
}

bool values_resize(values *v, const hsize_t *dims)
{
	hsize_t old[H5S_MAX_RANK], most[H5S_MAX_RANK];
	int rank = H5Sget_simple_extent_dims(v->space, old, most);
	if (rank < 1) {
		FAIL(DATASET, CANTSET, "only a dataset with dimensions can be resized");
		return false;
	}
	bool outer = true; /* only the first dimension changes, so nothing moves */
	hsize_t n = 1, had = 1;
	for (int i = 0; i < rank; i++) {
		if (most[i] != H5S_UNLIMITED && dims[i] > most[i]) {
			FAIL(DATASET, CANTSET, "dimension %d can't be %llu: it is at most %llu", i, (unsigned long long)dims[i], (unsigned long long)most[i]);
			return false;
		}
		if (dims[i] && n > PTRDIFF_MAX / v->size / dims[i]) {
			FAIL(DATASPACE, BADVALUE, "a dataspace is larger than memory can be");
			return false;
		}
		outer = outer && (i == 0 || dims[i] == old[i]);
		n *= dims[i];
		had *= old[i];
	}
	size_t bytes = n * v->size;
	if (v->data && n == 0) {
		block_free(v->store, v->data, v->bytes);
		v->data = NULL;
		v->bytes = 0;
		blobs_free(v);
	} else if (v->data && outer) {
		char *data = block_resize(v->store, v->data, v->bytes, bytes);
		if (!data)
			return false;
		v->data = data;
		v->bytes = bytes;
		if (n > had && !fill_with(v, data + had * v->size, n - had))
			return false;
	} else if (v->data) {
		char *data = block_new(v->store, bytes, false);
		if (!data)
			return false;
		if (!rearrange(v, data, v->data, rank, old, dims)) {
			block_free(v->store, data, bytes);
			fail_again();
			return false;
		}
		block_free(v->store, v->data, v->bytes);
		v->data = data;
		v->bytes = bytes;
	}
	return H5Sset_extent_simple(v->space, rank, dims, most) >= 0;
}

/* Copies all elements between values of one type and extent, of any stores. */
bool values_copy(values *to, values *from)
{
	size_t n = count_of(from);
	if (!from->data || n == 0)
		return true;
	if (!values_held(from)) {
		if (!fill_all(to, true))
			return false;
		memcpy(to->data, from->data, from->bytes);
		return true;
	}
	char *buf = calloc(n, H5Tget_size(from->type));
	bool ok = buf && values_read(from, from->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf);
	if (ok) {
		ok = values_write(to, from->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf);
		H5Treclaim(from->type, from->space, H5P_DEFAULT, buf);
	}
	free(buf);
	if (!ok)
		fail_again();
	return ok;
}

/* The type for the program: that of a committed datatype is the object itself. */
hid_t values_type(values *v, handle *h)
{
	if (!v->committed)
		return H5Tcopy(v->type);
	handle *type = handle_new(h->session, v->committed, NULL);
	hid_t id = type ? H5VLwrap_register(type, H5I_DATATYPE) : H5I_INVALID_HID;
	if (type && id < 0)
		handle_free(type);
	return id;
}

/* A blob's id is its address. */
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
	if ((b->next = filling->blobs))
		b->next->at = &b->next;
	b->at = &filling->blobs;
	filling->blobs = b;
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
