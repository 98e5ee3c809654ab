/* attribute.c: the H5A callbacks. */
#include "memvol.h"
#include <string.h>

attribute *attribute_new(node *n, const char *name, hid_t type, hid_t space, hid_t acpl)
{
	if (directory_find(&n->attributes, name, strlen(name))) {
		FAIL(ATTR, EXISTS, "the object has an attribute \"%s\" already", name);
		return NULL;
	}
	attribute *a = block_new(n->store, sizeof *a, true);
	if (!a)
		return NULL;
	if (!values_init(&a->values, n->store, type, space, H5I_INVALID_HID)) {
		block_free(n->store, a, sizeof *a);
		fail_again();
		return NULL;
	}
	values_commit(&a->values, type);
	a->plist = plist_keep(acpl, H5P_ATTRIBUTE_CREATE_DEFAULT);
	if (a->plist > 0)
		H5Pget_char_encoding(a->plist, &a->entry.cset);
	a->owner = n;
	a->entry.name = strdup(name);
	if (!a->entry.name || !directory_add(&n->attributes, &a->entry)) {
		attribute_free(a);
		FAIL(RESOURCE, NOSPACE, "the system has no memory for an attribute");
		return NULL;
	}
	return a;
}

static void attribute_delete(attribute *a)
{
	directory_remove(&a->owner->attributes, &a->entry);
	a->owner = NULL;
	if (!a->opens)
		attribute_free(a);
}

static attribute *find_attribute(node *n, const char *name)
{
	attribute *a = n ? (attribute *)directory_find(&n->attributes, name, strlen(name)) : NULL;
	if (n && !a)
		FAIL(ATTR, NOTFOUND, "the object has no attribute \"%s\"", name);
	return a;
}

/* By index means: of the attributes of the object with that name. Like a native
   file, it has an order of creation even where the object is not to track it. */
static attribute *attribute_at(handle *h, const H5VL_loc_params_t *where, const char *name)
{
	if (where->type != H5VL_OBJECT_BY_IDX)
		return find_attribute(locate(h, where), name);
	const H5VL_loc_by_idx_t *at = &where->loc_data.loc_by_idx;
	node *n = resolve(h->node, at->name, at->lapl_id);
	return n ? (attribute *)nth_entry(&n->attributes, true, at->idx_type, at->order, at->n) : NULL;
}

static void *attribute_create(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t type, hid_t space, hid_t acpl, hid_t aapl, hid_t dxpl, void **req)
{
	(void)aapl;
	(void)dxpl;
	(void)req;
	handle *h = obj;
	node *n = may_write(h) ? locate(h, where) : NULL;
	attribute *a = n ? attribute_new(n, name, type, space, acpl) : NULL;
	handle *made = a ? handle_new(h->session, n, a) : NULL;
	if (a && !made)
		attribute_delete(a);
	return made;
}

static void *attribute_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t aapl, hid_t dxpl, void **req)
{
	(void)aapl;
	(void)dxpl;
	(void)req;
	handle *h = obj;
	attribute *a = attribute_at(h, where, name);
	return a ? handle_new(h->session, a->owner, a) : NULL;
}

static herr_t attribute_read(void *obj, hid_t type, void *buf, hid_t dxpl, void **req)
{
	(void)req;
	return values_read(&((handle *)obj)->attribute->values, type, H5S_ALL, H5S_ALL, dxpl, buf) ? 0 : -1;
}

static herr_t attribute_write(void *obj, hid_t type, const void *buf, hid_t dxpl, void **req)
{
	(void)req;
	handle *h = obj;
	return may_write(h) && values_write(&h->attribute->values, type, H5S_ALL, H5S_ALL, dxpl, buf) ? 0 : -1;
}

static hsize_t data_size(const values *v)
{
	hssize_t n = H5Sget_simple_extent_npoints(v->space);
	return n > 0 ? (hsize_t)n * v->size : 0;
}

static void attribute_info(const node *n, const attribute *a, H5A_info_t *info)
{
	memset(info, 0, sizeof *info);
	info->corder_valid = n->attribute_order != 0;
	info->corder = info->corder_valid ? (H5O_msg_crt_idx_t)a->entry.order : 0;
	info->cset = a->entry.cset;
	info->data_size = data_size(&a->values);
}

static herr_t attribute_get(void *obj, H5VL_attr_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	attribute *a = h->attribute;
	switch (args->op_type) {
	case H5VL_ATTR_GET_ACPL:
		return (args->args.get_acpl.acpl_id = plist_of(a->plist, H5P_ATTRIBUTE_CREATE_DEFAULT)) < 0 ? -1 : 0;
	case H5VL_ATTR_GET_INFO: {
		H5VL_attr_get_info_args_t *get = &args->args.get_info;
		if (get->loc_params.type != H5VL_OBJECT_BY_SELF && !(a = attribute_at(h, &get->loc_params, get->attr_name)))
			return -1;
		attribute_info(a->owner ? a->owner : h->node, a, get->ainfo);
		return 0;
	}
	case H5VL_ATTR_GET_NAME: {
		H5VL_attr_get_name_args_t *get = &args->args.get_name;
		if (get->loc_params.type != H5VL_OBJECT_BY_SELF && !(a = attribute_at(h, &get->loc_params, NULL)))
			return -1;
		*get->attr_name_len = strlen(a->entry.name);
		copy_name(a->entry.name, get->buf, get->buf_size);
		return 0;
	}
	case H5VL_ATTR_GET_SPACE:
		return (args->args.get_space.space_id = H5Scopy(a->values.space)) < 0 ? -1 : 0;
	case H5VL_ATTR_GET_STORAGE_SIZE:
		*args->args.get_storage_size.data_size = data_size(&a->values);
		return 0;
	case H5VL_ATTR_GET_TYPE:
		return (args->args.get_type.type_id = values_type(&a->values, h)) < 0 ? -1 : 0;
	}
	FAIL(VOL, UNSUPPORTED, "this query of an attribute is not supported");
	return -1;
}

/* The program's function may delete the attribute that it is called with. */
static herr_t attribute_iterate(handle *h, node *n, const H5VL_attr_iterate_args_t *args)
{
	hsize_t start = 0, *i = args->idx ? args->idx : &start;
	if (*i && *i >= n->attributes.count) {
		FAIL(ATTR, BADRANGE, "there is no attribute %llu of %zu", (unsigned long long)*i, n->attributes.count);
		return -1;
	}
	hid_t id = object_id(h, n);
	herr_t result = id < 0 ? -1 : 0;
	while (!result && *i < n->attributes.count) {
		attribute *a = (attribute *)directory_at(&n->attributes, args->idx_type, args->order, (*i)++);
		char *name = a ? strdup(a->entry.name) : NULL;
		H5A_info_t info;
		if (!name) {
			result = -1;
			break;
		}
		attribute_info(n, a, &info);
		result = args->op(id, name, &info, args->op_data);
		free(name);
	}
	if (id >= 0)
		H5Idec_ref(id);
	return result;
}

static herr_t attribute_specific(void *obj, const H5VL_loc_params_t *where, H5VL_attr_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	node *n = locate(h, where);
	attribute *a = NULL;
	if (!n)
		return -1;
	switch (args->op_type) {
	case H5VL_ATTR_DELETE:
	case H5VL_ATTR_DELETE_BY_IDX:
		if (!may_write(h))
			return -1;
		if (args->op_type == H5VL_ATTR_DELETE)
			a = find_attribute(n, args->args.del.name);
		else
			a = (attribute *)nth_entry(&n->attributes, true, args->args.delete_by_idx.idx_type, args->args.delete_by_idx.order, args->args.delete_by_idx.n);
		if (!a)
			return -1;
		attribute_delete(a);
		return 0;
	case H5VL_ATTR_EXISTS:
		*args->args.exists.exists = directory_find(&n->attributes, args->args.exists.name, strlen(args->args.exists.name)) != NULL;
		return 0;
	case H5VL_ATTR_ITER:
		return attribute_iterate(h, n, &args->args.iterate);
	case H5VL_ATTR_RENAME:
		if (!may_write(h) || !(a = find_attribute(n, args->args.rename.old_name)))
			return -1;
		if (directory_find(&n->attributes, args->args.rename.new_name, strlen(args->args.rename.new_name))) {
			FAIL(ATTR, EXISTS, "the object has an attribute \"%s\" already", args->args.rename.new_name);
			return -1;
		}
		return directory_rename(&n->attributes, &a->entry, args->args.rename.new_name) ? 0 : -1;
	}
	FAIL(VOL, UNSUPPORTED, "this operation on attributes is not supported");
	return -1;
}

const H5VL_attr_class_t attribute_class = {attribute_create, attribute_open, attribute_read, attribute_write, attribute_get, attribute_specific, no_optional, close_handle};
