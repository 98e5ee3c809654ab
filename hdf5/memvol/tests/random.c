/* random FILE SEED STEPS: makes the same random calls on a native file, FILE.native,
   and on a file of the connector, FILE, and compares all that they answer: datasets
   of random types, shapes, layouts and fill values, selections of all kinds on both
   sides, types in memory that differ from the dataset's, changed extents,
   attributes, links, copies. Takes the connector in HDF5_VOL_CONNECTOR. */
#include "test.h"

enum { TYPES = 14, NAMES = 12, MOST = 4096 };

static unsigned long long state;

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n ? (unsigned)(state >> 33) % n : 0;
}

typedef struct { short a; double b; int c[2]; } plain;
typedef struct { int number; char *text; hvl_t list; } deep;

static hid_t types[TYPES]; /* of datasets */
static hid_t file[2], memory_types[TYPES][3];

static hid_t numbers(unsigned i)
{
	const hid_t all[] = {H5T_STD_I8LE, H5T_STD_U8LE, H5T_STD_I16BE, H5T_STD_I32LE, H5T_STD_U32BE, H5T_STD_I64LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE};
	return OK(H5Tcopy(all[i % (sizeof all / sizeof *all)]));
}

static void make_types(void)
{
	hid_t text = OK(H5Tcopy(H5T_C_S1)), shorter = OK(H5Tcopy(H5T_C_S1)), longer = OK(H5Tcopy(H5T_C_S1));
	OK(H5Tset_size(text, H5T_VARIABLE));
	OK(H5Tset_size(shorter, 5));
	OK(H5Tset_size(longer, 9));
	OK(H5Tset_strpad(longer, H5T_STR_NULLPAD));
	for (unsigned i = 0; i < 8; i++) {
		types[i] = numbers(i);
		memory_types[i][0] = OK(H5Tcopy(H5T_NATIVE_INT));
		memory_types[i][1] = OK(H5Tcopy(H5T_NATIVE_DOUBLE));
		memory_types[i][2] = OK(H5Tcopy(types[i]));
	}
	hsize_t two = 2;
	hid_t pair = OK(H5Tarray_create2(H5T_NATIVE_INT, 1, &two)), pair_be = OK(H5Tarray_create2(H5T_STD_I16BE, 1, &two));
	types[8] = OK(H5Tcreate(H5T_COMPOUND, sizeof(plain)));
	OK(H5Tinsert(types[8], "a", HOFFSET(plain, a), H5T_NATIVE_SHORT));
	OK(H5Tinsert(types[8], "b", HOFFSET(plain, b), H5T_NATIVE_DOUBLE));
	OK(H5Tinsert(types[8], "c", HOFFSET(plain, c), pair));
	/* Not as large as the dataset's type: the native library of HDF5 1.14.5 then loses the
	   members that are not written, where whole chunks are that are not in its cache. */
	memory_types[8][0] = OK(H5Tcreate(H5T_COMPOUND, 16));
	OK(H5Tinsert(memory_types[8][0], "c", 0, pair_be));
	OK(H5Tinsert(memory_types[8][0], "b", 8, H5T_NATIVE_FLOAT));
	memory_types[8][1] = OK(H5Tcreate(H5T_COMPOUND, 8));
	OK(H5Tinsert(memory_types[8][1], "b", 0, H5T_IEEE_F64BE));
	types[9] = OK(H5Tcopy(text));
	types[10] = OK(H5Tvlen_create(H5T_STD_I16BE));
	memory_types[10][0] = OK(H5Tvlen_create(H5T_NATIVE_INT));
	memory_types[10][1] = OK(H5Tvlen_create(H5T_NATIVE_DOUBLE));
	types[11] = OK(H5Tcreate(H5T_COMPOUND, sizeof(deep)));
	OK(H5Tinsert(types[11], "number", HOFFSET(deep, number), H5T_NATIVE_INT));
	OK(H5Tinsert(types[11], "text", HOFFSET(deep, text), text));
	OK(H5Tinsert(types[11], "list", HOFFSET(deep, list), memory_types[10][0]));
	memory_types[11][0] = OK(H5Tcreate(H5T_COMPOUND, sizeof(char *)));
	OK(H5Tinsert(memory_types[11][0], "text", 0, text));
	memory_types[11][1] = OK(H5Tcreate(H5T_COMPOUND, 2));
	OK(H5Tinsert(memory_types[11][1], "number", 0, H5T_STD_I16BE));
	types[12] = shorter;
	memory_types[12][0] = longer;
	types[13] = OK(H5Tvlen_create(memory_types[10][0]));
	for (int i = 0; i < TYPES; i++)
		for (int j = 0; j < 3; j++)
			if (!memory_types[i][j])
				memory_types[i][j] = OK(H5Tcopy(types[i]));
	H5Tclose(pair), H5Tclose(pair_be), H5Tclose(text);
}

/* Gives an element random content. */
static void fill(hid_t type, char *to)
{
	size_t size = H5Tget_size(type);
	hid_t base;
	switch (H5Tget_class(type)) {
	case H5T_FLOAT: {
		double value = (int)below(2000) - 1000;
		char wide[32];
		memcpy(wide, &value, sizeof value);
		OK(H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, wide, NULL, H5P_DEFAULT));
		memcpy(to, wide, size);
		return;
	}
	case H5T_COMPOUND:
		for (unsigned i = 0; i < (unsigned)H5Tget_nmembers(type); i++) {
			fill(base = OK(H5Tget_member_type(type, i)), to + H5Tget_member_offset(type, i));
			H5Tclose(base);
		}
		return;
	case H5T_ARRAY:
		base = OK(H5Tget_super(type));
		for (size_t i = 0; i < size; i += H5Tget_size(base))
			fill(base, to + i);
		H5Tclose(base);
		return;
	case H5T_VLEN: {
		hvl_t list = {below(5), NULL};
		base = OK(H5Tget_super(type));
		size_t each = H5Tget_size(base);
		list.p = list.len ? malloc(list.len * each) : NULL;
		for (size_t i = 0; i < list.len; i++)
			fill(base, (char *)list.p + i * each);
		H5Tclose(base);
		memcpy(to, &list, sizeof list);
		return;
	}
	case H5T_STRING:
		if (H5Tis_variable_str(type) > 0) {
			size_t n = below(20);
			char *text = malloc(n + 1);
			for (size_t i = 0; i < n; i++)
				text[i] = (char)('a' + below(26));
			text[n] = 0;
			memcpy(to, &text, sizeof text);
			return;
		}
		for (size_t i = 0; i < size; i++)
			to[i] = (char)('a' + below(26));
		return;
	default:
		for (size_t i = 0; i < size; i++)
			to[i] = (char)(below(4) ? 0 : below(256));
	}
}

static int equal(hid_t type, const char *a, const char *b)
{
	size_t size = H5Tget_size(type);
	hid_t base;
	int same = 1;
	switch (H5Tget_class(type)) {
	case H5T_COMPOUND:
		for (unsigned i = 0; same && i < (unsigned)H5Tget_nmembers(type); i++) {
			size_t at = H5Tget_member_offset(type, i);
			same = equal(base = OK(H5Tget_member_type(type, i)), a + at, b + at);
			H5Tclose(base);
		}
		return same;
	case H5T_ARRAY:
		base = OK(H5Tget_super(type));
		for (size_t i = 0; same && i < size; i += H5Tget_size(base))
			same = equal(base, a + i, b + i);
		H5Tclose(base);
		return same;
	case H5T_VLEN: {
		hvl_t x, y;
		memcpy(&x, a, sizeof x);
		memcpy(&y, b, sizeof y);
		base = OK(H5Tget_super(type));
		same = x.len == y.len;
		for (size_t i = 0; same && i < x.len; i++)
			same = equal(base, (char *)x.p + i * H5Tget_size(base), (char *)y.p + i * H5Tget_size(base));
		H5Tclose(base);
		return same;
	}
	case H5T_STRING:
		if (H5Tis_variable_str(type) > 0) {
			const char *x, *y;
			memcpy(&x, a, sizeof x);
			memcpy(&y, b, sizeof y);
			return x && y ? !strcmp(x, y) : !x && !y;
		}
		/* fall through */
	default:
		return !memcmp(a, b, size);
	}
}

static void select_random(hid_t space)
{
	hsize_t dims[3], start[3], stride[3], count[3], block[3], points[8 * 3];
	int rank = (int)OK(H5Sget_simple_extent_dims(space, dims, NULL));
	unsigned how = below(6);
	if (how == 0) {
		OK(H5Sselect_all(space));
		return;
	}
	for (int i = 0; i < rank; i++)
		if (dims[i] == 0) {
			OK(H5Sselect_none(space));
			return;
		}
	if (how == 1) {
		size_t n = 1 + below(8);
		for (size_t i = 0; i < n; i++)
			for (int j = 0; j < rank; j++)
				points[i * (size_t)rank + (size_t)j] = below((unsigned)dims[j]);
		/* A point that is written twice would make the order of writes matter. */
		OK(H5Sselect_elements(space, H5S_SELECT_SET, 1, points));
		for (size_t i = 1; i < n; i++) {
			int again = 0;
			for (size_t k = 0; k < i; k++)
				again |= !memcmp(points + k * (size_t)rank, points + i * (size_t)rank, (size_t)rank * sizeof *points);
			if (!again)
				OK(H5Sselect_elements(space, below(2) ? H5S_SELECT_APPEND : H5S_SELECT_PREPEND, 1, points + i * (size_t)rank));
		}
		return;
	}
	for (unsigned round = 0; round < (how < 4 ? 1 : 1 + below(3)); round++) {
		for (int i = 0; i < rank; i++) {
			start[i] = below((unsigned)dims[i]);
			block[i] = 1 + below((unsigned)(dims[i] - start[i]));
			if (block[i] > 3)
				block[i] = 1 + below(3);
			stride[i] = block[i] + below(3);
			hsize_t most = (dims[i] - start[i] - block[i]) / stride[i] + 1;
			count[i] = 1 + below((unsigned)most);
		}
		const H5S_seloper_t operators[] = {H5S_SELECT_OR, H5S_SELECT_XOR, H5S_SELECT_NOTB};
		OK(H5Sselect_hyperslab(space, round ? operators[below(3)] : H5S_SELECT_SET, start, stride, count, block));
	}
}

static void disagree(unsigned step, const char *what)
{
	fprintf(stderr, "random: step %u: native and memory differ in %s\n", step, what);
	exit(1);
}

static int type_of(hid_t set)
{
	hid_t type = OK(H5Dget_type(set));
	int i = 0;
	while (i < TYPES && H5Tequal(type, types[i]) <= 0)
		i++;
	OK(H5Tclose(type));
	return i;
}

static void create(const char *name)
{
	int type = (int)below(TYPES), rank = (int)below(4), chunked = rank && below(2);
	hsize_t dims[3], most[3], chunk[3];
	for (int i = 0; i < rank; i++) {
		dims[i] = below(9) + (rank == 1 ? below(200) : 0);
		most[i] = chunked ? (below(2) ? H5S_UNLIMITED : dims[i] + below(6) + 1) : dims[i];
		chunk[i] = 1 + below(most[i] < 5 ? (unsigned)most[i] : 5);
		if (!chunked && !dims[i])
			dims[i] = most[i] = 1;
	}
	hid_t dcpl = OK(H5Pcreate(H5P_DATASET_CREATE)), space = rank ? OK(H5Screate_simple(rank, dims, most)) : OK(H5Screate(H5S_SCALAR));
	if (chunked)
		OK(H5Pset_chunk(dcpl, rank, chunk));
	/* The native library itself can't share one fill value's sequences among elements. */
	if (below(2) && type < 9) {
		char value[64];
		fill(types[type], value);
		OK(H5Pset_fill_value(dcpl, types[type], value));
	}
	/* Otherwise a native file has old bytes where nothing was written. */
	OK(H5Pset_fill_time(dcpl, H5D_FILL_TIME_ALLOC));
	/* The native library fills nothing that a write selects, even if that has some members only. */
	if (type == 8 || (!chunked && below(2)))
		OK(H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY));
	for (int i = 0; i < 2; i++)
		OK(H5Dclose(OK(H5Dcreate2(file[i], name, types[type], space, H5P_DEFAULT, dcpl, H5P_DEFAULT))));
	OK(H5Pclose(dcpl));
	OK(H5Sclose(space));
}

/* A space in memory with as many elements selected. */
static hid_t memory_for(size_t n)
{
	hsize_t room = n + below(10) + 1, start = below((unsigned)(room - n)), count = n, dims[] = {room, 2}, at[] = {start, below(2)}, some[] = {n, 1};
	if (below(2)) {
		hid_t space = OK(H5Screate_simple(1, &room, NULL));
		if (n)
			OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL));
		else
			OK(H5Sselect_none(space));
		return space;
	}
	hid_t space = OK(H5Screate_simple(2, dims, NULL));
	if (n)
		OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, some, NULL));
	else
		OK(H5Sselect_none(space));
	return space;
}

static void transfer(unsigned step, const char *name)
{
	hid_t set[2];
	for (int i = 0; i < 2; i++)
		set[i] = OK(H5Dopen2(file[i], name, H5P_DEFAULT));
	int type = type_of(set[0]);
	unsigned kind = below(3);
	hid_t mem_type = memory_types[type][kind], space = OK(H5Dget_space(set[0])), mem = H5S_ALL;
	size_t size = H5Tget_size(mem_type), extent = (size_t)H5Sget_simple_extent_npoints(space);
	hid_t whole = OK(H5Scopy(space));
	if (H5Sget_simple_extent_ndims(space) > 0 && below(4)) {
		select_random(space);
		mem = memory_for((size_t)H5Sget_select_npoints(space));
		extent = (size_t)H5Sget_simple_extent_npoints(mem);
		OK(H5Sclose(whole));
		whole = OK(H5Scopy(mem));
		OK(H5Sselect_all(whole));
	}
	hid_t where = mem == H5S_ALL ? H5S_ALL : space;
	if (below(2)) {
		char *data = calloc(extent + 1, size);
		for (size_t i = 0; i < extent; i++)
			fill(mem_type, data + i * size);
		for (int i = 0; i < 2; i++)
			OK(H5Dwrite(set[i], mem_type, mem, where, H5P_DEFAULT, data));
		OK(H5Treclaim(mem_type, whole, H5P_DEFAULT, data));
		free(data);
	}
	char *back[2];
	for (int i = 0; i < 2; i++) {
		back[i] = calloc(extent + 1, size);
		OK(H5Dread(set[i], mem_type, mem, where, H5P_DEFAULT, back[i]));
	}
	for (size_t i = 0; i < extent; i++)
		if (!equal(mem_type, back[0] + i * size, back[1] + i * size)) {
			fprintf(stderr, "dataset %s of type %d in memory type %u, element %zu of %zu\n", name, type, kind, i, extent);
			disagree(step, "a read");
		}
	for (int i = 0; i < 2; i++) {
		OK(H5Treclaim(mem_type, whole, H5P_DEFAULT, back[i]));
		free(back[i]);
		OK(H5Dclose(set[i]));
	}
	OK(H5Sclose(whole));
	OK(H5Sclose(space));
	if (mem != H5S_ALL)
		OK(H5Sclose(mem));
}

static void resize(unsigned step, const char *name)
{
	hid_t set[2];
	for (int i = 0; i < 2; i++)
		set[i] = OK(H5Dopen2(file[i], name, H5P_DEFAULT));
	hid_t space = OK(H5Dget_space(set[0])), dcpl = OK(H5Dget_create_plist(set[0]));
	hsize_t dims[3], most[3];
	int rank = (int)OK(H5Sget_simple_extent_dims(space, dims, most));
	if (H5Pget_layout(dcpl) == H5D_CHUNKED) {
		for (int i = 0; i < rank; i++)
			dims[i] = below((unsigned)(most[i] == H5S_UNLIMITED ? dims[i] + 8 : most[i] + 2));
		if (rank == 1 && dims[0] > MOST)
			dims[0] = 10;
		herr_t result[2];
		H5E_BEGIN_TRY {
			for (int i = 0; i < 2; i++)
				result[i] = H5Dset_extent(set[i], dims);
		} H5E_END_TRY
		if (result[0] != result[1])
			disagree(step, "H5Dset_extent");
	}
	for (int i = 0; i < 2; i++)
		OK(H5Dclose(set[i]));
	OK(H5Sclose(space));
	OK(H5Pclose(dcpl));
}

static void attribute(unsigned step, const char *object)
{
	char name[8];
	snprintf(name, sizeof name, "a%u", below(4));
	htri_t there = (htri_t)OK(H5Aexists_by_name(file[0], object, name, H5P_DEFAULT));
	IS(there, H5Aexists_by_name(file[1], object, name, H5P_DEFAULT));
	if (there && below(3) == 0) {
		for (int i = 0; i < 2; i++)
			OK(H5Adelete_by_name(file[i], object, name, H5P_DEFAULT));
		return;
	}
	hsize_t n = 1 + below(5);
	hid_t type = types[below(TYPES)], space = OK(H5Screate_simple(1, &n, NULL));
	size_t size = H5Tget_size(type);
	char *data = calloc(n, size), *back[2];
	for (hsize_t i = 0; i < n; i++)
		fill(type, data + i * size);
	for (int i = 0; i < 2; i++) {
		if (there)
			OK(H5Adelete_by_name(file[i], object, name, H5P_DEFAULT));
		hid_t a = OK(H5Acreate_by_name(file[i], object, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
		OK(H5Awrite(a, type, data));
		back[i] = calloc(n, size);
		OK(H5Aread(a, type, back[i]));
		OK(H5Aclose(a));
	}
	for (hsize_t i = 0; i < n; i++)
		if (!equal(type, back[0] + i * size, back[1] + i * size))
			disagree(step, "an attribute");
	OK(H5Treclaim(type, space, H5P_DEFAULT, data));
	for (int i = 0; i < 2; i++) {
		OK(H5Treclaim(type, space, H5P_DEFAULT, back[i]));
		free(back[i]);
	}
	free(data);
	OK(H5Sclose(space));
}

static herr_t join(hid_t id, const char *name, const H5O_info2_t *info, void *data)
{
	(void)id;
	char line[300];
	snprintf(line, sizeof line, "%s %d %u %d\n", name, (int)info->type, info->rc, (int)info->num_attrs);
	strcat(data, line);
	return 0;
}

static void compare_trees(unsigned step)
{
	static char text[2][1 << 20];
	for (int i = 0; i < 2; i++) {
		*text[i] = 0;
		OK(H5Ovisit3(file[i], H5_INDEX_NAME, H5_ITER_INC, join, text[i], H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
	}
	if (strcmp(text[0], text[1])) {
		fprintf(stderr, "%s---\n%s", text[0], text[1]);
		disagree(step, "their objects");
	}
}

static void step(unsigned number)
{
	char name[20], other[20];
	snprintf(name, sizeof name, "g%u/d%u", below(3), below(NAMES));
	snprintf(other, sizeof other, "g%u/d%u", below(3), below(NAMES));
	htri_t there = (htri_t)OK(H5Lexists(file[0], name, H5P_DEFAULT)), taken = (htri_t)OK(H5Lexists(file[0], other, H5P_DEFAULT));
	IS(there, H5Lexists(file[1], name, H5P_DEFAULT));
	if (!there) {
		create(name);
		return;
	}
	switch (below(20)) {
	case 0:
		for (int i = 0; i < 2; i++)
			OK(H5Ldelete(file[i], name, H5P_DEFAULT));
		return;
	case 1:
		for (int i = 0; i < 2 && !taken; i++)
			OK(H5Ocopy(file[i], name, file[i], other, H5P_DEFAULT, H5P_DEFAULT));
		return;
	case 2:
		for (int i = 0; i < 2 && !taken; i++)
			OK(H5Lmove(file[i], name, file[i], other, H5P_DEFAULT, H5P_DEFAULT));
		return;
	case 3:
		for (int i = 0; i < 2 && !taken; i++)
			OK(H5Lcreate_hard(file[i], name, file[i], other, H5P_DEFAULT, H5P_DEFAULT));
		return;
	case 4:
	case 5:
		resize(number, name);
		return;
	case 6:
	case 7:
		attribute(number, name);
		return;
	case 8:
		compare_trees(number);
		return;
	default:
		transfer(number, name);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: random FILE SEED STEPS\n");
		return 2;
	}
	char native[4096];
	snprintf(native, sizeof native, "%s.native", argv[1]);
	state = strtoull(argv[2], NULL, 10) * 2862933555777941757u + 3037000493u;
	hid_t fapl = OK(H5Pcreate(H5P_FILE_ACCESS));
	OK(H5Pset_vol(fapl, H5VL_NATIVE, NULL));
	file[0] = OK(H5Fcreate(native, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
	file[1] = OK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	make_types();
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++) {
			char group[3] = {'g', (char)('0' + j), 0};
			OK(H5Gclose(OK(H5Gcreate2(file[i], group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
		}
	unsigned steps = (unsigned)atoi(argv[3]);
	for (unsigned i = 0; i < steps; i++) {
		/* Sometimes a file is closed and opened, which reads the native form where one is written. */
		if (below(200) == 0)
			for (int j = 0; j < 2; j++) {
				OK(H5Fclose(file[j]));
				file[j] = OK(H5Fopen(j ? argv[1] : native, H5F_ACC_RDWR, j ? H5P_DEFAULT : fapl));
			}
		step(i);
	}
	compare_trees(steps);
	for (int i = 0; i < 2; i++)
		OK(H5Fclose(file[i]));
	for (int i = 0; i < TYPES; i++) {
		OK(H5Tclose(types[i]));
		for (int j = 0; j < 3; j++)
			OK(H5Tclose(memory_types[i][j]));
	}
	OK(H5Pclose(fapl));
	return 0;
}
