/* copy.c: copies of objects with all that hangs below (H5Ocopy). */
#include "memvol.h"
#include <string.h>

static bool copy_values(values *to, store *s, values *from, hid_t plist, unsigned flags);

static node *copy_object(store *s, node *from, unsigned flags, unsigned depth);

static bool copy_attributes(node *to, node *from, unsigned flags)
{
	for (size_t i = 0; i < from->attributes.count; i++) {
		attribute *a = (attribute *)from->attributes.entries[i];
		attribute *b = attribute_new(to, a->entry.name, a->values.type, a->values.space, a->plist == H5P_DEFAULT ? H5P_ATTRIBUTE_CREATE_DEFAULT : a->plist);
		if (!b || !values_copy(&b->values, &a->values))
			return false;
		if (a->values.committed) {
			node *type = copy_object(to->store, a->values.committed, flags, 0);
			if (!type)
				return false;
			type->opens++;
			b->values.committed = type;
		}
	}
	return true;
}

static bool copy_values(values *to, store *s, values *from, hid_t plist, unsigned flags)
{
	if (!values_init(to, s, from->type, from->space, plist == H5P_DEFAULT ? H5P_DATASET_CREATE_DEFAULT : plist) || !values_copy(to, from))
		return false;
	if (from->committed) {
		node *type = copy_object(s, from->committed, flags, 0);
		if (!type)
			return false;
		type->opens++;
		to->committed = type;
	}
	return true;
}

static bool copy_members(node *to, node *from, unsigned flags, unsigned depth)
{
	for (size_t i = 0; i < from->members.count; i++) {
		mlink *l = (mlink *)from->members.entries[i];
		const char *name = l->entry.name;
		node *n = l->node, *c;
		if (!n && flags & H5O_COPY_EXPAND_SOFT_LINK_FLAG) {
			H5E_BEGIN_TRY { n = resolve(from, l->target, H5P_DEFAULT); } H5E_END_TRY
		}
		if (!n) {
			if (!link_soft(to, name, strlen(name), l->target, H5P_DEFAULT))
				return false;
			continue;
		}
		if (!(c = copy_object(to->store, n, flags, depth + 1)))
			return false;
		if (!link_node(to, name, strlen(name), c, H5P_DEFAULT)) {
			node_release(c);
			return false;
		}
		((mlink *)directory_find(&to->members, name, strlen(name)))->entry.cset = l->entry.cset;
	}
	return true;
}

/* A node that several links lead to is copied once: its copy is noted in it. */
static node *copy_object(store *s, node *from, unsigned flags, unsigned depth)
{
	if (from->copy)
		return from->copy;
	hid_t plist = from->plist == H5P_DEFAULT ? H5P_DEFAULT : H5Pcopy(from->plist);
	node *n = plist < 0 ? NULL : node_new(s, from->type, plist);
	if (!n) {
		if (plist > 0)
			id_free(plist);
		return NULL;
	}
	from->copy = n;
	n->link_order = from->link_order;
	n->attribute_order = from->attribute_order;
	bool ok = true;
	if (n->type == H5I_DATASET)
		ok = copy_values(&n->values, s, &from->values, from->plist, flags);
	else if (n->type == H5I_DATATYPE)
		ok = (n->values.stored = n->values.type = H5Tcopy(from->values.type)) >= 0;
	ok = ok && (flags & H5O_COPY_WITHOUT_ATTR_FLAG || copy_attributes(n, from, flags));
	if (ok && n->type == H5I_GROUP && !(depth > 0 && flags & H5O_COPY_SHALLOW_HIERARCHY_FLAG))
		ok = copy_members(n, from, flags, depth);
	if (!ok) {
		from->copy = NULL;
		if (!n->links)
			node_release(n);
		return NULL;
	}
	return n;
}

node *node_copy(store *to, node *from, unsigned flags)
{
	size_t count = from->store->node_count;
	node *n = copy_object(to, from, flags, 0);
	for (size_t id = 1; id <= count; id++)
		if (from->store->nodes[id])
			from->store->nodes[id]->copy = NULL;
	return n;
}
