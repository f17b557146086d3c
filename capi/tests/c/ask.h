/* What the programs of the tests share: a walk through everything that an answer points to, summed up in a number. */
#ifndef ASK_H
#define ASK_H
#include <probeidx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/* Sums of bytes in their order: two walks agree if what they saw was the same. */
struct seen {
	uint64_t sum;
	size_t count;
};

static inline void see_number(struct seen *seen, uint64_t number)
{
	seen->sum = (seen->sum ^ number) * 0x100000001b3u + 1;
}

static inline void see(struct seen *seen, struct probeidx_text text)
{
	CHECK(text.text && text.text[text.length] == 0);
	for (size_t i = 0; i < text.length; i++)
		see_number(seen, (unsigned char)text.text[i]);
}

static inline int32_t see_text(void *context, const struct probeidx_text *text)
{
	struct seen *seen = context;
	seen->count++;
	see(seen, *text);
	return 0;
}

static inline void see_tracepoint(struct seen *seen, const struct probeidx_tracepoint *tracepoint)
{
	CHECK(tracepoint->size == sizeof *tracepoint && tracepoint->has_fields >= !!tracepoint->field_count);
	see(seen, tracepoint->system), see(seen, tracepoint->refusal), see_number(seen, tracepoint->has_event);
	for (size_t i = 0; i < tracepoint->field_count; i++) {
		const struct probeidx_field *field = tracepoint->fields[i];
		CHECK(field->size == sizeof *field);
		see(seen, field->name), see(seen, field->type);
		see_number(seen, field->offset), see_number(seen, field->bytes), see_number(seen, field->is_signed);
	}
}

static inline void see_alias(struct seen *seen, const struct probeidx_alias *alias)
{
	CHECK(alias->size == sizeof *alias && alias->name.length && alias->point.length);
	see(seen, alias->name), see(seen, alias->point);
	for (size_t i = 0; i < alias->through_count; i++)
		see(seen, alias->through[i]);
	for (size_t i = 0; i < alias->local_count; i++) {
		const struct probeidx_local *local = alias->locals[i];
		CHECK(local->size == sizeof *local && (local->state == PROBEIDX_BROKEN) == !!local->why.length);
		see(seen, local->name), see(seen, local->type), see(seen, local->copy_of);
		see(seen, local->variable), see(seen, local->why), see_number(seen, local->state);
		for (size_t n = 0; n < local->instead_count; n++)
			see(seen, local->instead[n]);
	}
}

static inline int32_t see_placement(void *context, const struct probeidx_placement *p)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(p->size == sizeof *p);
	see(seen, p->kernel), see(seen, p->module), see(seen, p->process), see(seen, p->function), see(seen, p->file);
	see(seen, p->section), see(seen, p->symbol), see(seen, p->anchor), see(seen, p->anchor_module);
	see(seen, p->anchor_symbol), see(seen, p->definition), see(seen, p->instead), see(seen, p->source_file);
	see_number(seen, p->address), see_number(seen, p->anchor_offset), see_number(seen, p->line);
	see_number(seen, p->instance), see_number(seen, p->symbol_offset), see_number(seen, p->flags);
	see_number(seen, p->kprobe), see_number(seen, p->kprobe_events), see_number(seen, p->kretprobe);
	see_number(seen, p->fentry), see_number(seen, p->instances), see_number(seen, p->reachable);
	see(seen, probeidx_verdict_name(p->kprobe_events)), see(seen, probeidx_instance_name(p->instance));
	for (size_t i = 0; i < p->inlined_into_count; i++) {
		const struct probeidx_call *call = p->inlined_into[i];
		CHECK(call->size == sizeof *call);
		see(seen, call->function), see(seen, call->file), see_number(seen, call->line);
	}
	for (size_t i = 0; i < p->value_count; i++) {
		const struct probeidx_value *value = p->values[i];
		CHECK(value->size == sizeof *value);
		see(seen, value->name), see(seen, value->type), see(seen, value->location), see(seen, value->fetch);
		see(seen, value->expression), see_number(seen, value->state), see_number(seen, value->role);
		CHECK(probeidx_state_name(value->state).length);
		for (size_t s = 0; s < value->step_count; s++) {
			see_number(seen, value->steps[s].op), see_number(seen, (uint64_t)value->steps[s].value);
			see_number(seen, value->steps[s].size), see(seen, value->steps[s].name);
		}
	}
	CHECK((p->instance == PROBEIDX_TRACEPOINT) == (p->tracepoint != NULL));
	if (p->tracepoint)
		see_tracepoint(seen, p->tracepoint);
	if (p->alias)
		see_alias(seen, p->alias);
	return 0;
}

static inline int32_t see_finding(void *context, const struct probeidx_finding *finding)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(finding->size == sizeof *finding && finding->what.length && finding->line > 0);
	see(seen, finding->file), see(seen, finding->what), see(seen, finding->why);
	see_number(seen, finding->line), see_number(seen, finding->kind), see_number(seen, finding->state);
	for (size_t i = 0; i < finding->instead_count; i++)
		see(seen, finding->instead[i]);
	return 0;
}

static inline int32_t see_line(void *context, const struct probeidx_line *line)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(line->size == sizeof *line && line->place_count > 0 && line->best < line->place_count);
	see(seen, line->module), see(seen, line->function), see(seen, line->file), see_number(seen, line->line);
	for (size_t i = 0; i < line->place_count; i++)
		see_number(seen, line->places[i].address);
	return 0;
}

static inline void see_frames(struct seen *seen, const struct probeidx_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		see(seen, frames[i].function), see(seen, frames[i].declared_file), see(seen, frames[i].file);
		see_number(seen, frames[i].line), see_number(seen, frames[i].declared_line);
	}
}

static inline int32_t see_where(void *context, const struct probeidx_where *where)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(where->size == sizeof *where);
	see(seen, where->module), see(seen, where->section), see(seen, where->symbol);
	see_number(seen, where->address), see_number(seen, where->symbol_offset), see_number(seen, where->ground);
	see_frames(seen, where->frames, where->frame_count);
	return 0;
}

static inline int32_t see_decoded(void *context, const struct probeidx_decoded *decoded)
{
	struct seen *seen = context;
	CHECK(decoded->size == sizeof *decoded && decoded->end > 0);
	see(seen, decoded->text), see(seen, decoded->behind), see(seen, decoded->below), see(seen, decoded->why);
	for (size_t i = 0; i < decoded->place_count; i++)
		see_where(seen, &decoded->places[i]);
	seen->count++;
	return 0;
}

static inline int32_t see_member(void *context, const struct probeidx_member *member)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(member->size == sizeof *member);
	see(seen, member->name), see(seen, member->type), see_number(seen, member->offset);
	see_number(seen, member->bytes), see_number(seen, member->width), see_number(seen, (uint64_t)member->value);
	return 0;
}

static inline int32_t see_type(void *context, const struct probeidx_type *type)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(type->size == sizeof *type);
	see(seen, type->name), see(seen, type->spelled), see(seen, type->file), see_number(seen, type->bytes);
	for (size_t i = 0; i < type->member_count; i++)
		see_member(seen, type->members[i]);
	return 0;
}

static inline int32_t see_user(void *context, const struct probeidx_user *user)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(user->size == sizeof *user && user->use_count > 0);
	see(seen, user->function), see(seen, user->file), see_number(seen, user->uses[0]);
	return 0;
}

static inline int32_t see_refused(void *context, const struct probeidx_refused *refused)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(refused->size == sizeof *refused && refused->start <= refused->end);
	see(seen, refused->symbol), see(seen, refused->section), see_number(seen, refused->start);
	return 0;
}

static inline int32_t see_object(void *context, const struct probeidx_object *object)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(object->size == sizeof *object && object->build_id.length == 20);
	see(seen, object->name), see(seen, object->path);
	return 0;
}

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
