//! What is told of one name in one kernel.

/// What one kernel has of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The name, as it was asked.
    pub name: String,
    /// Which of several of the name: the file of a function, the system of a tracepoint. `None` for what holds for all
    /// of them.
    pub part: Option<String>,
    /// The name that only this one has: `s_next@fs/seq_file.c`.
    pub full_name: String,
    /// One value for each kind of fact.
    pub facts: Vec<(What, Value)>,
}

impl About {
    /// Facts of a name as a whole.
    pub(super) fn whole(name: &str, facts: Vec<(What, Value)>) -> Self {
        Self { name: name.to_owned(), part: None, full_name: name.to_owned(), facts }
    }

    /// Facts of what is declared in a file.
    pub(super) fn in_file(name: &str, file: &str, facts: Vec<(What, Value)>) -> Self {
        let full_name = if file.is_empty() { name.to_owned() } else { format!("{name}@{file}") };
        Self { name: name.to_owned(), part: Some(file.to_owned()), full_name, facts }
    }
}

/// A kind of fact. The order is that of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A function's declaration in C.
    Prototype,
    /// Where something is declared.
    Declared,
    /// Whether a function is inlined: `not`, `fully`, `in part`.
    Inlined,
    /// The functions it is inlined into.
    InlinedInto,
    /// The functions that call it directly.
    CalledBy,
    /// The number of direct calls of its entry.
    Calls,
    /// The number of its inlined copies.
    Copies,
    /// The symbols at which its code starts, with the compiler's suffixes.
    Symbols,
    /// The out-of-line functions of the name, if there are several.
    Duplicates,
    /// The verdict of each mechanism.
    Attach,
    /// Where each parameter is at the entry.
    Parameters,
    /// A member's offset in bytes.
    Offset,
    /// A bit-field's first bit and width.
    Bits,
    /// A member's type.
    Type,
    /// The size in bytes.
    Size,
    /// The size of the struct that has a member.
    StructSize,
    /// A tracepoint's system.
    System,
    /// A tracepoint's parameters.
    Arguments,
    /// The fields of an event's record.
    Fields,
    /// The modules that have it, if any do.
    Module,
    /// The probe points of an alias that have a place.
    Points,
    /// The number of probes of an alias.
    Probes,
    /// The variables of an alias.
    Variables,
    /// The functions that a line is in.
    Functions,
    /// Whether a line can be probed: `ok`, or why not.
    Kprobe,
    /// The addresses of a line, by symbol.
    Addresses,
}

impl What {
    /// The name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prototype => "prototype",
            Self::Declared => "declared",
            Self::Inlined => "inlined",
            Self::InlinedInto => "inlined_into",
            Self::CalledBy => "called_by",
            Self::Calls => "calls",
            Self::Copies => "copies",
            Self::Symbols => "symbols",
            Self::Duplicates => "duplicates",
            Self::Attach => "attach",
            Self::Parameters => "parameters",
            Self::Offset => "offset",
            Self::Bits => "bits",
            Self::Type => "type",
            Self::Size => "size",
            Self::StructSize => "struct_size",
            Self::System => "system",
            Self::Arguments => "arguments",
            Self::Fields => "fields",
            Self::Module => "module",
            Self::Points => "points",
            Self::Probes => "probes",
            Self::Variables => "variables",
            Self::Functions => "functions",
            Self::Kprobe => "kprobe",
            Self::Addresses => "addresses",
        }
    }
}

/// The state of a fact. Equal states are the same fact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// The kernel does not have the name.
    Absent,
    /// The index does not say: it was made without debug information.
    Unknown,
    /// There is none.
    None,
    /// A word, a type or a declaration.
    Word(String),
    /// A count, an offset or a size.
    Number(u64),
    /// A place in the source.
    Place {
        /// The file.
        file: String,
        /// From 1.
        line: u32,
    },
    /// A bit-field.
    Bits {
        /// The first bit in the storage unit.
        first: u32,
        /// The number of bits.
        width: u32,
    },
    /// Several words.
    List(Vec<String>),
    /// Words by name: a verdict by mechanism, a location by parameter.
    Named(Vec<(String, String)>),
    /// Functions of a name: their files, and the objects that have them; an empty object is vmlinux.
    Homes(Vec<(String, Vec<String>)>),
    /// Fields of a record.
    Fields(Vec<Field>),
    /// Different ones in one kernel.
    Several(Vec<Self>),
}

impl Value {
    /// One state for several in one kernel.
    pub(super) fn of_several(mut states: Vec<Self>) -> Self {
        let mut seen: Vec<Self> = vec![];
        states.retain(|state| {
            !seen.contains(state) && {
                seen.push(state.clone());
                true
            }
        });
        match states.len() {
            0 => Self::None,
            1 => states.remove(0),
            _ => Self::Several(states),
        }
    }
}

/// A field of an event's record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type, as tracefs prints it.
    pub type_name: String,
    /// In bytes.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}
