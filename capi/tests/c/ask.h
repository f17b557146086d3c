/* What the programs of the tests share: questions as text. */
#ifndef ASK_H
#define ASK_H
#include "see.h"

/* Asks what a line says: a word for the kind of question, a blank, the question, and with tabs before them arguments. */
static inline int32_t ask(probeidx_index *index, const char *question, struct seen *seen, struct probeidx_error *error)
{
	char line[4096];
	const char *arguments[64];
	size_t count = 0;
	struct probeidx_options options = { sizeof options, 7, 0 };
	struct probeidx_frame frames[64];
	struct probeidx_place places[256];

	snprintf(line, sizeof line, "%s", question);
	line[strcspn(line, "\n")] = 0;
	char *text = strchr(line, ' ');
	CHECK(text);
	*text++ = 0;
	for (char *tab = strchr(text, '\t'); tab && count < 64; tab = strchr(tab, '\t')) {
		*tab++ = 0;
		arguments[count++] = tab;
	}
	if (!strcmp(line, "find"))
		return probeidx_find(index, text, PROBEIDX_FIND_ARGS, see_text, seen, error);
	if (!strcmp(line, "resolve"))
		return probeidx_resolve(index, text, arguments, count, &options, see_placement, seen, error);
	if (!strcmp(line, "aliases"))
		return probeidx_aliases(index, *text ? text : NULL, see_text, seen, error);
	if (!strcmp(line, "check")) {
		struct probeidx_stap stap = { .size = sizeof stap };
		uint32_t verdict = 9;
		int32_t status = probeidx_check(index, NULL, text, PROBEIDX_NUL, &stap, see_finding, seen, &verdict, error);
		CHECK(status || verdict <= PROBEIDX_SCRIPT_FAILS);
		see_number(seen, verdict);
		return status;
	}
	if (!strcmp(line, "tapset"))
		return probeidx_tapset(index, *text ? text : NULL, PROBEIDX_EXPLAINED, see_definition, seen, error);
	if (!strcmp(line, "functions"))
		return probeidx_functions(index, *text ? text : NULL, PROBEIDX_HIDDEN, see_function, seen, error);
	if (!strcmp(line, "macros"))
		return probeidx_macros(index, *text ? text : NULL, 0, see_macro, seen, error);
	if (!strcmp(line, "health"))
		return probeidx_check_tapset(index, see_health, see_finding, seen, error);
	if (!strcmp(line, "why-not"))
		return probeidx_why_not(index, *text - '0', *text ? text + 1 : text, see_missing, seen, error);
	if (!strcmp(line, "defined")) {
		struct probeidx_defined defined = { .size = sizeof defined };
		int32_t status = probeidx_defined(index, text, count ? arguments[0] : NULL, &defined, error);
		CHECK(status > 1 || (status == PROBEIDX_OK) == (defined.places > 0 && defined.defined == defined.places));
		see_number(seen, defined.places), see_number(seen, defined.defined);
		return status;
	}
	if (!strcmp(line, "verify"))
		return probeidx_verify(index, error);
	if (!strcmp(line, "sections"))
		return probeidx_sections(index, see_section, seen, error);
	if (!strcmp(line, "skipped"))
		return probeidx_skipped(index, see_skipped, seen, error);
	if (!strcmp(line, "stats")) {
		struct probeidx_summary summary = { .size = sizeof summary };
		int32_t status = probeidx_stats(index, &summary, error);
		if (status)
			return status;
		see(seen, summary.release), see_number(seen, summary.placements), see_number(seen, summary.labels);
		see_number(seen, summary.inline_instances), see_number(seen, summary.skipped);
		CHECK(summary.written_by[0] && summary.inline_instances <= summary.placements);
		return status;
	}
	if (!strcmp(line, "lines"))
		return probeidx_lines(index, text, see_line, seen, error);
	if (!strcmp(line, "addr"))
		return probeidx_addr(index, text, 0, see_where, seen, error);
	if (!strcmp(line, "decode")) {
		struct probeidx_log log = { .size = sizeof log };
		return probeidx_decode(index, &log, text, PROBEIDX_NUL, see_decoded, seen, error);
	}
	if (!strcmp(line, "type"))
		return probeidx_type(index, text, see_type, seen, error);
	if (!strcmp(line, "member"))
		return probeidx_member(index, text, see_member, seen, error);
	if (!strcmp(line, "users"))
		return probeidx_users(index, text, see_user, seen, error);
	if (!strcmp(line, "blacklist"))
		return probeidx_blacklist(index, *text ? text : NULL, see_refused, seen, error);
	if (!strcmp(line, "objects"))
		return probeidx_objects(index, see_object, seen, error);
	if (!strcmp(line, "places")) {
		size_t found;
		int32_t status = probeidx_places(index, text, PROBEIDX_NUL, places, 256, &found, error);
		seen->count += found;
		for (size_t i = 0; i < found && i < 256; i++)
			see_number(seen, places[i].address), see_number(seen, places[i].place);
		return status;
	}
	if (!strcmp(line, "frames")) {
		size_t found;
		int32_t status = probeidx_frames(index, strtoull(text, NULL, 16), 1, frames, 64, &found, error);
		seen->count += found;
		see_frames(seen, frames, found < 64 ? found : 64);
		return status;
	}
	fprintf(stderr, "%s is no question\n", line);
	exit(2);
}

/* The questions of a file, one a line. */
static inline size_t read_questions(const char *path, char questions[][512], size_t most)
{
	FILE *file = fopen(path, "r");
	size_t count = 0;
	CHECK(file);
	while (count < most && fgets(questions[count], 512, file))
		count++;
	fclose(file);
	return count;
}
#endif
