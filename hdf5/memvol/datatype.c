/* datatype.c: the H5T callbacks, of committed datatypes. */
#include "memvol.h"

static void *datatype_commit(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t type, hid_t lcpl, hid_t tcpl, hid_t tapl, hid_t dxpl, void **req)
{
	(void)tapl;
	(void)dxpl;
	(void)req;
	return object_new(obj, where, name, lcpl, H5I_DATATYPE, plist_keep(tcpl, H5P_DATATYPE_CREATE_DEFAULT), type, H5I_INVALID_HID);
}

static void *datatype_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t tapl, hid_t dxpl, void **req)
{
	(void)tapl;
	(void)dxpl;
	(void)req;
	return object_named(obj, where, name, H5I_DATATYPE);
}

static herr_t datatype_get(void *obj, H5VL_datatype_get_args_t *args, hid_t dxpl, void **req)
{
	(void)dxpl;
	(void)req;
	node *n = ((handle *)obj)->node;
	size_t size = args->op_type == H5VL_DATATYPE_GET_BINARY ? args->args.get_binary.buf_size : 0;
	switch (args->op_type) {
	case H5VL_DATATYPE_GET_BINARY_SIZE:
		return H5Tencode(n->values.type, NULL, args->args.get_binary_size.size);
	case H5VL_DATATYPE_GET_BINARY:
		return H5Tencode(n->values.type, args->args.get_binary.buf, &size);
	case H5VL_DATATYPE_GET_TCPL:
		return (args->args.get_tcpl.tcpl_id = plist_of(n->plist, H5P_DATATYPE_CREATE_DEFAULT)) < 0 ? -1 : 0;
	}
	FAIL(VOL, UNSUPPORTED, "this query of a datatype is not supported");
	return -1;
}

static herr_t datatype_specific(void *obj, H5VL_datatype_specific_args_t *args, hid_t dxpl, void **req)
{
	(void)obj;
	(void)args;
	(void)dxpl;
	(void)req;
	return 0; /* flush and refresh */
}

const H5VL_datatype_class_t datatype_class = {datatype_commit, datatype_open, datatype_get, datatype_specific, no_optional, close_handle};
