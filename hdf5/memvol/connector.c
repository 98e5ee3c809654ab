/* connector.c: the class, its settings, and the plug-in's entry points. */
#include "memvol.h"
#include <H5PLextern.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool ending;

static const settings standard = {.limit = SIZE_MAX, .keep = 128 << 20};

hid_t connector_id(void) { return H5VLpeek_connector_id_by_name(MEMVOL_NAME); }

settings settings_of(hid_t fapl)
{
	settings set = standard;
	void *info = NULL;
	if (H5Pget_vol_info(fapl, &info) >= 0 && info) {
		set = *(settings *)info;
		free(info);
	}
	return set;
}

static bool parse_size(const char *text, size_t *size)
{
	static const struct { const char *unit; unsigned shift; } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
	if (*text < '0' || *text > '9')
		return false;
	char *end;
	uintmax_t n = strtoumax(text, &end, 10);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit)) {
			*size = (size_t)n << units[i].shift;
			return n <= SIZE_MAX >> units[i].shift;
		}
	return false;
}

static bool parse_setting(settings *set, char *word)
{
	char *value = strchr(word, '=');
	if (value) {
		*value++ = 0;
		if (!strcmp(word, "limit") && parse_size(value, &set->limit))
			return true;
		if (!strcmp(word, "keep") && parse_size(value, &set->keep))
			return true;
		if (!strcmp(word, "write") && !strcmp(value, "native"))
			return set->write_native = true;
		if (!strcmp(word, "close") && !strcmp(value, "drop"))
			return set->drop = true;
	}
	FAIL(VOL, BADVALUE, "\"%s%s%s\" is not a setting; settings are limit=SIZE, keep=SIZE, write=native and close=drop, separated by \";\"; a size is a number and KiB, MiB, GiB or TiB", word, value ? "=" : "", value ? value : "");
	return false;
}

static herr_t info_from_str(const char *text, void **info)
{
	settings *set = malloc(sizeof *set);
	char *copy = strdup(text ? text : ""), *rest = copy;
	bool ok = set && copy;
	if (ok)
		*set = standard;
	for (char *word; ok && (word = strtok_r(rest, "; \t\n", &rest));)
		ok = parse_setting(set, word);
	free(copy);
	if (!ok)
		free(set);
	else
		*info = set;
	return ok ? 0 : -1;
}

static herr_t info_to_str(const void *info, char **text)
{
	const settings *set = info;
	char limit[40] = "";
	if (set->limit != SIZE_MAX)
		snprintf(limit, sizeof limit, "limit=%zu;", set->limit);
	*text = H5allocate_memory(128, false);
	if (!*text)
		return -1;
	snprintf(*text, 128, "%skeep=%zu%s%s", limit, set->keep, set->write_native ? ";write=native" : "", set->drop ? ";close=drop" : "");
	return 0;
}

static void *info_copy(const void *info)
{
	settings *set = malloc(sizeof *set);
	if (set)
		*set = *(const settings *)info;
	return set;
}

static herr_t info_cmp(int *result, const void *a, const void *b)
{
	const settings *x = a, *y = b;
	*result = (x->limit > y->limit) - (x->limit < y->limit);
	if (!*result)
		*result = (x->keep > y->keep) - (x->keep < y->keep);
	if (!*result)
		*result = x->write_native - y->write_native;
	if (!*result)
		*result = x->drop - y->drop;
	return 0;
}

static herr_t info_free(void *info)
{
	free(info);
	return 0;
}

static herr_t initialize(hid_t vipl)
{
	(void)vipl;
	ending = false;
	return H5atclose(stores_end, NULL);
}

static herr_t terminate(void)
{
	stores_free();
	return 0;
}

static H5VL_class_t class;

static herr_t get_class(void *obj, H5VL_get_conn_lvl_t level, const H5VL_class_t **result)
{
	(void)obj;
	(void)level;
	*result = &class;
	return 0;
}

static herr_t get_capabilities(const void *info, uint64_t *flags)
{
	(void)info;
	*flags = class.cap_flags;
	return 0;
}

static herr_t query_optional(void *obj, H5VL_subclass_t subclass, int type, uint64_t *flags)
{
	(void)obj;
	(void)subclass;
	(void)type;
	*flags = 0; /* none is supported */
	return 0;
}

herr_t no_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	(void)obj;
	(void)dxpl;
	(void)req;
	FAIL(VOL, UNSUPPORTED, "operation %d is one of native files", args->op_type);
	return -1;
}

static H5VL_class_t class = {
	.version = H5VL_VERSION,
	.value = MEMVOL_VALUE,
	.name = MEMVOL_NAME,
	.conn_version = 1,
	.cap_flags = H5VL_CAP_FLAG_ATTR_BASIC | H5VL_CAP_FLAG_ATTR_MORE | H5VL_CAP_FLAG_DATASET_BASIC | H5VL_CAP_FLAG_DATASET_MORE |
		H5VL_CAP_FLAG_FILE_BASIC | H5VL_CAP_FLAG_FILE_MORE | H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_GROUP_MORE |
		H5VL_CAP_FLAG_LINK_BASIC | H5VL_CAP_FLAG_LINK_MORE | H5VL_CAP_FLAG_OBJECT_BASIC | H5VL_CAP_FLAG_OBJECT_MORE |
		H5VL_CAP_FLAG_REF_BASIC | H5VL_CAP_FLAG_REF_MORE | H5VL_CAP_FLAG_OBJ_REF | H5VL_CAP_FLAG_REG_REF | H5VL_CAP_FLAG_ATTR_REF |
		H5VL_CAP_FLAG_STORED_DATATYPES | H5VL_CAP_FLAG_CREATION_ORDER | H5VL_CAP_FLAG_ITERATE | H5VL_CAP_FLAG_STORAGE_SIZE |
		H5VL_CAP_FLAG_BY_IDX | H5VL_CAP_FLAG_GET_PLIST | H5VL_CAP_FLAG_FLUSH_REFRESH | H5VL_CAP_FLAG_HARD_LINKS |
		H5VL_CAP_FLAG_SOFT_LINKS | H5VL_CAP_FLAG_TRACK_TIMES | H5VL_CAP_FLAG_FILL_VALUES,
	.initialize = initialize,
	.terminate = terminate,
	.info_cls = {sizeof(settings), info_copy, info_cmp, info_free, info_to_str, info_from_str},
	.introspect_cls = {get_class, get_capabilities, query_optional},
	.optional = no_optional,
};

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }

const void *H5PLget_plugin_info(void)
{
	class.attr_cls = attribute_class;
	class.dataset_cls = dataset_class;
	class.datatype_cls = datatype_class;
	class.file_cls = file_class;
	class.group_cls = group_class;
	class.link_cls = link_class;
	class.object_cls = object_class;
	class.blob_cls = blob_class;
	class.token_cls = token_class;
	return &class;
}
