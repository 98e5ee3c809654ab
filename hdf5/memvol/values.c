/* values.c: elements of a dataset or an attribute, in row-major order without
   gaps, whatever layout the program asked for.

   Strings and sequences of variable length and references stand in blobs. The
   library itself turns them into elements that hold a blob's address: values of
   such types are stored in the type's form for files (H5VLget_file_type), and
   every transfer is a conversion. Others are copied where the types are equal. */
#include "memvol.h"
#include <string.h>

static bool ordinary(H5T_class_t class)
{
	return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM || class == H5T_BITFIELD || class == H5T_OPAQUE || class == H5T_TIME;
}

/* Whether a type has references of HDF5 1.10 and older in it: their form in files is
   that of native files, and the library would take ours for one. */
static bool old_references(hid_t type)
{
	bool old = false;
	hid_t part;
	switch (H5Tget_class(type)) {
	case H5T_REFERENCE:
		return H5Tequal(type, H5T_STD_REF) <= 0;
	case H5T_COMPOUND:
		for (int i = 0, n = H5Tget_nmembers(type); !old && i < n; i++) {
			old = (part = H5Tget_member_type(type, (unsigned)i)) < 0 || old_references(part);
			id_free(part);
		}
		return old;
	case H5T_ARRAY:
	case H5T_VLEN:
		old = (part = H5Tget_super(type)) < 0 || old_references(part);
		id_free(part);
		return old;
	default:
		return false;
	}
}

bool values_held(const values *v) { return v->stored != v->type; }

size_t values_count(const values *v)
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
		if (old_references(v->type)) {
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
bool values_fill(values *v, char *to, size_t n)
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
		blobs_of(v);
		ok = H5Tconvert(v->type, v->stored, 1, one, old, H5P_DEFAULT) >= 0;
		if (ok)
			memcpy(to, one, v->size);
	}
	free(one);
	free(old);
	return ok;
}

/* Makes room for all elements, which have the fill value then; overwritten: all of
   them will be written to at once, as they are. */
bool values_allocate(values *v, bool overwritten)
{
	size_t n = values_count(v);
	if (v->data || n == 0)
		return true;
	bool zeroed = !v->fill && !(overwritten && !values_held(v));
	v->data = block_new(v->store, n * v->size, zeroed);
	if (!v->data)
		return false;
	v->bytes = n * v->size;
	if (v->fill && !overwritten)
		return values_fill(v, v->data, n);
	if (values_held(v) && v->fill)
		memset(v->data, 0, v->bytes); /* no blobs to be freed are read from here */
	return true;
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
		if (!values_fill(v, place + kept * v->size, new[rank - 1] - kept))
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
		if (n > had && !values_fill(v, data + had * v->size, n - had))
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
	size_t n = values_count(from);
	if (!from->data || n == 0)
		return true;
	if (!values_held(from)) {
		if (!values_allocate(to, true))
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

