/* questions INDEX FILE: asks everything twice, prints how much was seen, and says whether the system was asked for memory.
 *
 * malloc and its like are this program's own here: they count. */
#define _GNU_SOURCE
#include "ask.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_ulong asked;
static atomic_bool counting;

#ifndef WITHOUT_COUNTING
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static void count(void)
{
	if (atomic_load(&counting))
		atomic_fetch_add(&asked, 1);
}
void *malloc(size_t size) { count(); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { count(); return __libc_calloc(n, size); }
void *realloc(void *block, size_t size) { count(); return __libc_realloc(block, size); }
void *memalign(size_t align, size_t size) { count(); return __libc_memalign(align, size); }
void *aligned_alloc(size_t align, size_t size) { count(); return __libc_memalign(align, size); }
int posix_memalign(void **block, size_t align, size_t size)
{
	count();
	*block = __libc_memalign(align, size);
	return *block ? 0 : ENOMEM;
}
void free(void *block) { __libc_free(block); }
#endif

static char questions[4096][512];

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	struct probeidx_error error = { .size = sizeof error };
	probeidx_index *index;
	size_t n = read_questions(argv[2], questions, 4096);

	atomic_store(&counting, true);
	void *volatile block = malloc(1);
	free(block);
#ifndef WITHOUT_COUNTING
	CHECK(atomic_load(&asked) == 1);
#endif
	atomic_store(&counting, false);
	atomic_store(&asked, 0);
	if (probeidx_open(argv[1], NULL, &index, &error)) {
		fprintf(stderr, "%s: %s; %s\n", error.place, error.message, error.remedy);
		return 3;
	}
	for (size_t i = 0; i < n; i++) {
		struct seen first = { 0, 0 }, second = { 0, 0 };
		atomic_store(&counting, true);
		int32_t one = ask(index, questions[i], &first, &error);
		int32_t two = ask(index, questions[i], &second, &error);
		atomic_store(&counting, false);
		questions[i][strcspn(questions[i], "\n")] = 0;
		CHECK(one == two && first.sum == second.sum && first.count == second.count);
		printf("%s: %s, %zu\n", questions[i], probeidx_status_name(one).text, first.count);
		if (one > 1)
			printf("  %s\n", error.message);
	}
	CHECK(probeidx_close(index) == PROBEIDX_OK);
	printf("asked the system for memory %lu times, %lu overflows\n", atomic_load(&asked),
	       (unsigned long)probeidx_overflows());
	return 0;
}
