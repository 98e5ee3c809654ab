/* group.c: the H5G callbacks. */
#include "memvol.h"
#include <string.h>

static void *group_create(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl, hid_t dxpl, void **req)
{
	(void)gapl;
	(void)dxpl;
	(void)req;
	handle *h = obj;
	return object_new(h, where, name, lcpl, H5I_GROUP, plist_keep(gcpl, H5P_GROUP_CREATE_DEFAULT), H5I_INVALID_HID, H5I_INVALID_HID);
}

static void *group_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t gapl, hid_t dxpl, void **req)
{
	(void)gapl;
	(void)dxpl;
	(void)req;
	return object_named(obj, where, name, H5I_GROUP);
}

static herr_t group_get(void *obj, H5VL_group_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	if (args->op_type == H5VL_GROUP_GET_GCPL) {
		node *n = h->node;
		args->args.get_gcpl.gcpl_id = plist_of(n->plist, H5P_GROUP_CREATE_DEFAULT);
		if (n == n->store->root && args->args.get_gcpl.gcpl_id >= 0) {
			H5Pset_link_creation_order(args->args.get_gcpl.gcpl_id, n->link_order);
			H5Pset_attr_creation_order(args->args.get_gcpl.gcpl_id, n->attribute_order);
		}
		return args->args.get_gcpl.gcpl_id < 0 ? -1 : 0;
	}
	node *n = locate(h, &args->args.get_info.loc_params);
	if (!n)
		return -1;
	if (n->type != H5I_GROUP) {
		FAIL(SYM, BADTYPE, "the object is not a group");
		return -1;
	}
	*args->args.get_info.ginfo = (H5G_info_t){
		.storage_type = n->members.count > 8 ? H5G_STORAGE_TYPE_DENSE : H5G_STORAGE_TYPE_COMPACT,
		.nlinks = n->members.count,
		.max_corder = n->link_order ? n->members.next_order : 0,
	};
	return 0;
}

static herr_t group_specific(void *obj, H5VL_group_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)obj;
	(void)dxpl;
	(void)req;
	if (args->op_type == H5VL_GROUP_FLUSH || args->op_type == H5VL_GROUP_REFRESH)
		return 0;
	FAIL(SYM, UNSUPPORTED, "a file can't be mounted");
	return -1;
}

/* H5Gget_objinfo, by which h5py tells whether two objects are the same. */
static herr_t group_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	if (args->op_type != H5VL_NATIVE_GROUP_GET_OBJINFO)
		return no_optional(obj, args, dxpl, req);
	const H5VL_native_group_get_objinfo_t *get = &((H5VL_native_group_optional_args_t *)args->args)->get_objinfo;
	node *group, *n = NULL;
	mlink *l = NULL;
	if (!get->follow_link && get->loc_params.type == H5VL_OBJECT_BY_NAME && strcmp(get->loc_params.loc_data.loc_by_name.name, ".")) {
		if (!(l = find_link(obj, &get->loc_params, &group)))
			return -1;
		n = l->node;
	} else if (!(n = locate(obj, &get->loc_params))) {
		return -1;
	}
	if (!get->statbuf)
		return 0;
	*get->statbuf = (H5G_stat_t){.fileno = {((handle *)obj)->node->store->number}};
	if (!n) {
		get->statbuf->type = H5G_LINK;
		get->statbuf->linklen = strlen(l->target) + 1;
		return 0;
	}
	get->statbuf->objno[0] = n->id;
	get->statbuf->nlink = n->links;
	get->statbuf->type = n->type == H5I_GROUP ? H5G_GROUP : n->type == H5I_DATASET ? H5G_DATASET : H5G_TYPE;
	get->statbuf->mtime = n->changed;
	return 0;
}

const H5VL_group_class_t group_class = {group_create, group_open, group_get, group_specific, group_optional, close_handle};
