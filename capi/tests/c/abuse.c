/* abuse INDEX FOLDER: whatever is given, there is an answer and no crash. FOLDER is empty, and is written to. */
#define _GNU_SOURCE
#include "ask.h"
#include <sys/stat.h>
#include <unistd.h>

static int32_t stop(void *context, const struct probeidx_placement *p)
{
	(void)p;
	++*(int *)context;
	return 1;
}

static int32_t ask_more(void *context, const struct probeidx_placement *p)
{
	struct seen seen = { 0, 0 };
	char name[256];
	snprintf(name, sizeof name, "%s", p->function.text);
	CHECK(probeidx_resolve(context, name, NULL, 0, NULL, see_placement, &seen, NULL) == PROBEIDX_OK && seen.count);
	CHECK(strcmp(name, p->function.text) == 0);
	return 0;
}

static int32_t close_it(void *context, const struct probeidx_text *text)
{
	probeidx_index **index = context;
	CHECK(text->length);
	if (*index) {
		CHECK(probeidx_close(*index) == PROBEIDX_OK);
		CHECK(probeidx_close(*index) == PROBEIDX_CLOSED);
		*index = NULL;
	}
	return 0;
}

static void copy(const char *from, const char *to)
{
	static char bytes[1 << 16];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t n;
	CHECK(in && out);
	while ((n = fread(bytes, 1, sizeof bytes, in)))
		CHECK(fwrite(bytes, 1, n, out) == n);
	CHECK(fclose(out) == 0);
	fclose(in);
}

/* A handle that is not open, null, and wrong numbers, in every function that takes a handle. */
static void refuse(probeidx_index *index, int32_t wanted)
{
	struct probeidx_error error = { .size = sizeof error };
	struct probeidx_log log = { .size = sizeof log };
	struct probeidx_summary summary = { .size = sizeof summary };
	struct probeidx_defined defined = { .size = sizeof defined };
	size_t count;
	int32_t asked[] = {
		probeidx_find(index, "x", 0, NULL, NULL, &error),
		probeidx_resolve(index, "x", NULL, 0, NULL, NULL, NULL, &error),
		probeidx_defined(index, wanted == PROBEIDX_CLOSED ? "x" : NULL, "x", &defined, &error),
		probeidx_why_not(index, 0, "x", NULL, NULL, &error),
		probeidx_aliases(index, NULL, NULL, NULL, &error),
		probeidx_tapset(index, NULL, 0, NULL, NULL, &error),
		probeidx_functions(index, NULL, 0, NULL, NULL, &error),
		probeidx_macros(index, NULL, 0, NULL, NULL, &error),
		probeidx_check(index, NULL, "x", 1, NULL, NULL, NULL, NULL, &error),
		probeidx_check_tapset(index, NULL, NULL, NULL, &error),
		probeidx_lines(index, "x", NULL, NULL, &error),
		probeidx_addr(index, "1", 0, NULL, NULL, &error),
		probeidx_decode(index, &log, "x", 1, NULL, NULL, &error),
		probeidx_type(index, "x", NULL, NULL, &error),
		probeidx_type_of(index, 0, NULL, NULL, &error),
		probeidx_member(index, "x.y", NULL, NULL, &error),
		probeidx_users(index, "x", NULL, NULL, &error),
		probeidx_blacklist(index, NULL, NULL, NULL, &error),
		probeidx_objects(index, NULL, NULL, &error),
		probeidx_sections(index, NULL, NULL, &error),
		probeidx_skipped(index, NULL, NULL, &error),
		probeidx_stats(index, wanted == PROBEIDX_CLOSED ? &summary : NULL, &error),
		probeidx_places(index, NULL, 1, NULL, 0, &count, &error),
		probeidx_frames(index, 0, 0, NULL, 0, NULL, &error),
	};
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		if (asked[i] != wanted) {
			fprintf(stderr, "question %zu: %s\n", i, probeidx_status_name(asked[i]).text);
			exit(1);
		}
	CHECK(error.kind == wanted && error.message[0]);
}

/* Texts that are none, and numbers that mean nothing, where questions are asked. */
static void mislead(probeidx_index *index)
{
	struct probeidx_error error = { .size = sizeof error };
	struct seen seen = { 0, 0 };
	static const char *const texts[] = { "", "\xff\xfe", "\xc3", "(", "**", "a..b", "[", "kernel.function(\"\xff\")", "%n%s", "_*" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const int32_t answers[] = {
			probeidx_aliases(index, texts[i], see_text, &seen, &error),
			probeidx_tapset(index, texts[i], ~0u, see_definition, &seen, &error),
			probeidx_functions(index, texts[i], ~0u, see_function, &seen, &error),
			probeidx_macros(index, texts[i], ~0u, see_macro, &seen, &error),
			probeidx_why_not(index, PROBEIDX_SOUGHT_SPEC, texts[i], see_missing, &seen, &error),
			probeidx_why_not(index, PROBEIDX_SOUGHT_TYPE, texts[i], see_missing, &seen, &error),
			probeidx_why_not(index, PROBEIDX_SOUGHT_MODULE, texts[i], see_missing, &seen, &error),
			probeidx_why_not(index, PROBEIDX_SOUGHT_ALIAS, texts[i], see_missing, &seen, &error),
			probeidx_check(index, texts[i], texts[i], PROBEIDX_NUL, NULL, see_finding, &seen, NULL, &error),
			probeidx_decode(index, &(struct probeidx_log){ .size = sizeof(struct probeidx_log) }, texts[i], PROBEIDX_NUL,
					see_decoded, &seen, &error),
			probeidx_users(index, texts[i], see_user, &seen, &error),
			probeidx_member(index, texts[i], see_member, &seen, &error),
			probeidx_blacklist(index, texts[i], see_refused, &seen, &error),
			probeidx_lines(index, texts[i], see_line, &seen, &error),
		};
		for (size_t a = 0; a < sizeof answers / sizeof *answers; a++)
			CHECK(answers[a] >= PROBEIDX_OK && answers[a] < PROBEIDX_STOPPED);
	}
	CHECK(probeidx_why_not(index, 6, "x", see_missing, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_why_not(index, ~0u, "x", see_missing, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_why_not(index, 0, NULL, see_missing, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_defined(index, "submit", NULL, NULL, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_defined(index, "submit", "rq", NULL, &error) == PROBEIDX_ARGUMENT);
	struct probeidx_defined defined = { .size = 0 };
	CHECK(probeidx_defined(index, "submit", "rq", &defined, &error) == PROBEIDX_ARGUMENT);
	defined = (struct probeidx_defined){ .size = offsetof(struct probeidx_defined, defined), .defined = 77 };
	CHECK(probeidx_defined(index, "submit", "rq", &defined, &error) == PROBEIDX_OK && defined.places && defined.defined == 77);
	const struct probeidx_stap stap = { .size = sizeof stap, .runtime = 9 };
	CHECK(probeidx_check(index, NULL, "", 0, &stap, see_finding, &seen, NULL, &error) == PROBEIDX_ARGUMENT);
	const struct probeidx_stap early = { .size = sizeof(size_t), .runtime = 9 };
	CHECK(probeidx_check(index, "list", "", 0, &early, see_finding, &seen, NULL, &error) != PROBEIDX_ARGUMENT);
	const struct probeidx_stap none = { .size = 1 };
	CHECK(probeidx_check(index, NULL, "", 0, &none, see_finding, &seen, NULL, &error) == PROBEIDX_ARGUMENT);
}

/* Folders, and kernels that ran. */
static void open_otherwise(const char *path, const char *folder)
{
	static const char *const kallsyms[] = { "", "\xff\xfe\n\n \n", "zzz T _text\n", "0000000000000000 T _text\n", "ffffffff T" };
	struct probeidx_error error = { .size = sizeof error };
	struct seen seen = { 0, 0 };
	probeidx_index *index = NULL;
	for (size_t i = 0; i < sizeof kallsyms / sizeof *kallsyms; i++) {
		CHECK(probeidx_open_running(path, NULL, kallsyms[i], PROBEIDX_NUL, &index, &error) != PROBEIDX_OK && !index);
		CHECK(error.message[0]);
	}
	CHECK(probeidx_open_running(path, NULL, NULL, 3, &index, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_open_running(path, NULL, "x", 1, NULL, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_kernels(NULL, see_file, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_kernels(path, NULL, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_kernels("/nonexistent", see_file, &seen, &error) == PROBEIDX_OK && seen.count == 1);
	CHECK(probeidx_kernels(folder, see_file, &seen, &error) == PROBEIDX_NO_MATCH);
	CHECK(probeidx_kernels(path, see_file, &seen, &error) == PROBEIDX_OK && seen.count == 2);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	const char *path = argv[1];
	struct probeidx_error error = { .size = sizeof error };
	probeidx_index *index, *other;
	struct seen seen = { 0, 0 };
	size_t count = 77;

	/* Versions. */
	CHECK(probeidx_version() >> 16 == PROBEIDX_VERSION >> 16 && probeidx_has("resolve") == 1);
	CHECK(probeidx_has("flying") == 0 && probeidx_has(NULL) == 0 && probeidx_has("") == 0);
	CHECK(!strcmp(probeidx_verdict_name(0).text, "ok") && probeidx_verdict_name(9999).length == 0);
	CHECK(probeidx_status_name(-5).length == 0 && probeidx_state_name(99).length == 0);

	/* Opening. */
	open_otherwise(path, argv[2]);
	CHECK(probeidx_open(NULL, NULL, &index, &error) == PROBEIDX_ARGUMENT && error.kind == PROBEIDX_ARGUMENT);
	CHECK(probeidx_open(path, NULL, NULL, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_open(path, NULL, NULL, NULL) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_open("/nonexistent/x.pidx", NULL, &index, &error) == PROBEIDX_NO_INDEX && !index);
	CHECK(strstr(error.place, "/nonexistent/x.pidx") && error.message[0]);
	CHECK(probeidx_open(argv[2], NULL, &index, &error) == PROBEIDX_NO_INDEX && strstr(error.remedy, "probeidx build"));
	CHECK(probeidx_open("/dev/null", NULL, &index, &error) != PROBEIDX_OK);
	CHECK(probeidx_open(argv[0], NULL, &index, &error) == PROBEIDX_INDEX_DAMAGED);
	char first[512], second[512], folder_of[600];
	snprintf(first, sizeof first, "%s/one.pidx", argv[2]);
	snprintf(second, sizeof second, "%s/two.pidx", argv[2]);
	copy(path, first);
	CHECK(probeidx_open(argv[2], NULL, &index, &error) == PROBEIDX_OK && probeidx_close(index) == PROBEIDX_OK);
	copy(path, second);
	CHECK(probeidx_open(argv[2], NULL, &index, &error) == PROBEIDX_USAGE && strstr(error.remedy, "one, two"));
	CHECK(probeidx_open(argv[2], "two", &index, &error) == PROBEIDX_OK && probeidx_close(index) == PROBEIDX_OK);
	CHECK(probeidx_open(argv[2], "three", &index, &error) == PROBEIDX_NO_INDEX);
	CHECK(truncate(second, 100) == 0);
	CHECK(probeidx_open(second, NULL, &index, &error) == PROBEIDX_INDEX_DAMAGED && strstr(error.place, second));
	CHECK(truncate(second, 0) == 0 && probeidx_open(second, NULL, &index, &error) == PROBEIDX_INDEX_DAMAGED);

	/* A folder with a name that is not UTF-8. */
	snprintf(folder_of, sizeof folder_of, "%s/\xff\xfe", argv[2]);
	CHECK(mkdir(folder_of, 0700) == 0 && strlen(folder_of) < 500);
	snprintf(second, sizeof second, "%.500s/x", folder_of);
	copy(path, second);
	CHECK(probeidx_open(second, NULL, &index, &error) == PROBEIDX_OK && probeidx_close(index) == PROBEIDX_OK);

	/* Handles. */
	CHECK(probeidx_close(NULL) == PROBEIDX_OK);
	CHECK(probeidx_find(NULL, "x", 0, see_text, &seen, &error) == PROBEIDX_CLOSED);
	refuse(NULL, PROBEIDX_CLOSED);
	CHECK(probeidx_verify(NULL, &error) == PROBEIDX_CLOSED);
#ifdef RELEASE
	refuse(index, PROBEIDX_CLOSED);
	CHECK(probeidx_verify(index, &error) == PROBEIDX_CLOSED);
	CHECK(probeidx_close(index) == PROBEIDX_CLOSED);
	CHECK(probeidx_find(index, "x", 0, see_text, &seen, &error) == PROBEIDX_CLOSED && error.message[0]);
	CHECK(probeidx_close((probeidx_index *)(uintptr_t)0x10) == PROBEIDX_CLOSED);
	CHECK(probeidx_find((probeidx_index *)&error, "x", 0, see_text, &seen, &error) == PROBEIDX_CLOSED);
	CHECK(probeidx_find((probeidx_index *)~(uintptr_t)0, "x", 0, see_text, &seen, &error) == PROBEIDX_CLOSED);
#endif
	probeidx_index *old = index;
	CHECK(probeidx_open(path, NULL, &index, &error) == PROBEIDX_OK && index != old);
	CHECK(probeidx_open(path, NULL, &other, &error) == PROBEIDX_OK && index != other);
	CHECK(probeidx_close(other) == PROBEIDX_OK);
	probeidx_index *many[300];
	int opened = 0;
	while (opened < 300 && probeidx_open(path, NULL, &many[opened], &error) == PROBEIDX_OK)
		opened++;
	CHECK(opened == 255 && error.kind == PROBEIDX_TOO_MANY);
	while (opened)
		CHECK(probeidx_close(many[--opened]) == PROBEIDX_OK);

	/* Null. */
	CHECK(probeidx_find(index, NULL, 0, see_text, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_find(index, "x", 0, NULL, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_resolve(index, "x", NULL, 3, NULL, see_placement, &seen, &error) == PROBEIDX_ARGUMENT);
	const char *null[] = { NULL };
	CHECK(probeidx_resolve(index, "x", null, 1, NULL, see_placement, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_places(index, NULL, 3, NULL, 0, &count, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_places(index, "submit", PROBEIDX_NUL, NULL, 5, NULL, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_decode(index, NULL, "x", 1, see_decoded, &seen, &error) == PROBEIDX_ARGUMENT);
	CHECK(probeidx_stats(index, NULL, &error) == PROBEIDX_ARGUMENT);

	refuse(index, PROBEIDX_ARGUMENT);
	mislead(index);

	/* Short arrays. */
	struct probeidx_place places[4];
	memset(places, 0x5a, sizeof places);
	CHECK(probeidx_places(index, "clamp_value", PROBEIDX_NUL, NULL, 0, &count, &error) == PROBEIDX_SHORT && count > 1);
	CHECK(probeidx_places(index, "clamp_value", 11, places, 1, &count, &error) == PROBEIDX_SHORT && count > 1);
	CHECK(places[0].address && places[1].address == 0x5a5a5a5a5a5a5a5au);
	CHECK(probeidx_places(index, "clamp_value and more", 11, places, 0, &count, &error) == PROBEIDX_SHORT);
	CHECK(probeidx_places(index, "\xff\xfe", 2, places, 4, &count, &error) == PROBEIDX_OK && count == 0);
	CHECK(probeidx_places(index, "", 0, places, 4, &count, &error) == PROBEIDX_OK && count == 0);
	CHECK(probeidx_frames(index, 1, 1, NULL, 0, &count, &error) == PROBEIDX_NO_MATCH);

	/* Sizes. */
	struct probeidx_summary summary = { .size = sizeof summary };
	CHECK(probeidx_stats(index, &summary, &error) == PROBEIDX_OK && summary.objects > 1 && summary.release.length);
	uint64_t objects = summary.objects;
	memset(&summary, 0x5a, sizeof summary);
	summary.size = offsetof(struct probeidx_summary, objects) + 8;
	CHECK(probeidx_stats(index, &summary, &error) == PROBEIDX_OK && summary.objects == objects);
	CHECK(summary.units == 0x5a5a5a5a5a5a5a5au && summary.size == offsetof(struct probeidx_summary, objects) + 8);
	summary.size = 0;
	CHECK(probeidx_stats(index, &summary, &error) == PROBEIDX_ARGUMENT);
	struct {
		struct probeidx_summary summary;
		uint64_t later[8];
	} longer;
	memset(&longer, 0x5a, sizeof longer);
	longer.summary.size = sizeof longer;
	CHECK(probeidx_stats(index, &longer.summary, &error) == PROBEIDX_OK && longer.summary.objects == objects);
	CHECK(longer.later[0] == 0x5a5a5a5a5a5a5a5au);
	struct probeidx_options options = { 0, 1, 0 };
	CHECK(probeidx_resolve(index, "submit", NULL, 0, &options, see_placement, &seen, &error) == PROBEIDX_ARGUMENT);
	options.size = 12;
	CHECK(probeidx_resolve(index, "submit", NULL, 0, &options, see_placement, &seen, &error) == PROBEIDX_OK);
	struct probeidx_error small;
	memset(&small, 0x5a, sizeof small);
	small.size = offsetof(struct probeidx_error, message) + 8;
	CHECK(probeidx_find(index, "nothing_is_called_so", 0, see_text, &seen, &small) == PROBEIDX_NO_MATCH);
	CHECK(small.kind == PROBEIDX_NO_MATCH && strlen(small.message) == 7 && small.message[8] == 0x5a);
	small.size = 0, small.kind = 5;
	CHECK(probeidx_find(index, "nothing_is_called_so", 0, see_text, &seen, &small) == PROBEIDX_NO_MATCH);
	CHECK(small.kind == 5);
	CHECK(probeidx_find(index, "nothing_is_called_so", 0, see_text, &seen, NULL) == PROBEIDX_NO_MATCH);
	struct probeidx_log log = { .size = 16 };
	CHECK(probeidx_decode(index, &log, "x", 1, see_decoded, &seen, &error) == PROBEIDX_ARGUMENT);
	log = (struct probeidx_log){ .size = sizeof log, .stopped_at_length = 1 << 30, .stack = 99, .flags = ~0u };
	CHECK(probeidx_decode(index, &log, "submit+0x1/0x2", PROBEIDX_NUL, see_decoded, &seen, &error) == PROBEIDX_OK);

	/* Questions that are none. */
	CHECK(probeidx_find(index, "", 0, see_text, &seen, &error) == PROBEIDX_USAGE);
	CHECK(probeidx_find(index, "kernel.function(", 0, see_text, &seen, &error) == PROBEIDX_USAGE && error.message[0]);
	CHECK(probeidx_find(index, "\xff", 0, see_text, &seen, &error) == PROBEIDX_USAGE);
	CHECK(probeidx_addr(index, "\xff\x80 !", 0, see_where, &seen, &error) == PROBEIDX_USAGE);
	CHECK(probeidx_type(index, "struct no_such_thing", see_type, &seen, &error) == PROBEIDX_NO_MATCH);
	CHECK(probeidx_type_of(index, 0xfffffffe, see_type, &seen, &error) == PROBEIDX_NO_MATCH);
	char *deep = malloc(100001);
	memset(deep, '(', 100000);
	deep[100000] = 0;
	const char *deep_argument[] = { deep };
	CHECK(probeidx_resolve(index, "submit", deep_argument, 1, NULL, see_placement, &seen, &error) == PROBEIDX_USAGE);
	CHECK(probeidx_find(index, deep, 0, see_text, &seen, &error) == PROBEIDX_USAGE);
	memset(deep, '*', 100000);
	CHECK(probeidx_find(index, deep, 0, see_text, &seen, &error) != PROBEIDX_INTERNAL);
	free(deep);

	/* Callbacks that stop, ask, and close. */
	int calls = 0;
	CHECK(probeidx_resolve(index, "*", NULL, 0, NULL, stop, &calls, &error) == PROBEIDX_STOPPED && calls == 1);
	CHECK(error.kind == PROBEIDX_STOPPED);
	CHECK(probeidx_resolve(index, "s*", NULL, 0, NULL, ask_more, index, &error) == PROBEIDX_OK);
	other = index;
	CHECK(probeidx_find(index, "*", 0, close_it, &other, &error) == PROBEIDX_OK && !other);
#ifdef RELEASE
	CHECK(probeidx_find(index, "*", 0, see_text, &seen, &error) == PROBEIDX_CLOSED);
#endif

	/* A file that is replaced while it is open. */
	CHECK(probeidx_open(first, NULL, &index, &error) == PROBEIDX_OK);
	snprintf(second, sizeof second, "%s/new", argv[2]);
	FILE *new = fopen(second, "w");
	CHECK(new && fputs("no index", new) >= 0 && fclose(new) == 0 && rename(second, first) == 0);
	CHECK(probeidx_open(first, NULL, &other, &error) == PROBEIDX_INDEX_DAMAGED);
	memset(&seen, 0, sizeof seen);
	CHECK(probeidx_find(index, "*", 1, see_text, &seen, &error) == PROBEIDX_OK && seen.count > 10);
	CHECK(probeidx_verify(index, &error) == PROBEIDX_OK);
	memset(&seen, 0, sizeof seen);
	CHECK(probeidx_kernels(argv[2], see_file, &seen, &error) == PROBEIDX_OK && seen.count == 2);
	CHECK(probeidx_close(index) == PROBEIDX_OK);
	puts("borne");
	return 0;
}
