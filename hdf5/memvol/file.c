/* file.c: stores, sessions and handles, and the H5F callbacks. */
#include "memvol.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static store *stores;
static unsigned long last_number;

handle *handle_new(session *s, node *n, attribute *a)
{
	handle *h = calloc(1, sizeof *h);
	if (!h) {
		FAIL(RESOURCE, NOSPACE, "the system has no memory for a handle");
		return NULL;
	}
	h->type = a ? H5I_ATTR : n->type;
	h->node = n;
	h->attribute = a;
	h->session = s;
	h->plist = H5P_DEFAULT;
	n->opens++;
	if (a)
		a->opens++;
	if ((h->next = s->handles))
		h->next->at = &h->next;
	h->at = &s->handles;
	s->handles = h;
	return h;
}

static void session_close(session *s);

/* Writes the file where this is its last close: of a handle, or of the file itself,
   h NULL. Where that fails nothing is closed, as the library calls again for an
   object whose close has failed. */
static bool may_close(session *f, const handle *h)
{
	store *s = f->store;
	bool last = s->sessions == f && !f->next && (h ? !f->file_open && f->handles == h && !h->next : !f->handles);
	if (!last || ending || !s->changed || !s->settings.write_native)
		return true;
	if (!native_save(s))
		return false;
	s->changed = false;
	return true;
}

static void handle_close(handle *h)
{
	session *s = h->session;
	if ((*h->at = h->next))
		h->next->at = h->at;
	attribute *a = h->attribute;
	if (a && --a->opens == 0 && !a->owner)
		attribute_free(a);
	h->node->opens--;
	node_release(h->node);
	if (h->plist != H5P_DEFAULT)
		id_free(h->plist);
	free(h);
	if (!s->handles && !s->file_open)
		session_close(s);
}

void handle_free(handle *h) { handle_close(h); }

herr_t close_handle(void *h, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	if (!may_close(((handle *)h)->session, h)) {
		fail_again();
		return -1;
	}
	handle_close(h);
	return 0;
}

static void no_path(const char *name) { FAIL(FILE, BADFILE, "\"%s\": %s", name, strerror(errno)); }

/* One name for a file, whatever the program calls it: its directory without
   symbolic links. To be freed. */
static char *path_of(const char *name)
{
	char above[PATH_MAX];
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	char *whole = NULL;
	if ((size_t)(last - name) < sizeof above) {
		snprintf(above, sizeof above, "%.*s", (int)(last - name), name);
		whole = realpath(slash ? above : ".", NULL);
	}
	if (!whole)
		return strdup(name); /* a file in memory needs no directory */
	char *path = malloc(strlen(whole) + strlen(last) + 2);
	if (path)
		sprintf(path, "%s/%s", strcmp(whole, "/") ? whole : "", last);
	free(whole);
	return path;
}

static store *store_find(const char *path)
{
	store *s = stores;
	while (s && strcmp(s->path, path))
		s = s->next;
	return s;
}

store *store_new(const char *path, settings set, hid_t fcpl)
{
	store *s = calloc(1, sizeof *s);
	if (!s || !(s->path = strdup(path))) {
		free(s);
		FAIL(RESOURCE, NOSPACE, "the system has no memory for a file");
		return NULL;
	}
	s->settings = set;
	s->number = ++last_number;
	s->fcpl = plist_keep(fcpl, H5P_FILE_CREATE_DEFAULT);
	s->root = node_new(s, H5I_GROUP, H5P_DEFAULT);
	if (s->root) {
		s->root->links = 1;
		if (s->fcpl != H5P_DEFAULT) {
			H5Pget_link_creation_order(s->fcpl, &s->root->link_order);
			H5Pget_attr_creation_order(s->fcpl, &s->root->attribute_order);
		}
	}
	s->anchor = (handle){.type = H5I_FILE, .node = s->root};
	if (!s->root) {
		store_free(s);
		return NULL;
	}
	return s;
}

static void store_list(store *s)
{
	s->next = stores;
	stores = s;
	s->listed = true;
}

void store_free(store *s)
{
	for (store **at = &stores; s->listed && *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	/* Links may form cycles, so each object is held until all links are gone. */
	for (size_t id = 1; id <= s->node_count; id++)
		if (s->nodes[id])
			s->nodes[id]->opens++;
	for (size_t id = 1; id <= s->node_count; id++)
		while (s->nodes[id] && s->nodes[id]->members.count)
			unlink_entry(s->nodes[id], (mlink *)s->nodes[id]->members.entries[s->nodes[id]->members.count - 1]);
	for (size_t id = s->node_count; id > 0; id--)
		if (s->nodes[id]) {
			s->nodes[id]->links = 0;
			s->nodes[id]->opens--;
			node_release(s->nodes[id]);
		}
	free(s->nodes);
	if (s->fcpl != H5P_DEFAULT)
		id_free(s->fcpl);
	free(s->path);
	free(s);
}

static session *session_new(store *s, const char *name, unsigned flags, hid_t fapl)
{
	session *f = calloc(1, sizeof *f);
	if (!f || !(f->name = strdup(name))) {
		free(f);
		FAIL(RESOURCE, NOSPACE, "the system has no memory for a file handle");
		return NULL;
	}
	f->handle = (handle){.type = H5I_FILE, .node = s->root, .session = f, .plist = H5P_DEFAULT};
	f->store = s;
	f->intent = flags & H5F_ACC_RDWR;
	f->fapl = plist_keep(fapl, H5P_FILE_ACCESS_DEFAULT);
	f->file_open = true;
	f->next = s->sessions;
	s->sessions = f;
	return f;
}

/* Frees the store of a file at its last close, unless it has changed and is kept. */
static void store_close(store *s)
{
	if (!ending && (!s->changed || s->settings.drop)) /* else stores_free frees it */
		store_free(s);
}

static void session_close(session *f)
{
	store *s = f->store;
	for (session **at = &s->sessions; *at; at = &(*at)->next)
		if (*at == f) {
			*at = f->next;
			break;
		}
	if (f->fapl != H5P_DEFAULT)
		id_free(f->fapl);
	free(f->name);
	free(f);
	if (!s->sessions)
		store_close(s);
}

/* Some session of a store, for what belongs to no handle. */
session *session_of(store *s)
{
	session *f = s->sessions;
	while (f && !f->file_open && f->next)
		f = f->next;
	return f;
}

/* Called while the library can still be used, before it shuts down. */
void stores_end(void *context)
{
	(void)context;
	for (store *s = stores; s; s = s->next)
		if (s->changed && s->settings.write_native && !native_save(s))
			fprintf(stderr, "memvol: %s could not be written\n", s->path);
	while (stores && !stores->sessions)
		store_free(stores);
	ending = true;
}

void stores_free(void)
{
	while (stores) {
		while (stores->sessions) {
			session *f = stores->sessions;
			while (f->handles) {
				f->file_open = true;
				handle_close(f->handles);
			}
			session_close(f);
		}
		store_free(stores);
	}
	blocks_return();
}

static void *file_create(const char *name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	char *path = path_of(name);
	if (!path)
		return NULL;
	store *old = store_find(path), *s = NULL;
	session *f = NULL;
	if (old && old->sessions)
		FAIL(FILE, FILEOPEN, "\"%s\" is open", name);
	else if (!(flags & H5F_ACC_TRUNC) && (old || access(path, F_OK) == 0))
		FAIL(FILE, FILEEXISTS, "\"%s\" exists", name);
	else {
		if (old)
			store_free(old);
		s = store_new(path, settings_of(fapl), fcpl);
	}
	if (s) {
		store_list(s);
		s->changed = true;
		f = session_new(s, name, H5F_ACC_RDWR, fapl);
		if (!f)
			store_free(s);
	}
	free(path);
	if (!f)
		fail_again();
	return f;
}

static void *file_open(const char *name, unsigned flags, hid_t fapl, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	char *path = path_of(name);
	if (!path)
		return NULL;
	store *s = store_find(path);
	session *f = NULL;
	if (!s) {
		if (access(path, flags & H5F_ACC_RDWR ? R_OK | W_OK : R_OK) < 0)
			no_path(name);
		else if ((s = store_new(path, settings_of(fapl), H5P_DEFAULT))) {
			if (native_load(s)) {
				store_list(s);
				s->changed = false;
			} else {
				store_free(s);
				s = NULL;
			}
		}
	}
	if (s) {
		f = session_new(s, name, flags, fapl);
		if (!f && !s->sessions)
			store_close(s);
	}
	free(path);
	if (!f)
		fail_again();
	return f;
}

static bool native_there(const char *path)
{
	if (access(path, R_OK) < 0)
		return false;
	hid_t fapl = native_fapl();
	htri_t yes;
	H5E_BEGIN_TRY { yes = H5Fis_accessible(path, fapl); } H5E_END_TRY
	id_free(fapl);
	return yes > 0;
}

static session *session_at(void *obj)
{
	handle *h = obj;
	return h->session ? h->session : session_of(h->node->store);
}

/* The ids of open objects are those of the library's whose objects are of this file. */
struct search {
	store *store;
	size_t count, most;
	hid_t *ids;
};

static herr_t found(hid_t id, void *data)
{
	struct search *s = data;
	H5I_type_t type = H5Iget_type(id);
	if (type == H5I_DATATYPE && H5Tcommitted(id) <= 0)
		return 0;
	hid_t connector;
	H5E_BEGIN_TRY { connector = H5VLget_connector_id(id); } H5E_END_TRY
	if (connector < 0)
		return 0;
	bool ours = connector == connector_id();
	H5VLclose(connector);
	handle *h = ours ? H5VLobject(id) : NULL;
	if (h && h->node->store == s->store) {
		if (s->ids) {
			if (s->count == s->most)
				return 1;
			s->ids[s->count] = id;
		}
		s->count++;
	}
	return 0;
}

static herr_t find_ids(store *s, unsigned types, size_t most, hid_t *ids, size_t *count)
{
	static const struct { unsigned flag; H5I_type_t type; } kinds[] = {
		{H5F_OBJ_FILE, H5I_FILE}, {H5F_OBJ_DATASET, H5I_DATASET}, {H5F_OBJ_GROUP, H5I_GROUP}, {H5F_OBJ_DATATYPE, H5I_DATATYPE}, {H5F_OBJ_ATTR, H5I_ATTR},
	};
	struct search found_so_far = {s, 0, most, ids};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (types & kinds[i].flag && H5Iiterate(kinds[i].type, found, &found_so_far) < 0)
			return -1;
	*count = found_so_far.count;
	return 0;
}

static herr_t file_get(void *obj, H5VL_file_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	session *f = session_at(obj);
	store *s = ((handle *)obj)->node->store;
	switch (args->op_type) {
	case H5VL_FILE_GET_CONT_INFO:
		args->args.get_cont_info.info->feature_flags = 0;
		args->args.get_cont_info.info->token_size = sizeof(uint64_t);
		args->args.get_cont_info.info->blob_id_size = sizeof(blob *);
		return 0;
	case H5VL_FILE_GET_FAPL:
		return (args->args.get_fapl.fapl_id = plist_of(f->fapl, H5P_FILE_ACCESS_DEFAULT)) < 0 ? -1 : 0;
	case H5VL_FILE_GET_FCPL:
		return (args->args.get_fcpl.fcpl_id = plist_of(s->fcpl, H5P_FILE_CREATE_DEFAULT)) < 0 ? -1 : 0;
	case H5VL_FILE_GET_FILENO:
		*args->args.get_fileno.fileno = s->number;
		return 0;
	case H5VL_FILE_GET_INTENT:
		*args->args.get_intent.flags = f->intent;
		return 0;
	case H5VL_FILE_GET_NAME:
		*args->args.get_name.file_name_len = strlen(f->name);
		copy_name(f->name, args->args.get_name.buf, args->args.get_name.buf_size);
		return 0;
	case H5VL_FILE_GET_OBJ_COUNT:
		return find_ids(s, args->args.get_obj_count.types, SIZE_MAX, NULL, args->args.get_obj_count.count);
	case H5VL_FILE_GET_OBJ_IDS:
		return find_ids(s, args->args.get_obj_ids.types, args->args.get_obj_ids.max_objs, args->args.get_obj_ids.oid_list, args->args.get_obj_ids.count);
	}
	FAIL(VOL, UNSUPPORTED, "this query of a file is not supported");
	return -1;
}

static herr_t file_delete(const char *name)
{
	char *path = path_of(name);
	if (!path)
		return -1;
	store *s = store_find(path);
	herr_t result = -1;
	if (s && s->sessions)
		FAIL(FILE, CANTDELETEFILE, "\"%s\" is open", name);
	else {
		bool there = native_there(path);
		if (s)
			store_free(s);
		if (there && unlink(path) < 0)
			no_path(name);
		else if (!s && !there)
			FAIL(FILE, CANTDELETEFILE, "\"%s\" is neither in memory nor a native file", name);
		else
			result = 0;
	}
	free(path);
	if (result < 0)
		fail_again();
	return result;
}

static herr_t file_specific(void *obj, H5VL_file_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	switch (args->op_type) {
	case H5VL_FILE_FLUSH: /* a file in memory is written at its last close */
		return 0;
	case H5VL_FILE_REOPEN: {
		session *f = session_at(obj);
		*args->args.reopen.file = session_new(f->store, f->name, f->intent, f->fapl == H5P_DEFAULT ? H5P_FILE_ACCESS_DEFAULT : f->fapl);
		return *args->args.reopen.file ? 0 : -1;
	}
	case H5VL_FILE_IS_ACCESSIBLE: {
		char *path = path_of(args->args.is_accessible.filename);
		*args->args.is_accessible.accessible = path && (store_find(path) || native_there(path));
		free(path);
		return 0;
	}
	case H5VL_FILE_DELETE:
		return file_delete(args->args.del.filename);
	case H5VL_FILE_IS_EQUAL:
		*args->args.is_equal.same_file = args->args.is_equal.obj2 && ((handle *)obj)->node->store == ((handle *)args->args.is_equal.obj2)->node->store;
		return 0;
	}
	FAIL(VOL, UNSUPPORTED, "this operation on a file is not supported");
	return -1;
}

static herr_t file_close(void *obj, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	session *f = obj;
	if (!may_close(f, NULL)) {
		fail_again();
		return -1;
	}
	f->file_open = false;
	if (!f->handles)
		session_close(f);
	return 0;
}

const H5VL_file_class_t file_class = {file_create, file_open, file_get, file_specific, no_optional, file_close};
