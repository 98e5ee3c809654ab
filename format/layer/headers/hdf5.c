/* Ids of types and property lists exist once the library is open. */
__attribute__((constructor)) static void open_library(void)
{
	H5open();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

#define EXPLAIN() H5Eprint2(H5E_DEFAULT, stderr)

static hssize_t close_space(hid_t space)
{
	hssize_t n = H5Sget_simple_extent_npoints(space);
	H5Sclose(space);
	return n > 0 ? n : 0;
}

/* The elements of a buffer: those of the data space in memory. A selection in it
   leaves out some, and they stand in the buffer all the same. */
static hssize_t elements(hid_t dataset, hid_t memory)
{
	return close_space(memory == H5S_ALL ? H5Dget_space(dataset) : H5Scopy(memory));
}

static hssize_t elements_of_attribute(hid_t attribute)
{
	return close_space(H5Aget_space(attribute));
}

/* Memory for values of a type. Those that are or can hold addresses are zeros. */
static void *values(size_t bytes, hid_t type)
{
	const H5T_class_t held[] = {H5T_VLEN, H5T_REFERENCE, H5T_STRING};
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		if (H5Tdetect_class(type, held[i]) != 0)
			return zeros(bytes);
	return data(bytes);
}

static size_t chunk_size(hid_t dataset, const hsize_t *offset)
{
	hsize_t bytes = 0;
	return H5Dget_chunk_storage_size(dataset, offset, &bytes) < 0 ? 0 : bytes;
}

static herr_t visit_attribute(hid_t at, const char *name, const H5A_info_t *info, void *data)
{
	(void)at, (void)name, (void)info, (void)data;
	return 0;
}

static herr_t visit_link(hid_t at, const char *name, const H5L_info_t *info, void *data)
{
	(void)at, (void)name, (void)info, (void)data;
	return 0;
}

static herr_t visit_object(hid_t at, const char *name, const H5O_info_t *info, void *data)
{
	(void)at, (void)name, (void)info, (void)data;
	return 0;
}
