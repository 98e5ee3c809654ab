/* memvol.h: an HDF5 VOL connector that keeps files in memory.

   A store is the content of one file: nodes (groups, datasets, committed
   datatypes) that directories of links hold together. H5Fcreate and H5Fopen
   return a session, which is a file handle on a store; opening an object returns
   a handle on its node. The library's objects are pointers
   to handles, and a session begins with one.

   HDF5 calls a connector with its global lock held, so nothing here locks. A
   callback that fails has pushed its reason onto HDF5's error stack. */
#ifndef MEMVOL_H
#define MEMVOL_H

#include <hdf5.h>
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if !H5_VERSION_GE(1, 14, 0)
#error "the connector takes HDF5 1.14 or newer"
#endif

#define MEMVOL_NAME "memvol"
#define MEMVOL_VALUE 600 /* not registered with the HDF Group */

/* connector.c: settings of a file access property list. */
typedef struct settings {
	size_t limit;      /* bytes that all files may take; SIZE_MAX: no limit */
	size_t keep;       /* bytes of freed blocks that are kept for reuse */
	bool write_native; /* a changed file is written to a native file at its last close */
	bool drop;         /* a file's content is dropped at its last close */
} settings;

extern bool ending; /* the library is shutting down: its functions must not be called */
hid_t connector_id(void);
settings settings_of(hid_t fapl);

/* errors.c */
void fail(const char *file, const char *func, unsigned line, hid_t major, hid_t minor, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
void fail_again(void); /* pushes the last reason again, where the cleaning up has cleared it */
#define FAIL(major, minor, ...) fail(__FILE__, __func__, __LINE__, H5E_##major, H5E_##minor, __VA_ARGS__)

/* memory.c: blocks of memory, counted against the limit. A block's size is given
   to both functions. */
typedef struct store store;
struct handle;
void *block_new(store *s, size_t size, bool zeroed);
void *block_resize(store *s, void *p, size_t old, size_t new);
void block_free(store *s, void *p, size_t size);
void blocks_return(void); /* returns all that is kept for reuse to the system */

/* directory.c: named entries of a group or of an object's attributes. */
typedef struct entry {
	char *name;
	int64_t order; /* of creation */
	H5T_cset_t cset;
} entry;

typedef struct directory {
	entry **entries; /* by order of creation */
	entry **sorted;  /* by name; NULL until a caller asks */
	entry **slots;   /* hash table, from a few entries on */
	size_t count, capacity, slot_count;
	int64_t next_order;
} directory;

entry *directory_find(const directory *d, const char *name, size_t length);
bool directory_add(directory *d, entry *e); /* owns e from now on, not if it returns false */
void directory_remove(directory *d, entry *e);
bool directory_rename(directory *d, entry *e, const char *name);
entry *directory_at(directory *d, H5_index_t index, H5_iter_order_t order, hsize_t n);
void directory_free(directory *d); /* the directory's own memory, not the entries */

/* values.c: the elements of a dataset or an attribute. */
typedef struct blob blob;
typedef struct values {
	store *store;
	hid_t type;             /* as the program gave it */
	hid_t stored;           /* of the elements in data: type, or its form in files where parts of it are blobs */
	hid_t space;
	struct node *committed; /* the datatype object that type is a copy of, or NULL */
	size_t size;            /* bytes of one stored element */
	char *data;             /* NULL: all elements have the fill value */
	size_t bytes;           /* of data */
	void *fill;             /* in the form of type; NULL: zeros */
	blob *blobs;            /* sequences, strings and references that elements hold */
} values;

bool values_init(values *v, store *s, hid_t type, hid_t space, hid_t dcpl);
void values_free(values *v);
bool values_allocate(values *v, bool overwritten);
bool values_fill(values *v, char *to, size_t n); /* gives n stored elements the fill value */
size_t values_count(const values *v);
bool values_resize(values *v, const hsize_t *dims);
bool values_copy(values *to, values *from);
bool values_held(const values *v); /* whether elements hold blobs */
void values_commit(values *v, hid_t type);
hid_t values_type(values *v, struct handle *h);

/* transfer.c */
bool values_write(values *v, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, const void *buf);
bool values_read(values *v, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf);

/* blob.c */
void blobs_of(values *v); /* owns the blobs that the next conversions make */
void blobs_free(values *v);

/* node.c: the objects of a store. */
typedef struct node {
	store *store;
	H5I_type_t type; /* H5I_GROUP, H5I_DATASET or H5I_DATATYPE */
	uint64_t id;     /* the number in tokens, from 1; never used again in the store */
	unsigned links, opens;
	struct node *parent; /* the group and the link by which it was first found */
	struct link *link;
	struct node *copy; /* while H5Ocopy or native_save runs: not NULL if it was seen */
	int64_t changed;   /* seconds since 1970; 0 where times are not kept */
	hid_t plist;       /* creation properties; the default list is not copied */
	unsigned link_order, attribute_order; /* whether indexed by order of creation */
	directory attributes;
	directory members; /* of a group */
	values values;     /* of a dataset; of a datatype only the type */
} node;

typedef struct link {
	entry entry;
	node *node;   /* hard link */
	char *target; /* soft link, else NULL */
} mlink;

typedef struct attribute {
	entry entry;
	node *owner; /* NULL when it was deleted while open */
	values values;
	hid_t plist;
	unsigned opens;
} attribute;

/* file.c: handles, sessions and stores. */
typedef struct handle {
	H5I_type_t type; /* H5I_FILE, or the node's, or H5I_ATTR */
	node *node;
	attribute *attribute;
	struct session *session;
	struct handle *next, **at; /* among the session's */
	hid_t plist;               /* access properties of a dataset */
} handle;

typedef struct session {
	handle handle; /* first: a session is a handle */
	store *store;
	struct session *next;
	unsigned intent;
	hid_t fapl;
	char *name;      /* as the program wrote it */
	bool file_open;  /* the library has a file for it */
	handle *handles; /* that are open on objects */
} session;

struct store {
	store *next;
	char *path;
	settings settings;
	hid_t fcpl;
	unsigned long number;
	bool changed, listed;
	node *root;
	node **nodes; /* by id */
	size_t node_count, node_capacity;
	session *sessions;
	handle anchor; /* what stored types know as their file */
};

node *node_new(store *s, H5I_type_t type, hid_t plist);
void node_release(node *n); /* frees it where no link and no handle is left */
node *node_by_token(store *s, const H5O_token_t *token);
void node_token(const node *n, H5O_token_t *token);
char *node_path(const node *n); /* to be freed; NULL if it has no name */
void node_info(node *n, unsigned fields, H5O_info2_t *info);
hid_t plist_of(hid_t plist, hid_t standard); /* a copy for the library */
hid_t plist_keep(hid_t plist, hid_t standard);
void id_free(hid_t id);
void attribute_free(attribute *a);
int64_t now(void);

/* path.c: names and places. */
node *resolve(node *from, const char *path, hid_t lapl);
/* The group of a path's last part, which *last is set to; *length is 0 if the path is that of the start or the root itself. */
node *resolve_parent(node *from, const char *path, hid_t lapl, hid_t lcpl, const char **last, size_t *length);
node *locate(const handle *h, const H5VL_loc_params_t *where);
entry *nth_entry(directory *d, bool ordered, H5_index_t index, H5_iter_order_t order, hsize_t n);
mlink *find_link(const handle *h, const H5VL_loc_params_t *where, node **group);
bool link_node(node *group, const char *name, size_t length, node *n, hid_t lcpl);
bool link_soft(node *group, const char *name, size_t length, const char *target, hid_t lcpl);
void unlink_entry(node *group, mlink *l);
bool may_write(const handle *h);
void copy_name(const char *from, char *to, size_t size);

/* file.c */
handle *handle_new(session *s, node *n, attribute *a);
void handle_free(handle *h);
herr_t close_handle(void *h, hid_t dxpl, void **req);
store *store_new(const char *path, settings set, hid_t fcpl);
void store_free(store *s);
void stores_end(void *context);
void stores_free(void);
session *session_of(store *s);

/* object.c */
handle *object_new(handle *h, const H5VL_loc_params_t *where, const char *name, hid_t lcpl, H5I_type_t type, hid_t plist, hid_t datatype, hid_t space);
handle *object_named(handle *h, const H5VL_loc_params_t *where, const char *name, H5I_type_t type);
hid_t object_id(handle *h, node *n);

/* attribute.c */
attribute *attribute_new(node *n, const char *name, hid_t type, hid_t space, hid_t acpl);

/* native.c: native files. */
bool native_save(store *s);
bool native_load(store *s);
hid_t native_fapl(void);

/* copy.c */
node *node_copy(store *to, node *from, unsigned flags);

/* the callbacks, by class */
extern const H5VL_attr_class_t attribute_class;
extern const H5VL_dataset_class_t dataset_class;
extern const H5VL_datatype_class_t datatype_class;
extern const H5VL_file_class_t file_class;
extern const H5VL_group_class_t group_class;
extern const H5VL_link_class_t link_class;
extern const H5VL_object_class_t object_class;
extern const H5VL_token_class_t token_class;
extern const H5VL_blob_class_t blob_class;

herr_t no_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req);

#endif
