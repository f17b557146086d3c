/* threads INDEX FILE: eight threads ask one handle the same, and see the same; then handles are closed under those that ask. */
#include "ask.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 20 };

static char questions[4096][512];
static size_t count;
static probeidx_index *shared;
static atomic_int closed;

static void *ask_all(void *out)
{
	struct seen *all = out;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < count; i++) {
			struct seen seen = { 0, 0 };
			int32_t status = ask(shared, questions[i], &seen, NULL);
			see_number(all, seen.sum), see_number(all, (uint64_t)status);
			all->count += seen.count;
		}
	return NULL;
}

/* Its answer stays with the caller, with texts that are valid until the handle is closed: by then it may be. */
static int leaves_texts(const char *question)
{
	return !strncmp(question, "frames ", 7) || !strncmp(question, "stats ", 6);
}

static void *ask_until_closed(void *out)
{
	struct seen seen = { 0, 0 };
	size_t next = (size_t)(uintptr_t)out;
	int32_t status = PROBEIDX_OK;
	do {
		const char *question = questions[next++ % count];
		if (leaves_texts(question))
			continue;
		status = ask(shared, question, &seen, NULL);
		CHECK(status < PROBEIDX_STOPPED || status == PROBEIDX_CLOSED);
	} while (status != PROBEIDX_CLOSED);
	return NULL;
}

static void *close_shared(void *out)
{
	(void)out;
	if (probeidx_close(shared) == PROBEIDX_OK)
		atomic_fetch_add(&closed, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pthread_t threads[THREADS];
	static struct seen seen[THREADS];
	count = read_questions(argv[2], questions, 4096);
	CHECK(count && probeidx_open(argv[1], NULL, &shared, NULL) == PROBEIDX_OK);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, ask_all, &seen[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 1; i < THREADS; i++)
		CHECK(seen[i].sum == seen[0].sum && seen[i].count == seen[0].count && seen[0].count > 0);
	CHECK(probeidx_close(shared) == PROBEIDX_OK);
#ifdef RELEASE
	for (int round = 0; round < 200; round++) {
		CHECK(probeidx_open(argv[1], NULL, &shared, NULL) == PROBEIDX_OK);
		atomic_store(&closed, 0);
		for (int i = 0; i < THREADS; i++)
			CHECK(pthread_create(&threads[i], NULL, i < 2 ? close_shared : ask_until_closed,
					     (void *)(uintptr_t)(round * THREADS + i)) == 0);
		for (int i = 0; i < THREADS; i++)
			CHECK(pthread_join(threads[i], NULL) == 0);
		CHECK(atomic_load(&closed) == 1);
	}
#endif
	printf("same: %zu\n", seen[0].count);
	return 0;
}
