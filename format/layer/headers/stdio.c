/* The line of getline. */
static __thread char *line;
static __thread size_t line_size;
