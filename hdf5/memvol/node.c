/* node.c: the objects of a store. */
#include "memvol.h"
#include <string.h>
#include <time.h>

int64_t now(void) { return (int64_t)time(NULL); }

void id_free(hid_t id)
{
	if (id >= 0 && !ending)
		H5Idec_ref(id);
}

/* Most objects have the default list, which needs no copy. */
hid_t plist_keep(hid_t plist, hid_t standard)
{
	return plist == standard || plist == H5P_DEFAULT ? H5P_DEFAULT : H5Pcopy(plist);
}

hid_t plist_of(hid_t plist, hid_t standard) { return H5Pcopy(plist == H5P_DEFAULT ? standard : plist); }

/* Takes the property list. */
node *node_new(store *s, H5I_type_t type, hid_t plist)
{
	if (s->node_count + 1 >= s->node_capacity) {
		size_t capacity = s->node_capacity ? 2 * s->node_capacity : 16;
		node **more = realloc(s->nodes, capacity * sizeof *more);
		if (!more)
			return NULL;
		s->nodes = more;
		s->node_capacity = capacity;
	}
	node *n = block_new(s, sizeof *n, true);
	if (!n)
		return NULL;
	n->store = s;
	n->type = type;
	n->plist = plist;
	n->id = ++s->node_count;
	n->changed = now();
	n->values = (values){.store = s, .type = H5I_INVALID_HID, .stored = H5I_INVALID_HID, .space = H5I_INVALID_HID};
	s->nodes[n->id] = n;
	if (plist != H5P_DEFAULT) {
		hbool_t times = true;
		H5Pget_obj_track_times(plist, &times);
		if (!times)
			n->changed = 0;
		H5Pget_attr_creation_order(plist, &n->attribute_order);
		if (type == H5I_GROUP)
			H5Pget_link_creation_order(plist, &n->link_order);
	}
	return n;
}

void attribute_free(attribute *a)
{
	store *s = a->values.store;
	values_free(&a->values);
	if (a->plist != H5P_DEFAULT)
		id_free(a->plist);
	free(a->entry.name);
	block_free(s, a, sizeof *a);
}

void node_release(node *n)
{
	if (n->links || n->opens)
		return;
	store *s = n->store;
	s->nodes[n->id] = NULL;
	for (size_t i = 0; i < n->attributes.count; i++) {
		attribute *a = (attribute *)n->attributes.entries[i];
		a->owner = NULL;
		if (!a->opens)
			attribute_free(a);
	}
	directory_free(&n->attributes);
	while (n->members.count)
		unlink_entry(n, (mlink *)n->members.entries[n->members.count - 1]);
	directory_free(&n->members);
	values_free(&n->values);
	if (n->plist != H5P_DEFAULT)
		id_free(n->plist);
	block_free(s, n, sizeof *n);
}

node *node_by_token(store *s, const H5O_token_t *token)
{
	uint64_t id;
	memcpy(&id, token, sizeof id);
	return id > 0 && id <= s->node_count ? s->nodes[id] : NULL;
}

void node_token(const node *n, H5O_token_t *token)
{
	memset(token, 0, sizeof *token);
	memcpy(token, &n->id, sizeof n->id);
}

/* Finds a link to a node whose first link is gone. */
static void find_again(const node *n)
{
	store *s = n->store;
	for (size_t id = 1; id <= s->node_count; id++) {
		node *group = s->nodes[id];
		for (size_t i = 0; group && i < group->members.count; i++) {
			mlink *l = (mlink *)group->members.entries[i];
			if (l->node == n && group != n) {
				((node *)n)->parent = group;
				((node *)n)->link = l;
				return;
			}
		}
	}
}

char *node_path(const node *n)
{
	size_t length = 0, depth = 0;
	for (const node *at = n; at != n->store->root; at = at->parent) {
		if (!at->link)
			find_again(at);
		if (!at->link || ++depth > n->store->node_count)
			return NULL;
		length += 1 + strlen(at->link->entry.name);
	}
	if (length == 0)
		return strdup("/");
	char *path = malloc(length + 1), *end = path + length;
	if (!path)
		return NULL;
	*end = 0;
	for (const node *at = n; at != n->store->root; at = at->parent) {
		size_t k = strlen(at->link->entry.name);
		end -= k;
		memcpy(end, at->link->entry.name, k);
		*--end = '/';
	}
	return path;
}

void node_info(node *n, unsigned fields, H5O_info2_t *info)
{
	memset(info, 0, sizeof *info);
	if (fields & H5O_INFO_BASIC) {
		info->fileno = n->store->number;
		node_token(n, &info->token);
		info->type = n->type == H5I_GROUP ? H5O_TYPE_GROUP : n->type == H5I_DATASET ? H5O_TYPE_DATASET : H5O_TYPE_NAMED_DATATYPE;
		info->rc = n->links;
	}
	if (fields & H5O_INFO_TIME)
		info->atime = info->mtime = info->ctime = info->btime = n->changed;
	if (fields & H5O_INFO_NUM_ATTRS)
		info->num_attrs = n->attributes.count;
}
