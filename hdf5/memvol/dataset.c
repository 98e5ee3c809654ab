/* dataset.c: the H5D callbacks. */
#include "memvol.h"

static bool layout_supported(hid_t dcpl)
{
	if (dcpl == H5P_DATASET_CREATE_DEFAULT)
		return true;
	if (H5Pget_layout(dcpl) == H5D_VIRTUAL) {
		FAIL(DATASET, UNSUPPORTED, "virtual datasets are not supported");
		return false;
	}
	if (H5Pget_external_count(dcpl) > 0) {
		FAIL(DATASET, UNSUPPORTED, "external storage is not supported");
		return false;
	}
	return true;
}

/* An extent that grows takes chunks, as in a native file. */
static bool extent_supported(hid_t space, hid_t dcpl)
{
	hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
	int rank = H5Sget_simple_extent_dims(space, dims, most);
	for (int i = 0; i < rank; i++)
		if (dims[i] != most[i] && H5Pget_layout(dcpl) != H5D_CHUNKED) {
			FAIL(DATASET, UNSUPPORTED, "an extendible dataset has to be chunked");
			return false;
		}
	return rank >= 0;
}

static void *dataset_create(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	if (!layout_supported(dcpl) || !extent_supported(space, dcpl)) {
		fail_again();
		return NULL;
	}
	handle *h = object_new(obj, where, name, lcpl, H5I_DATASET, plist_keep(dcpl, H5P_DATASET_CREATE_DEFAULT), type, space);
	if (h)
		h->plist = plist_keep(dapl, H5P_DATASET_ACCESS_DEFAULT);
	return h;
}

static void *dataset_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t dapl, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = object_named(obj, where, name, H5I_DATASET);
	if (h)
		h->plist = plist_keep(dapl, H5P_DATASET_ACCESS_DEFAULT);
	return h;
}

static herr_t dataset_read(size_t count, void *sets[], hid_t mem_type[], hid_t mem_space[], hid_t file_space[], hid_t dxpl, void *buf[], void **req)
{
	(void)req;
	for (size_t i = 0; i < count; i++)
		if (!values_read(&((handle *)sets[i])->node->values, mem_type[i], mem_space[i], file_space[i], dxpl, buf[i]))
			return -1;
	return 0;
}

static herr_t dataset_write(size_t count, void *sets[], hid_t mem_type[], hid_t mem_space[], hid_t file_space[], hid_t dxpl, const void *buf[], void **req)
{
	(void)req;
	for (size_t i = 0; i < count; i++) {
		handle *h = sets[i];
		if (!may_write(h) || !values_write(&h->node->values, mem_type[i], mem_space[i], file_space[i], dxpl, buf[i]))
			return -1;
	}
	return 0;
}

static herr_t dataset_get(void *obj, H5VL_dataset_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	values *v = &h->node->values;
	switch (args->op_type) {
	case H5VL_DATASET_GET_DAPL:
		return (args->args.get_dapl.dapl_id = plist_of(h->plist, H5P_DATASET_ACCESS_DEFAULT)) < 0 ? -1 : 0;
	case H5VL_DATASET_GET_DCPL:
		return (args->args.get_dcpl.dcpl_id = plist_of(h->node->plist, H5P_DATASET_CREATE_DEFAULT)) < 0 ? -1 : 0;
	case H5VL_DATASET_GET_SPACE:
		return (args->args.get_space.space_id = H5Scopy(v->space)) < 0 ? -1 : 0;
	case H5VL_DATASET_GET_SPACE_STATUS:
		*args->args.get_space_status.status = v->data ? H5D_SPACE_STATUS_ALLOCATED : H5D_SPACE_STATUS_NOT_ALLOCATED;
		return 0;
	case H5VL_DATASET_GET_STORAGE_SIZE:
		*args->args.get_storage_size.storage_size = v->bytes;
		return 0;
	case H5VL_DATASET_GET_TYPE:
		return (args->args.get_type.type_id = values_type(v, h)) < 0 ? -1 : 0;
	}
	FAIL(VOL, UNSUPPORTED, "this query of a dataset is not supported");
	return -1;
}

static herr_t dataset_specific(void *obj, H5VL_dataset_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	handle *h = obj;
	if (args->op_type != H5VL_DATASET_SET_EXTENT)
		return 0; /* flush and refresh */
	if (H5Pget_layout(h->node->plist == H5P_DEFAULT ? H5P_DATASET_CREATE_DEFAULT : h->node->plist) != H5D_CHUNKED) {
		FAIL(DATASET, CANTSET, "only a chunked dataset can be resized");
		return -1;
	}
	return may_write(h) && values_resize(&h->node->values, args->args.set_extent.size) ? 0 : -1;
}

const H5VL_dataset_class_t dataset_class = {dataset_create, dataset_open, dataset_read, dataset_write, dataset_get, dataset_specific, no_optional, close_handle};
