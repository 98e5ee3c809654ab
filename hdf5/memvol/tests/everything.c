/* everything FILE: writes a file with every kind of object, type, layout and link
   that the connector supports. Native files of the library and of the connector
   must be equal. */
#include "test.h"

typedef struct { int number; double real; char text[8]; struct { short x, y; } place; } record;
typedef struct { int id; char *name; hvl_t values; } deep;

static hid_t record_type(void)
{
	hid_t place = OK(H5Tcreate(H5T_COMPOUND, sizeof(((record *)0)->place))), text = OK(H5Tcopy(H5T_C_S1)), type = OK(H5Tcreate(H5T_COMPOUND, sizeof(record)));
	OK(H5Tinsert(place, "x", 0, H5T_NATIVE_SHORT));
	OK(H5Tinsert(place, "y", sizeof(short), H5T_NATIVE_SHORT));
	OK(H5Tset_size(text, 8));
	OK(H5Tinsert(type, "number", HOFFSET(record, number), H5T_NATIVE_INT));
	OK(H5Tinsert(type, "real", HOFFSET(record, real), H5T_NATIVE_DOUBLE));
	OK(H5Tinsert(type, "text", HOFFSET(record, text), text));
	OK(H5Tinsert(type, "place", HOFFSET(record, place), place));
	OK(H5Tclose(place));
	OK(H5Tclose(text));
	return type;
}

static hid_t text_type(void)
{
	hid_t type = OK(H5Tcopy(H5T_C_S1));
	OK(H5Tset_size(type, H5T_VARIABLE));
	OK(H5Tset_cset(type, H5T_CSET_UTF8));
	return type;
}

static void put(hid_t at, const char *name, hid_t type, hid_t space, hid_t dcpl, hid_t mem, const void *data)
{
	hid_t set = OK(H5Dcreate2(at, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
	if (data)
		OK(H5Dwrite(set, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	OK(H5Dclose(set));
}

static void attribute(hid_t at, const char *name, hid_t type, hid_t space, hid_t mem, const void *data)
{
	hid_t a = OK(H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
	if (data)
		OK(H5Awrite(a, mem, data));
	OK(H5Aclose(a));
}

static void numbers(hid_t file)
{
	hid_t group = OK(H5Gcreate2(file, "numbers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	hsize_t dims[] = {5, 7};
	hid_t space = OK(H5Screate_simple(2, dims, NULL)), scalar = OK(H5Screate(H5S_SCALAR)), null = OK(H5Screate(H5S_NULL));
	int data[35];
	double real = 3.25;
	for (int i = 0; i < 35; i++)
		data[i] = i * i - 100;
	struct { const char *name; hid_t type; } types[] = {
		{"i8", H5T_STD_I8LE}, {"i16be", H5T_STD_I16BE}, {"u32", H5T_STD_U32LE}, {"i64be", H5T_STD_I64BE}, {"f32", H5T_IEEE_F32LE}, {"f64be", H5T_IEEE_F64BE},
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		put(group, types[i].name, types[i].type, space, H5P_DEFAULT, H5T_NATIVE_INT, data);
	put(group, "bits", H5T_STD_B32LE, space, H5P_DEFAULT, H5T_NATIVE_B32, data);
	put(group, "scalar", H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5T_NATIVE_DOUBLE, &real);
	put(group, "null", H5T_STD_I32LE, null, H5P_DEFAULT, H5T_NATIVE_INT, NULL);
	put(group, "unwritten", H5T_STD_I32LE, space, H5P_DEFAULT, H5T_NATIVE_INT, NULL);
	hid_t colour = OK(H5Tenum_create(H5T_NATIVE_INT)), opaque = OK(H5Tcreate(H5T_OPAQUE, 5));
	int value = 0;
	OK(H5Tenum_insert(colour, "RED", (value = 0, &value)));
	OK(H5Tenum_insert(colour, "GREEN", (value = 1, &value)));
	OK(H5Tset_tag(opaque, "five bytes"));
	int colours[35];
	for (int i = 0; i < 35; i++)
		colours[i] = i & 1;
	put(group, "colours", colour, space, H5P_DEFAULT, colour, colours);
	put(group, "opaque", opaque, scalar, H5P_DEFAULT, opaque, "bytes");
	hsize_t three = 3, eleven = 11;
	hid_t array = OK(H5Tarray_create2(H5T_NATIVE_INT, 1, &three)), line = OK(H5Screate_simple(1, &eleven, NULL));
	put(group, "arrays", array, line, H5P_DEFAULT, array, data);
	attribute(group, "units", H5T_STD_I16LE, space, H5T_NATIVE_INT, data);
	attribute(group, "one", H5T_IEEE_F32BE, scalar, H5T_NATIVE_DOUBLE, &real);
	attribute(group, "empty", H5T_STD_I32LE, null, H5T_NATIVE_INT, NULL);
	H5Tclose(array), H5Tclose(colour), H5Tclose(opaque), H5Sclose(line), H5Sclose(space), H5Sclose(scalar), H5Sclose(null), H5Gclose(group);
}

static void chunks(hid_t file)
{
	hid_t group = OK(H5Gcreate2(file, "chunks", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	hid_t dcpl = OK(H5Pcreate(H5P_DATASET_CREATE));
	hsize_t dims[] = {4, 6}, most[] = {H5S_UNLIMITED, 20}, chunk[] = {3, 4}, larger[] = {9, 11}, smaller[] = {7, 5};
	int fill = -7, data[24];
	for (int i = 0; i < 24; i++)
		data[i] = i;
	OK(H5Pset_chunk(dcpl, 2, chunk));
	OK(H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &fill));
	hid_t space = OK(H5Screate_simple(2, dims, most));
	put(group, "fill", H5T_STD_I64LE, space, dcpl, H5T_NATIVE_INT, NULL);
	OK(H5Pset_deflate(dcpl, 6));
	hid_t set = OK(H5Dcreate2(group, "grows", H5T_STD_I32BE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
	OK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	OK(H5Dset_extent(set, larger));
	/* Every second place of two columns, and then some points in any order. */
	hid_t where = OK(H5Dget_space(set));
	hsize_t start[] = {1, 2}, stride[] = {2, 5}, count[] = {4, 2}, eight = 8, points[3][2] = {{8, 10}, {0, 0}, {5, 1}}, three = 3;
	OK(H5Sselect_hyperslab(where, H5S_SELECT_SET, start, stride, count, NULL));
	hid_t memory = OK(H5Screate_simple(1, &eight, NULL));
	OK(H5Dwrite(set, H5T_NATIVE_INT, memory, where, H5P_DEFAULT, data));
	OK(H5Sselect_elements(where, H5S_SELECT_SET, 3, &points[0][0]));
	OK(H5Sset_extent_simple(memory, 1, &three, NULL));
	OK(H5Dwrite(set, H5T_NATIVE_INT, memory, where, H5P_DEFAULT, data + 20));
	OK(H5Dset_extent(set, smaller));
	larger[0] = 8;
	OK(H5Dset_extent(set, larger));
	H5Sclose(memory), H5Sclose(where), H5Dclose(set), H5Sclose(space), H5Pclose(dcpl), H5Gclose(group);
}

static void texts(hid_t file)
{
	hid_t group = OK(H5Gcreate2(file, "texts", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	hid_t text = text_type(), fixed = OK(H5Tcopy(H5T_C_S1));
	hsize_t four = 4;
	hid_t space = OK(H5Screate_simple(1, &four, NULL)), scalar = OK(H5Screate(H5S_SCALAR));
	const char *words[] = {"one", "", "a longer text than the others", "fünf"}, *changed[] = {"eins", "zwei", "", "vier"}, *single = "the only one";
	OK(H5Tset_size(fixed, 6));
	OK(H5Tset_strpad(fixed, H5T_STR_SPACEPAD));
	put(group, "variable", text, space, H5P_DEFAULT, text, words);
	hid_t set = OK(H5Dopen2(group, "variable", H5P_DEFAULT));
	OK(H5Dwrite(set, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, changed));
	attribute(set, "title", text, scalar, text, &single);
	OK(H5Dclose(set));
	put(group, "fixed", fixed, space, H5P_DEFAULT, fixed, "abcdefghijklmnopqrstuvwx");
	int numbers[] = {1, 2, 3, 4, 5, 6};
	hvl_t lists[] = {{3, numbers}, {0, NULL}, {1, numbers + 3}, {6, numbers}};
	hid_t list = OK(H5Tvlen_create(H5T_NATIVE_INT)), list_be = OK(H5Tvlen_create(H5T_STD_I16BE));
	put(group, "lists", list, space, H5P_DEFAULT, list, lists);
	put(group, "lists_be", list_be, space, H5P_DEFAULT, list, lists);
	put(group, "no_lists", list, space, H5P_DEFAULT, list, NULL);
	hvl_t outer[] = {{2, lists}, {1, lists + 3}, {0, NULL}, {4, lists}};
	hid_t nested = OK(H5Tvlen_create(list));
	put(group, "lists_of_lists", nested, space, H5P_DEFAULT, nested, outer);
	H5Tclose(nested), H5Tclose(list), H5Tclose(list_be), H5Tclose(fixed), H5Tclose(text), H5Sclose(space), H5Sclose(scalar), H5Gclose(group);
}

static void records(hid_t file)
{
	hid_t group = OK(H5Gcreate2(file, "records", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	hid_t type = record_type();
	hsize_t six = 6;
	hid_t space = OK(H5Screate_simple(1, &six, NULL));
	record data[6];
	memset(data, 0, sizeof data);
	for (int i = 0; i < 6; i++) {
		data[i].number = i;
		data[i].real = i / 4.0;
		snprintf(data[i].text, sizeof data[i].text, "no %d", i);
		data[i].place.x = (short)-i;
		data[i].place.y = (short)(10 * i);
	}
	put(group, "records", type, space, H5P_DEFAULT, type, data);
	/* One member is changed, the others stay. */
	hid_t part = OK(H5Tcreate(H5T_COMPOUND, sizeof(double))), set = OK(H5Dopen2(group, "records", H5P_DEFAULT));
	double reals[] = {9, 8, 7, 6, 5, 4};
	OK(H5Tinsert(part, "real", 0, H5T_NATIVE_DOUBLE));
	OK(H5Dwrite(set, part, H5S_ALL, H5S_ALL, H5P_DEFAULT, reals));
	OK(H5Dclose(set));
	/* Committed, and used by a dataset and an attribute. */
	hid_t committed = OK(H5Tcopy(type)), scalar = OK(H5Screate(H5S_SCALAR));
	OK(H5Tcommit2(group, "type", committed, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	attribute(committed, "note", H5T_STD_I32LE, scalar, H5T_NATIVE_INT, &(int){42});
	put(group, "typed", committed, space, H5P_DEFAULT, type, data);
	attribute(group, "typed", committed, scalar, type, data + 3);
	hid_t text = text_type(), list = OK(H5Tvlen_create(H5T_NATIVE_INT)), holder = OK(H5Tcreate(H5T_COMPOUND, sizeof(deep)));
	OK(H5Tinsert(holder, "id", HOFFSET(deep, id), H5T_NATIVE_INT));
	OK(H5Tinsert(holder, "name", HOFFSET(deep, name), text));
	OK(H5Tinsert(holder, "values", HOFFSET(deep, values), list));
	int numbers[] = {1, 2, 3, 4, 5, 6};
	deep deeps[6];
	for (int i = 0; i < 6; i++)
		deeps[i] = (deep){i, i & 1 ? "odd" : "even", {(size_t)i, numbers}};
	put(group, "deep", holder, space, H5P_DEFAULT, holder, deeps);
	/* Only the ids are written again: names and values stay. */
	hid_t ids = OK(H5Tcreate(H5T_COMPOUND, sizeof(int)));
	OK(H5Tinsert(ids, "id", 0, H5T_NATIVE_INT));
	set = OK(H5Dopen2(group, "deep", H5P_DEFAULT));
	OK(H5Dwrite(set, ids, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers));
	OK(H5Dclose(set));
	H5Tclose(ids), H5Tclose(holder), H5Tclose(list), H5Tclose(text), H5Tclose(part), H5Tclose(committed), H5Tclose(type), H5Sclose(space), H5Sclose(scalar), H5Gclose(group);
}

static void links(hid_t file)
{
	hid_t gcpl = OK(H5Pcreate(H5P_GROUP_CREATE)), lcpl = OK(H5Pcreate(H5P_LINK_CREATE));
	OK(H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
	OK(H5Pset_attr_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
	OK(H5Pset_create_intermediate_group(lcpl, 1));
	OK(H5Pset_char_encoding(lcpl, H5T_CSET_UTF8));
	hid_t group = OK(H5Gcreate2(file, "links", H5P_DEFAULT, gcpl, H5P_DEFAULT)), scalar = OK(H5Screate(H5S_SCALAR));
	int one = 1;
	put(group, "zebra", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5T_NATIVE_INT, &one);
	put(group, "ape", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5T_NATIVE_INT, &one);
	attribute(group, "z", H5T_STD_I32LE, scalar, H5T_NATIVE_INT, &one);
	attribute(group, "a", H5T_STD_I32LE, scalar, H5T_NATIVE_INT, &one);
	hid_t below = OK(H5Gcreate2(group, "b/c/d", lcpl, H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lcreate_hard(group, "zebra", below, "again", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lcreate_hard(file, "/links", below, "cycle", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lcreate_soft("/links/ape", below, "soft", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lcreate_soft("nowhere", below, "dangling", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lcopy(group, "ape", below, "copied", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Lmove(below, "copied", group, "moved", H5P_DEFAULT, H5P_DEFAULT));
	OK(H5Ocopy(file, "records", group, "records", H5P_DEFAULT, H5P_DEFAULT));
	put(group, "gone", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5T_NATIVE_INT, &one);
	OK(H5Ldelete(group, "gone", H5P_DEFAULT));
	hid_t many = OK(H5Gcreate2(group, "many", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	char name[16];
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "g%d", i * 7919 % 200);
		OK(H5Gclose(OK(H5Gcreate2(many, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
	}
	for (int i = 0; i < 200; i += 3) {
		snprintf(name, sizeof name, "g%d", i);
		OK(H5Ldelete(many, name, H5P_DEFAULT));
	}
	H5Gclose(many), H5Gclose(below), H5Gclose(group), H5Sclose(scalar), H5Pclose(gcpl), H5Pclose(lcpl);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: everything FILE\n");
		return 2;
	}
	hid_t file = OK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	numbers(file);
	chunks(file);
	texts(file);
	records(file);
	links(file);
	OK(H5Fclose(file));
	return 0;
}
