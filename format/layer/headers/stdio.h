// The streams of the C library. Functions with a suffix 64 or _unlocked are those that
// programs call as the ones without.
//layer stdio "libc.so.6" "libc.musl*.so*"
#define _GNU_SOURCE
#include <stdio.h>

// The player also needs C of its own.
//support "stdio.c"

FILE *fopen(const char *filename, const char *modes); //span open //path filename //name modes //define stream result //error result == 0
FILE *fopen64(const char *filename, const char *modes); //span open //path filename //name modes //define stream result //error result == 0
FILE *freopen(const char *filename, const char *modes, FILE *stream); //span open //path filename //name modes //undefine stream stream //define stream result //error result == 0
FILE *freopen64(const char *filename, const char *modes, FILE *stream); //span open //path filename //name modes //undefine stream stream //define stream result //error result == 0
FILE *fdopen(int fd, const char *modes); //span open //name modes //define stream result //error result == 0
//play no
FILE *tmpfile(void); //span open //define stream result //error result == 0
FILE *tmpfile64(void); //span open //define stream result //error result == 0
FILE *popen(const char *command, const char *modes); //span open //text command //name modes //define stream result //error result == 0
//play no
int pclose(FILE *stream); //span close //undefine stream stream //error result < 0
int fclose(FILE *stream); //span close //undefine stream stream //error result != 0

size_t fread(void *ptr, size_t size, size_t n, FILE *stream); //span read //map stream stream //bytes result * size //error result < n
//pass ptr room(size * n)
size_t fread_unlocked(void *ptr, size_t size, size_t n, FILE *stream); //span read //map stream stream //bytes result * size //error result < n
//pass ptr room(size * n)
char *fgets(char *s, int n, FILE *stream); //span read //map stream stream //error result == 0
//pass s room(n)
char *fgets_unlocked(char *s, int n, FILE *stream); //span read //map stream stream //error result == 0
//pass s room(n)
int fgetc(FILE *stream); //span read //map stream stream //bytes result >= 0 //error result < 0
int getc(FILE *stream); //span read //map stream stream //bytes result >= 0 //error result < 0
int ungetc(int c, FILE *stream); //span metadata //map stream stream //error result < 0
ssize_t getline(char **lineptr, size_t *n, FILE *stream); //span read //map stream stream //bytes result //error result < 0
//pass lineptr &line //pass n &line_size
ssize_t getdelim(char **lineptr, size_t *n, int delimiter, FILE *stream); //span read //map stream stream //bytes result //error result < 0
//pass lineptr &line //pass n &line_size
int fscanf(FILE *stream, const char *format, ...); //span read //map stream stream //error result < 0
int vfscanf(FILE *s, const char *format, __gnuc_va_list arg); //span read //map stream s //error result < 0
//play no

// The library's headers have programs call these in the place of fscanf and vfscanf.
int __isoc99_fscanf(FILE *stream, const char *format, ...); //span read //map stream stream //error result < 0
//play no
int __isoc23_fscanf(FILE *stream, const char *format, ...); //span read //map stream stream //error result < 0
//play no
int __isoc99_vfscanf(FILE *s, const char *format, __gnuc_va_list arg); //span read //map stream s //error result < 0
//play no
int __isoc23_vfscanf(FILE *s, const char *format, __gnuc_va_list arg); //span read //map stream s //error result < 0
//play no

// Only old programs call gets, which is in no header.
char *gets(char *s); //span read //error result == 0
//play no

size_t fwrite(const void *ptr, size_t size, size_t n, FILE *stream); //span write //map stream stream //bytes result * size //error result < n
//pass ptr data(size * n)
size_t fwrite_unlocked(const void *ptr, size_t size, size_t n, FILE *stream); //span write //map stream stream //bytes result * size //error result < n
//pass ptr data(size * n)
int fputs(const char *s, FILE *stream); //span write //map stream stream //error result < 0
//text s
int fputs_unlocked(const char *s, FILE *stream); //span write //map stream stream //error result < 0
//text s
int puts(const char *s); //span write //bytes result //error result < 0
//text s
int fputc(int c, FILE *stream); //span write //map stream stream //bytes result >= 0 //error result < 0
int putc(int c, FILE *stream); //span write //map stream stream //bytes result >= 0 //error result < 0
int putchar(int c); //span write //bytes result >= 0 //error result < 0
int printf(const char *format, ...); //span write //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, stdout)
int fprintf(FILE *stream, const char *format, ...); //span write //map stream stream //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, stream)
int vprintf(const char *format, __gnuc_va_list arg); //span write //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, stdout)
int vfprintf(FILE *s, const char *format, __gnuc_va_list arg); //span write //map stream s //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, s)

// With _FORTIFY_SOURCE, programs call these.
size_t __fread_chk(void *ptr, size_t limit, size_t size, size_t n, FILE *stream); //span read //map stream stream //bytes result * size //error result < n
//pass ptr room(size * n) //play fread(ptr, size, n, stream)
char *__fgets_chk(char *s, size_t limit, int n, FILE *stream); //span read //map stream stream //error result == 0
//pass s room(n) //play fgets(s, n, stream)
int __printf_chk(int flag, const char *format, ...); //span write //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, stdout)
int __fprintf_chk(FILE *stream, int flag, const char *format, ...); //span write //map stream stream //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, stream)
int __vprintf_chk(int flag, const char *format, __gnuc_va_list arg); //span write //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, stdout)
int __vfprintf_chk(FILE *s, int flag, const char *format, __gnuc_va_list arg); //span write //map stream s //bytes result //error result < 0
//pass source data(result) //play fwrite(source, 1, result, s)

int dprintf(int fd, const char *format, ...); //span write //bytes result //error result < 0
//play no
void perror(const char *s); //span write
//text s

int fflush(FILE *stream); //span write //map stream stream //error result != 0
int fflush_unlocked(FILE *stream); //span write //map stream stream //error result != 0
int fseek(FILE *stream, long off, int whence); //span metadata //map stream stream //error result != 0
int fseeko(FILE *stream, __off_t off, int whence); //span metadata //map stream stream //error result != 0
int fseeko64(FILE *stream, __off64_t off, int whence); //span metadata //map stream stream //error result != 0
long ftell(FILE *stream); //span metadata //map stream stream //error result < 0
__off_t ftello(FILE *stream); //span metadata //map stream stream //error result < 0
void rewind(FILE *stream); //span metadata //map stream stream
int fgetpos(FILE *stream, fpos_t *pos); //span metadata //map stream stream //error result != 0
int fsetpos(FILE *stream, const fpos_t *pos); //span metadata //map stream stream //error result != 0
int setvbuf(FILE *stream, char *buf, int modes, size_t n); //span setup //map stream stream //error result != 0
//pass buf lasting(n)
void setbuf(FILE *stream, char *buf); //span setup //map stream stream
//pass buf lasting(BUFSIZ)
int remove(const char *filename); //span metadata //path filename //error result != 0
int rename(const char *old, const char *new); //span metadata //path old //name new //error result != 0
//play no
