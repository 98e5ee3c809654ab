/* limits FILE: the limit of bytes, memory that is given back, and messages. Takes
   the connector with limit=64MiB. */
#include "test.h"

static herr_t keep_text(unsigned n, const H5E_error2_t *e, void *data)
{
	(void)n;
	if (strstr(e->desc, "memvol:"))
		strncat(strncat(data, e->desc, 300), "\n", 2);
	return 0;
}

/* Checks that the connector's message about the last failure has a part. */
static void said(const char *part, int line)
{
	char text[4000] = "";
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, text);
	if (!strstr(text, part)) {
		fprintf(stderr, "limits.c:%d: \"%s\" is not in \"%s\"\n", line, part, text);
		exit(1);
	}
}
#define SAID(part) said(part, __LINE__)

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: limits FILE\n");
		return 2;
	}
	OK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
	hsize_t mega = 1 << 20, large = 100 << 20, none = 0;
	hid_t space = OK(H5Screate_simple(1, &mega, NULL)), huge = OK(H5Screate_simple(1, &large, NULL));
	double *data = calloc(mega, sizeof *data);
	/* Eight times the limit: what is deleted, truncated or closed is given back. */
	for (int i = 0; i < 16; i++) {
		hid_t file = OK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
		for (int j = 0; j < 4; j++) {
			char name[8];
			snprintf(name, sizeof name, "s%d", j);
			hid_t set = OK(H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
			OK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
			OK(H5Dclose(set));
			if (i & 1)
				OK(H5Ldelete(file, name, H5P_DEFAULT));
		}
		OK(H5Fclose(file));
	}
	hid_t file = OK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	hid_t set = OK(H5Dcreate2(file, "huge", H5T_NATIVE_CHAR, huge, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	IS(-1, H5Dwrite(set, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	SAID("104857600 bytes are wanted");
	SAID("of the limit of 67108864");
	/* An extent that would exceed it stays as it was. */
	hsize_t one = 1, unlimited = H5S_UNLIMITED;
	hid_t dcpl = OK(H5Pcreate(H5P_DATASET_CREATE)), growing = OK(H5Screate_simple(1, &one, &unlimited));
	OK(H5Pset_chunk(dcpl, 1, &mega));
	hid_t grows = OK(H5Dcreate2(file, "grows", H5T_NATIVE_CHAR, growing, H5P_DEFAULT, dcpl, H5P_DEFAULT));
	OK(H5Dwrite(grows, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, "x"));
	for (hsize_t n = 1; n < 60 << 20; n = n * 3 + 1)
		OK(H5Dset_extent(grows, &n));
	IS(-1, H5Dset_extent(grows, &large));
	SAID("of the limit of 67108864");
	OK(H5Dset_extent(grows, &none));
	OK(H5Dset_extent(grows, &one));
	char c = 1;
	OK(H5Dread(grows, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, &c));
	IS(0, c);
	/* Sequences count too. */
	hid_t list = OK(H5Tvlen_create(H5T_NATIVE_CHAR)), scalar = OK(H5Screate(H5S_SCALAR));
	hid_t lists = OK(H5Dcreate2(file, "lists", list, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	hvl_t value = {8 << 20, data}, excess = {80 << 20, calloc(80, 1 << 20)};
	for (int i = 0; i < 20; i++) /* the sequence that is overwritten is freed, after the new one is there */
		OK(H5Dwrite(lists, list, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value));
	IS(-1, H5Dwrite(lists, list, H5S_ALL, H5S_ALL, H5P_DEFAULT, &excess));
	SAID("of the limit of 67108864");
	IS(-1, H5Lcreate_external("other", "/x", file, "external", H5P_DEFAULT, H5P_DEFAULT));
	SAID("external links are not supported");
	IS(-1, H5Dopen2(file, "absent", H5P_DEFAULT));
	SAID("\"absent\" does not exist");
	IS(-1, H5Fopen("/nonexistent/file", H5F_ACC_RDONLY, H5P_DEFAULT));
	SAID("No such file");
	hid_t fapl = OK(H5Pcreate(H5P_FILE_ACCESS)), id = OK(H5VLget_connector_id_by_name("memvol"));
	void *info = NULL;
	IS(-1, H5VLconnector_str_to_info("limit=5 apples", id, &info));
	SAID("is not a setting");
	IS(-1, H5VLconnector_str_to_info("colour=red", id, &info));
	OK(H5VLconnector_str_to_info("limit=5KiB;write=native;close=drop", id, &info));
	OK(H5Pset_vol(fapl, id, info));
	OK(H5VLfree_connector_info(id, info));
	char text[100];
	hid_t second = OK(H5Fcreate("second.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
	ssize_t length = H5VLget_connector_name(second, text, sizeof text);
	IS(6, length);
	OK(H5Dclose(OK(H5Dcreate2(second, "x", H5T_NATIVE_CHAR, huge, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)))); /* takes no memory yet */
	/* Old references, in a type that nests them. */
	hid_t old = OK(H5Tcreate(H5T_COMPOUND, 16)), some = OK(H5Tvlen_create(H5T_STD_REF_OBJ));
	OK(H5Tinsert(old, "references", 0, some));
	IS(-1, H5Dcreate2(file, "old", old, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	SAID("references of HDF5 1.10 and older");
	IS(-1, H5Acreate2(file, "old", some, scalar, H5P_DEFAULT, H5P_DEFAULT));
	SAID("references of HDF5 1.10 and older");
	OK(H5Tclose(old));
	OK(H5Tclose(some));
	/* A file that can't be written stays open, and its close can be tried again. */
	hid_t lost = OK(H5Fcreate("missing/lost.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
	IS(-1, H5Fclose(lost));
	SAID("could not be written to a native file");
	hid_t group = OK(H5Gcreate2(lost, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Fclose(lost)); /* the group holds it */
	IS(-1, H5Gclose(group));
	free(excess.p);
	free(data);
	H5VLclose(id), H5Pclose(fapl), H5Dclose(lists), H5Dclose(grows), H5Dclose(set), H5Tclose(list), H5Pclose(dcpl), H5Sclose(scalar), H5Sclose(growing), H5Sclose(space), H5Sclose(huge);
	return 0; /* both files are open: the library closes them, and the second is written */
}
