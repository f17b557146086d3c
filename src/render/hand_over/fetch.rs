//! Fetch arguments of kprobe_events, taken apart so that other tools can read the same value.
//! (Documentation/trace/kprobetrace.rst; kernel/trace/trace_probe.c, 6.1)

/// `name=+0(+96(%di)):string`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched<'a> {
    /// What it is called in the event.
    pub name: &'a str,
    /// Where it starts.
    pub base: Base<'a>,
    /// The places in memory, the first to be read first: each is a distance from what was read before.
    pub reads: Vec<Read>,
    /// What is at the last place.
    pub kind: Kind,
}

/// Where a value starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base<'a> {
    /// A register by its name in the kernel, without the `%`.
    Register(&'a str),
    /// A number.
    Constant(i64),
    /// The return value.
    Returned,
    /// The address of a symbol.
    Symbol(&'a str),
    /// The name of the running task.
    Comm,
}

/// A read of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// In bytes, from the value before.
    pub distance: i64,
    /// Whether it is memory of the process.
    pub is_user: bool,
}

/// How the last place is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// So many bits.
    Number {
        /// How it is printed.
        radix: Radix,
        /// 8, 16, 32 or 64.
        bits: u8,
    },
    /// Some bits of a number.
    Bits {
        /// How many there are.
        width: u8,
        /// The position of the lowest one.
        lowest: u8,
        /// The size of the number, in bits.
        container: u8,
    },
    /// A string that ends with a NUL, in memory.
    Text,
    /// An address that is printed as a symbol.
    Symbol,
}

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    /// Decimal, with a sign.
    Signed,
    /// Decimal, without a sign.
    Unsigned,
    /// Hexadecimal.
    Hexadecimal,
}

impl<'a> Fetched<'a> {
    /// Takes an argument apart. `word`: the size of an address, in bytes.
    ///
    /// # Errors
    /// The part that only kprobe_events know.
    pub fn parse(text: &'a str, word: u8) -> Result<Self, String> {
        let (name, body) = text.split_once('=').unwrap_or((text, text));
        let (place, kind) = match body.rsplit_once(':').filter(|_| !body.starts_with("\\\"")) {
            Some((place, kind)) => (place, Some(kind)),
            None => (body, None),
        };
        let only = || format!("only kprobe_events know {body}");
        let (base, mut reads) = place_of(place).ok_or_else(only)?;
        let kind = match kind {
            _ if base == Base::Comm => Kind::Text,
            Some("string" | "ustring") if reads.is_empty() => return Err(only()),
            Some("string") => Kind::Text,
            Some("ustring") => {
                reads.iter_mut().next_back().into_iter().for_each(|read| read.is_user = true);
                Kind::Text
            }
            Some("symbol" | "symstr") => Kind::Symbol,
            Some(kind) => number(kind).ok_or_else(only)?,
            None => Kind::Number { radix: Radix::Hexadecimal, bits: word * 8 },
        };
        Ok(Self { name, base, reads, kind })
    }
}

/// The start and the reads of a place: `+0(+96(%di))`, `@jiffies+8`, `%di`.
fn place_of(text: &str) -> Option<(Base<'_>, Vec<Read>)> {
    let mut text = text;
    let mut reads = vec![];
    while text.starts_with(['+', '-']) {
        let (distance, inner) = text.split_once('(')?;
        text = inner.strip_suffix(')')?;
        let is_user = distance[1..].starts_with('u');
        let size = integer(distance[1..].trim_start_matches('u'))?;
        let distance = if distance.starts_with('-') { size.checked_neg()? } else { size };
        reads.push(Read { distance, is_user });
    }
    let base = match text.split_at_checked(1)? {
        ("%", register) => Base::Register(register),
        ("\\", number) => Base::Constant(integer(number)?),
        ("$", "retval") => Base::Returned,
        ("$", "comm" | "COMM") => Base::Comm,
        ("@", symbol) => {
            // A symbol's value: it implies a read.
            let end = symbol.rfind(['+', '-']).filter(|end| *end > 0).unwrap_or(symbol.len());
            let (symbol, distance) = symbol.split_at(end);
            let distance = if distance.is_empty() { Some(0) } else { integer(distance) }?;
            reads.push(Read { distance, is_user: false });
            match symbol.starts_with(|c: char| c.is_ascii_digit()) {
                true => Base::Constant(integer(symbol)?),
                false => Base::Symbol(symbol).filter_symbol()?,
            }
        }
        _ => return None,
    };
    reads.reverse();
    Some((base, reads))
}

impl Base<'_> {
    /// A symbol, unless it is an offset in a file.
    fn filter_symbol(self) -> Option<Self> {
        match self {
            Self::Symbol(name) if name.is_empty() || name.starts_with(['+', '-']) => None,
            base => Some(base),
        }
    }
}

fn number(kind: &str) -> Option<Kind> {
    if let Some(field) = kind.strip_prefix('b') {
        let (width, rest) = field.split_once('@')?;
        let (lowest, container) = rest.split_once('/')?;
        let [width, lowest, container] = [width, lowest, container].map(|n| n.parse::<u8>().ok());
        let (width, lowest, container) = (width?, lowest?, container?);
        let fits = matches!(container, 8 | 16 | 32 | 64)
            && u16::from(width) + u16::from(lowest) <= u16::from(container);
        return (fits && width > 0).then_some(Kind::Bits { width, lowest, container });
    }
    let (radix, bits) = kind.split_at_checked(1)?;
    let radix = match radix {
        "s" => Radix::Signed,
        "u" => Radix::Unsigned,
        "x" => Radix::Hexadecimal,
        _ => return None,
    };
    let bits = bits.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
    Some(Kind::Number { radix, bits })
}

/// As the kernel reads it: `96`, `0x60`, `-8`.
fn integer(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    // A constant may have the highest bit.
    Some(if is_negative { 0i64.wrapping_sub_unsigned(size) } else { size as i64 })
}

#[cfg(test)]
mod tests {
    use super::{Base, Fetched, Kind, Radix, Read};

    fn read(distance: i64) -> Read {
        Read { distance, is_user: false }
    }

    #[test]
    fn arguments_are_taken_apart() {
        let hexadecimal = |bits| Kind::Number { radix: Radix::Hexadecimal, bits };
        let user = Read { distance: 4, is_user: true };
        let bits = Kind::Bits { width: 3, lowest: 2, container: 32 };
        for (text, base, reads, kind) in [
            ("a=%di:x64", Base::Register("di"), vec![], hexadecimal(64)),
            ("a=%di", Base::Register("di"), vec![], hexadecimal(64)),
            ("a=+0(+96(%di)):string", Base::Register("di"), vec![read(96), read(0)], Kind::Text),
            ("a=-8(%sp):x8", Base::Register("sp"), vec![read(-8)], hexadecimal(8)),
            ("a=+u4(%si):b3@2/32", Base::Register("si"), vec![user], bits),
            ("a=+4(%si):ustring", Base::Register("si"), vec![user], Kind::Text),
            ("a=@jiffies:x64", Base::Symbol("jiffies"), vec![read(0)], hexadecimal(64)),
            ("a=+4(@init_task+16):x64", Base::Symbol("init_task"), vec![read(16), read(4)], hexadecimal(64)),
            ("a=\\-1:s32", Base::Constant(-1), vec![], Kind::Number { radix: Radix::Signed, bits: 32 }),
            ("a=$retval:symbol", Base::Returned, vec![], Kind::Symbol),
            ("a=$comm", Base::Comm, vec![], Kind::Text),
        ] {
            let fetched = Fetched::parse(text, 8);
            assert_eq!(fetched, Ok(Fetched { name: "a", base, reads, kind }), "{text}");
        }
    }

    #[test]
    fn what_only_the_kernel_reads_is_refused() {
        for text in [
            "a=$arg1:x64",
            "a=%di:string",
            "a=+0(%di):x64[4]",
            "a=%di:%pd",
            "a=@+16:x64",
            "a=\\\"text\"",
            "a=+4(%di:x64",
            "a=%di:b9@0/8",
            "a=$stack2:x64",
            "a=",
        ] {
            assert!(Fetched::parse(text, 8).is_err(), "{text}: {:?}", Fetched::parse(text, 8));
        }
    }
}
