//! The tools: what each is for, what it takes, and what its answer means.
use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// A question as a tool: a method of `serve` with some of its parameters. None of them names a file of this machine.
pub struct Tool {
    /// The name of the tool, and of the method.
    pub name: &'static str,
    title: &'static str,
    about: &'static str,
    own: &'static [Parameter],
    /// How many items an answer has if no limit is asked for.
    pub usual_limit: u64,
}

/// A parameter of a tool, and of its method.
pub struct Parameter {
    pub name: &'static str,
    pub takes: Takes,
    is_required: bool,
    about: &'static str,
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Text,
    Texts,
    /// A kernel, not a file.
    Kernel,
    Switch,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// What the command reads from stdin.
    Input,
    /// Which part of the answer: no parameter of the method.
    Count,
    /// `text` or `json`: the method's `json`.
    Form,
}

const fn required(name: &'static str, takes: Takes, about: &'static str) -> Parameter {
    Parameter { name, takes, is_required: true, about }
}

const fn optional(name: &'static str, takes: Takes, about: &'static str) -> Parameter {
    Parameter { name, takes, is_required: false, about }
}

/// What every tool takes besides its own.
static COMMON: [Parameter; 4] = [
    optional(
        "kernel",
        Takes::Kernel,
        "Release, build id, '*' for all, or A..B. Default: the running kernel if it is indexed, else the only one; see kernels",
    ),
    optional("limit", Takes::Count, "At most so many items; of text, lines, by default 200"),
    optional("skip", Takes::Count, "Leave out so many items first: next_skip of the answer before"),
    optional(
        "form",
        Takes::Form,
        "json: objects, as --json prints them. text: lines, as people read them, which are shorter",
    ),
];

const SPEC: &str = "A probe point: NAME, NAME@FILE, NAME@FILE:LINE, @FILE:LINE, NAME:RELATIVE_LINE, NAME+OFFSET, \
    NAME%return, MODULE:NAME (NAME and FILE take * ? [..]); or as SystemTap writes it: kernel.function(\"vfs_read\").return, \
    kernel.trace(\"sched_switch\"), module(\"ext4\").function(\"*\"), or an alias of its tapsets such as vm.pagefault";

/// All of them.
pub static TOOLS: [Tool; 14] = [
    Tool {
        name: "find",
        title: "List probe points",
        about: "Lists the probe points of a Linux kernel that match patterns: functions, inlined ones too, of vmlinux and of \
            modules, statements, tracepoints, SystemTap aliases. Use it when a name is not known exactly, or to see whether it \
            exists. With form: text an item is one short line. For whether a probe works there, call resolve.",
        own: &[
            required(
                "patterns",
                Takes::Texts,
                "Probe points with wildcards: vfs_*, *@fs/namei.c, kernel.trace(\"sched:*\"), syscall.*",
            ),
            optional("args", Takes::Switch, "Include parameters and their types, as stap -L does"),
            optional(
                "each",
                Takes::Switch,
                "One item for each placement instead of one for each declaration",
            ),
        ],
        usual_limit: 50,
    },
    Tool {
        name: "resolve",
        title: "Where a probe lands, and whether the kernel takes it",
        about: "Says every place where a probe point lands in a kernel, and for each whether kprobe, kprobe_events (tracefs, \
            perf), kretprobe, fentry, ftrace and BPF trampolines can attach there, or why not. Call it BEFORE writing a kprobe, \
            kretprobe, fentry or perf probe on a name: it answers duplicate names, inlining, names changed by the compiler \
            (.isra, .constprop), blacklisted and unpatchable code. In an item, attach has a verdict per mechanism (ok or the \
            reason), instance says out-of-line or inline, coverage how many addresses the function runs at and how many a \
            kprobe reaches, by_name whether the bare name is ambiguous, anchor what to write so that the probe lands on \
            exactly this address, definition the line for tracefs' kprobe_events, and vars where each parameter is and the \
            fetch argument that reads it.",
        own: &[
            required("spec", Takes::Text, SPEC),
            optional(
                "args",
                Takes::Texts,
                "Values to read there: count, file->f_path.dentry, $retval, name=dentry->d_name.name:string. Each item says whether \
                 and how it is readable",
            ),
            optional("locals", Takes::Switch, "Local variables too, not only parameters"),
            optional(
                "format",
                Takes::OneOf(&["kprobe-events", "stap", "perf", "trace-cmd", "bpftrace", "c"]),
                "Instead what this tool takes to probe exactly there and to read args: definitions for tracefs, probe points of \
                 SystemTap, command lines of perf and trace-cmd, a program for bpftrace, a BPF program in C. Lines of text, for \
                 one kernel",
            ),
        ],
        usual_limit: 10,
    },
    Tool {
        name: "lines",
        title: "Lines that can be probed",
        about: "Lists the source lines of a function or file that have code, each with its addresses. Use it to choose a line \
            for a probe inside of a function, with form: text, which is much shorter; then call resolve with NAME@FILE:LINE.",
        own: &[required(
            "spec",
            Takes::Text,
            "NAME, NAME@FILE, or @FILE; also NAME:FIRST-LAST with lines relative to the function",
        )],
        usual_limit: 100,
    },
    Tool {
        name: "callers",
        title: "Who calls a function",
        about: "Lists the functions that call a function directly, and those it is inlined into instead. Use it to see who \
            reaches a function through its entry, where a probe sees it, and who through a copy.",
        own: &[required("spec", Takes::Text, "A function: NAME, NAME@FILE, MODULE:NAME")],
        usual_limit: 50,
    },
    Tool {
        name: "addr",
        title: "What is at an address",
        about: "Says what is at addresses of a kernel: symbol, function, the chain of inlined calls, file and line. Use it for \
            a few addresses or frames; for a whole log, call decode.",
        own: &[required(
            "addresses",
            Takes::Texts,
            "0xffffffff8136139d, vfs_read+0x9c, vfs_read+0x9c/0x2b0 [module], or ext4:ext4_file_open+5",
        )],
        usual_limit: 50,
    },
    Tool {
        name: "decode",
        title: "Explain a kernel log",
        about: "Adds function, inlined calls, file and line to every frame in a kernel log: an oops, a panic, a warning, a \
            lockdep or KASAN report, perf script, a stap backtrace. Pass the text as it is; every other line stays as it is. \
            With form: text the answer is the log itself, which reads best.",
        own: &[
            required("text", Takes::Input, "The log"),
            optional(
                "base",
                Takes::Text,
                "The address of _text of the running kernel, if it is relocated and the log does not say so",
            ),
        ],
        usual_limit: 200,
    },
    Tool {
        name: "type",
        title: "Layout of a struct",
        about: "Says how a struct, union, enum or typedef of a kernel is laid out: members with offsets, sizes and types; or \
            one member of it. Call it before reading a member in BPF, bpftrace, SystemTap or a fetch argument: members move and \
            are renamed between kernels. A large struct is one large item: ask for a member, or for form: text.",
        own: &[
            required(
                "name",
                Takes::Text,
                "struct file, task_struct, struct file.f_path.dentry, or task_struct->mm",
            ),
            optional(
                "users",
                Takes::Switch,
                "Instead the functions that take or return the type, or a pointer to it",
            ),
        ],
        usual_limit: 40,
    },
    Tool {
        name: "tapset",
        title: "SystemTap's aliases and functions",
        about: "Lists the aliases (or functions, or macros) of SystemTap's tapset library as they are for this kernel: what \
            each alias is defined as, which variables it offers, and where it resolves. Use it when writing a .stp script.",
        own: &[
            optional(
                "patterns",
                Takes::Texts,
                "Names with wildcards: vm.*, syscall.open*, task_*. All if it is left out",
            ),
            optional("functions", Takes::Switch, "Functions instead of aliases"),
            optional("macros", Takes::Switch, "Macros instead of aliases"),
        ],
        usual_limit: 30,
    },
    Tool {
        name: "check",
        title: "Check a tracing script",
        about: "Checks a script against one kernel or many without running it: a bpftrace program, a SystemTap script, a bcc \
            tool in Python, a Tetragon TracingPolicy, perf probe or trace-cmd command lines, or a list of probe points, one a \
            line. Call it on every script that you write, before anyone runs it. There is an item for each probe, and one with \
            program null for the whole: state is ok, or what is wrong (absent, inlined, ambiguous, no-site, argument, field, \
            event-field, helper, …); findings have line, column, reason, and in instead what to write in its place. State \
            undecided means that it cannot be told, never that it works.",
        own: &[
            required(
                "text",
                Takes::Input,
                "The script. Its language is guessed; a first line such as #!/usr/bin/bpftrace or #!/usr/bin/stap decides",
            ),
            optional(
                "strict",
                Takes::Switch,
                "Take partial coverage, and modules that are not indexed, for failures too",
            ),
            optional("guru", Takes::Switch, "Guru mode, as stap -g"),
            optional("arg", Takes::Texts, "Arguments of a SystemTap script: $1 and @1, then $2 and @2"),
            optional("need", Takes::Texts, "Programs of which one that works suffices: A|B"),
        ],
        usual_limit: 50,
    },
    Tool {
        name: "diff",
        title: "What changed between two kernels",
        about: "Lists what changed between two indexed kernels: functions that are gone, new, inlined now, with other \
            parameters; members of structs; tracepoints. Use it to say what an update breaks. Give a pattern: a whole kernel \
            has tens of thousands of differences.",
        own: &[
            required("before", Takes::Kernel, "The release of the older kernel"),
            required("after", Takes::Kernel, "The release of the newer kernel"),
            optional(
                "pattern",
                Takes::Text,
                "Only functions, types and tracepoints of this name, with wildcards: tcp_*",
            ),
        ],
        usual_limit: 50,
    },
    Tool {
        name: "history",
        title: "A name over many kernels",
        about: "Says what all indexed kernels have of a function, member, tracepoint, alias or line: the facts that differ, each \
            with the kernels that have it. Use it to write one script for many kernels.",
        own: &[required(
            "name",
            Takes::Text,
            "vfs_read, 'struct file.f_pos', kernel.trace(\"sched_switch\"), vm.pagefault, or vfs_read@fs/read_write.c:450",
        )],
        usual_limit: 50,
    },
    Tool {
        name: "blacklist",
        title: "Where the kernel refuses kprobes",
        about: "Lists the address ranges and functions where the kernel refuses kprobes, and why. For one function, resolve \
            says the same.",
        own: &[optional("modules", Takes::Texts, "Only these modules; vmlinux if it is left out")],
        usual_limit: 50,
    },
    Tool {
        name: "bpf",
        title: "What BPF programs can use",
        about: "Lists what a kernel offers to BPF programs: helpers, kfuncs and the program types that may call them, LSM \
            hooks, iterators, struct_ops, types of maps.",
        own: &[
            optional(
                "kind",
                Takes::OneOf(&[
                    "all",
                    "kfunc",
                    "helper",
                    "lsm",
                    "iter",
                    "struct_ops",
                    "fmod_ret",
                    "program",
                    "attach",
                    "map",
                ]),
                "What to list: kfuncs, helpers, LSM hooks, iterators, struct_ops, functions for fmod_ret, types of programs, of \
                 attachments and of maps; all of them if it is left out",
            ),
            optional("pattern", Takes::Text, "Only what has this name, with wildcards; needs kind"),
        ],
        usual_limit: 50,
    },
    Tool {
        name: "kernels",
        title: "Which kernels are indexed",
        about: "Lists the kernels that can be asked about. Call it first if the kernel is not clear; if there is none, the \
            answer says how to index one.",
        own: &[],
        usual_limit: 100,
    },
];

/// What every client tells its model.
pub const INSTRUCTIONS: &str = "Answers about Linux kernels from an index of their debug information: where a probe \
    (kprobe, kretprobe, fentry, tracepoint; with perf, bpftrace, SystemTap, BPF) can be placed, whether the \
    kernel takes it, what can be read there, how structs are laid out, what an oops means. The answers are of that very kernel \
    build, not from memory: prefer them to what you remember of kernel sources. Before you write a probe on a name call resolve; \
    call check on each script you write. Answers are bounded: when more is above 0, pass next_skip as skip, or ask narrower. An \
    option that an error proposes, such as --kernel RELEASE, is the parameter of that name. Nothing here runs, changes or traces \
    anything.";

impl Tool {
    /// The tool of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The parameters of this tool: its own, and those that are common to all. `kernels` lists all kernels and `diff` names
    /// two.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        let names_kernels = matches!(self.name, "kernels" | "diff");
        let common = COMMON.iter().filter(move |parameter| !(names_kernels && parameter.name == "kernel"));
        self.own.iter().chain(common)
    }

    /// A required parameter that is not given.
    pub fn missing(&self, is_given: impl Fn(&Parameter) -> bool) -> Option<&'static str> {
        let missing = |parameter: &&Parameter| parameter.is_required && !is_given(parameter);
        self.own.iter().find(missing).map(|parameter| parameter.name)
    }

    /// As the protocol describes it.
    pub fn described(&self) -> Described {
        let mut properties = JsonObject::new();
        for parameter in self.parameters() {
            properties.insert(parameter.name.to_owned(), parameter.schema(self.usual_limit));
        }
        let required = self.own.iter().filter(|parameter| parameter.is_required);
        let required: Vec<&str> = required.map(|parameter| parameter.name).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        // A pure question: it reads an index, and the same index answers the same.
        let annotations =
            ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Described::new(self.name, self.about, Arc::new(object(schema)))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(object(crate::answer::schema())))
            .with_annotations(annotations)
    }
}

impl Parameter {
    fn schema(&self, usual_limit: u64) -> Value {
        let about = self.about;
        match self.takes {
            Takes::Text | Takes::Kernel | Takes::Input => json!({"type": "string", "description": about}),
            Takes::Texts => json!({"type": "array", "items": {"type": "string"}, "description": about}),
            Takes::Switch => json!({"type": "boolean", "default": false, "description": about}),
            Takes::OneOf(values) => json!({"type": "string", "enum": values, "description": about}),
            Takes::Form => {
                json!({"type": "string", "enum": ["json", "text"], "default": "json", "description": about})
            }
            Takes::Count if self.name == "limit" => {
                json!({"type": "integer", "minimum": 1, "maximum": crate::question::MOST_ITEMS, "default": usual_limit, "description": about})
            }
            Takes::Count => json!({"type": "integer", "minimum": 0, "default": 0, "description": about}),
        }
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
