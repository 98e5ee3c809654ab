//go:build ignore

// ingest reads a list of edges that is larger than its buffer, and writes the graph in an
// internal format, as the first program of May's paper did: it sorts runs of edges in memory
// and writes them, merges the runs block by block into the list of neighbours, and writes
// the index of each vertex.
//
//	ingest make FILE VERTICES EDGES      makes the list of edges
//	ingest run  FILE DIRECTORY MEMORY    ingests it with a buffer of MEMORY bytes

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

enum { BLOCK = 64 << 10, RUNS = 256 };

typedef struct {
	uint32_t from, to;
} edge;

static void put(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);
		check(n > 0, "write");
		done += n;
	}
}

static int opened(const char *directory, const char *name, int flags)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	int fd = open(path, flags, 0600);
	check(fd >= 0, path);
	return fd;
}

/* A generator of its own makes the same list on all machines. */
static uint32_t random32(void)
{
	static uint64_t state = 1;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static void make(const char *file, uint32_t vertices, long edges)
{
	static edge block[BLOCK / sizeof(edge)];
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0, file);
	while (edges > 0) {
		long n = edges < (long)(BLOCK / sizeof(edge)) ? edges : (long)(BLOCK / sizeof(edge));
		for (long i = 0; i < n; i++)
			block[i] = (edge){random32() % vertices, random32() % vertices};
		put(fd, block, n * sizeof(edge));
		edges -= n;
	}
	check(close(fd) == 0, "close");
}

static int by_vertex(const void *a, const void *b)
{
	const edge *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* run is a sorted part of the list, read block by block. */
typedef struct {
	off_t at, end;
	edge *block;
	size_t next, held;
} run;

static edge *first(run *r, int fd)
{
	if (r->next == r->held) {
		size_t size = r->end - r->at < BLOCK ? r->end - r->at : BLOCK;
		if (size == 0)
			return NULL;
		check(pread(fd, r->block, size, r->at) == (ssize_t)size, "pread");
		r->at += size;
		r->next = 0;
		r->held = size / sizeof(edge);
	}
	return &r->block[r->next];
}

static int sorted_runs(const char *file, const char *directory, size_t memory, run *runs)
{
	int in = open(file, O_RDONLY), out = opened(directory, "runs", O_WRONLY | O_CREAT | O_TRUNC), n = 0;
	edge *buffer = malloc(memory);
	off_t at = 0;
	check(in >= 0 && buffer, file);
	for (;;) {
		size_t size = 0;
		ssize_t got;
		while (size + BLOCK <= memory && (got = read(in, (char *)buffer + size, BLOCK)) > 0)
			size += got;
		if (size == 0)
			break;
		if (n == RUNS) {
			fprintf(stderr, "ingest: more than %d runs: want more memory\n", RUNS);
			exit(1);
		}
		qsort(buffer, size / sizeof(edge), sizeof(edge), by_vertex);
		for (size_t done = 0; done < size; done += BLOCK)
			put(out, (char *)buffer + done, size - done < BLOCK ? size - done : BLOCK);
		runs[n++] = (run){.at = at, .end = at + size, .block = malloc(BLOCK)};
		at += size;
	}
	free(buffer);
	check(close(in) == 0 && close(out) == 0, "close");
	return n;
}

/* merge writes the neighbours of all vertices in order, and where those of each begin. */
static void merge(const char *directory, run *runs, int n)
{
	static uint32_t neighbours[BLOCK / sizeof(uint32_t)];
	static uint64_t index[BLOCK / sizeof(uint64_t)];
	int in = opened(directory, "runs", O_RDONLY), list = opened(directory, "neighbours", O_WRONLY | O_CREAT | O_TRUNC),
	    starts = opened(directory, "index", O_WRONLY | O_CREAT | O_TRUNC);
	size_t held = 0, indexed = 0;
	uint64_t edges = 0, vertex = 0;
	for (;;) {
		edge *least = NULL;
		run *of = NULL;
		for (int i = 0; i < n; i++) {
			edge *e = first(&runs[i], in);
			if (e && (!least || by_vertex(e, least) < 0)) {
				least = e;
				of = &runs[i];
			}
		}
		if (!least)
			break;
		for (; vertex <= least->from; vertex++) {
			index[indexed++] = edges;
			if (indexed == sizeof index / sizeof *index) {
				put(starts, index, sizeof index);
				indexed = 0;
			}
		}
		neighbours[held++] = least->to;
		if (held == sizeof neighbours / sizeof *neighbours) {
			put(list, neighbours, sizeof neighbours);
			held = 0;
		}
		of->next++;
		edges++;
	}
	put(list, neighbours, held * sizeof *neighbours);
	put(starts, index, indexed * sizeof *index);
	check(fsync(list) == 0 && fsync(starts) == 0, "fsync");
	check(close(in) == 0 && close(list) == 0 && close(starts) == 0, "close");
	printf("%llu edges in %d runs\n", (unsigned long long)edges, n);
}

int main(int argc, char **argv)
{
	static run runs[RUNS];
	if (argc == 5 && !strcmp(argv[1], "make") && atol(argv[3]) > 0) {
		make(argv[2], atol(argv[3]), atol(argv[4]));
	} else if (argc == 5 && !strcmp(argv[1], "run") && atol(argv[4]) >= BLOCK) {
		merge(argv[3], runs, sorted_runs(argv[2], argv[3], atol(argv[4]), runs));
	} else {
		fprintf(stderr, "ingest: want make FILE VERTICES EDGES or run FILE DIRECTORY MEMORY\n");
		return 2;
	}
	return 0;
}
