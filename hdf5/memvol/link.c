/* link.c: the H5L callbacks. */
#include "memvol.h"
#include <string.h>

/* The group and the name of a link to be made. */
static node *place_of(const handle *h, const H5VL_loc_params_t *where, hid_t lcpl, const char **last, size_t *length)
{
	if (where->type != H5VL_OBJECT_BY_NAME) {
		FAIL(LINK, BADVALUE, "a link is made by its name");
		return NULL;
	}
	return resolve_parent(h->node, where->loc_data.loc_by_name.name, where->loc_data.loc_by_name.lapl_id, lcpl, last, length);
}

static herr_t link_create(H5VL_link_create_args_t *args, void *obj, const H5VL_loc_params_t *where, hid_t lcpl, hid_t lapl, hid_t dxpl, void **req)
{
	(void)lapl;
	(void)dxpl;
	(void)req;
	bool hard = args->op_type == H5VL_LINK_CREATE_HARD;
	handle *h = obj ? obj : hard ? args->args.hard.curr_obj : NULL;
	const char *last;
	size_t length;
	if (args->op_type == H5VL_LINK_CREATE_UD) {
		FAIL(LINK, UNSUPPORTED, args->args.ud.type == H5L_TYPE_EXTERNAL ? "external links are not supported" : "links of the program's own kind are not supported");
		return -1;
	}
	if (!h || !may_write(h))
		return -1;
	node *n = NULL, *group;
	if (hard) {
		handle *from = args->args.hard.curr_obj ? args->args.hard.curr_obj : h;
		if (!(n = locate(from, &args->args.hard.curr_loc_params)))
			return -1;
		if (n->store != h->node->store) {
			FAIL(LINK, BADVALUE, "a hard link can't lead to another file");
			return -1;
		}
	}
	group = place_of(h, where, lcpl, &last, &length);
	return group && (hard ? link_node(group, last, length, n, lcpl) : link_soft(group, last, length, args->args.soft.target, lcpl)) ? 0 : -1;
}

static herr_t copy_link(void *from, const H5VL_loc_params_t *from_where, void *to, const H5VL_loc_params_t *to_where, hid_t lcpl, bool move)
{
	handle *source = from ? from : to, *out = to ? to : from;
	node *group, *place;
	const char *last;
	size_t length;
	if (!may_write(out) || (move && !may_write(source)))
		return -1;
	mlink *l = find_link(source, from_where, &group);
	if (!l || !(place = place_of(out, to_where, lcpl, &last, &length)))
		return -1;
	if (l->node && place->store != l->node->store) {
		FAIL(LINK, BADVALUE, "a hard link can't lead to another file");
		return -1;
	}
	if (!(l->node ? link_node(place, last, length, l->node, lcpl) : link_soft(place, last, length, l->target, lcpl)))
		return -1;
	if (move) {
		node *n = l->node;
		bool first = n && n->link == l;
		unlink_entry(group, l);
		if (first && !n->link) {
			n->parent = place;
			n->link = (mlink *)directory_find(&place->members, last, length);
		}
	}
	return 0;
}

static herr_t link_copy(void *from, const H5VL_loc_params_t *from_where, void *to, const H5VL_loc_params_t *to_where, hid_t lcpl, hid_t lapl, hid_t dxpl, void **req)
{
	(void)lapl;
	(void)dxpl;
	(void)req;
	return copy_link(from, from_where, to, to_where, lcpl, false);
}

static herr_t link_move(void *from, const H5VL_loc_params_t *from_where, void *to, const H5VL_loc_params_t *to_where, hid_t lcpl, hid_t lapl, hid_t dxpl, void **req)
{
	(void)lapl;
	(void)dxpl;
	(void)req;
	return copy_link(from, from_where, to, to_where, lcpl, true);
}

static void link_info(const node *group, const mlink *l, H5L_info2_t *info)
{
	memset(info, 0, sizeof *info);
	info->type = l->node ? H5L_TYPE_HARD : H5L_TYPE_SOFT;
	info->corder_valid = group->link_order != 0;
	info->corder = info->corder_valid ? l->entry.order : 0;
	info->cset = l->entry.cset;
	if (l->node)
		node_token(l->node, &info->u.token);
	else
		info->u.val_size = strlen(l->target) + 1;
}

static herr_t link_get(void *obj, const H5VL_loc_params_t *where, H5VL_link_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	node *group;
	mlink *l = find_link(obj, where, &group);
	if (!l)
		return -1;
	switch (args->op_type) {
	case H5VL_LINK_GET_INFO:
		link_info(group, l, args->args.get_info.linfo);
		return 0;
	case H5VL_LINK_GET_NAME:
		*args->args.get_name.name_len = strlen(l->entry.name);
		copy_name(l->entry.name, args->args.get_name.name, args->args.get_name.name_size);
		return 0;
	case H5VL_LINK_GET_VAL:
		if (!l->target) {
			FAIL(LINK, BADTYPE, "a hard link has no value");
			return -1;
		}
		copy_name(l->target, args->args.get_val.buf, args->args.get_val.buf_size);
		return 0;
	}
	FAIL(VOL, UNSUPPORTED, "this query of a link is not supported");
	return -1;
}

/* As object_visit: the program's function may change the file. */
typedef struct round {
	const H5VL_link_iterate_args_t *args;
	hid_t id;
	char *seen;
	size_t nodes;
} round_t;

static herr_t iterate(round_t *r, node *group, hsize_t *from, const char *above)
{
	const H5VL_link_iterate_args_t *args = r->args;
	herr_t result = 0;
	if (args->idx_type == H5_INDEX_CRT_ORDER && !group->link_order && !args->recursive) {
		FAIL(LINK, BADVALUE, "the order of creation is not tracked");
		return -1;
	}
	while (!result && *from < group->members.count) {
		mlink *l = (mlink *)directory_at(&group->members, group->link_order ? args->idx_type : H5_INDEX_NAME, args->order, (*from)++);
		if (!l)
			return -1;
		H5L_info2_t info;
		link_info(group, l, &info);
		size_t a = strlen(above), b = strlen(l->entry.name);
		char *name = malloc(a + b + 2);
		if (!name)
			return -1;
		memcpy(name, above, a);
		name[a] = '/';
		memcpy(name + (a ? a + 1 : 0), l->entry.name, b + 1);
		node *n = l->node;
		if (n)
			n->opens++;
		result = args->op(r->id, name, &info, args->op_data);
		if (!result && args->recursive && n && n->type == H5I_GROUP && n->id <= r->nodes && !r->seen[n->id]) {
			hsize_t first = 0;
			r->seen[n->id] = 1;
			result = iterate(r, n, &first, name);
		}
		if (n) {
			n->opens--;
			node_release(n);
		}
		free(name);
	}
	return result;
}

static herr_t link_iterate(handle *h, const H5VL_loc_params_t *where, const H5VL_link_iterate_args_t *args)
{
	node *n = locate(h, where);
	if (!n)
		return -1;
	if (n->type != H5I_GROUP) {
		FAIL(LINK, BADTYPE, "the object is not a group");
		return -1;
	}
	hsize_t start = 0;
	hsize_t *from = args->idx_p && !args->recursive ? args->idx_p : &start;
	if (*from && *from >= n->members.count) {
		FAIL(LINK, BADRANGE, "there is no link %llu of %zu", (unsigned long long)*from, n->members.count);
		return -1;
	}
	round_t r = {.args = args, .nodes = n->store->node_count};
	r.seen = calloc(r.nodes + 1, 1);
	r.id = r.seen ? object_id(h, n) : H5I_INVALID_HID;
	herr_t result = -1;
	if (r.id >= 0) {
		r.seen[n->id] = 1;
		result = iterate(&r, n, from, "");
		H5Idec_ref(r.id);
	}
	free(r.seen);
	if (result < 0)
		fail_again();
	return result;
}

static herr_t link_specific(void *obj, const H5VL_loc_params_t *where, H5VL_link_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	node *group;
	mlink *l;
	switch (args->op_type) {
	case H5VL_LINK_DELETE:
		l = may_write(h) ? find_link(h, where, &group) : NULL;
		if (!l)
			return -1;
		unlink_entry(group, l);
		return 0;
	case H5VL_LINK_EXISTS: {
		const H5VL_loc_by_name_t *at = &where->loc_data.loc_by_name;
		const char *last;
		size_t length;
		group = resolve_parent(h->node, at->name, at->lapl_id, H5P_DEFAULT, &last, &length);
		if (!group)
			return -1;
		*args->args.exists.exists = length == 0 || (group->type == H5I_GROUP && directory_find(&group->members, last, length));
		return 0;
	}
	case H5VL_LINK_ITER:
		return link_iterate(h, where, &args->args.iterate);
	}
	FAIL(VOL, UNSUPPORTED, "this operation on links is not supported");
	return -1;
}

static herr_t link_optional(void *obj, const H5VL_loc_params_t *where, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	(void)where;
	return no_optional(obj, args, dxpl, req);
}

const H5VL_link_class_t link_class = {link_create, link_copy, link_move, link_get, link_specific, link_optional};
