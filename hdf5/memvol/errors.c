/* errors.c: reasons on HDF5's error stack. */
#include "memvol.h"
#include <stdarg.h>
#include <stdio.h>

static struct {
	const char *file, *func;
	unsigned line;
	hid_t major, minor;
	char text[512];
} last;

/* Every function of HDF5 clears the stack when it is entered, those that clean up
   after a failure too. So the reason is kept, and can be pushed again. */
void fail(const char *file, const char *func, unsigned line, hid_t major, hid_t minor, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(last.text, sizeof last.text, format, args);
	va_end(args);
	last.file = file;
	last.func = func;
	last.line = line;
	last.major = major;
	last.minor = minor;
	H5Epush2(H5E_DEFAULT, file, func, line, H5E_ERR_CLS, major, minor, "memvol: %s", last.text);
}

void fail_again(void)
{
	if (last.file && H5Eget_num(H5E_DEFAULT) <= 0)
		H5Epush2(H5E_DEFAULT, last.file, last.func, last.line, H5E_ERR_CLS, last.major, last.minor, "memvol: %s", last.text);
}
