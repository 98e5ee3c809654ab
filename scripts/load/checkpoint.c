//go:build ignore

// checkpoint writes files as an HDF5 program writes checkpoints, with 782 writes
// each: after each of 128 arrays come 5 attributes of 4 or 8 bytes, and after
// some of them the header at the start is written again. It seeks where the
// position is not that of the write, as HDF5 did before it had pwrite.
//
//	checkpoint FILE BUFFER TIMES
//
// It writes FILE.0, FILE.1 and so on, TIMES of them. With a BUFFER of more than 0 bytes what is adjacent is gathered in it, as far
// as it has room, and written when it has none or something else comes. The
// program prints how often it wrote, the seconds in writes and those from the
// first to the end.

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

enum { ARRAYS = 128, EVERY = 9, HEADER = 2 << 10, LARGEST = 320 << 10 };

static const long arrays[] = {2 << 10, 16 << 10, 64 << 10, LARGEST}, attributes[] = {8, 4, 4, 8, 4};

static char data[LARGEST], *buffer;
static int fd;
static long room, held, start, position, writes; // start: offset of what the buffer holds
static double spent;

static void put(const char *from, long size, long offset)
{
	if (position != offset)
		check(lseek(fd, offset, SEEK_SET) == offset, "lseek");
	double t = now();
	check(write(fd, from, size) == size, "write");
	spent += now() - t;
	position = offset + size;
	writes++;
}

static void flush(void)
{
	if (held > 0)
		put(buffer, held, start);
	held = 0;
}

static void save(long size, long offset)
{
	if (held > 0 && (offset != start + held || held + size > room))
		flush();
	if (size >= room) {
		put(data, size, offset);
		return;
	}
	if (held == 0)
		start = offset;
	memcpy(buffer + held, data, size);
	held += size;
}

static void checkpoint(const char *file, long number)
{
	char name[4096];
	snprintf(name, sizeof name, "%s.%ld", file, number);
	check((fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0, name);
	position = 0;
	for (long i = 0, end = HEADER; i < ARRAYS; i++) {
		save(arrays[i % 4], end);
		end += arrays[i % 4];
		for (int k = 0; k < 5; k++) {
			save(attributes[k], end);
			end += attributes[k];
		}
		if (i % EVERY == 0 && i > 0)
			save(HEADER, 0);
	}
	flush();
	check(close(fd) == 0, "close");
}

int main(int argc, char **argv)
{
	if (argc != 4 || (room = atol(argv[2])) < 0) {
		fprintf(stderr, "checkpoint: want FILE BUFFER TIMES\n");
		return 2;
	}
	memset(data, 1, sizeof data);
	check((buffer = malloc(room + 1)) != NULL, "malloc");
	memset(buffer, 1, room); // faults it in
	double begin = now();
	for (long i = 0; i < atol(argv[3]); i++)
		checkpoint(argv[1], i);
	printf("%ld %.9f %.9f\n", writes, spent, now() - begin);
	return 0;
}
