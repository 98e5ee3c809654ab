/* calls FILE: calls of the interface and what they answer: names, orders, visits,
   references, ids, several handles on one file. All of it holds for a native file,
   too. */
#include "test.h"
#include <pthread.h>

static hid_t file;

static herr_t join_link(hid_t id, const char *name, const H5L_info2_t *info, void *data)
{
	(void)id;
	strcat(strcat(data, name), info->type == H5L_TYPE_SOFT ? "@ " : " ");
	return 0;
}

static herr_t join_object(hid_t id, const char *name, const H5O_info2_t *info, void *data)
{
	(void)id;
	strcat(strcat(data, name), info->type == H5O_TYPE_GROUP ? "/ " : " ");
	return 0;
}

static herr_t join_attribute(hid_t id, const char *name, const H5A_info_t *info, void *data)
{
	(void)id;
	(void)info;
	strcat(strcat(data, name), " ");
	return strcmp(name, "stop") ? 0 : 7;
}

static void text_is(const char *wanted, const char *got, int line)
{
	if (strcmp(wanted, got)) {
		fprintf(stderr, "calls.c:%d: \"%s\", not \"%s\"\n", line, got, wanted);
		exit(1);
	}
}
#define TEXT(wanted, got) text_is(wanted, got, __LINE__)

static hid_t dataset(hid_t at, const char *name, int n)
{
	hsize_t dims = (hsize_t)n;
	int data[64];
	for (int i = 0; i < n; i++)
		data[i] = i;
	hid_t space = OK(H5Screate_simple(1, &dims, NULL)), set = OK(H5Dcreate2(at, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	OK(H5Sclose(space));
	return set;
}

static void orders(void)
{
	char text[400] = "";
	hid_t gcpl = OK(H5Pcreate(H5P_GROUP_CREATE));
	OK(H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
	hid_t group = OK(H5Gcreate2(file, "orders", H5P_DEFAULT, gcpl, H5P_DEFAULT));
	const char *names[] = {"m", "z", "a", "k"};
	for (int i = 0; i < 4; i++)
		OK(H5Dclose(dataset(group, names[i], 3)));
	OK(H5Lcreate_soft("a", group, "s", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, join_link, text));
	TEXT("a k m s@ z ", text);
	*text = 0;
	OK(H5Literate2(group, H5_INDEX_CRT_ORDER, H5_ITER_DEC, NULL, join_link, text));
	TEXT("s@ k a z m ", text);
	*text = 0;
	OK(H5Literate_by_name2(file, "orders", H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, join_link, text, H5P_DEFAULT));
	TEXT("m z a k s@ ", text);
	OK(H5Lget_name_by_idx(file, "orders", H5_INDEX_CRT_ORDER, H5_ITER_INC, 2, text, sizeof text, H5P_DEFAULT));
	TEXT("a", text);
	H5L_info2_t info;
	OK(H5Lget_info_by_idx2(file, "orders", H5_INDEX_NAME, H5_ITER_INC, 4, &info, H5P_DEFAULT));
	IS(1, info.corder);
	OK(H5Lget_val(group, "s", text, sizeof text, H5P_DEFAULT));
	TEXT("a", text);
	H5G_info_t ginfo;
	OK(H5Gget_info(group, &ginfo));
	IS(5, ginfo.nlinks);
	IS(5, ginfo.max_corder);
	OK(H5Ldelete_by_idx(file, "orders", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
	IS(0, H5Lexists(group, "a", H5P_DEFAULT));
	IS(1, H5Lexists(group, "s", H5P_DEFAULT));
	IS(0, H5Oexists_by_name(group, "s", H5P_DEFAULT));
	H5E_BEGIN_TRY {
		IS(-1, H5Dopen2(group, "s", H5P_DEFAULT));
		IS(-1, H5Gopen2(group, "m", H5P_DEFAULT));
		IS(-1, H5Dcreate2(group, "m", H5T_NATIVE_INT, H5S_ALL, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
		IS(-1, H5Lcreate_soft("x", group, "no/where", H5P_DEFAULT, H5P_DEFAULT));
		OK(H5Lcreate_soft("loop", group, "loop", H5P_DEFAULT, H5P_DEFAULT));
		IS(-1, H5Oopen(group, "loop", H5P_DEFAULT));
		OK(H5Ldelete(group, "loop", H5P_DEFAULT));
	} H5E_END_TRY
	OK(H5Gclose(group));
	OK(H5Pclose(gcpl));
}

static void visits(void)
{
	char text[400] = "";
	hid_t group = OK(H5Gcreate2(file, "visits", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), below = OK(H5Gcreate2(group, "below", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	hid_t set = dataset(below, "set", 4);
	OK(H5Lcreate_hard(group, "below", below, "cycle", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lcreate_hard(below, "set", group, "twice", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, join_object, text, H5O_INFO_BASIC));
	TEXT("./ orders/ orders/k orders/m orders/z visits/ visits/below/ visits/below/set ", text);
	*text = 0;
	OK(H5Lvisit2(group, H5_INDEX_NAME, H5_ITER_INC, join_link, text));
	TEXT("below below/cycle below/set twice ", text);
	H5O_info2_t a, b;
	OK(H5Oget_info3(set, &a, H5O_INFO_ALL));
	OK(H5Oget_info_by_name3(file, "/visits/twice", &b, H5O_INFO_ALL, H5P_DEFAULT));
	int order;
	OK(H5Otoken_cmp(file, &a.token, &b.token, &order));
	IS(0, order);
	IS(2, a.rc);
	hid_t same = OK(H5Oopen_by_token(file, a.token));
	OK(H5Iget_name(same, text, sizeof text));
	char *token;
	OK(H5Otoken_to_str(file, &a.token, &token));
	H5O_token_t back;
	OK(H5Otoken_from_str(file, token, &back));
	OK(H5Otoken_cmp(file, &a.token, &back, &order));
	IS(0, order);
	H5free_memory(token);
	OK(H5Dclose(same));
	OK(H5Iget_name(set, text, sizeof text));
	TEXT("/visits/below/set", text);
	/* An object without a name lives while it is open. */
	OK(H5Ldelete(group, "twice", H5P_DEFAULT));
	OK(H5Ldelete(below, "set", H5P_DEFAULT));
	int data[4] = {0};
	OK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	IS(3, data[3]);
	OK(H5Olink(set, group, "kept", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Dclose(set));
	OK(H5Dclose(OK(H5Dopen2(file, "visits/kept", H5P_DEFAULT))));
	OK(H5Gclose(below));
	OK(H5Gclose(group));
}

static void attributes(void)
{
	char text[200] = "";
	hid_t group = OK(H5Gcreate2(file, "attributes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), scalar = OK(H5Screate(H5S_SCALAR));
	const char *names[] = {"n", "stop", "b", "z"};
	for (int i = 0; i < 4; i++) {
		hid_t a = OK(H5Acreate2(group, names[i], H5T_STD_I16BE, scalar, H5P_DEFAULT, H5P_DEFAULT));
		OK(H5Awrite(a, H5T_NATIVE_INT, &i));
		OK(H5Aclose(a));
	}
	hsize_t at = 0;
	IS(7, H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &at, join_attribute, text));
	TEXT("b n stop ", text);
	IS(3, at);
	OK(H5Arename(group, "stop", "go"));
	IS(0, H5Aexists(group, "stop"));
	IS(1, H5Aexists_by_name(file, "attributes", "go", H5P_DEFAULT));
	hid_t a = OK(H5Aopen_by_idx(file, "attributes", H5_INDEX_NAME, H5_ITER_INC, 1, H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Aget_name(a, sizeof text, text));
	TEXT("go", text);
	double value;
	OK(H5Aread(a, H5T_NATIVE_DOUBLE, &value));
	IS(1, value);
	OK(H5Aclose(a));
	OK(H5Adelete(group, "b"));
	H5O_info2_t info;
	OK(H5Oget_info3(group, &info, H5O_INFO_NUM_ATTRS));
	IS(3, info.num_attrs);
	H5E_BEGIN_TRY { IS(-1, H5Aopen(group, "b", H5P_DEFAULT)); } H5E_END_TRY
	OK(H5Sclose(scalar));
	OK(H5Gclose(group));
}

static void references(void)
{
	hid_t set = dataset(file, "target", 10), scalar = OK(H5Screate(H5S_SCALAR)), space = OK(H5Dget_space(set));
	hid_t a = OK(H5Acreate2(set, "colour", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT));
	int red = 3, data[10];
	OK(H5Awrite(a, H5T_NATIVE_INT, &red));
	OK(H5Aclose(a));
	hsize_t three = 3, start = 4, count = 2;
	OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL));
	H5R_ref_t refs[3], back[3];
	OK(H5Rcreate_object(file, "target", H5P_DEFAULT, refs));
	OK(H5Rcreate_region(file, "/target", space, H5P_DEFAULT, refs + 1));
	OK(H5Rcreate_attr(file, "target", "colour", H5P_DEFAULT, refs + 2));
	hid_t line = OK(H5Screate_simple(1, &three, NULL)), holder = OK(H5Dcreate2(file, "references", H5T_STD_REF, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	for (int i = 0; i < 2; i++) /* the second time over what is there */
		OK(H5Dwrite(holder, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs));
	for (int i = 0; i < 3; i++)
		OK(H5Rdestroy(refs + i));
	OK(H5Dread(holder, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
	hid_t object = OK(H5Ropen_object(back, H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Dread(object, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	IS(9, data[9]);
	hid_t region = OK(H5Ropen_region(back + 1, H5P_DEFAULT, H5P_DEFAULT));
	IS(2, H5Sget_select_npoints(region));
	a = OK(H5Ropen_attr(back + 2, H5P_DEFAULT, H5P_DEFAULT));
	red = 0;
	OK(H5Aread(a, H5T_NATIVE_INT, &red));
	IS(3, red);
	char name[40];
	OK(H5Rget_obj_name(back, H5P_DEFAULT, name, sizeof name));
	TEXT("/target", name);
	for (int i = 0; i < 3; i++)
		OK(H5Rdestroy(back + i));
	H5Aclose(a), H5Sclose(region), H5Dclose(object), H5Dclose(holder), H5Sclose(line), H5Sclose(space), H5Sclose(scalar), H5Dclose(set);
	OK(H5Ldelete(file, "references", H5P_DEFAULT));
}

static void several(const char *path)
{
	hid_t again = OK(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT)), third = OK(H5Freopen(file));
	IS(1, H5Dclose(dataset(again, "from_second", 2)) == 0 && H5Lexists(file, "from_second", H5P_DEFAULT) == 1 && H5Lexists(third, "from_second", H5P_DEFAULT) == 1);
	unsigned long a, b;
	OK(H5Fget_fileno(file, &a));
	OK(H5Fget_fileno(again, &b));
	IS(1, a == b);
	IS(1, H5Fget_obj_count(file, H5F_OBJ_DATASET | H5F_OBJ_GROUP) == 0);
	hid_t set = OK(H5Dopen2(again, "from_second", H5P_DEFAULT)), ids[4];
	IS(1, H5Fget_obj_ids(again, H5F_OBJ_DATASET, 4, ids));
	IS(set, ids[0]);
	/* The file stays open as long as an object of it is. */
	OK(H5Fclose(again));
	int data[2];
	OK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	hid_t its = OK(H5Iget_file_id(set));
	IS(1, H5Lexists(its, "target", H5P_DEFAULT));
	OK(H5Fclose(its));
	OK(H5Dclose(set));
	H5E_BEGIN_TRY {
		IS(-1, H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
		IS(-1, H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
	} H5E_END_TRY
	OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
	OK(H5Fclose(third));
}

static void *work(void *data)
{
	char name[24];
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "threads/%d-%d", *(int *)data, i);
		hid_t set = dataset(file, name, 60);
		int back[60];
		OK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
		IS(59, back[59]);
		OK(H5Dclose(set));
		if (i % 3 == 0)
			OK(H5Ldelete(file, name, H5P_DEFAULT));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];
	int number[4];
	OK(H5Gclose(OK(H5Gcreate2(file, "threads", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
	for (int i = 0; i < 4; i++) {
		number[i] = i;
		pthread_create(thread + i, NULL, work, number + i);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	H5G_info_t info;
	OK(H5Gget_info_by_name(file, "threads", &info, H5P_DEFAULT));
	IS(4 * 33, info.nlinks);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: calls FILE\n");
		return 2;
	}
	file = OK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	orders();
	visits();
	attributes();
	references();
	several(argv[1]);
	hbool_t safe;
	OK(H5is_library_threadsafe(&safe));
	if (safe)
		threads();
	OK(H5Fclose(file));
	file = OK(H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT));
	H5E_BEGIN_TRY { IS(-1, H5Gcreate2(file, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); } H5E_END_TRY
	IS(1, H5Lexists(file, "from_second", H5P_DEFAULT));
	OK(H5Fclose(file));
	IS(1, H5Fis_accessible(argv[1], H5P_DEFAULT));
	OK(H5Fdelete(argv[1], H5P_DEFAULT));
	H5E_BEGIN_TRY { IS(-1, H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT)); } H5E_END_TRY
	return 0;
}
