/* object.c: what groups, datasets and datatypes have in common, and the H5O and
   token callbacks. */
#include "memvol.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Makes an object and links it; name NULL: the program links it later. Takes the
   creation property list. */
handle *object_new(handle *h, const H5VL_loc_params_t *where, const char *name, hid_t lcpl, H5I_type_t type, hid_t plist, hid_t datatype, hid_t space)
{
	node *from, *n = NULL, *group = NULL;
	const char *last = NULL;
	size_t length = 0;
	handle *made = NULL;
	bool ok = plist >= 0 && may_write(h) && (from = locate(h, where)) &&
		(!name || (group = resolve_parent(from, name, H5P_DEFAULT, lcpl, &last, &length))) &&
		(n = node_new(h->node->store, type, plist));
	if (!n && plist > 0)
		id_free(plist);
	if (!ok)
		goto failed;
	if (type == H5I_DATASET) {
		if (!values_init(&n->values, n->store, datatype, space, plist == H5P_DEFAULT ? H5P_DATASET_CREATE_DEFAULT : plist))
			goto failed;
		values_commit(&n->values, datatype);
		H5D_alloc_time_t when = H5D_ALLOC_TIME_LATE;
		if (plist != H5P_DEFAULT)
			H5Pget_alloc_time(plist, &when);
		if (when == H5D_ALLOC_TIME_EARLY && !values_allocate(&n->values, false))
			goto failed;
	} else if (type == H5I_DATATYPE && (n->values.stored = n->values.type = H5Tcopy(datatype)) < 0) {
		goto failed;
	}
	if (name && !link_node(group, last, length, n, lcpl))
		goto failed;
	made = handle_new(h->session, n, NULL);
	if (made)
		return made;
	if (name)
		unlink_entry(group, n->link);
	n = NULL;
failed:
	if (n)
		node_release(n);
	fail_again();
	return NULL;
}

static const char *kind(H5I_type_t type)
{
	return type == H5I_GROUP ? "group" : type == H5I_DATASET ? "dataset" : "committed datatype";
}

handle *object_named(handle *h, const H5VL_loc_params_t *where, const char *name, H5I_type_t type)
{
	node *n = locate(h, where);
	if (n && name)
		n = resolve(n, name, H5P_DEFAULT);
	if (n && n->type != type) {
		FAIL(SYM, BADTYPE, "\"%s\" is not a %s", name ? name : "the object", kind(type));
		return NULL;
	}
	return n ? handle_new(h->session, n, NULL) : NULL;
}

/* An id on a node for functions of the program that are called with one. */
hid_t object_id(handle *h, node *n)
{
	handle *made = handle_new(h->session, n, NULL);
	hid_t id = made ? H5VLwrap_register(made, n->type) : H5I_INVALID_HID;
	if (made && id < 0)
		handle_free(made);
	return id;
}

static void *object_open(void *obj, const H5VL_loc_params_t *where, H5I_type_t *type, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	node *n = locate(h, where);
	if (!n)
		return NULL;
	*type = n->type;
	return handle_new(h->session ? h->session : session_of(n->store), n, NULL);
}

static herr_t object_copy(void *from, const H5VL_loc_params_t *from_where, const char *from_name, void *to, const H5VL_loc_params_t *to_where, const char *to_name, hid_t ocpypl, hid_t lcpl, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *out = to;
	const char *last;
	size_t length;
	unsigned flags = 0;
	node *source = locate(from, from_where), *place = source ? locate(out, to_where) : NULL;
	if (!place || !may_write(out) || !(source = resolve(source, from_name, H5P_DEFAULT)) ||
	    !(place = resolve_parent(place, to_name, H5P_DEFAULT, lcpl, &last, &length)))
		return -1;
	if (ocpypl != H5P_OBJECT_COPY_DEFAULT && H5Pget_copy_object(ocpypl, &flags) < 0)
		return -1;
	if (flags & ~(unsigned)(H5O_COPY_SHALLOW_HIERARCHY_FLAG | H5O_COPY_EXPAND_SOFT_LINK_FLAG | H5O_COPY_WITHOUT_ATTR_FLAG | H5O_COPY_EXPAND_EXT_LINK_FLAG)) {
		FAIL(OHDR, UNSUPPORTED, "copies that follow references or merge datatypes are not supported");
		return -1;
	}
	if (length == 0 || (place->type == H5I_GROUP && directory_find(&place->members, last, length))) {
		FAIL(OHDR, EXISTS, "\"%s\" exists already", to_name);
		return -1;
	}
	node *n = node_copy(place->store, source, flags);
	if (n && link_node(place, last, length, n, lcpl))
		return 0;
	if (n)
		node_release(n);
	fail_again();
	return -1;
}

static herr_t object_get(void *obj, const H5VL_loc_params_t *where, H5VL_object_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	if (args->op_type == H5VL_OBJECT_GET_FILE) {
		session *f = h->session ? h->session : session_of(h->node->store);
		if (!f)
			return -1;
		f->file_open = true; /* the library has it, or opens one now */
		*args->args.get_file.file = f;
		return 0;
	}
	node *n = locate(h, where);
	if (!n)
		return -1;
	H5O_info2_t info;
	char *path;
	switch (args->op_type) {
	case H5VL_OBJECT_GET_NAME:
		path = node_path(n);
		*args->args.get_name.name_len = path ? strlen(path) : 0;
		copy_name(path ? path : "", args->args.get_name.buf, args->args.get_name.buf_size);
		free(path);
		return 0;
	case H5VL_OBJECT_GET_TYPE:
		node_info(n, H5O_INFO_BASIC, &info);
		*args->args.get_type.obj_type = info.type;
		return 0;
	case H5VL_OBJECT_GET_INFO:
		node_info(n, args->args.get_info.fields, args->args.get_info.oinfo);
		return 0;
	default:
		FAIL(VOL, UNSUPPORTED, "this query of an object is not supported");
		return -1;
	}
}

/* Visits what hangs below a group, each object once. The program's function may
   change the file, so everything is looked up again at each step, and the group is
   held open. */
typedef struct visit {
	const H5VL_object_visit_args_t *args;
	hid_t id;
	char *seen;
	size_t nodes;
	char *path;
	size_t length, capacity;
} visit;

static bool push(visit *v, const char *name)
{
	size_t n = strlen(name);
	if (v->length + n + 2 > v->capacity) {
		char *more = realloc(v->path, 2 * (v->length + n + 2));
		if (!more)
			return false;
		v->path = more;
		v->capacity = 2 * (v->length + n + 2);
	}
	if (v->length)
		v->path[v->length++] = '/';
	memcpy(v->path + v->length, name, n + 1);
	v->length += n;
	return true;
}

static herr_t visit_members(visit *v, node *group)
{
	herr_t result = 0;
	for (hsize_t i = 0; !result && i < group->members.count; i++) {
		H5_index_t index = group->link_order ? v->args->idx_type : H5_INDEX_NAME;
		mlink *l = (mlink *)directory_at(&group->members, index, v->args->order, i);
		if (!l)
			return -1;
		node *n = l->node;
		if (!n || n->id > v->nodes || v->seen[n->id])
			continue;
		v->seen[n->id] = 1;
		size_t length = v->length;
		if (!push(v, l->entry.name))
			return -1;
		H5O_info2_t info;
		node_info(n, v->args->fields, &info);
		n->opens++;
		result = v->args->op(v->id, v->path, &info, v->args->op_data);
		if (!result && n->type == H5I_GROUP)
			result = visit_members(v, n);
		n->opens--;
		node_release(n);
		v->path[v->length = length] = 0;
	}
	return result;
}

static herr_t object_visit(handle *h, node *n, const H5VL_object_visit_args_t *args)
{
	visit v = {.args = args, .nodes = n->store->node_count};
	H5O_info2_t info;
	v.seen = calloc(v.nodes + 1, 1);
	v.id = v.seen ? object_id(h, n) : H5I_INVALID_HID;
	if (v.id < 0) {
		free(v.seen);
		return -1;
	}
	v.seen[n->id] = 1;
	node_info(n, args->fields, &info);
	herr_t result = args->op(v.id, ".", &info, args->op_data);
	if (!result && n->type == H5I_GROUP)
		result = visit_members(&v, n);
	H5Idec_ref(v.id);
	free(v.path);
	free(v.seen);
	return result;
}

static herr_t object_specific(void *obj, const H5VL_loc_params_t *where, H5VL_object_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	node *n;
	switch (args->op_type) {
	case H5VL_OBJECT_EXISTS:
		H5E_BEGIN_TRY { n = locate(h, where); } H5E_END_TRY
		*args->args.exists.exists = n != NULL;
		H5Eclear2(H5E_DEFAULT);
		return 0;
	case H5VL_OBJECT_FLUSH:
	case H5VL_OBJECT_REFRESH:
		return 0;
	default:
		break;
	}
	if (!(n = locate(h, where)))
		return -1;
	switch (args->op_type) {
	case H5VL_OBJECT_CHANGE_REF_COUNT:
		if (!may_write(h) || (args->args.change_rc.delta < 0 && n->links < (unsigned)-args->args.change_rc.delta))
			return -1;
		n->links += (unsigned)args->args.change_rc.delta;
		return 0;
	case H5VL_OBJECT_LOOKUP:
		node_token(n, args->args.lookup.token_ptr);
		return 0;
	case H5VL_OBJECT_VISIT:
		return object_visit(h, n, &args->args.visit);
	default:
		FAIL(VOL, UNSUPPORTED, "this operation on an object is not supported");
		return -1;
	}
}

static herr_t object_optional(void *obj, const H5VL_loc_params_t *where, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	(void)where;
	return no_optional(obj, args, dxpl, req);
}

const H5VL_object_class_t object_class = {object_open, object_copy, object_get, object_specific, object_optional};

static uint64_t number_of(const H5O_token_t *token)
{
	uint64_t id;
	memcpy(&id, token, sizeof id);
	return id;
}

static herr_t token_cmp(void *obj, const H5O_token_t *a, const H5O_token_t *b, int *result)
{
	(void)obj;
	uint64_t x = number_of(a), y = number_of(b);
	*result = (x > y) - (x < y);
	return 0;
}

static herr_t token_to_str(void *obj, H5I_type_t type, const H5O_token_t *token, char **text)
{
	(void)obj;
	(void)type;
	*text = H5allocate_memory(24, false);
	if (!*text)
		return -1;
	snprintf(*text, 24, "%" PRIu64, number_of(token));
	return 0;
}

static herr_t token_from_str(void *obj, H5I_type_t type, const char *text, H5O_token_t *token)
{
	(void)obj;
	(void)type;
	uint64_t id = strtoull(text, NULL, 10);
	memset(token, 0, sizeof *token);
	memcpy(token, &id, sizeof id);
	return 0;
}

const H5VL_token_class_t token_class = {token_cmp, token_to_str, token_from_str};
