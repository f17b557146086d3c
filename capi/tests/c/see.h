/* What the programs of the tests share: a walk through everything that an answer points to, summed up in a number. */
#ifndef SEE_H
#define SEE_H
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

static inline void see_pairs(struct seen *seen, const uint32_t *pairs, size_t count)
{
	for (size_t i = 0; i < 2 * count; i++)
		see_number(seen, pairs[i]);
}

static inline void see_locals(struct seen *seen, const struct probeidx_local *const *locals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct probeidx_local *local = locals[i];
		CHECK(local->size == sizeof *local && (local->state == PROBEIDX_BROKEN) == !!local->why.length);
		see(seen, local->name), see(seen, local->type), see(seen, local->copy_of);
		see(seen, local->variable), see(seen, local->why), see_number(seen, local->state);
		for (size_t n = 0; n < local->instead_count; n++)
			see(seen, local->instead[n]);
	}
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
	see_locals(seen, alias->locals, alias->local_count);
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
	see_number(seen, p->fentry), see_number(seen, p->ftrace), see_number(seen, p->trampoline), see_number(seen, p->by_name_state), see_number(seen, p->instances), see_number(seen, p->reachable);
	see(seen, p->probe), see(seen, p->instead_anchor), see_number(seen, p->instead_address);
	see_pairs(seen, p->entries_refused, p->entries_refused_count);
	see_pairs(seen, p->copies_refused, p->copies_refused_count), see_pairs(seen, p->left_out, p->left_out_count);
	see_number(seen, p->copies), see_number(seen, p->callers), see_number(seen, p->reachable_fentry);
	see_number(seen, p->entries_undecided), see_number(seen, p->copies_undecided);
	for (size_t i = 0; i < p->collides_with_count; i++)
		see(seen, p->collides_with[i]);
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
	see_pairs(seen, finding->refused, finding->refused_count), see_number(seen, finding->left_out);
	see(seen, finding->because), see_number(seen, finding->undecided);
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
	for (size_t i = 0; i < member->step_count; i++)
		see_number(seen, member->steps[i].op), see_number(seen, (uint64_t)member->steps[i].value);
	see_number(seen, member->bytes), see_number(seen, member->width), see_number(seen, (uint64_t)member->value);
	return 0;
}

static inline int32_t see_type(void *context, const struct probeidx_type *type)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(type->size == sizeof *type);
	see(seen, type->name), see(seen, type->spelled), see(seen, type->file), see_number(seen, type->bytes);
	for (size_t i = 0; i < type->object_count; i++)
		see_number(seen, type->objects[i]);
	for (size_t i = 0; i < type->member_count; i++)
		see_member(seen, type->members[i]);
	return 0;
}

static inline int32_t see_user(void *context, const struct probeidx_user *user)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(user->size == sizeof *user && user->use_count > 0);
	see(seen, user->function), see(seen, user->file), see_pairs(seen, user->uses, user->use_count);
	for (size_t i = 0; i < user->object_count; i++)
		see_number(seen, user->objects[i]);
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

static inline void see_arm(struct seen *seen, const struct probeidx_arm *arm)
{
	CHECK(arm->size == sizeof *arm && arm->point.length && arm->outcome <= PROBEIDX_ARM_UNASKED);
	CHECK((arm->outcome == PROBEIDX_ARM_NOTHING) == !!arm->why.length && arm->reachable <= arm->probes);
	see(seen, arm->point), see(seen, arm->condition), see(seen, arm->why), see_number(seen, arm->outcome);
	see_number(seen, arm->probes), see_number(seen, arm->reachable), see_number(seen, arm->flags);
	for (size_t i = 0; i < arm->through_count; i++)
		see_arm(seen, arm->through[i]);
}

static inline int32_t see_definition(void *context, const struct probeidx_definition *definition)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(definition->size == sizeof *definition && definition->name_count > 0 && definition->line > 0);
	for (size_t i = 0; i < definition->name_count; i++)
		see(seen, definition->names[i]);
	see(seen, definition->file), see(seen, definition->comment), see_number(seen, definition->line);
	for (size_t i = 0; i < definition->arm_count; i++)
		see_arm(seen, definition->arms[i]);
	for (size_t i = 0; i < definition->assignment_count; i++) {
		const struct probeidx_assignment *given = definition->assignments[i];
		CHECK(given->size == sizeof *given && given->name.length && given->value.length);
		see(seen, given->name), see(seen, given->value), see_number(seen, given->line + given->is_behind);
	}
	for (size_t i = 0; i < definition->group_count; i++) {
		const struct probeidx_group *group = definition->groups[i];
		CHECK(group->size == sizeof *group && group->probes > 0);
		see_number(seen, group->probes), see_locals(seen, group->locals, group->local_count);
	}
	return 0;
}

static inline int32_t see_function(void *context, const struct probeidx_function *function)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(function->size == sizeof *function && function->name.length && function->result.length);
	see(seen, function->name), see(seen, function->result), see(seen, function->file), see(seen, function->comment);
	for (size_t i = 0; i < function->parameter_count; i++) {
		CHECK(function->parameters[i]->size == sizeof *function->parameters[i]);
		see(seen, function->parameters[i]->name), see(seen, function->parameters[i]->type);
	}
	for (size_t i = 0; i < function->mark_count; i++)
		see(seen, function->marks[i]);
	return 0;
}

static inline int32_t see_macro(void *context, const struct probeidx_macro *macro)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(macro->size == sizeof *macro && macro->name.length && macro->line > 0);
	see(seen, macro->name), see(seen, macro->body), see(seen, macro->file);
	for (size_t i = 0; i < macro->parameter_count; i++)
		see(seen, macro->parameters[i]);
	return 0;
}

static inline int32_t see_health(void *context, const struct probeidx_health *health)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(health->size == sizeof *health && health->name.length && health->state <= PROBEIDX_POINT_FAILS);
	see(seen, health->name), see(seen, health->file), see_number(seen, health->state);
	for (size_t i = 0; i < health->point_count; i++)
		see(seen, health->points[i]), see_number(seen, health->matches[i]);
	see_locals(seen, health->broken, health->broken_count);
	return 0;
}

static inline int32_t see_missing(void *context, const struct probeidx_missing *missing)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(missing->size == sizeof *missing && missing->why.length);
	see(seen, missing->why), see_number(seen, missing->is_known);
	for (size_t i = 0; i < missing->near_count; i++)
		see(seen, missing->near[i]);
	return 0;
}

static inline int32_t see_section(void *context, const struct probeidx_section *section)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(section->size == sizeof *section && section->name.length);
	see(seen, section->name), see_number(seen, section->bytes);
	return 0;
}

static inline int32_t see_skipped(void *context, const struct probeidx_skipped *skipped)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(skipped->size == sizeof *skipped && skipped->path.length && skipped->why.length && skipped->count > 0);
	see(seen, skipped->path), see(seen, skipped->kind), see(seen, skipped->why), see_number(seen, skipped->count);
	return 0;
}

static inline int32_t see_file(void *context, const struct probeidx_file *file)
{
	struct seen *seen = context;
	seen->count++;
	CHECK(file->size == sizeof *file && file->path.length && !file->status == !file->why.length);
	see(seen, file->path), see(seen, file->release), see(seen, file->process), see(seen, file->why);
	return 0;
}
#endif
