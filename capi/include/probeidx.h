/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * libprobeidx: where a Linux kernel can be probed, what can be read there, whether the kernel takes it.
 *
 * The index is a file that `probeidx build` writes; this library maps and asks it. The rules for all functions:
 *
 * Handles    A handle is a ticket and no address. Any number of threads use one at once, without a lock. One that is closed,
 *            or never was open, is refused with PROBEIDX_CLOSED. Queries that run while it is closed go on to their end.
 *            A file that is replaced while it is open stays as it was for whoever has it open.
 * Results    0 (PROBEIDX_OK), or a probeidx_status. Where a `struct probeidx_error *` is given, which may be NULL, it is
 *            filled unless the result is 0.
 * Callbacks  Called in the thread that asks, in the order that the function says, and not after it has returned. What they
 *            get is valid until they return. A result other than 0 ends the query with PROBEIDX_STOPPED. They may ask further
 *            questions; they must not leave by longjmp or by an exception.
 * Memory     Queries ask the system for no memory: they work in arenas of the library's own (16 of 1 MiB, one for each
 *            query that runs). One that outgrows its arena, or finds none, asks malloc; probeidx_overflows counts that, and
 *            the functions of which it is to be expected say so. Opening, closing and listing what can be opened use malloc.
 *            Nothing that the library gives is to be freed.
 * Texts      Bytes with their length, and a NUL behind them; never NULL. Names of the kernel are mostly, not always, UTF-8.
 *            Texts that are asked for end with a NUL; where a length is given, it may be PROBEIDX_NUL instead.
 * Structs    Each starts with its size. In one that the library gives, this is the library's: fields of later versions stand
 *            behind those that are here. In one that the caller gives, it is the caller's sizeof: a shorter one of an earlier
 *            version is filled, or read, as far as it reaches. Four structs have no size and never change: probeidx_text,
 *            probeidx_place, probeidx_frame, probeidx_step.
 * Versions   Symbols are versioned (PROBEIDX_1). Functions and enumerators are added, never changed or removed, within a
 *            soname. Unknown numbers in enumerations are to be expected of later libraries.
 * Addresses  Those of vmlinux are as it was linked; in a module they are offsets within the section.
 *
 * What `probeidx` answers on the command line is here under these names; building an index, serving requests and completing
 * command lines are for the program alone.
 *
 *   find --args   probeidx_find         addr            probeidx_addr, _frames     check           probeidx_check
 *   find --each   probeidx_resolve      --kallsyms      probeidx_open_running      check --tapset  probeidx_check_tapset
 *   resolve       probeidx_resolve      decode          probeidx_decode            blacklist       probeidx_blacklist
 *   --defined     probeidx_defined      type            probeidx_type, _member     kernels         probeidx_kernels
 *   lines         probeidx_lines        type --users    probeidx_users             stats           probeidx_stats, _objects,
 *   "did you      probeidx_why_not      tapset          probeidx_tapset, _aliases                  _sections, _skipped
 *    mean"                              --functions     probeidx_functions         verify          probeidx_verify
 *                                       --macros        probeidx_macros
 */
#ifndef PROBEIDX_H
#define PROBEIDX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Major, minor and patch in a byte each. */
#define PROBEIDX_VERSION 0x000100u

/* In place of a length: up to the NUL. */
#define PROBEIDX_NUL ((size_t)-1)

/* An index that is open. */
typedef struct probeidx_index probeidx_index;

/* Why there is no answer. */
enum probeidx_status {
	PROBEIDX_OK = 0,
	PROBEIDX_NO_MATCH = 1,       /* nothing matched */
	PROBEIDX_USAGE = 2,          /* a spec, a pattern or an argument is wrong */
	PROBEIDX_IO = 3,             /* a file cannot be read */
	PROBEIDX_NO_INDEX = 4,       /* there is no index */
	PROBEIDX_INDEX_TOO_OLD = 5,  /* written by an older version: build it again */
	PROBEIDX_INDEX_TOO_NEW = 6,  /* written by a newer version */
	PROBEIDX_INDEX_DAMAGED = 7,  /* its bytes are not whole: build it again */
	PROBEIDX_SYNTAX = 8,         /* a script is not in SystemTap's language */
	PROBEIDX_UNSUPPORTED = 9,    /* what is asked for is not supported */
	PROBEIDX_OTHER = 10,         /* any other failure: the message says it */
	PROBEIDX_STOPPED = 32,       /* a callback wanted no more */
	PROBEIDX_CLOSED = 33,        /* the handle is NULL or not open */
	PROBEIDX_ARGUMENT = 34,      /* a pointer is NULL that must not be, or a size is wrong */
	PROBEIDX_TOO_MANY = 35,      /* 256 indexes are open */
	PROBEIDX_SHORT = 36,         /* the array is too short: the count says how long it must be */
	PROBEIDX_INTERNAL = 37       /* a fault of the library */
};

/* Why, in words: filled by the function that fails. Texts that are too long are cut. */
struct probeidx_error {
	size_t size;         /* in: sizeof */
	int32_t kind;        /* a probeidx_status */
	uint32_t reserved;
	char message[512];   /* what was wrong */
	char place[512];     /* file, section and offset, or line; may be empty */
	char remedy[256];    /* what to do about it; may be empty */
};

/* Bytes with a NUL behind them. */
struct probeidx_text {
	const char *text;
	size_t length;       /* without the NUL */
};

/* ---- versions, words --------------------------------------------------------------------------------------------- */

/* Of the library that runs. */
uint32_t probeidx_version(void);
/* Of the index files that it reads. */
uint32_t probeidx_format_version(void);
/* 1 if it can answer a kind of question, else 0: "find", "resolve", "places", "frames", "lines", "addr", "decode", "type",
 * "users", "blacklist", "objects", "tracepoints", "tapset", "check", "explain", "functions", "macros", "check-tapset", "why-not",
 * "defined", "verify", "skipped", "sections", "kernels", "running". */
int32_t probeidx_has(const char *feature);
/* How often queries had to ask malloc, since the program started. */
uint64_t probeidx_overflows(void);
/* The words for numbers; empty for a number that has none. */
struct probeidx_text probeidx_status_name(int32_t status);
struct probeidx_text probeidx_verdict_name(uint32_t verdict);     /* "ok", "blacklist", "no-ftrace-site" ... */
struct probeidx_text probeidx_verdict_phrase(uint32_t verdict);   /* "in a NOKPROBE function" ... */
struct probeidx_text probeidx_state_name(uint32_t state);         /* "readable", "constant" ... */
struct probeidx_text probeidx_instance_name(uint32_t instance);   /* "out-of-line", "inline" ... */

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Opens `path`: an index, or a folder of them or a store, of which `release` says which (NULL: the only one there). Costs tens of
 * microseconds, whatever the size: the file is mapped, and its header read. */
int32_t probeidx_open(const char *path, const char *release, probeidx_index **index, struct probeidx_error *error);

/* The same, of a kernel that runs or ran: `kallsyms`, a copy of its /proc/kallsyms of `length` bytes, tells where vmlinux and
 * its modules lie. probeidx_addr and probeidx_decode then take addresses as they are at run time. Costs the reading of the
 * text, some ten milliseconds. */
int32_t probeidx_open_running(const char *path, const char *release, const char *kallsyms, size_t length,
			      probeidx_index **index, struct probeidx_error *error);

/* An index that can be opened, or not. */
struct probeidx_file {
	size_t size;
	struct probeidx_text path;       /* for probeidx_open */
	struct probeidx_text release;    /* empty for a program */
	struct probeidx_text process;    /* of a program or shared library its path */
	struct probeidx_text why;        /* it cannot be opened; empty where it can */
	int32_t status;                  /* a probeidx_status: what probeidx_open says of it */
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* The indexes in a folder: those of kernels by release, then those of programs and libraries; or the one that `path` is. */
typedef int32_t (*probeidx_each_file)(void *context, const struct probeidx_file *file);
int32_t probeidx_kernels(const char *path, probeidx_each_file each, void *context, struct probeidx_error *error);

/* Closes it; NULL is none. PROBEIDX_CLOSED if it is closed already, also by another thread just now. */
int32_t probeidx_close(probeidx_index *index);

/* What is in an index. The texts are valid until it is closed. Costs a microsecond with a size that ends before
 * `inline_instances`; what stands from there on is counted, which costs some ten milliseconds. */
struct probeidx_summary {
	size_t size;
	struct probeidx_text release;    /* as `uname -r` prints it; empty for a program */
	struct probeidx_text process;    /* of a program or shared library its path */
	uint32_t machine;                /* e_machine */
	uint32_t format;
	uint64_t objects;                /* vmlinux and modules */
	uint64_t units;
	uint64_t functions;
	uint64_t placements;
	uint64_t symbols;
	uint64_t names;
	uint64_t types;
	uint64_t bytes;                  /* of all sections */
	uint64_t inline_instances;       /* of the placements */
	uint64_t tracepoints;
	uint64_t labels;
	uint64_t line_sequences;
	uint64_t definitions;            /* of tapsets */
	uint64_t skipped;                /* parts of the input that could not be read */
	char written_by[32];             /* the version of the program */
	uint64_t direct_calls;           /* of functions by name */
};
int32_t probeidx_stats(probeidx_index *index, struct probeidx_summary *summary, struct probeidx_error *error);

#define PROBEIDX_UNSURE 1u       /* a table could not be read whole: verdicts may be "undecided", the blacklist may lack something */

/* vmlinux, then the modules by name. */
struct probeidx_object {
	size_t size;
	uint32_t object;                 /* its number */
	uint32_t flags;                  /* PROBEIDX_UNSURE */
	struct probeidx_text name;       /* empty for vmlinux */
	struct probeidx_text path;       /* of the file that was indexed */
	struct probeidx_text build_id;   /* 20 bytes, which may be NUL; all 0 where there is none */
};
typedef int32_t (*probeidx_each_object)(void *context, const struct probeidx_object *object);
int32_t probeidx_objects(probeidx_index *index, probeidx_each_object each, void *context, struct probeidx_error *error);

/* A part of the index file. */
struct probeidx_section {
	size_t size;
	struct probeidx_text name;
	uint64_t bytes;
};
/* All parts, in the order of the file. */
typedef int32_t (*probeidx_each_section)(void *context, const struct probeidx_section *section);
int32_t probeidx_sections(probeidx_index *index, probeidx_each_section each, void *context, struct probeidx_error *error);

/* A part of the input that could not be read. */
struct probeidx_skipped {
	size_t size;
	struct probeidx_text path;       /* of the debug file */
	struct probeidx_text kind;       /* the class of the failure */
	struct probeidx_text why;        /* where in the file, why, and what to do */
	uint64_t count;                  /* how often, in this file */
	uint32_t is_whole_object;        /* not a part of it alone */
	uint32_t reserved32;
};
/* What was left out when the index was built. That nothing was is no error. */
typedef int32_t (*probeidx_each_skipped)(void *context, const struct probeidx_skipped *skipped);
int32_t probeidx_skipped(probeidx_index *index, probeidx_each_skipped each, void *context, struct probeidx_error *error);

/* Whether the bytes of the index are whole: PROBEIDX_INDEX_DAMAGED, with the section, where they are not. Costs the reading of
 * the file, a tenth of a second for 100 MB. */
int32_t probeidx_verify(probeidx_index *index, struct probeidx_error *error);

/* ---- names and addresses, quickly -------------------------------------------------------------------------------- */

enum probeidx_instance {
	PROBEIDX_OUT_OF_LINE = 0,
	PROBEIDX_INLINE = 1,
	PROBEIDX_STATEMENT = 2,
	PROBEIDX_TRACEPOINT = 3,     /* a struct tracepoint: no code, but the kernel calls who registers there */
	PROBEIDX_NOWHERE = 4,        /* of an alias: no place of the kernel, such as begin or timer.s(1) */
	PROBEIDX_UNINDEXED = 5       /* of an alias: in a program, or a module that is not in the index */
};

/* One address at which a function runs. */
struct probeidx_place {
	uint64_t address;
	uint32_t object;
	uint32_t pc;         /* less the base of the object: orders addresses of one object */
	uint32_t place;      /* its number; UINT32_MAX where the debug information has no function */
	uint32_t instance;   /* a probeidx_instance */
};

/* The entries and inline instances of all functions of exactly this name, by object and in the order of the debug
 * information. `count` is how many there are; PROBEIDX_SHORT where `capacity` is less. No match is a count of 0. Costs a
 * microsecond. */
int32_t probeidx_places(probeidx_index *index, const char *name, size_t length, struct probeidx_place *places,
			size_t capacity, size_t *count, struct probeidx_error *error);

/* A function whose code an address is. */
struct probeidx_frame {
	struct probeidx_text function;
	struct probeidx_text declared_file;
	struct probeidx_text file;       /* of the code; empty where it is not known */
	uint32_t declared_line;
	uint32_t line;                   /* from 1; 0 where it is not known */
	uint32_t column;                 /* from 1; 0 where it is not known */
	uint32_t is_inlined;             /* into the next frame */
};

/* The functions whose code an address of vmlinux (or of a program) is: the innermost first, each inlined into the next. With
 * `with_line` the innermost has its source line, which costs some microseconds more; the others have that of the call. The
 * texts are valid until the index is closed. Costs a microsecond. */
int32_t probeidx_frames(probeidx_index *index, uint64_t address, int32_t with_line, struct probeidx_frame *frames,
			size_t capacity, size_t *count, struct probeidx_error *error);

/* ---- find, resolve ----------------------------------------------------------------------------------------------- */

#define PROBEIDX_FIND_ARGS 1u    /* with variables, as `stap -L` */

/* The lines that `probeidx find` prints, sorted, no line twice. */
typedef int32_t (*probeidx_each_text)(void *context, const struct probeidx_text *text);
int32_t probeidx_find(probeidx_index *index, const char *pattern, uint32_t flags, probeidx_each_text each, void *context,
		      struct probeidx_error *error);

/* How a value is read: in order, on one 64-bit number. */
enum probeidx_op {
	PROBEIDX_REGISTER = 0,      /* take a register: `value` is DWARF's number, `name` the kernel's */
	PROBEIDX_CONSTANT = 1,      /* take `value` */
	PROBEIDX_ADDRESS = 2,       /* take the link address `value`; add how far the object was moved */
	PROBEIDX_RETURNED = 3,      /* take what the function returned */
	PROBEIDX_PASSED = 4,        /* take what was passed as argument `value`, from 1, at the entry */
	PROBEIDX_ADD = 5,           /* add `value`; the sum wraps */
	PROBEIDX_READ = 6,          /* read `size` bytes at the number */
	PROBEIDX_READ_USER = 7,     /* the same of memory of user space */
	PROBEIDX_BITS = 8,          /* keep `size` bits from bit `value` on */
	PROBEIDX_BITS_SIGNED = 9,   /* the same, the highest is a sign */
	PROBEIDX_IN_PLACE = 10      /* the number is an address, of what is no number; `value` is its size, -1 unknown */
};
struct probeidx_step {
	uint32_t op;
	uint32_t size;
	int64_t value;
	struct probeidx_text name;
};

enum probeidx_role {
	PROBEIDX_PARAMETER = 0,
	PROBEIDX_LOCAL = 1,
	PROBEIDX_RETURN_VALUE = 2,
	PROBEIDX_RAW = 3,           /* what the kernel reads by itself: $comm, %di */
	PROBEIDX_FIELD = 4          /* a field of a tracepoint's event */
};
enum probeidx_state {
	PROBEIDX_READABLE = 0,
	PROBEIDX_ALWAYS = 1,        /* a constant */
	PROBEIDX_ELSEWHERE = 2,     /* it has a location, not at this address */
	PROBEIDX_OPTIMIZED_OUT = 3,
	PROBEIDX_INEXPRESSIBLE = 4  /* no fetch argument reads it: the location says why */
};
enum probeidx_proof {
	PROBEIDX_UNKNOWN = 0,
	PROBEIDX_PROVED = 1,        /* it is where the calling convention passes it */
	PROBEIDX_MOVED = 2,         /* it is elsewhere: $argN would be wrong */
	PROBEIDX_GONE = 3           /* it is not passed */
};

/* A variable, or what was asked for. */
struct probeidx_value {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text type;         /* as SystemTap spells it; empty where it has none */
	struct probeidx_text location;     /* where it is, or why it cannot be read */
	struct probeidx_text fetch;        /* an argument for kprobe_events, "name=+0(+96(%di)):string"; empty where none is right */
	struct probeidx_text expression;   /* in C over the kernel's `struct pt_regs *regs`; only if asked for */
	const struct probeidx_step *steps; /* none where it cannot be read, or is in pieces */
	size_t step_count;
	uint32_t role;
	uint32_t state;
	uint32_t parameter;                /* its number at an entry, from 1; else 0 */
	uint32_t proof;
	int32_t convention_register;       /* DWARF's number of the one that passes it; -1 none */
	uint32_t is_asked;
	uint64_t elsewhere;                /* an address at which it is known; 0 where it is known here or nowhere */
	uint32_t elsewhere_line;           /* the line there, if PROBEIDX_LINES is asked for; 0 unknown */
	int32_t convention_stack;          /* of one that is passed on the stack: bytes above its pointer at the entry; -1 none */
};

/* A call that was inlined. */
struct probeidx_call {
	size_t size;
	struct probeidx_text function;     /* the caller */
	struct probeidx_text file;         /* where it calls */
	uint32_t line;
	uint32_t column;
};

#define PROBEIDX_UNIQUE 1u          /* the symbol's name stands once in vmlinux and all indexed modules */
#define PROBEIDX_NESTED 2u          /* within another copy of the same function: a call passes both */
#define PROBEIDX_IS_RETURN 4u       /* a return probe is meant */
#define PROBEIDX_NEVER_RETURNS 8u
#define PROBEIDX_TAIL_CALLS 16u     /* some exits are jumps: a return probe fires when the functions jumped to return */
#define PROBEIDX_BEST 32u           /* of the addresses of the line the best to probe */
#define PROBEIDX_SYSTEMTAPS 64u     /* of these the one that SystemTap takes */

/* A field of the record that a tracepoint's event writes. */
struct probeidx_field {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text type;          /* as the event's format spells it */
	uint32_t offset;                    /* in the record, in bytes */
	uint32_t bytes;
	uint32_t is_signed;
	uint32_t reserved32;
};

/* Of a tracepoint: what a placement in code has not. */
struct probeidx_tracepoint {
	size_t size;
	struct probeidx_text system;        /* "sched"; empty where it is not known */
	struct probeidx_text refusal;       /* why dynamic_events take none of it; empty where there is a definition */
	const struct probeidx_field *const *fields;  /* without those that all events have */
	size_t field_count;
	uint32_t has_event;                 /* tracefs and perf know it */
	uint32_t has_fields;                /* the fields are all known */
	uint64_t reserved[2];
};

enum probeidx_usable {
	PROBEIDX_FINE = 0,
	PROBEIDX_UNTYPED = 1,       /* nothing tells whether it is a number or a text */
	PROBEIDX_BROKEN = 2         /* a script that uses it is refused */
};
/* What a tapset alias gives to a handler. */
struct probeidx_local {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text type;          /* "long", "string", "stats", "unknown" */
	struct probeidx_text copy_of;       /* the variable of the kernel that it is a copy of, "$vma->vm_mm"; else empty */
	struct probeidx_text variable;      /* of a broken one the part that is missing, ... */
	struct probeidx_text why;           /* ... why, ... */
	const struct probeidx_text *instead;/* ... and what there is */
	size_t instead_count;
	uint32_t state;                     /* a probeidx_usable */
	uint32_t reserved32;
	uint64_t reserved[2];
};

/* How a tapset alias leads to a placement. */
struct probeidx_alias {
	size_t size;
	struct probeidx_text name;          /* under which it was asked, as stap -L lists it */
	struct probeidx_text point;         /* to which it leads: kernel.function("vfs_read@fs/read_write.c:450") */
	const struct probeidx_text *through;/* the aliases on the way, the asked one first */
	size_t through_count;
	const struct probeidx_local *const *locals;
	size_t local_count;
	uint64_t reserved[2];
};

/* What the name of a function attaches to. */
enum probeidx_by_name {
	PROBEIDX_NAME_OK,                   /* this place and no other */
	PROBEIDX_NAME_AMBIGUOUS,            /* several symbols have the name: the kernel refuses it, or takes one of them (5.10) */
	PROBEIDX_NAME_RENAMED,              /* not its function's name: `by_name` is the one to give */
	PROBEIDX_NAME_ABSENT                /* an inlined copy, a place within a function: no name attaches to it */
};

/* One address, and all that is known of probing there. */
struct probeidx_placement {
	size_t size;
	struct probeidx_text kernel;        /* the release */
	struct probeidx_text module;        /* empty for vmlinux */
	struct probeidx_text process;       /* of a program its path */
	struct probeidx_text function;
	struct probeidx_text file;          /* of the declaration */
	struct probeidx_text section;
	struct probeidx_text symbol;        /* that the kernel prints for the address; empty where there is none */
	struct probeidx_text anchor;        /* what to write to the kernel: this address and no other */
	struct probeidx_text anchor_module; /* the same in parts */
	struct probeidx_text anchor_symbol; /* of a program its path */
	struct probeidx_text definition;    /* a line for kprobe_events with the arguments asked for; empty where they refuse it;
					     * of a tracepoint for dynamic_events */
	struct probeidx_text instead;       /* what is possible where it is refused; may be empty */
	struct probeidx_text source_file;   /* of the line for which the address was found; empty where none was asked for */
	uint64_t address;
	uint64_t anchor_offset;
	const struct probeidx_call *const *inlined_into;  /* innermost first */
	size_t inlined_into_count;
	const struct probeidx_value *const *values;       /* parameters, then local variables; or what was asked for, in order */
	size_t value_count;
	uint32_t line;                      /* of the declaration; 0 unknown */
	uint32_t instance;                  /* a probeidx_instance */
	uint32_t symbol_offset;
	uint32_t flags;
	uint32_t kprobe;                    /* verdicts, 0 ok: register_kprobe, SystemTap */
	uint32_t kprobe_events;             /* tracefs, perf, BPF's perf kprobes */
	uint32_t kretprobe;                 /* by kprobe_events */
	uint32_t fentry;                    /* the worse of `ftrace` and `trampoline` */
	uint32_t shift;                     /* so many bytes behind the address the kernel puts the probe (endbr64, the global entry of ppc64le) */
	uint32_t source_line;
	uint32_t source_column;
	uint32_t instances;                 /* at how many addresses the function runs in this object ... */
	uint32_t reachable;                 /* ... and how many kprobes reach, ... */
	uint32_t reachable_events;          /* ... and kprobe_events */
	uint32_t object;                    /* UINT32_MAX where nothing of the kernel is meant */
	uint32_t pc;
	const struct probeidx_alias *alias; /* of what a tapset alias, or timer.s(1) and its like, leads to; else NULL */
	const struct probeidx_tracepoint *tracepoint;  /* of a tracepoint; else NULL */
	const struct probeidx_text *collides_with;  /* the modules in which the symbol's name stands too */
	size_t collides_with_count;
	struct probeidx_text probe;         /* the point in SystemTap's spelling; empty where an alias says it */
	struct probeidx_text instead_anchor;/* where it is refused: an anchor nearby that is not; may be empty */
	uint64_t instead_address;           /* its address; 0 none */
	const uint32_t *entries_refused;    /* pairs, a verdict and how often: the entries that kprobes are refused ... */
	size_t entries_refused_count;       /* of pairs */
	const uint32_t *copies_refused;     /* ... and the inlined copies, ... */
	size_t copies_refused_count;
	const uint32_t *left_out;           /* ... and what does not count, as it is gone once the kernel runs */
	size_t left_out_count;
	uint32_t copies;                    /* of `instances` so many are inlined, ... */
	uint32_t copies_reachable;          /* ... and kprobes reach so many of them */
	uint32_t callers;                   /* into so many functions it is inlined */
	uint32_t reachable_kretprobe;       /* of `instances`, by kprobe_events */
	uint32_t reachable_fentry;
	uint32_t source_is_stmt;            /* the row of `source_line` is a recommended breakpoint location */
	struct probeidx_text because;       /* what is not known of verdicts that are undecided: tables by their sections, commas between
					     * them */
	uint32_t entries_undecided;         /* at so many entries it is not known whether kprobes are taken: they are neither among
					     * the reachable nor among the refused, ... */
	uint32_t copies_undecided;          /* ... and at so many inlined copies */
	uint32_t ftrace;                    /* verdicts: fprobe, kprobe.multi, the function tracer ... */
	uint32_t trampoline;                /* ... and BPF's fentry, fexit, fmod_ret, lsm */
	uint32_t reachable_ftrace;          /* of `instances` */
	uint32_t reachable_trampoline;
	struct probeidx_text by_name;       /* of a symbol, for mechanisms that are given a name: BPF's kprobes, kprobe.multi, fentry; of an
					     * absent one the function's; empty in a program */
	uint32_t by_name_state;             /* a probeidx_by_name */
	uint32_t reserved32;
};

#define PROBEIDX_LOCALS 1u          /* local variables too */
#define PROBEIDX_EXPRESSIONS 2u     /* of each value its expression in C */
#define PROBEIDX_LINES 4u           /* the lines at which variables are known that are not here */

struct probeidx_options {
	size_t size;
	uint32_t flags;
	uint32_t reserved;
};

/* Every placement of a spec, in one of the two spellings: "vfs_read", "do_open@fs/namei.c", "ext4:ext4_open+16",
 * "kernel.function(\"vfs_*\").call", "kernel.statement(\"vfs_read@fs/read_write.c:*\")". `arguments` are what to read there:
 * "file", "s->name:string", "$retval"; with none of them, all parameters. By name, file and line of the declaration, object,
 * and in the order of the debug information. `options` may be NULL.
 *
 * "kernel.trace(\"sched:sched_switch\")" is a tracepoint; arguments are its parameters, or fields of its event.
 * "vm.pagefault" and "syscall.open.return" are aliases of the tapsets that are in the index: every probe that SystemTap makes of
 * them, in its order. An argument that is a local of the alias stands for the variable that the local is a copy of. */
typedef int32_t (*probeidx_each_placement)(void *context, const struct probeidx_placement *placement);
int32_t probeidx_resolve(probeidx_index *index, const char *spec, const char *const *arguments, size_t argument_count,
			 const struct probeidx_options *options, probeidx_each_placement each, void *context,
			 struct probeidx_error *error);

struct probeidx_defined {
	size_t size;                        /* in: sizeof */
	uint32_t places;                    /* placements of the spec */
	uint32_t defined;                   /* those at which the argument is known */
};
/* Whether an argument is known wherever a spec leads, as SystemTap's @defined asks. PROBEIDX_NO_MATCH where it is not at some
 * placement, with the numbers filled in, and in the message why, as far as that does not depend on the placement. */
int32_t probeidx_defined(probeidx_index *index, const char *spec, const char *argument, struct probeidx_defined *defined,
			 struct probeidx_error *error);

enum probeidx_sought {
	PROBEIDX_SOUGHT_SPEC = 0,           /* in one of the two spellings; an alias too */
	PROBEIDX_SOUGHT_TYPE = 1,
	PROBEIDX_SOUGHT_MODULE = 2,
	PROBEIDX_SOUGHT_ALIAS = 3,          /* of the tapsets, as are ... */
	PROBEIDX_SOUGHT_FUNCTION = 4,
	PROBEIDX_SOUGHT_MACRO = 5
};
struct probeidx_missing {
	size_t size;
	struct probeidx_text why;           /* "no function vfs_raed", "foo is only inlined, at 3 places; ..." */
	const struct probeidx_text *near;   /* names that are near, the nearest first */
	size_t near_count;
	uint32_t is_known;                  /* the name is there: `why` says what is wrong with it */
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* To be asked where an answer was PROBEIDX_NO_MATCH: why, and what may have been meant. `sought` is a probeidx_sought. Costs,
 * for the name of a function that is not there, a walk over all names: some milliseconds. PROBEIDX_NO_MATCH where nothing can be
 * said. */
typedef int32_t (*probeidx_each_missing)(void *context, const struct probeidx_missing *missing);
int32_t probeidx_why_not(probeidx_index *index, uint32_t sought, const char *asked, probeidx_each_missing each, void *context,
			 struct probeidx_error *error);

/* The names of the tapsets' aliases that a pattern matches ("vm.*", "syscall.**": `*` within a component, `**` over several;
 * NULL: all but those that begin with `_`), sorted. */
int32_t probeidx_aliases(probeidx_index *index, const char *pattern, probeidx_each_text each, void *context,
			 struct probeidx_error *error);

/* ---- tapsets ----------------------------------------------------------------------------------------------------- */

#define PROBEIDX_HIDDEN 1u          /* those that begin with `_` too, whatever the pattern; and private functions */
#define PROBEIDX_EXPLAINED 2u       /* what becomes of each point on this kernel */

enum probeidx_outcome {
	PROBEIDX_ARM_PROBES = 0,    /* it has probes */
	PROBEIDX_ARM_NOTHING = 1,   /* it has none: `why` says it */
	PROBEIDX_ARM_NOT_TRIED = 2, /* one before it was sufficient */
	PROBEIDX_ARM_UNINDEXED = 3, /* it is about programs, of which the index of a kernel cannot tell */
	PROBEIDX_ARM_UNASKED = 4    /* PROBEIDX_EXPLAINED was not asked for */
};
#define PROBEIDX_OPTIONAL 1u        /* marked ? or ! */
#define PROBEIDX_SUFFICIENT 2u      /* marked ! */
#define PROBEIDX_ENDS 4u            /* it has probes and is marked !: what stands behind it was not tried */
/* A point of an alias. */
struct probeidx_arm {
	size_t size;
	struct probeidx_text point;         /* as it is written, with its mark and condition */
	struct probeidx_text condition;     /* behind `if`; mostly empty */
	struct probeidx_text why;
	const struct probeidx_arm *const *through;  /* the points of the aliases that it names */
	size_t through_count;
	uint64_t probes;
	uint64_t reachable;                 /* of them the kernel takes so many */
	uint32_t outcome;                   /* a probeidx_outcome */
	uint32_t flags;
	uint64_t undecided;                 /* ... and of so many it is not known */
	uint64_t reserved;
};
/* What the body of an alias gives to handlers. */
struct probeidx_assignment {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text value;         /* the expression, as SystemTap spells it */
	uint32_t line;
	uint32_t is_behind;                 /* the handler; else before it */
};
/* Probes of an alias at which a handler has the same. */
struct probeidx_group {
	size_t size;
	uint64_t probes;
	const struct probeidx_local *const *locals;
	size_t local_count;
};
/* An alias. */
struct probeidx_definition {
	size_t size;
	const struct probeidx_text *names;  /* usually one */
	size_t name_count;
	struct probeidx_text file;
	struct probeidx_text comment;       /* that documents it; may be empty */
	const struct probeidx_arm *const *arms;  /* its points, in the order in which they are tried */
	size_t arm_count;
	const struct probeidx_assignment *const *assignments;
	size_t assignment_count;
	const struct probeidx_group *const *groups;  /* only if explained */
	size_t group_count;
	uint32_t line;
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* What the tapsets say of the aliases that a pattern matches, as for probeidx_aliases, and if PROBEIDX_EXPLAINED is asked for
 * what they mean on this kernel. Aliases are decoded as they are met: a few fit the arena, hundreds ask malloc. */
typedef int32_t (*probeidx_each_definition)(void *context, const struct probeidx_definition *definition);
int32_t probeidx_tapset(probeidx_index *index, const char *pattern, uint32_t flags, probeidx_each_definition each,
			void *context, struct probeidx_error *error);

struct probeidx_parameter {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text type;          /* "long", "string", "unknown", as SystemTap infers it */
};
struct probeidx_function {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text result;        /* a type; "unknown" of one that gives nothing */
	const struct probeidx_parameter *const *parameters;
	size_t parameter_count;
	const struct probeidx_text *marks;  /* of embedded C: "pure", "unprivileged" ... */
	size_t mark_count;
	struct probeidx_text file;
	struct probeidx_text comment;
	uint32_t line;
	uint32_t is_private;                /* for the file that defines it */
	uint64_t reserved[2];
};
/* The tapsets' functions that a pattern matches (`* ? [..]`; NULL: all that are meant for scripts), by name. */
typedef int32_t (*probeidx_each_function)(void *context, const struct probeidx_function *function);
int32_t probeidx_functions(probeidx_index *index, const char *pattern, uint32_t flags, probeidx_each_function each,
			   void *context, struct probeidx_error *error);

struct probeidx_macro {
	size_t size;
	struct probeidx_text name;          /* without the @ */
	const struct probeidx_text *parameters;
	size_t parameter_count;
	struct probeidx_text body;
	struct probeidx_text file;
	uint32_t line;
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* The tapsets' macros, the same way. */
typedef int32_t (*probeidx_each_macro)(void *context, const struct probeidx_macro *macro);
int32_t probeidx_macros(probeidx_index *index, const char *pattern, uint32_t flags, probeidx_each_macro each, void *context,
			struct probeidx_error *error);

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

#define PROBEIDX_GURU 1u            /* as with stap -g */

/* With which options stap is to run a script. */
struct probeidx_stap {
	size_t size;
	const char *const *arguments;       /* behind the script: $1, @1 */
	size_t argument_count;
	const char *compatible;             /* as with --compatible: "4.8"; may be NULL */
	uint32_t flags;
	uint32_t runtime;                   /* 0 a kernel module, 1 Dyninst, 2 BPF */
};

enum probeidx_trouble {
	PROBEIDX_POINT = 0,         /* a probe point, right or wrong: the state says it */
	PROBEIDX_BAD_VARIABLE = 1,  /* a variable of the kernel, or a member, that is not there */
	PROBEIDX_BAD_FUNCTION = 2,  /* a function that nothing defines */
	PROBEIDX_BAD_ARITY = 3,
	PROBEIDX_BAD_NAME = 4,
	PROBEIDX_BAD_TYPE = 5,
	PROBEIDX_BAD_UNTYPED = 6,   /* nothing tells whether a value is a number or a text */
	PROBEIDX_BAD_CONTROL = 7,
	PROBEIDX_BAD_PRIVILEGE = 8, /* what needs guru mode, another runtime or more privileges */
	PROBEIDX_UNASSIGNED = 9,    /* read but never given a value: the script runs */
	PROBEIDX_BAD_REGEX = 10,    /* a regular expression that SystemTap does not compile */
	PROBEIDX_ASSUMED = 11       /* a variable that the file of a function may declare: the script is taken to run */
};
enum probeidx_point_state {
	PROBEIDX_POINT_RESOLVES = 0,
	PROBEIDX_POINT_NOTHING = 1,     /* it matches nothing, and may */
	PROBEIDX_POINT_SKIPPED = 2,     /* an earlier point of its probe was sufficient */
	PROBEIDX_POINT_UNINDEXED = 3,   /* in a program, or a module that is not in the index */
	PROBEIDX_POINT_FAILS = 4
};
struct probeidx_finding {
	size_t size;
	struct probeidx_text file;          /* the script, or a tapset */
	struct probeidx_text what;          /* the point as it is written, or what is wrong */
	struct probeidx_text why;           /* why it fails; may be empty */
	const struct probeidx_text *instead;/* what there is */
	size_t instead_count;
	uint32_t line;
	uint32_t column;
	uint32_t kind;                      /* a probeidx_trouble */
	uint32_t state;                     /* of a point a probeidx_point_state */
	uint32_t breaks;                    /* SystemTap refuses the script for it */
	uint32_t probes;                    /* of a point: how many probes it makes, ... */
	uint32_t addresses;                 /* ... at how many addresses, ... */
	uint32_t reachable;                 /* ... of which the kernel takes so many, ... */
	uint32_t inlined;                   /* ... and so many are inlined copies; ... */
	uint32_t left_out;                  /* ... so many more are gone once the kernel runs */
	const uint32_t *refused;            /* pairs, a verdict and how often: why it refuses others */
	size_t refused_count;               /* of pairs */
	struct probeidx_text because;       /* what is not known of the undecided: tables by their sections, commas between them */
	uint32_t undecided;                 /* at so many addresses it is not known whether the kernel takes them */
	uint32_t reserved32;
};

enum probeidx_script_verdict {
	PROBEIDX_SCRIPT_RESOLVES = 0,
	PROBEIDX_SCRIPT_UNINDEXED = 1,  /* as far as the index knows */
	PROBEIDX_SCRIPT_FAILS = 2
};
/* Whether a script, or a list of probe points with one on each line, is right on this kernel: its points in their order, then
 * what is wrong in its handlers by file, line and column. The script may have up to 16 MiB. `name` is for the places (NULL: "script.stp"), and
 * one that ends with .stp is a script whatever it looks like. PROBEIDX_SYNTAX where it cannot be read. `options` and `verdict`
 * may be NULL. What it needs of the tapsets is decoded for it: most scripts outgrow the arena, and ask malloc. */
typedef int32_t (*probeidx_each_finding)(void *context, const struct probeidx_finding *finding);
int32_t probeidx_check(probeidx_index *index, const char *name, const char *script, size_t length,
		       const struct probeidx_stap *options, probeidx_each_finding each, void *context, uint32_t *verdict,
		       struct probeidx_error *error);

/* An alias of the tapsets, as far as it is of use. */
struct probeidx_health {
	size_t size;
	struct probeidx_text name;
	struct probeidx_text file;
	const struct probeidx_text *points; /* as they are written */
	size_t point_count;
	const uint32_t *matches;            /* of each point whether it matches anything by itself */
	const struct probeidx_local *const *broken;  /* locals that no script can use: name, variable, why, instead */
	size_t broken_count;
	uint32_t line;
	uint32_t column;
	uint32_t state;                     /* a probeidx_point_state: PROBEIDX_POINT_FAILS where nothing matches */
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* Every alias of the tapsets in the order of reading, then what is wrong in their functions; both callbacks get `context`. Costs
 * what deriving all of them costs, a second or so, and asks malloc. */
typedef int32_t (*probeidx_each_health)(void *context, const struct probeidx_health *health);
int32_t probeidx_check_tapset(probeidx_index *index, probeidx_each_health each, probeidx_each_finding finding, void *context,
			      struct probeidx_error *error);

/* ---- lines ------------------------------------------------------------------------------------------------------- */

struct probeidx_line {
	size_t size;
	struct probeidx_text module;
	struct probeidx_text function;      /* if functions were asked for */
	struct probeidx_text file;
	const struct probeidx_place *places;
	size_t place_count;                 /* at least 1 */
	uint32_t line;
	uint32_t best;                      /* which of the places is best probed */
	uint32_t is_reachable;              /* whether kprobes take that */
	uint32_t declared_line;             /* of the function; 0 where none was asked for */
	uint64_t reserved[2];
};
/* The lines of functions or files that have code: "vfs_read", "fs/open.c", "vfs_read@fs/read_write.c:460-470". */
typedef int32_t (*probeidx_each_line)(void *context, const struct probeidx_line *line);
int32_t probeidx_lines(probeidx_index *index, const char *spec, probeidx_each_line each, void *context,
		       struct probeidx_error *error);

/* ---- addresses, logs --------------------------------------------------------------------------------------------- */

enum probeidx_ground {
	PROBEIDX_CODE = 0,
	PROBEIDX_PADDING = 1,
	PROBEIDX_DATA = 2,
	PROBEIDX_NOTHING = 3
};
struct probeidx_where {
	size_t size;
	struct probeidx_text module;
	struct probeidx_text section;
	struct probeidx_text symbol;
	const struct probeidx_frame *frames;
	size_t frame_count;
	uint64_t address;
	uint32_t symbol_offset;
	uint32_t symbol_size;               /* up to the next symbol, as the kernel prints it */
	uint32_t ground;                    /* a probeidx_ground */
	uint32_t gone;                      /* a verdict: why the code is not there once the kernel runs; 0 it is */
	uint32_t is_stmt;
	uint32_t object;
	uint32_t pc;
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* "0xffffffff8136139d", "symbol+0xoff", "module:symbol+off", "symbol+0xoff/0xsize [module]": the places that it can mean.
 * Numbers are those of a kernel that was moved by `slide` (KASLR); of an index of probeidx_open_running a slide of 0 means as the
 * kernel ran. */
typedef int32_t (*probeidx_each_where)(void *context, const struct probeidx_where *where);
int32_t probeidx_addr(probeidx_index *index, const char *text, uint64_t slide, probeidx_each_where each, void *context,
		      struct probeidx_error *error);

#define PROBEIDX_LOG_MOVED 1u       /* slide is known: the log told it */
#define PROBEIDX_LOG_GIVEN 2u       /* slide is known: the caller told it (probeidx_open_running knows more: leave it) */

/* What is remembered of a log between its lines. The caller's: all 0 at the start but for the size; a log is read by one
 * thread at a time. */
struct probeidx_log {
	size_t size;
	uint64_t slide;
	uint32_t flags;
	uint32_t stack;
	uint32_t stopped_at_length;
	uint32_t reserved32;
	unsigned char stopped_at[256];
	uint64_t reserved[4];
};
struct probeidx_decoded {
	size_t size;
	struct probeidx_text text;          /* the address as the line has it */
	struct probeidx_text behind;        /* what `probeidx decode` adds behind it */
	struct probeidx_text below;         /* and below the line, a line break before each line */
	const struct probeidx_where *places;/* of places several are given where they cannot be told apart: step by places->size */
	size_t place_count;                 /* 0 where it is not known, ... */
	struct probeidx_text why;           /* ... and why not */
	size_t end;                         /* where in the line the address ends */
	uint32_t role;                      /* 0 what runs there, 1 where a call returns to, 2 perhaps that, 3 a function */
	uint32_t is_exact;                  /* the places are those of the address, not of the call before it */
	uint64_t reserved[2];
};
/* The frames in a line of a log (oops, %pS, perf script, SystemTap's backtraces), in order. A line without any is no error. */
typedef int32_t (*probeidx_each_decoded)(void *context, const struct probeidx_decoded *decoded);
int32_t probeidx_decode(probeidx_index *index, struct probeidx_log *log, const char *line, size_t length,
			probeidx_each_decoded each, void *context, struct probeidx_error *error);

/* ---- types ------------------------------------------------------------------------------------------------------- */

enum probeidx_kind {
	PROBEIDX_KIND_UNSPECIFIED = 0,
	PROBEIDX_KIND_BASE = 1,
	PROBEIDX_KIND_STRUCT = 2,
	PROBEIDX_KIND_UNION = 3,
	PROBEIDX_KIND_CLASS = 4,
	PROBEIDX_KIND_ENUM = 5,
	PROBEIDX_KIND_TYPEDEF = 6,
	PROBEIDX_KIND_POINTER = 7,
	PROBEIDX_KIND_ARRAY = 8,
	PROBEIDX_KIND_CONST = 9,
	PROBEIDX_KIND_VOLATILE = 10,
	PROBEIDX_KIND_RESTRICT = 11,
	PROBEIDX_KIND_ATOMIC = 12,
	PROBEIDX_KIND_FUNCTION = 13,
	PROBEIDX_KIND_REFERENCE = 14,
	PROBEIDX_KIND_RVALUE_REFERENCE = 15
};
struct probeidx_member {
	size_t size;
	struct probeidx_text name;          /* empty for an anonymous one; of probeidx_member the path */
	struct probeidx_text type;          /* as C writes it */
	uint64_t offset;                    /* in bytes; of a bit-field, of the number that holds it */
	uint64_t bytes;                     /* of its type; UINT64_MAX where it has none */
	int64_t value;                      /* of an enumerator; of a dimension the number of elements, -1 unknown */
	uint32_t lowest_bit;                /* of a bit-field, within the number; big-endian: from its highest bit */
	uint32_t width;                     /* of a bit-field; else 0 */
	uint32_t type_id;                   /* for probeidx_type_of; UINT32_MAX where it has none */
	uint32_t reserved32;
	const struct probeidx_step *steps;  /* of probeidx_member the way to it: PROBEIDX_ADD and PROBEIDX_READ; else none */
	size_t step_count;
};
struct probeidx_type {
	size_t size;
	struct probeidx_text name;          /* without `struct` and the like; may be empty */
	struct probeidx_text spelled;       /* as C writes it */
	struct probeidx_text file;          /* of the definition; may be empty */
	const struct probeidx_member *const *members;  /* or enumerators, parameters, dimensions */
	size_t member_count;
	uint64_t bytes;                     /* UINT64_MAX where it has no size */
	uint32_t line;
	uint32_t kind;                      /* a probeidx_kind */
	uint32_t id;
	uint32_t target;                    /* for probeidx_type_of: what a typedef, pointer, array, qualified type or function
					     * is of; UINT32_MAX none */
	const uint32_t *objects;            /* where the name has several definitions: the objects that use this one */
	size_t object_count;
};
/* "struct file", "file", "gfp_t", "unsigned long": all definitions of the name, by kind, file and line; where there is none, what is
 * only declared (no size). Holes are what no member covers. */
typedef int32_t (*probeidx_each_type)(void *context, const struct probeidx_type *type);
int32_t probeidx_type(probeidx_index *index, const char *name, probeidx_each_type each, void *context,
		      struct probeidx_error *error);
int32_t probeidx_type_of(probeidx_index *index, uint32_t id, probeidx_each_type each, void *context,
			 struct probeidx_error *error);
/* "struct file.f_path.dentry", "task_struct->comm": the member; its offset counts from what the last pointer leads to. */
typedef int32_t (*probeidx_each_member)(void *context, const struct probeidx_member *member);
int32_t probeidx_member(probeidx_index *index, const char *path, probeidx_each_member each, void *context,
			struct probeidx_error *error);

struct probeidx_user {
	size_t size;
	struct probeidx_text function;
	struct probeidx_text file;
	const uint32_t *uses;               /* pairs: 0 returned, else the number of the parameter; how many pointers lead to it */
	size_t use_count;                   /* of pairs */
	uint32_t line;
	uint32_t is_inlined;
	uint32_t object_count;              /* in how many objects it has code, ... */
	uint32_t reserved32;
	const uint32_t *objects;            /* ... and in which */
	uint64_t reserved;
};
/* The functions that take or return a type, by name, file and line. */
typedef int32_t (*probeidx_each_user)(void *context, const struct probeidx_user *user);
int32_t probeidx_users(probeidx_index *index, const char *name, probeidx_each_user each, void *context,
		       struct probeidx_error *error);

/* ---- what the kernel refuses ------------------------------------------------------------------------------------- */

struct probeidx_refused {
	size_t size;
	struct probeidx_text module;
	struct probeidx_text symbol;
	struct probeidx_text section;
	uint64_t start;
	uint64_t end;                       /* the first address after it */
	uint32_t reason;                    /* a verdict */
	uint32_t reserved32;
	uint64_t reserved[2];
};
/* The ranges of vmlinux (`module` is NULL), or of the modules that a pattern ("*": all) matches, in the order of
 * /sys/kernel/debug/kprobes/blacklist. */
typedef int32_t (*probeidx_each_refused)(void *context, const struct probeidx_refused *refused);
int32_t probeidx_blacklist(probeidx_index *index, const char *module, probeidx_each_refused each, void *context,
			   struct probeidx_error *error);

#ifdef __cplusplus
}
#endif
#endif
