/* The I/O of a trace: 32 events of 3 threads. Processes are threads, too.

   cc -Wall -pthread -o program program.c
   ./program DIRECTORY             makes the files in an empty directory, and runs
   ./program DIRECTORY prepare     makes the files only; "run" then runs

   Left out: nothing */

/* program/main.c: types */
#define NO_RESULT (-9223372036854775807LL - 1)
#define DESCRIPTORS 8
#define PROCESSES 2
#define EVENTS 32
#define READS 65536UL
#define WRITES 1048576UL
#define UMASK 0777

enum {
	left_out,
	call_open,
	call_read,
	call_openm,
	call_write,
	call_lseek,
	call_writev,
	call_pread64,
	call_dup,
	call_fdatasync,
	call_clone,
	call_close,
	call_fsync,
	call_exit_group,
	call_rename,
	call_pwrite64,
	call_copy_file_range,
	call_fcntl,
	call_statx,
	call_unlink,
	call_symlink,
	call_close_range,
};

static const struct operation operations[] = {
	{"left out", DONE},
	{"open", DONE},
	{"read", EQUAL},
	{"openm", DONE},
	{"write", EQUAL},
	{"lseek", EQUAL},
	{"writev", EQUAL},
	{"pread64", EQUAL},
	{"dup", DONE},
	{"fdatasync", EQUAL},
	{"clone", DONE},
	{"close", EQUAL},
	{"fsync", EQUAL},
	{"exit_group", DONE},
	{"rename", EQUAL},
	{"pwrite64", EQUAL},
	{"copy_file_range", EQUAL},
	{"fcntl", DONE},
	{"statx", EQUAL},
	{"unlink", EQUAL},
	{"symlink", EQUAL},
	{"close_range", EQUAL},
};

static const struct file files[] = {
	{0},
	{"data", 'd', 0755, 0, "", (const struct stretch[]){{0}}},
	{"data/in", 'f', 0644, 5000, "", (const struct stretch[]){{1, 5000}, {0}}},
	{"data/log", 'f', 0644, 10, "", (const struct stretch[]){{0}}},
	{"data/link", 's', 0777, 0, "in", (const struct stretch[]){{0}}},
};

static const struct descriptor descriptors[] = {
	{0},
	{1, 4, "data/log", O_RDWR, 10},
};

static const struct event events[] = {
	{call_open, 10000, 3, {0, O_RDONLY, 00}, {"data/in", 0}},
	{call_read, 5000, 4096, {3, 0, 4096}, {0, 0}},
	{call_read, 0, 904, {3, 0, 4096}, {0, 0}},
	{call_read, 0, 0, {3, 0, 4096}, {0, 0}},
	{call_openm, 9000, 5, {0, O_RDWR|O_CREAT, 0644}, {"data/new, \0421\042", 0}},
	{call_write, 0, 100, {5, 0, 100}, {0, 0}},
	{call_lseek, 0, 1000, {5, 1000, 0}, {0, 0}},
	{call_writev, 0, 300, {5, 0, 3, 300}, {0, 0}},
	{call_pread64, 0, 50, {5, 0, 50, 1250}, {0, 0}},
	{call_dup, 0, 6, {5}, {0, 0}},
	{call_write, 8000, 10, {6, 0, 10}, {0, 0}},
	{call_fdatasync, 0, 0, {6}, {0, 0}},
	{call_clone, 41000, 2, {3840}, {0, 0}},
	{call_clone, 20000, 3, {64}, {0, 0}},
	{call_rename, 10000, 0, {0, 0}, {"data/new, \0421\042", "data/\377\012\303\266\134"}},
	{call_open, 0, -13, {0, O_RDONLY|O_DSYNC, 00}, {"data/\377\012\303\266\134", 0}},
	{call_open, 0, 5, {0, O_WRONLY, 00}, {"data/\377\012\303\266\134", 0}},
	{call_pwrite64, 0, 4, {5, 0, 4, 0}, {0, 0}},
	{call_copy_file_range, 0, 5000, {3, 0, 5, -1, 5000, 0}, {0, 0}},
	{call_fcntl, 0, 0, {5, 6, 0, 1, 100, 1}, {0, 0}},
	{call_statx, 0, 0, {-100, 0, 256, 2047, 0}, {"data/in", 0}},
	{call_unlink, 20000000, 0, {0}, {"data/in", 0}},
	{call_openm, 0, 7, {0, O_RDWR|O_CREAT|O_EXCL, 0600}, {"data/in", 0}},
	{call_pwrite64, 0, 8, {7, 0, 8, 4}, {0, 0}},
	{call_symlink, 0, -2, {0, 0}, {"in", ""}},
	{call_close_range, 0, 0, {3, 4294967295, 0}, {0, 0}},
	{call_exit_group, 0, NO_RESULT, {0}, {0, 0}},
	{call_close, 0, 0, {5}, {0, 0}, (const struct edge[]){{1, 12, 0}, {-1}}},
	{call_close, 0, 0, {6}, {0, 0}},
	{call_write, 0, 7, {4, 0, 7}, {0, 0}, (const struct edge[]){{2, 1, 40000}, {1, 14, 0}, {-1}}},
	{call_fsync, 0, 0, {4}, {0, 0}},
	{call_exit_group, 0, NO_RESULT, {0}, {0, 0}},
	{0},
};

static const struct row rows[] = {
	{0},
	{0, 27, 1, {0, 0, 0}},
	{27, 2, 1, {1, 12, 0}},
	{29, 3, 2, {1, 13, 0}},
};

/* program/main.c: middle */
	case call_open:
		return give(t, e, open(e->name[0], a[1], (mode_t)a[2]));
	case call_read:
		return read(real(t, a[0]), t->in, a[2]);
	case call_openm:
		return give(t, e, open(e->name[0], a[1], (mode_t)a[2]));
	case call_write:
		return write(real(t, a[0]), out, a[2]);
	case call_lseek:
		return lseek(real(t, a[0]), a[1], a[2]);
	case call_writev:
		return writev(real(t, a[0]), vector(t, out, a[2], a[3]), a[2]);
	case call_pread64:
		return pread(real(t, a[0]), t->in, a[2], a[3]);
	case call_dup:
		return give(t, e, dup(real(t, a[0])));
	case call_fdatasync:
		return fdatasync(real(t, a[0]));
	case call_clone:
		return create(t, e);
	case call_close:
		return close(take(t, a[0]));
	case call_fsync:
		return fsync(real(t, a[0]));
	case call_exit_group:
		return recorded(e);
	case call_rename:
		return rename(e->name[0], e->name[1]);
	case call_pwrite64:
		return pwrite(real(t, a[0]), out, a[2], a[3]);
	case call_copy_file_range:
		return copy_file_range(real(t, a[0]), offset(t, 0, a[1]), real(t, a[2]), offset(t, 1, a[3]), a[4], 0);
	case call_fcntl:
		return control(t, e);
	case call_statx:
		return statx(AT_FDCWD, e->name[0], a[2], a[3], t->in);
	case call_unlink:
		return unlink(e->name[0]);
	case call_symlink:
		return symlink(e->name[0], e->name[1]);
	case call_close_range:
		return shut(t, a[0], a[1], a[2]);
/* program/main.c: end */
