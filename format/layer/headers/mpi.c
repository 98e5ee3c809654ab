#ifdef OMPI_MAJOR_VERSION
#error "a player of MPI needs MPICH or one of its relatives: handles of Open MPI are addresses"
#endif
#include <poll.h>

/* The first bits of a handle of MPICH say whether it is none, one of the library, or one that the
   program made. Datatypes of pairs, such as MPI_FLOAT_INT, look like those of the program. */
#define KIND(handle) ((unsigned)(handle) >> 30)
#define IS_PAIR(type) ((unsigned)(type) - 0x8c000000u < 5)
enum { NONE, BUILT_IN };

#define UNMAPPED
static long long unmapped(int type, int pointer, long long recorded)
{
	if (pointer ? !recorded : KIND(recorded) == NONE || (KIND(recorded) == BUILT_IN && type != HANDLE_request))
		return recorded;
	if (type == HANDLE_datatype && !IS_PAIR(recorded)) {
		remark("a datatype comes from a call that was not recorded or not played: bytes in its place");
		return MPI_BYTE;
	}
	if (type != HANDLE_datatype)
		refuse(UNKNOWN_HANDLE);
	return recorded;
}

/* A request that completes immediately gets a handle that the library shares between such
   requests. The number of the request distinguishes it from the others. */
#define KEYED
static long long keyed(int type, long long recorded, enum use use)
{
	static long long made, taken;
	if (type != HANDLE_request || KIND(recorded) != BUILT_IN)
		return recorded;
	long long n = use == MAKE ? ++made : taken + 1;
	taken += use == END;
	return recorded + (n << 32);
}

/* MPI begins before the first call, also if the recording lacks MPI_Init. A thread of the player
   that is not the first makes the calls. */
static int begin_mpi(int level)
{
	static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
	int begun, result = MPI_SUCCESS;
	pthread_mutex_lock(&beginning);
	MPI_Initialized(&begun);
	if (!begun && !(result = MPI_Init_thread(NULL, NULL, level < MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : level, &level))) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	}
	pthread_mutex_unlock(&beginning);
	return result;
}

#define BEFORE before
static void before(const char *function)
{
	int ended;
	MPI_Finalized(&ended);
	if (ended)
		refuse("MPI has ended");
	else if (strncmp(function, "MPI_Init", 8) != 0)
		begin_mpi(MPI_THREAD_MULTIPLE);
}

/* A call that polls for a rank that has ended never returns. So the player ends ten seconds after
   its input, which ends with pianola. */
static void *outlive(void *in)
{
	struct pollfd pipe = {.fd = (int)(intptr_t)in};
	while (poll(&pipe, 1, -1) < 0)
		;
	sleep(10);
	_exit(1);
}

__attribute__((constructor)) static void watch(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, outlive, (void *)(intptr_t)fcntl(0, F_DUPFD_CLOEXEC, 3)))
		fail("no thread");
	pthread_detach(thread);
}

/* Requests use their buffers after the call. So all calls send from one buffer, and receive into
   another one. A larger one replaces it, and the smaller one stays for its requests. */
static void *area(struct buffer *all, size_t bytes, int fill)
{
	static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&growing);
	if (bytes >= all->size) {
		struct buffer larger = {0};
		if (grown(&larger, bytes + 1 > 2 * all->size || 2 * all->size > MOST_BYTES ? bytes + 1 : 2 * all->size, fill))
			*all = larger;
	}
	void *memory = all->memory;
	pthread_mutex_unlock(&growing);
	return memory;
}

static void *elements(struct call *c, int i, struct buffer *all, long long count, MPI_Datatype type, int fill)
{
	MPI_Aint lower, extent, begin, length, bytes;
	if (number(c, i) == (intptr_t)MPI_IN_PLACE)
		return MPI_IN_PLACE;
	if (count <= 0 || type == MPI_DATATYPE_NULL)
		return area(all, 0, fill);
	if (MPI_Type_get_extent(type, &lower, &extent) || MPI_Type_get_true_extent(type, &begin, &length)) {
		refuse("the size of a datatype is not known");
		return NULL;
	}
	if (__builtin_mul_overflow(count - 1, extent < 0 ? -extent : extent, &bytes) || __builtin_add_overflow(bytes, length, &bytes)) {
		refuse("the buffer is too large");
		return NULL;
	}
	char *memory = area(all, bytes, fill);
	return memory ? memory - begin + (extent < 0 ? (count - 1) * -extent : 0) : NULL;
}

/* sent and received return the buffer for argument i, with a number of elements. */
static void *sent(struct call *c, int i, long long count, MPI_Datatype type)
{
	static struct buffer all;
	return elements(c, i, &all, count, type, 1);
}

static void *received(struct call *c, int i, long long count, MPI_Datatype type)
{
	static struct buffer all;
	return elements(c, i, &all, count, type, 0);
}

/* members, at_root and neighbours return how many ranks a collective call has elements of. */
static long long members(MPI_Comm comm)
{
	int between = 0, n = 0;
	MPI_Comm_test_inter(comm, &between);
	(between ? MPI_Comm_remote_size : MPI_Comm_size)(comm, &n);
	return n;
}

static long long at_root(int root, MPI_Comm comm)
{
	int rank = MPI_PROC_NULL;
	MPI_Comm_rank(comm, &rank);
	return root == MPI_ROOT || root == rank ? members(comm) : 0;
}

static long long neighbours(MPI_Comm comm)
{
	int topology = MPI_UNDEFINED, n = 0, out = 0, weighted, rank;
	MPI_Topo_test(comm, &topology);
	if (topology == MPI_CART && !MPI_Cartdim_get(comm, &n))
		return 2 * n;
	if (topology == MPI_DIST_GRAPH)
		MPI_Dist_graph_neighbors_count(comm, &n, &out, &weighted);
	if (topology == MPI_GRAPH && !MPI_Comm_rank(comm, &rank))
		MPI_Graph_neighbors_count(comm, rank, &n);
	return n > out ? n : out;
}

static void combine(void *in, void *inout, int *length, MPI_Datatype *type) { (void)in, (void)inout, (void)length, (void)type; }

static MPI_Datatype *datatypes(struct call *c, int i, long long count)
{
	struct value *v = array(c, i, count);
	MPI_Datatype *list = room(v->count * sizeof *list);
	for (size_t k = 0; list && k < v->count; k++)
		list[k] = mapped(HANDLE_datatype, 0, v->numbers[k]);
	return list;
}

static int free_type(struct call *c)
{
	MPI_Datatype type = mapped(HANDLE_datatype, 0, number(c, 0));
	if (KIND(type) > BUILT_IN)
		return MPI_Type_free(&type);
	refuse(UNKNOWN_HANDLE);
	return MPI_SUCCESS;
}

/* matched returns argument i, a rank or tag. Instead of any it is that of the recorded message,
   which its status holds. */
static int matched(struct call *c, int i, int status, int any)
{
	long long n = number(c, i);
	struct value *v = &c->args[status];
	if (n != any || c->failed || status >= c->count || v->kind != NUMBERS || v->count < 4)
		return n;
	return v->numbers[any == MPI_ANY_SOURCE ? 2 : 3];
}

/* A call that found a message in the recording is repeated until it finds one. */
static int iprobe(struct call *c, MPI_Comm comm)
{
	int flag = 0, result, wanted = number(c, 3) && !c->failed;
	int from = wanted ? matched(c, 0, 4, MPI_ANY_SOURCE) : number(c, 0), tag = wanted ? matched(c, 1, 4, MPI_ANY_TAG) : number(c, 1);
	begin_call(c);
	while (!(result = MPI_Iprobe(from, tag, comm, &flag, MPI_STATUS_IGNORE)) && wanted && !flag)
		;
	return result;
}

static int improbe(struct call *c, MPI_Comm comm, void *message)
{
	int flag = 0, result, wanted = number(c, 3) && !c->failed;
	int from = wanted ? matched(c, 0, 5, MPI_ANY_SOURCE) : number(c, 0), tag = wanted ? matched(c, 1, 5, MPI_ANY_TAG) : number(c, 1);
	begin_call(c);
	while (!(result = MPI_Improbe(from, tag, comm, &flag, message, MPI_STATUS_IGNORE)) && wanted && !flag)
		;
	return result;
}

static int start_all(struct call *c)
{
	struct value *v = array(c, 1, number(c, 0));
	MPI_Request *list = room(v->count * sizeof *list);
	for (size_t k = 0; list && k < v->count; k++)
		list[k] = mapped(HANDLE_request, 0, v->numbers[k]);
	begin_call(c);
	return c->refusal ? 0 : MPI_Startall(v->count, list);
}

/* completes makes a call that ended requests in the recording end the same ones. The others
   of the array are not passed. A call that ended none is made once. */
enum wait { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME };

static int completes(struct call *c, enum wait how)
{
	struct value one = {.kind = NUMBERS, .count = 1, .numbers = &c->args[0].number}, *v = &one;
	int several = how != WAIT && how != TEST, some = how == WAITSOME || how == TESTSOME, any = how == WAITANY || how == TESTANY;
	long long index = any ? number(c, 2) : 0, ended = 1;
	if (several)
		v = array(c, 1, number(c, 0));
	else
		number(c, 0);
	if (how == TEST || how == TESTALL || how == TESTANY)
		ended = number(c, how == TEST ? 1 : how == TESTALL ? 2 : 3);
	struct value *indices = some ? array(c, 3, ended = number(c, 2)) : NULL;
	size_t n = v->count;
	MPI_Request *list = room(n * sizeof *list);
	MPI_Status *statuses = room((n + 1) * sizeof *statuses);
	int *done = room(n * sizeof *done), flag = 1, count = 0, result;
	if (c->refusal)
		return 0;
	for (size_t k = 0; k < n; k++) {
		int chosen = !some && !any;
		if (any)
			chosen = (long long)k == index;
		for (long long i = 0; some && !chosen && i < ended; i++)
			chosen = indices->numbers[i] == (long long)k;
		if (ended <= 0)
			chosen = KIND(v->numbers[k]) != BUILT_IN;
		list[k] = MPI_REQUEST_NULL;
		if (!chosen || KIND(v->numbers[k]) == NONE)
			continue;
		list[k] = mapped(HANDLE_request, 0, v->numbers[k]);
		undefine(HANDLE_request, v->numbers[k]);
	}
	if (c->refusal)
		return 0;
	begin_call(c);
	do {
		int now = 0;
		switch (how) {
		case WAIT: result = MPI_Wait(list, statuses); break;
		case TEST: result = MPI_Test(list, &flag, statuses); break;
		case WAITALL: result = MPI_Waitall(n, list, statuses); break;
		case TESTALL: result = MPI_Testall(n, list, &flag, statuses); break;
		case WAITANY: result = MPI_Waitany(n, list, &now, statuses); break;
		case TESTANY: result = MPI_Testany(n, list, &now, &flag, statuses); break;
		case WAITSOME: result = MPI_Waitsome(n, list, &now, done, statuses); break;
		default: result = MPI_Testsome(n, list, &now, done, statuses);
		}
		if (some)
			flag = now == MPI_UNDEFINED || (count += now) >= ended;
	} while (!result && !c->failed && ended > 0 && !flag);
	end_call(c);
	for (size_t k = 0; k < n; k++)
		if (list[k] != MPI_REQUEST_NULL || (ended <= 0 && KIND(v->numbers[k]) > BUILT_IN))
			define(HANDLE_request, v->numbers[k], list[k]); /* it may have ended earlier than it did */
	return result;
}
