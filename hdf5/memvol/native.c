/* native.c: files in memory are written to native files and read from them, by
   the library's own native connector. */
#include "memvol.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Groups within groups, each a level of recursion. */
enum { DEEPEST = 1000 };

hid_t native_fapl(void)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
	if (fapl >= 0 && H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0) {
		H5Pclose(fapl);
		return H5I_INVALID_HID;
	}
	return fapl;
}

static bool has_references(const values *v)
{
	if (H5Tdetect_class(v->type, H5T_REFERENCE) <= 0)
		return false;
	FAIL(DATATYPE, UNSUPPORTED, "references are not translated between memory and native files");
	return true;
}

static size_t elements(hid_t space)
{
	hssize_t n = H5Sget_simple_extent_npoints(space);
	return n > 0 ? (size_t)n : 0;
}

/* The state of a save: native ids of objects with several links, and of datatypes,
   stay open until all is done. */
typedef struct saving {
	store *store;
	hid_t file;
	hid_t *ids; /* by node */
} saving;

static hid_t link_plist(H5T_cset_t cset)
{
	if (cset == H5T_CSET_ASCII)
		return H5P_DEFAULT;
	hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
	if (lcpl >= 0)
		H5Pset_char_encoding(lcpl, cset);
	return lcpl;
}

static hid_t saved_type(saving *s, const values *v)
{
	if (!v->committed)
		return H5Tcopy(v->type);
	node *n = v->committed;
	if (s->ids[n->id] < 0) {
		hid_t type = H5Tcopy(n->values.type);
		if (type < 0 || H5Tcommit_anon(s->file, type, n->plist, H5P_DEFAULT) < 0)
			return H5I_INVALID_HID;
		s->ids[n->id] = type;
	}
	return H5Iinc_ref(s->ids[n->id]) < 0 ? H5I_INVALID_HID : s->ids[n->id];
}

/* Data in the form of the type in memory; *owned is to be reclaimed and freed. */
static const void *plain_data(values *v, void **owned)
{
	*owned = NULL;
	if (!values_held(v))
		return v->data;
	void *buf = calloc(elements(v->space), H5Tget_size(v->type));
	if (buf && !values_read(v, v->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf)) {
		free(buf);
		return NULL;
	}
	return *owned = buf;
}

static bool save_values(values *v, hid_t id, herr_t (*write)(hid_t, values *, const void *))
{
	if (!v->data || elements(v->space) == 0)
		return true;
	void *owned;
	const void *data = plain_data(v, &owned);
	bool ok = data && write(id, v, data) >= 0;
	if (owned) {
		H5Treclaim(v->type, v->space, H5P_DEFAULT, owned);
		free(owned);
	}
	return ok;
}

static herr_t write_attribute(hid_t id, values *v, const void *data) { return H5Awrite(id, v->type, data); }

static herr_t write_dataset(hid_t id, values *v, const void *data) { return H5Dwrite(id, v->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data); }

static bool save_attributes(saving *s, node *n, hid_t id)
{
	for (size_t i = 0; i < n->attributes.count; i++) {
		attribute *a = (attribute *)n->attributes.entries[i];
		if (has_references(&a->values))
			return false;
		hid_t type = saved_type(s, &a->values);
		hid_t made = type < 0 ? type : H5Acreate2(id, a->entry.name, type, a->values.space, a->plist, H5P_DEFAULT);
		bool ok = made >= 0 && save_values(&a->values, made, write_attribute);
		id_free(made);
		id_free(type);
		if (!ok)
			return false;
	}
	return true;
}

static bool save_group(saving *s, node *n, hid_t id, unsigned depth);

static hid_t create(saving *s, node *n, hid_t group, const char *name, hid_t lcpl)
{
	hid_t type, id;
	switch (n->type) {
	case H5I_GROUP:
		return H5Gcreate2(group, name, lcpl, n->plist, H5P_DEFAULT);
	case H5I_DATASET:
		if (has_references(&n->values) || (type = saved_type(s, &n->values)) < 0)
			return H5I_INVALID_HID;
		id = H5Dcreate2(group, name, type, n->values.space, lcpl, n->plist, H5P_DEFAULT);
		id_free(type);
		return id;
	default:
		id = H5Tcopy(n->values.type);
		if (id >= 0 && H5Tcommit2(group, name, id, lcpl, n->plist, H5P_DEFAULT) < 0) {
			H5Tclose(id);
			return H5I_INVALID_HID;
		}
		return id;
	}
}

static bool save_object(saving *s, node *n, hid_t group, const char *name, hid_t lcpl, unsigned depth)
{
	bool linked = s->ids[n->id] >= 0;
	if (linked && H5Olink(s->ids[n->id], group, name, lcpl, H5P_DEFAULT) < 0)
		return false;
	if (linked && (n->type != H5I_DATATYPE || n->copy))
		return true;
	n->copy = n; /* a datatype may have been committed before its link and attributes are written */
	hid_t id = linked ? s->ids[n->id] : create(s, n, group, name, lcpl);
	if (id < 0)
		return false;
	bool keep = linked || n->links > 1 || n->type == H5I_DATATYPE;
	if (keep)
		s->ids[n->id] = id;
	bool ok = save_attributes(s, n, id);
	if (ok && n->type == H5I_DATASET)
		ok = save_values(&n->values, id, write_dataset);
	if (ok && n->type == H5I_GROUP)
		ok = save_group(s, n, id, depth + 1);
	if (!keep)
		id_free(id);
	return ok;
}

static bool save_group(saving *s, node *n, hid_t id, unsigned depth)
{
	if (depth > DEEPEST) {
		FAIL(FILE, WRITEERROR, "groups are nested more than %d deep", DEEPEST);
		return false;
	}
	for (size_t i = 0; i < n->members.count; i++) {
		mlink *l = (mlink *)n->members.entries[i];
		hid_t lcpl = link_plist(l->entry.cset);
		bool ok = lcpl >= 0 && (l->target ? H5Lcreate_soft(l->target, id, l->entry.name, lcpl, H5P_DEFAULT) >= 0 : save_object(s, l->node, id, l->entry.name, lcpl, depth));
		if (lcpl != H5P_DEFAULT)
			id_free(lcpl);
		if (!ok)
			return false;
	}
	return true;
}

/* Writes a file beside the old one, and then puts it in its place. */
bool native_save(store *s)
{
	size_t count = s->node_count + 1, length = strlen(s->path) + 32;
	char *path = malloc(length);
	saving save = {.store = s, .file = H5I_INVALID_HID, .ids = malloc(count * sizeof *save.ids)};
	hid_t fapl = native_fapl();
	bool ok = path && save.ids && fapl >= 0;
	if (ok) {
		for (size_t i = 0; i < count; i++) {
			save.ids[i] = H5I_INVALID_HID;
			if (i && s->nodes[i])
				s->nodes[i]->copy = NULL;
		}
		snprintf(path, length, "%s.memvol-%ld", s->path, (long)getpid());
		save.file = H5Fcreate(path, H5F_ACC_EXCL, s->fcpl, fapl);
		hid_t root = save.file < 0 ? save.file : H5Gopen2(save.file, "/", H5P_DEFAULT);
		save.ids[s->root->id] = root;
		ok = root >= 0 && save_attributes(&save, s->root, root) && save_group(&save, s->root, root, 0);
		for (size_t i = 0; i < count; i++) {
			id_free(save.ids[i]);
			if (i && s->nodes[i])
				s->nodes[i]->copy = NULL;
		}
		if (save.file >= 0) {
			ok = H5Fclose(save.file) >= 0 && ok;
			if (ok && rename(path, s->path) < 0) {
				FAIL(FILE, WRITEERROR, "\"%s\": %s", s->path, strerror(errno));
				ok = false;
			}
			if (!ok)
				unlink(path);
		}
	}
	id_free(fapl);
	free(save.ids);
	free(path);
	if (!ok) {
		fail_again();
		FAIL(FILE, WRITEERROR, "\"%s\" could not be written to a native file", s->path);
	}
	return ok;
}

/* The state of a load: objects that several links lead to, and datatypes, by token. */
typedef struct loading {
	store *store;
	directory seen;
} loading;

typedef struct seen {
	entry entry;
	node *node;
} seen;

static node *known(loading *l, const H5O_token_t *token, node *n)
{
	char name[2 * sizeof *token + 1];
	const unsigned char *bytes = (const unsigned char *)token;
	for (size_t i = 0; i < sizeof *token; i++)
		sprintf(name + 2 * i, "%02x", bytes[i]);
	seen *e = (seen *)directory_find(&l->seen, name, strlen(name));
	if (e || !n)
		return e ? e->node : NULL;
	e = calloc(1, sizeof *e);
	if (!e || !(e->entry.name = strdup(name)) || !directory_add(&l->seen, &e->entry)) {
		free(e ? e->entry.name : NULL);
		free(e);
		return NULL;
	}
	return e->node = n;
}

static node *load_object(loading *l, hid_t id, unsigned depth);

static bool load_values(loading *l, values *v, hid_t id, hid_t type, hid_t space, hid_t dcpl, bool stored)
{
	if (!values_init(v, l->store, type, space, dcpl) || has_references(v))
		return false;
	if (H5Tcommitted(type) > 0) {
		node *n = load_object(l, type, 0);
		if (!n)
			return false;
		n->opens++;
		v->committed = n;
	}
	size_t n = elements(v->space);
	if (!stored || n == 0)
		return true;
	void *buf;
	if (values_held(v))
		buf = calloc(n, H5Tget_size(v->type));
	else {
		buf = v->data = block_new(v->store, n * v->size, false);
		v->bytes = buf ? n * v->size : 0;
	}
	bool ok = buf && (dcpl >= 0 ? H5Dread(id, v->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf) : H5Aread(id, v->type, buf)) >= 0;
	if (values_held(v)) {
		ok = ok && values_write(v, v->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf);
		if (buf)
			H5Treclaim(v->type, v->space, H5P_DEFAULT, buf);
		free(buf);
	}
	return ok;
}

static bool load_attribute(loading *l, node *n, hid_t id)
{
	char name[1024];
	hid_t type = H5Aget_type(id), space = H5Aget_space(id), acpl = H5Aget_create_plist(id);
	ssize_t length = H5Aget_name(id, sizeof name, name);
	char *whole = length >= (ssize_t)sizeof name ? malloc((size_t)length + 1) : NULL;
	if (whole)
		H5Aget_name(id, (size_t)length + 1, whole);
	bool ok = type >= 0 && space >= 0 && acpl >= 0 && length >= 0;
	H5T_cset_t cset = H5T_CSET_ASCII;
	if (ok)
		H5Pget_char_encoding(acpl, &cset);
	hid_t type_copy = ok ? H5Tcopy(type) : H5I_INVALID_HID; /* the native object is not ours */
	attribute *a = ok ? attribute_new(n, whole ? whole : name, type_copy, space, cset == H5T_CSET_ASCII ? H5P_ATTRIBUTE_CREATE_DEFAULT : acpl) : NULL;
	if (a) {
		values_free(&a->values);
		ok = load_values(l, &a->values, id, type, space, H5I_INVALID_HID, true);
	}
	free(whole);
	id_free(type_copy);
	id_free(type);
	id_free(space);
	id_free(acpl);
	return ok && a;
}

static bool load_attributes(loading *l, node *n, hid_t id)
{
	H5O_info2_t info;
	if (H5Oget_info3(id, &info, H5O_INFO_NUM_ATTRS | H5O_INFO_TIME) < 0)
		return false;
	n->changed = info.mtime;
	for (hsize_t i = 0; i < info.num_attrs; i++) {
		hid_t a = H5Aopen_by_idx(id, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
		bool ok = a >= 0 && load_attribute(l, n, a);
		id_free(a);
		if (!ok)
			return false;
	}
	return true;
}

struct into {
	loading *loading;
	node *group;
	unsigned depth;
};

static herr_t load_link(hid_t id, const char *name, const H5L_info2_t *info, void *data)
{
	struct into *in = data;
	hid_t lcpl = link_plist(info->cset);
	bool ok = false;
	if (info->type == H5L_TYPE_SOFT) {
		char *target = malloc(info->u.val_size + 1);
		ok = target && H5Lget_val(id, name, target, info->u.val_size, H5P_DEFAULT) >= 0;
		if (ok) {
			target[info->u.val_size] = 0;
			ok = link_soft(in->group, name, strlen(name), target, lcpl);
		}
		free(target);
	} else if (info->type == H5L_TYPE_HARD) {
		hid_t object = H5Oopen(id, name, H5P_DEFAULT);
		node *n = object < 0 ? NULL : load_object(in->loading, object, in->depth + 1);
		ok = n && link_node(in->group, name, strlen(name), n, lcpl);
		if (n && !ok)
			node_release(n);
		id_free(object);
	} else {
		FAIL(LINK, UNSUPPORTED, "\"%s\" is an external link, or one of the program's own kind: it is not supported", name);
	}
	if (lcpl != H5P_DEFAULT)
		id_free(lcpl);
	return ok ? 0 : -1;
}

static bool load_group(loading *l, node *n, hid_t id, unsigned depth)
{
	if (depth > DEEPEST) {
		FAIL(FILE, READERROR, "groups are nested more than %d deep", DEEPEST);
		return false;
	}
	struct into in = {l, n, depth};
	return H5Literate2(id, n->link_order ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, NULL, load_link, &in) >= 0;
}

static bool load_dataset(loading *l, node *n, hid_t id)
{
	hid_t type = H5Dget_type(id), space = H5Dget_space(id);
	if (H5Pget_external_count(n->plist) > 0) {
		FAIL(DATASET, UNSUPPORTED, "external storage is not supported");
		return false;
	}
	/* The elements that a virtual dataset shows are read, and are the dataset's own from then on. */
	bool virtual = H5Pget_layout(n->plist) == H5D_VIRTUAL;
	if (virtual)
		H5Pset_layout(n->plist, H5D_CONTIGUOUS);
	bool ok = type >= 0 && space >= 0 && load_values(l, &n->values, id, type, space, n->plist, virtual || H5Dget_storage_size(id) > 0);
	id_free(type);
	id_free(space);
	return ok;
}

static hid_t creation_plist(hid_t id, H5I_type_t type)
{
	return type == H5I_GROUP ? H5Gget_create_plist(id) : type == H5I_DATASET ? H5Dget_create_plist(id) : H5Tget_create_plist(id);
}

static node *load_object(loading *l, hid_t id, unsigned depth)
{
	H5O_info2_t info;
	if (H5Oget_info3(id, &info, H5O_INFO_BASIC) < 0)
		return NULL;
	node *n = known(l, &info.token, NULL);
	if (n)
		return n;
	H5I_type_t type = H5Iget_type(id);
	hid_t plist = creation_plist(id, type);
	n = plist < 0 ? NULL : node_new(l->store, type, plist);
	if (!n) {
		id_free(plist);
		return NULL;
	}
	bool ok = (info.rc <= 1 && type != H5I_DATATYPE) || known(l, &info.token, n);
	if (type == H5I_DATATYPE) {
		/* A copy is not the native object. */
		n->values.stored = n->values.type = H5Tcopy(id);
		ok = ok && n->values.type >= 0;
	}
	ok = ok && load_attributes(l, n, id);
	if (ok && type == H5I_GROUP)
		ok = load_group(l, n, id, depth);
	if (ok && type == H5I_DATASET)
		ok = load_dataset(l, n, id);
	return ok ? n : NULL; /* what failed goes with the store */
}

bool native_load(store *s)
{
	loading l = {.store = s};
	hid_t fapl = native_fapl();
	hid_t file = fapl < 0 ? fapl : H5Fopen(s->path, H5F_ACC_RDONLY, fapl);
	hid_t root = file < 0 ? file : H5Gopen2(file, "/", H5P_DEFAULT);
	bool ok = root >= 0;
	H5O_info2_t info;
	if (ok) {
		hid_t fcpl = H5Fget_create_plist(file);
		s->fcpl = fcpl < 0 ? H5P_DEFAULT : fcpl;
		H5Pget_link_creation_order(s->fcpl, &s->root->link_order);
		H5Pget_attr_creation_order(s->fcpl, &s->root->attribute_order);
		ok = H5Oget_info3(root, &info, H5O_INFO_BASIC) >= 0 && known(&l, &info.token, s->root) &&
			load_attributes(&l, s->root, root) && load_group(&l, s->root, root, 0);
	}
	for (size_t i = 0; i < l.seen.count; i++) {
		free(l.seen.entries[i]->name);
		free(l.seen.entries[i]);
	}
	directory_free(&l.seen);
	id_free(root);
	id_free(file);
	id_free(fapl);
	if (!ok) {
		fail_again();
		FAIL(FILE, READERROR, "\"%s\" could not be read into memory", s->path);
	}
	return ok;
}
