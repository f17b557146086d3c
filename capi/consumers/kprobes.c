/* kprobes INDEX FUNCTION [ARGUMENT]...: definitions for /sys/kernel/tracing/kprobe_events that trace a function with these
 * values, wherever it runs:
 *
 *     kprobes 6.1.0-56-cloud-amd64.pidx do_sys_openat2 dfd filename:ustring how->flags >> /sys/kernel/tracing/kprobe_events
 *
 * Places that the kernel refuses are named on stderr, with the reason and what is possible instead. Exits with 1 if there is
 * no place that it takes. */
#include <probeidx.h>
#include <stdio.h>
#include <string.h>

struct found {
	unsigned defined;
	unsigned refused;
	/* Places that share an address need one probe. */
	uint64_t last;
};

static int32_t define(void *context, const struct probeidx_placement *p)
{
	struct found *found = context;
	const uint32_t verdict = p->flags & PROBEIDX_IS_RETURN ? p->kretprobe : p->kprobe_events;

	if (p->definition.length == 0) {
		found->refused++;
		fprintf(stderr, "kprobes: not probed: %s+%u: %s", p->symbol.text, p->symbol_offset,
			probeidx_verdict_phrase(verdict).text);
		fprintf(stderr, p->instead.length ? "; %s\n" : "%s\n", p->instead.text);
		return 0;
	}
	if (p->flags & PROBEIDX_NESTED || (found->defined && found->last == p->address))
		return 0;
	for (size_t i = 0; i < p->value_count; i++) {
		const struct probeidx_value *value = p->values[i];

		if (value->is_asked && value->fetch.length == 0)
			fprintf(stderr, "kprobes: %s+%u: without %s: %s\n", p->symbol.text, p->symbol_offset, value->name.text,
				value->location.length ? value->location.text : probeidx_state_name(value->state).text);
	}
	found->defined++;
	found->last = p->address;
	printf("%s\n", p->definition.text);
	return 0;
}

int main(int argc, char **argv)
{
	struct probeidx_error error = { .size = sizeof error };
	struct found found = { 0, 0, 0 };
	probeidx_index *index;

	if (argc < 3) {
		fprintf(stderr, "usage: kprobes INDEX FUNCTION [ARGUMENT]...\n");
		return 2;
	}
	if (probeidx_open(argv[1], NULL, &index, &error) ||
	    probeidx_resolve(index, argv[2], (const char *const *)argv + 3, (size_t)argc - 3, NULL, define, &found, &error)) {
		fprintf(stderr, "kprobes: %s%s%s%s%s\n", error.place, error.place[0] ? ": " : "", error.message,
			error.remedy[0] ? "; " : "", error.remedy);
		return error.kind == PROBEIDX_NO_MATCH ? 1 : error.kind == PROBEIDX_USAGE ? 2 : 3;
	}
	probeidx_close(index);
	return found.defined ? 0 : 1;
}
