/* streams FROM TO: copies a file as a program of C streams does: blocks by fread and
   fwrite, a header with fprintf, seeks, single characters, a buffer of its own. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static char own[1 << 16], block[3000];
	FILE *from = argc == 3 ? fopen(argv[1], "r") : NULL, *to = from ? fopen(argv[2], "w+") : NULL;
	if (!to) {
		perror("streams");
		return 1;
	}
	setvbuf(to, own, _IOFBF, sizeof own);
	fprintf(to, "copy %d\n", 1);
	size_t n, all = 0;
	while ((n = fread(block, 1, sizeof block, from)) > 0) {
		if (fwrite(block, 1, n, to) != n)
			return 1;
		all += n;
	}
	fflush(to);
	fseek(to, 5, SEEK_SET);
	fputc('2', to);
	fseek(to, 0, SEEK_END);
	if (ftell(to) != (long)(all + 7))
		return 1;
	putc('\n', to);
	rewind(to);
	if (fread(block, 10, 100, to) != 100)
		return 1;
	fclose(from);
	return fclose(to) != 0;
}
