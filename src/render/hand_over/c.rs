//! Tables for programs in C: where to attach, for loaders with libbpf and for kernel modules; and what to read there, for the BPF
//! program or the handler.
use super::super::steps::member;
use super::super::{kprobe_events, printable, printable_bytes};
use super::fetch::{Base, Fetched, Kind, Radix};
use super::{left_out, quoted};
use crate::query::index::symbols::Anchor;
use crate::query::resolve::placement::Placement;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::spec::Filter;
use crate::query::value::arguments;
use crate::query::verdict::mechanism::Mechanism;
use probeidx_format::View;
use std::io::{self, Write};

/// Collects tables.
pub struct Writer {
    subject: String,
    machine: u16,
    word: u8,
    functions: Vec<Function>,
    /// Comments on what is not a place of a function.
    remarks: Vec<u8>,
}

/// The places of a function.
struct Function {
    /// The name, file and line of the declaration; the same for the copies in all objects.
    declaration: (Vec<u8>, Vec<u8>, u32),
    is_return: bool,
    /// The start of the names of its tables, which no other function has.
    table: String,
    comment: Vec<u8>,
    /// Names of values, in the order in which they were found.
    values: Vec<String>,
    places: Vec<Place>,
}

/// A place: `symbol` and `offset`, or `path` and `offset`.
struct Place {
    initializer: String,
    /// For people.
    comment: String,
    /// By name of the value: its initializer.
    values: Vec<(String, String)>,
}

const EXPLAINED: &str = r#"#ifndef PROBEIDX_TABLES
#define PROBEIDX_TABLES
#ifndef __bpf__
/*
 * A place to probe. With libbpf, each place gets a link of its own, and the program its number as a cookie (5.15 and later):
 *
 *	LIBBPF_OPTS(bpf_kprobe_opts, opts, .offset = place->offset, .retprobe = place->is_return,
 *		    .bpf_cookie = place - probeidx_NAME);
 *	link = bpf_program__attach_kprobe_opts(prog, place->symbol, &opts);
 *
 * In a kernel module: struct kprobe with .symbol_name = place->symbol and .offset = place->offset. In a program or shared library:
 * bpf_program__attach_uprobe_opts() with place->path and place->offset.
 */
struct probeidx_place {
	const char *symbol;		/* a symbol of which there is one: "_text", "nfs:do_open" */
	const char *path;		/* of a program or shared library */
	unsigned long offset;		/* in bytes, from the symbol; in the file */
	const char *where;		/* for people: "path_openat+0x14d" */
	unsigned char is_return;	/* a return probe */
	unsigned char only_register;	/* register_kprobe() takes it, perf_event_open() and thus BPF do not */
};
#endif
#if defined(__bpf__) || defined(__KERNEL__)
/*
 * A value at a place. Start with the register of struct pt_regs, the return value, or the number; then, for each of `reads`, add the
 * distance and read there (bpf_probe_read_kernel(), bpf_probe_read_user()): an address, and of the last one `size` bytes, or a
 * string if `size` is 0. Of the result take `width` bits from bit `lowest` on.
 */
enum probeidx_from { PROBEIDX_ABSENT, PROBEIDX_REGISTER, PROBEIDX_RETURNED, PROBEIDX_NUMBER };
struct probeidx_value {
	unsigned char from;		/* enum probeidx_from */
	unsigned char size;		/* in bytes; 0: a string */
	unsigned char is_signed;
	unsigned char lowest, width;	/* bits */
	unsigned char reads;		/* how many distances */
	unsigned short user;		/* a bit for each read: memory of the process */
	unsigned short at;		/* the register: offset in struct pt_regs */
	long long number;
	int distances[14];
};
#endif
#endif
"#;

/// So many reads the kernel takes, and so many distances a value has.
const MOST_READS: usize = 14;

impl Writer {
    pub fn new(view: &View<'_>) -> Self {
        Self {
            subject: kprobe_events::subject(view),
            machine: view.machine(),
            word: view.address_size(),
            functions: vec![],
            remarks: vec![],
        }
    }

    pub fn is_empty(&self) -> bool {
        self.functions.iter().all(|f| f.places.is_empty())
    }

    pub fn placement(&mut self, p: &Placement<'_>, filter: Filter) -> io::Result<()> {
        let is_return = filter == Filter::Return;
        let position = self.function(p, is_return, filter)?;
        let place = comment(&kprobe_events::place(p));
        // register_kprobe takes places that perf refuses; of a return probe it is as strict.
        let verdict = p.verdicts.definition(is_return);
        let registered = if is_return || p.process.is_some() { verdict } else { p.verdicts.any_address() };
        let refused = verdict.reason().filter(|_| registered.is_ok());
        let values: Vec<_> = arguments(&p.values).iter().map(|a| self.value(a)).collect();
        let function = &mut self.functions[position];
        let initializer = match (left_out(p, registered), &p.anchor) {
            (Some(why), _) => Err(why),
            (None, None) => Err("no anchor".to_owned()),
            (None, Some(anchor)) => Ok(initializer(p, anchor, is_return, refused.is_some())),
        };
        let initializer = match initializer {
            Ok(initializer) => initializer,
            Err(why) => return writeln!(function.comment, " * not probed: {place}: {}", comment(&why)),
        };
        if function.places.iter().any(|other| other.initializer == initializer) {
            return writeln!(function.comment, " * {place}: at an address that is probed already");
        }
        let number = function.places.len();
        for v in p.values.iter().filter(|v| v.is_asked && v.fetch.is_none()) {
            let why = v.location.as_deref().map_or(String::new(), |why| format!(", {why}"));
            let said = format!("{}: {}{why}", v.name, v.state.name());
            writeln!(function.comment, " * place {number} without {}", comment(&said))?;
        }
        let mut kept = vec![];
        for (name, value) in values {
            match value {
                Ok(value) => {
                    if !function.values.contains(&name) {
                        function.values.push(name.clone());
                    }
                    kept.push((name, value));
                }
                Err(why) => writeln!(
                    function.comment,
                    " * place {number} without {}: {}",
                    comment(&name),
                    comment(&why)
                )?,
            }
        }
        let because = refused.map_or(String::new(), |r| format!("; not with perf and BPF: {}", r.name()));
        function.places.push(Place { initializer, comment: place + &because, values: kept });
        Ok(())
    }

    pub fn tracepoint(&mut self, traced: &TracepointValues<'_>) -> io::Result<()> {
        let t = &traced.tracepoint;
        let [system, name] = [t.system(), t.name()].map(|n| comment(&printable_bytes(n)));
        match t.has_event() {
            true => writeln!(
                self.remarks,
                " * {system}:{name} has no address to probe: SEC(\"tp/{system}/{name}\"), SEC(\"tp_btf/{name}\")"
            ),
            false => writeln!(self.remarks, " * {name} has no address to probe: SEC(\"tp_btf/{name}\")"),
        }
    }

    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "/*\n * {}", comment(&self.subject))?;
        out.write_all(&self.remarks)?;
        writeln!(out, " */")?;
        if !self.is_empty() {
            out.write_all(EXPLAINED.as_bytes())?;
        }
        self.functions.iter().try_for_each(|function| function.write(out))
    }

    /// The position of the function of a placement.
    fn function(&mut self, p: &Placement<'_>, is_return: bool, filter: Filter) -> io::Result<usize> {
        let declaration = (p.function.to_vec(), p.file.to_vec(), p.line);
        let is_same = |f: &Function| f.declaration == declaration && f.is_return == is_return;
        if let Some(last) = self.functions.last().filter(|f| is_same(f)) {
            debug_assert!(!last.table.is_empty());
            return Ok(self.functions.len() - 1);
        }
        let legal = |b: &u8| if b.is_ascii_alphanumeric() { char::from(*b) } else { '_' };
        let plain: String = p.function.iter().map(legal).collect();
        let plain = format!("probeidx_{plain}{}", if is_return { "__return" } else { "" });
        let numbered = (1..).map(|n| format!("{plain}_{n}"));
        let is_free = |name: &String| !self.functions.iter().any(|f| f.table == *name);
        let table = std::iter::once(plain.clone()).chain(numbered).find(is_free).unwrap_or_default();
        let mut lines = vec![];
        kprobe_events::heading(p, filter, "", &mut lines)?;
        let lines = String::from_utf8_lossy(&lines).into_owned();
        let mut text = vec![];
        lines.lines().try_for_each(|line| writeln!(text, " * {}", comment(line)))?;
        if let Some(line) = trampolines(p) {
            writeln!(text, " * {line}")?;
        }
        let function =
            Function { declaration, is_return, table, comment: text, values: vec![], places: vec![] };
        self.functions.push(function);
        Ok(self.functions.len() - 1)
    }

    /// The name of an argument, and the initializer of its value.
    fn value(&self, argument: &str) -> (String, Result<String, String>) {
        let name = argument.split('=').next().unwrap_or_default().to_owned();
        (name, Fetched::parse(argument, self.word).and_then(|fetched| self.initializer(&fetched)))
    }

    fn initializer(&self, fetched: &Fetched<'_>) -> Result<String, String> {
        let mut fields = match fetched.base {
            Base::Register(name) => {
                let member =
                    member(self.machine, name).ok_or("no member of struct pt_regs is known for it")?;
                format!(".from = PROBEIDX_REGISTER, .at = __builtin_offsetof(struct pt_regs, {member})")
            }
            Base::Constant(number) => format!(".from = PROBEIDX_NUMBER, .number = {}", literal(number)),
            Base::Returned => ".from = PROBEIDX_RETURNED".to_owned(),
            Base::Comm => return Err("bpf_get_current_comm() reads it".to_owned()),
            Base::Symbol(name) => {
                return Err(format!("a variable of the kernel: extern const void {name} __ksym"));
            }
        };
        let bits = match fetched.kind {
            Kind::Number { bits, .. } => bits,
            Kind::Bits { container, .. } => container,
            Kind::Symbol => self.word * 8,
            Kind::Text => 0,
        };
        fields += &format!(", .size = {}", bits / 8);
        match fetched.kind {
            Kind::Number { radix: Radix::Signed, .. } => fields += ", .is_signed = 1",
            Kind::Bits { width, lowest, .. } => fields += &format!(", .lowest = {lowest}, .width = {width}"),
            Kind::Number { .. } | Kind::Symbol | Kind::Text => {}
        }
        if !matches!(fetched.kind, Kind::Bits { .. }) {
            fields += &format!(", .width = {bits}");
        }
        if fetched.reads.len() > MOST_READS {
            return Err(format!("{} reads one in another", fetched.reads.len()));
        }
        if !fetched.reads.is_empty() {
            let distances: Result<Vec<String>, String> = fetched
                .reads
                .iter()
                .map(|read| i32::try_from(read.distance).map(|d| d.to_string()).map_err(|e| e.to_string()))
                .collect();
            let user = fetched.reads.iter().rev().fold(0, |bits, read| bits << 1 | u32::from(read.is_user));
            fields += &format!(", .reads = {}", fetched.reads.len());
            if user > 0 {
                fields += &format!(", .user = {user:#x}");
            }
            fields += &format!(", .distances = {{ {} }}", distances?.join(", "));
        }
        Ok(format!("{{ {fields} }}"))
    }
}

impl Function {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n/*")?;
        out.write_all(&self.comment)?;
        writeln!(out, " */")?;
        if self.places.is_empty() {
            return Ok(());
        }
        writeln!(out, "#ifndef __bpf__\nstatic const struct probeidx_place {}[] = {{", self.table)?;
        for (number, place) in self.places.iter().enumerate() {
            writeln!(out, "\t/* {number}: {} */\n\t{{ {} }},", place.comment, place.initializer)?;
        }
        writeln!(out, "}};\n#endif")?;
        if self.values.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.values.iter().map(|name| format!("{}_{name}", self.table)).collect();
        writeln!(out, "enum {{ {}, {}_VALUES }};", names.join(", "), self.table)?;
        let (table, count) = (&self.table, self.places.len());
        writeln!(
            out,
            "#if defined(__bpf__) || defined(__KERNEL__)\n\
             static const struct probeidx_value {table}_values[{count}][{table}_VALUES] = {{"
        )?;
        for (number, place) in self.places.iter().enumerate() {
            writeln!(out, "\t[{number}] = {{")?;
            for (name, value) in &place.values {
                writeln!(out, "\t\t[{table}_{name}] = {value},")?;
            }
            writeln!(out, "\t}},")?;
        }
        writeln!(out, "}};\n#endif")
    }
}

/// `.symbol = "_text", .offset = 3543965, .where = "path_openat+0x14d"`
fn initializer(p: &Placement<'_>, anchor: &Anchor<'_>, is_return: bool, only_register: bool) -> String {
    let mut fields = match anchor {
        Anchor::Symbol { module, symbol, offset } => {
            let module = module.map_or(String::new(), |m| format!("{}:", printable_bytes(m)));
            format!(".symbol = {}, .offset = {offset}", quoted(&(module + &printable_bytes(symbol))))
        }
        Anchor::File { path, offset } => {
            format!(".path = {}, .offset = {offset:#x}", quoted(&printable_bytes(path)))
        }
    };
    if let Some((symbol, offset)) = p.symbol {
        fields += &format!(", .where = {}", quoted(&format!("{}+{offset:#x}", printable_bytes(symbol))));
    }
    fields += if is_return { ", .is_return = 1" } else { "" };
    fields + if only_register { ", .only_register = 1" } else { "" }
}

/// What a trampoline reaches of a function.
fn trampolines(p: &Placement<'_>) -> Option<String> {
    let reached = p.coverage.by.get(Mechanism::Trampoline)?;
    let of = p.coverage.instances();
    let name = p.by_name.map_or_else(|| printable_bytes(p.function), |n| printable_bytes(n.name));
    Some(match reached {
        0 => format!("SEC(\"fentry/{name}\") reaches none of {of}"),
        _ if reached < of => {
            format!("SEC(\"fentry/{name}\") reaches the entry, {reached} of {of}, and no inlined copy")
        }
        _ => format!("SEC(\"fentry/{name}\") reaches it too, with less overhead"),
    })
}

/// The least number has no literal in C.
fn literal(number: i64) -> String {
    if number == i64::MIN { format!("{} - 1", number + 1) } else { number.to_string() }
}

/// Text that does not end a comment.
fn comment(text: &str) -> String {
    printable(text).replace("*/", "* /").replace("/*", "/ *")
}
