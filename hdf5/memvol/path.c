/* path.c: names, links and places. */
#include "memvol.h"
#include <string.h>

enum { LINKS = 16 }; /* soft links that a path follows, by default */

static node *follow(node *from, const char *path, unsigned *left, bool parent, hid_t lcpl, const char **last, size_t *length);

/* The node that a link in a group leads to, or NULL. */
static node *target_of(node *group, const mlink *l, unsigned *left)
{
	if (l->node)
		return l->node;
	if (*left == 0) {
		FAIL(LINK, NLINKS, "a path follows too many soft links");
		return NULL;
	}
	--*left;
	return follow(group, l->target, left, false, H5P_DEFAULT, NULL, NULL);
}

static node *follow(node *from, const char *path, unsigned *left, bool parent, hid_t lcpl, const char **last, size_t *length)
{
	node *at = *path == '/' ? from->store->root : from;
	if (parent) {
		*last = path;
		*length = 0;
	}
	for (;;) {
		path += strspn(path, "/");
		size_t n = strcspn(path, "/");
		if (n == 0)
			return at;
		if (n == 1 && *path == '.') {
			path++;
			continue;
		}
		if (at->type != H5I_GROUP) {
			FAIL(SYM, NOTFOUND, "\"%s\" can't be found: what is above is not a group", path);
			return NULL;
		}
		if (parent && !path[n + strspn(path + n, "/")]) {
			*last = path;
			*length = n;
			return at;
		}
		mlink *l = (mlink *)directory_find(&at->members, path, n);
		if (!l && lcpl != H5P_DEFAULT) {
			unsigned create = 0;
			node *group = NULL;
			if (H5Pget_create_intermediate_group(lcpl, &create) >= 0 && create) {
				group = node_new(at->store, H5I_GROUP, H5P_DEFAULT);
				if (!group || !link_node(at, path, n, group, lcpl)) {
					if (group)
						node_release(group);
					return NULL;
				}
				at = group;
				path += n;
				continue;
			}
		}
		if (!l) {
			FAIL(SYM, NOTFOUND, "\"%.*s\" does not exist", (int)(n < 200 ? n : 200), path);
			return NULL;
		}
		if (!(at = target_of(at, l, left)))
			return NULL;
		path += n;
	}
}

static unsigned most_links(hid_t lapl)
{
	size_t n = LINKS;
	if (lapl > 0 && lapl != H5P_LINK_ACCESS_DEFAULT)
		H5Pget_nlinks(lapl, &n);
	return n > 1000 ? 1000 : (unsigned)n; /* each is a level of recursion */
}

node *resolve(node *from, const char *path, hid_t lapl)
{
	unsigned left = most_links(lapl);
	return follow(from, path, &left, false, H5P_DEFAULT, NULL, NULL);
}

node *resolve_parent(node *from, const char *path, hid_t lapl, hid_t lcpl, const char **last, size_t *length)
{
	unsigned left = most_links(lapl);
	return follow(from, path, &left, true, lcpl == H5P_LINK_CREATE_DEFAULT ? H5P_DEFAULT : lcpl, last, length);
}

entry *nth_entry(directory *d, bool ordered, H5_index_t index, H5_iter_order_t order, hsize_t n)
{
	if (index == H5_INDEX_CRT_ORDER && !ordered) {
		FAIL(LINK, BADVALUE, "the order of creation is not tracked");
		return NULL;
	}
	entry *e = directory_at(d, index, order, n);
	if (!e)
		FAIL(LINK, BADRANGE, "there is no entry %llu of %zu", (unsigned long long)n, d->count);
	return e;
}

mlink *find_link(const handle *h, const H5VL_loc_params_t *where, node **group)
{
	entry *e;
	if (where->type == H5VL_OBJECT_BY_IDX) {
		const H5VL_loc_by_idx_t *at = &where->loc_data.loc_by_idx;
		*group = resolve(h->node, at->name, at->lapl_id);
		if (!*group)
			return NULL;
		if ((*group)->type != H5I_GROUP) {
			FAIL(LINK, BADTYPE, "\"%s\" is not a group", at->name);
			return NULL;
		}
		e = nth_entry(&(*group)->members, (*group)->link_order, at->idx_type, at->order, at->n);
	} else if (where->type == H5VL_OBJECT_BY_NAME) {
		const H5VL_loc_by_name_t *at = &where->loc_data.loc_by_name;
		const char *last;
		size_t length;
		*group = resolve_parent(h->node, at->name, at->lapl_id, H5P_DEFAULT, &last, &length);
		if (!*group)
			return NULL;
		e = length ? directory_find(&(*group)->members, last, length) : NULL;
		if (!e)
			FAIL(LINK, NOTFOUND, "there is no link \"%s\"", at->name);
	} else {
		FAIL(LINK, BADVALUE, "a link is found by name or by its place in an order");
		return NULL;
	}
	return (mlink *)e;
}

node *locate(const handle *h, const H5VL_loc_params_t *where)
{
	node *n = NULL, *group;
	switch (where->type) {
	case H5VL_OBJECT_BY_SELF:
		return h->node;
	case H5VL_OBJECT_BY_NAME:
		return resolve(h->node, where->loc_data.loc_by_name.name, where->loc_data.loc_by_name.lapl_id);
	case H5VL_OBJECT_BY_IDX: {
		mlink *l = find_link(h, where, &group);
		unsigned left = most_links(where->loc_data.loc_by_idx.lapl_id);
		return l ? target_of(group, l, &left) : NULL;
	}
	case H5VL_OBJECT_BY_TOKEN:
		n = node_by_token(h->node->store, where->loc_data.loc_by_token.token);
		if (!n)
			FAIL(SYM, NOTFOUND, "the file has no object with this token");
	}
	return n;
}

bool may_write(const handle *h)
{
	if (!(h->session->intent & H5F_ACC_RDWR)) {
		FAIL(FILE, WRITEERROR, "\"%s\" is open for reading only", h->session->name);
		return false;
	}
	h->session->store->changed = true;
	return true;
}

static mlink *new_link(node *group, const char *name, size_t length, hid_t lcpl)
{
	if (length == 0 || group->type != H5I_GROUP) {
		FAIL(LINK, BADVALUE, "a link has a name, in a group");
		return NULL;
	}
	if (directory_find(&group->members, name, length)) {
		FAIL(LINK, EXISTS, "\"%.*s\" exists already", (int)(length < 200 ? length : 200), name);
		return NULL;
	}
	mlink *l = block_new(group->store, sizeof *l, true);
	if (!l)
		return NULL;
	if (lcpl > 0 && lcpl != H5P_LINK_CREATE_DEFAULT)
		H5Pget_char_encoding(lcpl, &l->entry.cset);
	l->entry.name = strndup(name, length);
	if (!l->entry.name || !directory_add(&group->members, &l->entry)) {
		free(l->entry.name);
		block_free(group->store, l, sizeof *l);
		FAIL(RESOURCE, NOSPACE, "the system has no memory for a link");
		return NULL;
	}
	return l;
}

bool link_node(node *group, const char *name, size_t length, node *n, hid_t lcpl)
{
	mlink *l = new_link(group, name, length, lcpl);
	if (!l)
		return false;
	l->node = n;
	n->links++;
	if (!n->link && n != group) {
		n->parent = group;
		n->link = l;
	}
	return true;
}

bool link_soft(node *group, const char *name, size_t length, const char *target, hid_t lcpl)
{
	char *copy = strdup(target);
	mlink *l = copy ? new_link(group, name, length, lcpl) : NULL;
	if (!l) {
		free(copy);
		return false;
	}
	l->target = copy;
	return true;
}

void unlink_entry(node *group, mlink *l)
{
	node *n = l->node;
	directory_remove(&group->members, &l->entry);
	if (n && n->link == l) {
		n->link = NULL;
		n->parent = NULL;
	}
	free(l->entry.name);
	free(l->target);
	block_free(group->store, l, sizeof *l);
	if (n) {
		n->links--;
		node_release(n);
	}
}

/* Copies a name, which is cut to size. Its whole length is returned by other means, so a program notices. */
void copy_name(const char *from, char *to, size_t size)
{
	if (!to || size == 0)
		return;
	size_t n = strlen(from);
	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = 0;
}
