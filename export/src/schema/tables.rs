//! The columns of all tables, with what they mean.
use super::{Column, Kind, Schema};
use probeidx::cli::args::Table;

/// A column without null.
const fn column(name: &'static str, kind: Kind, meaning: &'static str, example: &'static str) -> Column {
    Column { name, kind, null: None, meaning, example }
}

/// A column that may be null.
const fn maybe(
    name: &'static str,
    kind: Kind,
    null: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Column {
    Column { name, kind, null: Some(null), meaning, example }
}

const KERNEL: Column =
    column("kernel", Kind::Text, "the kernel, as `--kernel` finds it", "6.1.0-56-cloud-amd64");
const NAME: Column = column("name", Kind::Text, "the name, without the suffixes of compilers", "do_open");
const FUNCTION: Column = column("function", Kind::Text, "the function", "do_open");
const RESTS_ON: Column =
    column("rests_on", Kind::Text, "what describes it: `dwarf`, `btf` or `symbols`", "dwarf");
const MODULE: Column = maybe("module", Kind::Text, "vmlinux", "the module", "nfs");
const FILE: Column =
    maybe("file", Kind::Text, "only a symbol is known", "the file of the declaration", "fs/namei.c");
const LINE: Column = maybe("line", Kind::Int, "unknown", "the line of the declaration, from 1", "3633");
const SINCE: Column = column(
    "since",
    Kind::Text,
    "the first kernel that has it, in the order of `kernels`",
    "6.1.0-56-cloud-amd64",
);
const UNTIL: Column =
    column("until", Kind::Text, "the last one; some in between may lack it", "6.1.0-56-cloud-amd64");
const IN_KERNELS: Column = column(
    "kernels",
    Kind::Texts,
    "all that have it, in the order of `kernels`",
    "[5.10.0-43-cloud-amd64, 6.1.0-56-cloud-amd64]",
);
const INSTANCE: Column =
    column("instance", Kind::Text, "`out-of-line`, or `inline`: a copy in other code", "inline");
const INLINED_INTO: Column = maybe(
    "inlined_into",
    Kind::Texts,
    "not inlined",
    "the functions that contain the copy, from the innermost to the one with code of its own",
    "[path_openat]",
);
const SYMBOL: Column = maybe(
    "symbol",
    Kind::Text,
    "none holds the address",
    "the symbol that the kernel prints for it",
    "path_openat",
);
const SYMBOL_OFFSET: Column =
    maybe("symbol_offset", Kind::Long, "no symbol", "bytes from the start of the symbol", "333");
const KPROBE: Column = column(
    "kprobe",
    Kind::Text,
    "verdict of `register_kprobe` (SystemTap): `ok`, or the reason against it as `resolve --json` has it",
    "ok",
);
const KPROBE_EVENTS: Column =
    column("kprobe_events", Kind::Text, "verdict of `p` in tracefs (perf, BPF's kprobes)", "ok");
const KRETPROBE: Column = column("kretprobe", Kind::Text, "verdict of `r` in tracefs", "inline");
const FTRACE: Column = column("ftrace", Kind::Text, "verdict of fprobe and kprobe.multi", "inline");
const TRAMPOLINE: Column = column(
    "trampoline",
    Kind::Text,
    "verdict of BPF trampolines (fentry, fexit); `fentry` of `--json`",
    "inline",
);
const TYPE_NAME: Column = column("type_name", Kind::Text, "the struct, union or typedef", "task_struct");
const TYPE_KIND: Column = column(
    "type_kind",
    Kind::Text,
    "`struct`, `union`, or `typedef` of one that has no name of its own",
    "struct",
);
const TYPE_FILE: Column =
    maybe("file", Kind::Text, "unknown", "the file of the type's declaration", "include/linux/sched.h");
const BIT_FIRST: Column = maybe(
    "bit_first",
    Kind::Int,
    "no bit-field",
    "the first bit in the storage unit, counted from the lowest (big-endian: highest) one",
    "0",
);
const BIT_WIDTH: Column = maybe("bit_width", Kind::Int, "no bit-field", "bits", "1");
const TRACEPOINT: Column = column("name", Kind::Text, "the name, which is also the event's", "sched_switch");
const SYSTEM: Column = maybe("system", Kind::Text, "unknown", "the system of the event", "sched");
const PARAMETERS: Column = maybe(
    "parameters",
    Kind::Texts,
    "no function with them is known",
    "the parameters in C",
    "[bool preempt, struct task_struct *prev, …]",
);
const FIELDS: Column = maybe(
    "fields",
    Kind::Fields,
    "no event, or not all fields are known",
    "the fields of the event's record without the common ones; offsets and sizes in bytes",
    "[{name: prev_comm, type: char[16], byte_offset: 8, byte_size: 16}, …]",
);

/// All tables.
pub static ALL: [Schema; 11] = [
    Schema {
        table: Table::Kernels,
        name: "kernels",
        meaning: "A kernel of the export, in the order of architecture, version and flavour.",
        sorted_by: "kernel_number",
        is_partitioned: false,
        columns: &[
            column("kernel_number", Kind::Int, "its position in the order, from 0", "0"),
            KERNEL,
            column("release", Kind::Text, "as `uname -r` prints it", "6.1.0-56-cloud-amd64"),
            column("distribution", Kind::Text, "who built it; `unknown` if nothing says so", "debian"),
            maybe(
                "kernel_line",
                Kind::Text,
                "the release has no version",
                "the upstream line as its tag begins: a bare 6.10 would be read as the number 6.1",
                "v6.1",
            ),
            maybe(
                "flavour",
                Kind::Text,
                "none",
                "what is behind version and build in the release",
                "cloud-amd64",
            ),
            column("architecture", Kind::Text, "as `uname -m` prints it", "x86_64"),
            maybe(
                "build_id",
                Kind::Text,
                "vmlinux has none or is not indexed",
                "of vmlinux, in hexadecimal",
                "3b43fad5034874490492495d552c0af6a5fab235",
            ),
            maybe(
                "compiler",
                Kind::Text,
                "neither the configuration nor the debug information says",
                "`CONFIG_CC_VERSION_TEXT`, else `DW_AT_producer` of vmlinux without options",
                "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0",
            ),
            column("objects", Kind::Int, "vmlinux and the modules that are indexed", "1122"),
        ],
    },
    Schema {
        table: Table::Functions,
        name: "functions",
        meaning: "A function with code in an object, inlined or not: of a static function of a header, a row for each \
                  object that has some.",
        sorted_by: "name",
        is_partitioned: true,
        columns: &[
            KERNEL,
            NAME,
            FILE,
            LINE,
            MODULE,
            maybe("return_type", Kind::Text, "unknown", "the type it returns, in C", "int"),
            maybe(
                "parameters",
                Kind::Texts,
                "unknown",
                "the parameters in C",
                "[struct nameidata *nd, struct file *file, struct open_flags const *op]",
            ),
            RESTS_ON,
            column("entries", Kind::Int, "distinct addresses of code of its own", "0"),
            column("copies", Kind::Int, "distinct addresses of inlined copies", "1"),
            column("callers", Kind::Int, "functions that it is inlined into", "1"),
            column("reachable", Kind::Int, "of entries and copies, those that `kprobe` takes", "1"),
            column("gone", Kind::Int, "addresses left out: discarded, or never run", "0"),
        ],
    },
    Schema {
        table: Table::Placements,
        name: "placements",
        meaning: "An address at which a function runs: its entry, or the start of an inlined copy.",
        sorted_by: "function",
        is_partitioned: true,
        columns: &[
            KERNEL,
            column(
                "placement",
                Kind::Int,
                "its number in the kernel, from 0: `arguments` refers to it",
                "104218",
            ),
            FUNCTION,
            FILE,
            LINE,
            MODULE,
            INSTANCE,
            RESTS_ON,
            maybe("section", Kind::Text, "no section holds the address", "the section", ".text"),
            column(
                "address",
                Kind::Address,
                "a link address; in a module, bytes from the start of the section",
                "18446744071582389149",
            ),
            SYMBOL,
            SYMBOL_OFFSET,
            column(
                "symbol_unique",
                Kind::Flag,
                "whether vmlinux and all modules have that name once",
                "true",
            ),
            maybe(
                "anchor_symbol",
                Kind::Text,
                "none denotes this address alone",
                "what to give to the kernel, with the module before it if there is one",
                "_text",
            ),
            maybe("anchor_offset", Kind::Long, "no anchor", "bytes from the start of that symbol", "3543965"),
            column(
                "probe_shift",
                Kind::Int,
                "bytes behind the address at which the kernel probes: over `endbr64`, or on ppc64le to where all calls of a function lead",
                "0",
            ),
            INLINED_INTO,
            maybe("call_file", Kind::Text, "not inlined", "the file of the innermost call", "fs/namei.c"),
            maybe("call_line", Kind::Int, "not inlined, or unknown", "its line, from 1", "3838"),
            column(
                "nested",
                Kind::Flag,
                "whether it lies within another copy of the same function: a call passes both",
                "false",
            ),
            column(
                "instances",
                Kind::Int,
                "coverage: addresses at which the function runs in this object",
                "1",
            ),
            column("reachable", Kind::Int, "coverage: how many of them `kprobe` takes", "1"),
            maybe(
                "by_name",
                Kind::Text,
                "code of a program",
                "whether its name attaches to it, for what is given names: `ok`, `ambiguous`, `renamed` (use `symbol`), \
                 `absent`",
                "absent",
            ),
            KPROBE,
            KPROBE_EVENTS,
            KRETPROBE,
            FTRACE,
            TRAMPOLINE,
            maybe("undecided_because", Kind::Text, "all verdicts are decided", "what is not known", "tables"),
        ],
    },
    Schema {
        table: Table::Arguments,
        name: "arguments",
        meaning: "A parameter of a function at one of its placements.",
        sorted_by: "function",
        is_partitioned: true,
        columns: &[
            KERNEL,
            column("placement", Kind::Int, "the number of the placement", "104218"),
            FUNCTION,
            column(
                "parameter_number",
                Kind::Int,
                "from 1, among those of the function that the debug information describes",
                "1",
            ),
            column("name", Kind::Text, "the name of the parameter", "nd"),
            maybe("type", Kind::Text, "unknown", "the type as SystemTap spells it", "struct nameidata*"),
            column(
                "state",
                Kind::Text,
                "`readable`, `constant`, `elsewhere`, `optimized-out` or `unsupported`",
                "readable",
            ),
            maybe("location", Kind::Text, "none here", "where it is, or why it is unsupported", "%r14"),
            maybe(
                "fetch_argument",
                Kind::Text,
                "kprobe_events cannot read it",
                "the argument of a definition in kprobe_events",
                "nd=%r14:x64",
            ),
            maybe(
                "passed_in",
                Kind::Text,
                "no entry, or the convention is not known",
                "the register or stack slot of the calling convention, at an entry",
                "di",
            ),
            maybe(
                "passed_proof",
                Kind::Text,
                "as `passed_in`",
                "whether the debug information confirms it: `proved`, `moved`, `gone`, `unknown`",
                "proved",
            ),
        ],
    },
    Schema {
        table: Table::Members,
        name: "members",
        meaning: "A member of a struct or union. Those of unnamed members count as the type's own; those of a member whose \
                  type has no name follow it, as `a.b`.",
        sorted_by: "type_name",
        is_partitioned: true,
        columns: &[
            KERNEL,
            TYPE_NAME,
            TYPE_KIND,
            TYPE_FILE,
            maybe("line", Kind::Int, "unknown", "its line, from 1", "737"),
            column("struct_size", Kind::Long, "bytes of the whole type", "9728"),
            column("member", Kind::Text, "the path of the member", "pid"),
            column("type", Kind::Text, "its type in C", "pid_t"),
            column("byte_offset", Kind::Long, "bytes from the start of the type", "2416"),
            column("byte_size", Kind::Long, "bytes of the member's type; 0 if unknown", "4"),
            BIT_FIRST,
            BIT_WIDTH,
        ],
    },
    Schema {
        table: Table::Tracepoints,
        name: "tracepoints",
        meaning: "A tracepoint, or the event of a system call, of an object.",
        sorted_by: "name",
        is_partitioned: true,
        columns: &[
            KERNEL,
            TRACEPOINT,
            SYSTEM,
            MODULE,
            column("has_event", Kind::Flag, "whether tracefs and perf list it", "true"),
            column(
                "is_system_call",
                Kind::Flag,
                "whether it is the event of a system call, without a tracepoint",
                "false",
            ),
            PARAMETERS,
            FIELDS,
        ],
    },
    Schema {
        table: Table::Calls,
        name: "calls",
        meaning: "Who reaches a function: one kind of sites in one function of one object.",
        sorted_by: "callee",
        is_partitioned: true,
        columns: &[
            KERNEL,
            column("callee", Kind::Text, "the function that is reached", "do_open"),
            maybe("callee_file", Kind::Text, "unknown", "the file of its declaration", "fs/namei.c"),
            maybe("callee_line", Kind::Int, "unknown", "the line of its declaration", "3633"),
            column(
                "kind",
                Kind::Text,
                "`call`, `tail-call`, or `inlined`: a copy, which no probe of the entry sees",
                "inlined",
            ),
            maybe(
                "caller",
                Kind::Text,
                "unknown",
                "the innermost function that contains the sites",
                "path_openat",
            ),
            maybe("caller_file", Kind::Text, "unknown", "the file of its declaration", "fs/namei.c"),
            maybe("caller_line", Kind::Int, "unknown", "the line of its declaration", "3815"),
            maybe("caller_module", Kind::Text, "vmlinux", "the module that contains the sites", "nfs"),
            column("sites", Kind::Int, "sites in code of a running kernel", "1"),
            column("gone", Kind::Int, "sites in code that is discarded or never runs", "0"),
        ],
    },
    Schema {
        table: Table::FunctionsSince,
        name: "functions_since",
        meaning: "A function as some of the kernels have it.",
        sorted_by: "name",
        is_partitioned: false,
        columns: &[
            NAME,
            FILE,
            MODULE,
            maybe(
                "prototype",
                Kind::Text,
                "unknown",
                "the declaration in C",
                "int do_open(struct nameidata *nd, struct file *file, struct open_flags const *op)",
            ),
            maybe(
                "inlined",
                Kind::Text,
                "unknown",
                "`not`, `in part`, `fully`; `gone` if all of its code is discarded or never runs",
                "fully",
            ),
            SINCE,
            UNTIL,
            IN_KERNELS,
            column(
                "lines",
                Kind::Ints,
                "of each of these kernels, the line of the declaration, or null",
                "[3205, 3633]",
            ),
        ],
    },
    Schema {
        table: Table::PlacementsSince,
        name: "placements_since",
        meaning: "A placement as some of the kernels have it. Addresses are not part of it: each build has others.",
        sorted_by: "function",
        is_partitioned: false,
        columns: &[
            FUNCTION,
            FILE,
            MODULE,
            INSTANCE,
            INLINED_INTO,
            SYMBOL,
            SYMBOL_OFFSET,
            KPROBE,
            KPROBE_EVENTS,
            KRETPROBE,
            FTRACE,
            TRAMPOLINE,
            SINCE,
            UNTIL,
            IN_KERNELS,
        ],
    },
    Schema {
        table: Table::MembersSince,
        name: "members_since",
        meaning: "A member as some of the kernels have it; and each type as a whole.",
        sorted_by: "type_name",
        is_partitioned: false,
        columns: &[
            TYPE_NAME,
            TYPE_KIND,
            TYPE_FILE,
            maybe("member", Kind::Text, "the type as a whole", "the path of the member", "pid"),
            maybe("type", Kind::Text, "the type as a whole", "its type in C", "pid_t"),
            maybe(
                "byte_offset",
                Kind::Long,
                "the type as a whole",
                "bytes from the start of the type",
                "2416",
            ),
            column("byte_size", Kind::Long, "bytes of the member's type, or of the whole; 0 if unknown", "4"),
            BIT_FIRST,
            BIT_WIDTH,
            SINCE,
            UNTIL,
            IN_KERNELS,
        ],
    },
    Schema {
        table: Table::TracepointsSince,
        name: "tracepoints_since",
        meaning: "A tracepoint as some of the kernels have it.",
        sorted_by: "name",
        is_partitioned: false,
        columns: &[TRACEPOINT, SYSTEM, MODULE, PARAMETERS, FIELDS, SINCE, UNTIL, IN_KERNELS],
    },
];
