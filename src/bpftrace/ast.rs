//! Syntax trees.
use super::Place;

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// In the order of the script.
    pub probes: Vec<Probe>,
    /// The types that the script itself defines.
    pub types: Vec<OwnType>,
    /// Where it includes headers, from which other types may come, whatever the kernel's BTF has.
    pub includes: Vec<Branch>,
    /// What to do about attach points that are not there, if the script says it.
    pub missing: Option<Missing>,
}

/// What is read on which kernels: `#ifndef BPFTRACE_HAVE_BTF`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Branch {
    /// On all, as far as that is understood.
    #[default]
    Always,
    /// On those with BTF.
    WithBtf,
    /// On those without.
    WithoutBtf,
}

impl Branch {
    /// Whether it is read on a kernel.
    pub fn is_read(self, has_btf: bool) -> bool {
        self == Self::Always || has_btf == (self == Self::WithBtf)
    }
}

/// What bpftrace does about attach points that are not there (`missing_probes`, bpftrace 0.22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It goes on, with a warning or without.
    GoesOn,
    /// It ends.
    Ends,
}

/// A probe: its attach points share a handler.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The attach points.
    pub points: Vec<Point>,
    /// The predicate and the statements, in the order of the script. Blocks are not told apart: what matters is what is
    /// read, and the type that a variable had last.
    pub body: Vec<Expression>,
    /// Whether it asks which attach point it runs at (`probe`): each function of a pattern is then attached by itself.
    pub asks_for_itself: bool,
}

/// An attach point.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where it starts.
    pub place: Place,
    /// As written.
    pub text: String,
    /// The kind of probe.
    pub kind: Kind,
    /// The parts behind the kind, without quotes.
    pub parts: Vec<String>,
    /// The offset behind the last part.
    pub offset: Option<u64>,
}

/// A kind of probe (`PROBE_LIST`, src/types.cpp of bpftrace 0.23).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `kprobe`, `k`
    Kprobe,
    /// `kretprobe`, `kr`
    Kretprobe,
    /// `fentry`, `kfunc`, `f`
    Fentry,
    /// `fexit`, `kretfunc`, `fr`
    Fexit,
    /// `tracepoint`, `t`
    Tracepoint,
    /// `rawtracepoint`, `rt`
    RawTracepoint,
    /// `uprobe`, `uretprobe`, `usdt` and their short forms: in a program, not in the kernel
    User,
    /// `iter`, `it`
    Iterator,
    /// `watchpoint`, `asyncwatchpoint`
    Watchpoint,
    /// `profile`, `interval`, `software`, `hardware`, `BEGIN`, `END`, `self`, `bench`, `test`: the kernel always has them
    Always,
    /// None of these.
    Unknown,
}

/// An expression, as far as it matters.
#[derive(Clone, Debug)]
pub enum Expression {
    /// `args`, `retval`, `arg0`, `curtask`, a constant.
    Name(Place, String),
    /// `$x`, without the `$`.
    Variable(String),
    /// `@x[..]`, without the `@`.
    Map(String, Vec<Expression>),
    /// `"text"`
    Text(String),
    /// `f(..)`
    Call(Place, String, Vec<Expression>),
    /// `(T)x`
    Cast(Place, TypeName, Box<Expression>),
    /// `x.m` and `x->m`: bpftrace takes one for the other.
    Member(Box<Expression>, Place, String),
    /// `x[..]`
    Index(Box<Expression>, Box<Expression>),
    /// `*x`
    Dereference(Box<Expression>),
    /// `&x`
    Address(Box<Expression>),
    /// `sizeof(T)`, and `offsetof(T, m.n)` with the members.
    OfType(Place, TypeName, Vec<(Place, String)>),
    /// Operands, with the operators between them: pointers keep their types only where something is added to them.
    Operation(Vec<Expression>, Vec<&'static str>),
    /// `x = y`, also with an operator.
    Assign(Box<Expression>, Box<Expression>),
    /// A number, or anything else without a meaning here.
    Other,
}

/// The name of a type, in a cast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeName {
    /// `struct sock`, `uint64`.
    pub name: String,
    /// How many stars are behind it.
    pub pointers: u32,
    /// Whether it is an array.
    pub is_array: bool,
}

/// A type that the script itself defines.
#[derive(Clone, Debug)]
pub struct OwnType {
    /// `struct x`, `union y`.
    pub name: String,
    /// On which kernels it is defined.
    pub branch: Branch,
    /// The members with their types, if these are known by name; `None` if some of it was not understood.
    pub members: Option<Members>,
}

/// Members with their types, if these are known by name.
pub type Members = Vec<(String, Option<TypeName>)>;

impl TypeName {
    /// Whether it is a type of bpftrace itself rather than of the kernel.
    pub fn is_own(&self) -> bool {
        const WORDS: [&str; 28] = [
            "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int8_t",
            "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "void", "char",
            "short", "int", "long", "unsigned", "signed", "string", "buffer", "inet", "username",
        ];
        self.name.split(' ').all(|word| WORDS.contains(&word))
    }
}

impl std::fmt::Display for TypeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if self.pointers > 0 {
            write!(f, " {}", "*".repeat(self.pointers as usize))?;
        }
        if self.is_array { f.write_str("[]") } else { Ok(()) }
    }
}
