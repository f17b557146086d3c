//! Where a variable is, in words: registers by the kernel's names, memory as `+8(%sp)`.
use super::frames;
use probeidx_format::View;
use probeidx_format::details::Location;
use probeidx_format::expr::Expr;
use probeidx_format::id::ObjectId;

/// What can be done with a variable at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In a register or in memory.
    Readable,
    /// Always this value.
    Constant,
    /// It has a location, not at this address.
    Elsewhere,
    /// It is nowhere.
    OptimizedOut,
    /// It has a location here that cannot be fetched; the text says which.
    Unsupported,
}

impl State {
    /// Whether a probe can have the value.
    pub fn is_known(self) -> bool {
        matches!(self, Self::Readable | Self::Constant)
    }
    /// As JSON and text print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Readable => "readable",
            Self::Constant => "constant",
            Self::Elsewhere => "elsewhere",
            Self::OptimizedOut => "optimized-out",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Where a variable is to be read.
#[derive(Clone, Copy)]
pub struct Stop<'v, 'a> {
    pub view: &'v View<'a>,
    pub object: ObjectId,
    /// Where the probe stands.
    pub pc: u32,
    /// Whether the registers still hold what the function was called with.
    pub at_entry: bool,
}

/// The state of a variable that is described at `pc`, and its location in words where it has one.
pub fn describe(location: Location<'_>, pc: u32, stop: Stop<'_, '_>) -> (State, Option<String>) {
    let describe_expr = |expr| {
        let expr = frames::resolve(stop.view, stop.object, stop.pc, expr);
        describe_expr(expr, stop.at_entry, stop.view.machine())
    };
    match location {
        Location::None => (State::OptimizedOut, None),
        Location::Constant(value) => (State::Constant, Some(format!("\\{value}"))),
        Location::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            (State::Constant, Some(format!("bytes {hex}")))
        }
        Location::Everywhere(expr) => describe_expr(expr),
        Location::List(_) | Location::Within(..) => match location.at(pc) {
            Some(expr) if expr.is_uninitialized() => (State::Elsewhere, None),
            Some(expr) => describe_expr(expr),
            None => (State::Elsewhere, None),
        },
    }
}

fn describe_expr(expr: Expr<'_>, at_entry: bool, machine: u16) -> (State, Option<String>) {
    let register = |number| register(number, machine);
    let (state, text) = match expr {
        _ if expr.is_empty() => return (State::OptimizedOut, None),
        Expr::Register(number) => (State::Readable, register(number)),
        Expr::Literal(value) => (State::Constant, format!("\\{value}")),
        Expr::BasedOn(number, offset) => (State::Readable, format!("{offset:+}({})", register(number))),
        Expr::EntryValue(number) if at_entry => (State::Readable, register(number)),
        Expr::EntryValue(number) => (State::Unsupported, format!("entry value of {}", register(number))),
        Expr::Frame(offset) => (State::Unsupported, format!("{offset:+}(frame)")),
        Expr::Constant(value) => (State::Constant, format!("\\{value}")),
        Expr::Memory(address) => (State::Readable, format!("@{address:#x}")),
        Expr::Sum(..) | Expr::FrameSum(_) | Expr::Address(_) | Expr::Verbatim(_) => {
            let hex: Vec<String> = expr.operations().iter().map(|b| format!("{b:02x}")).collect();
            (State::Unsupported, format!("DWARF operations {}", hex.join(" ")))
        }
    };
    (state, Some(text))
}

/// A DWARF register by the name that kprobe_events takes (arch/x86/kernel/ptrace.c, arch/arm64/kernel/ptrace.c).
pub fn register(number: u8, machine: u16) -> String {
    const X86_64: [&str; 17] = [
        "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "ip",
    ];
    match machine {
        62 => match X86_64.get(usize::from(number)) {
            Some(name) => format!("%{name}"),
            None => format!("DWARF register {number}"),
        },
        183 if number < 31 => format!("%x{number}"),
        183 if number == 31 => "%sp".to_owned(),
        _ => format!("DWARF register {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_said_in_the_kernels_words() {
        let say = |expr| describe_expr(expr, false, 62);
        assert_eq!(say(Expr::Register(5)), (State::Readable, Some("%di".into())));
        assert_eq!(say(Expr::BasedOn(7, 8)), (State::Readable, Some("+8(%sp)".into())));
        assert_eq!(say(Expr::BasedOn(12, -704)), (State::Readable, Some("-704(%r12)".into())));
        assert_eq!(say(Expr::Constant(-2)), (State::Constant, Some("\\-2".into())));
        // r12 - 704 is a value and not the memory there.
        let operations = "DWARF operations 7c c0 7a 9f";
        assert_eq!(say(Expr::Sum(12, -704)), (State::Unsupported, Some(operations.into())));
        assert_eq!(say(Expr::EntryValue(4)).0, State::Unsupported);
        assert_eq!(describe_expr(Expr::EntryValue(4), true, 62), (State::Readable, Some("%si".into())));
        assert_eq!(say(Expr::Frame(-88)), (State::Unsupported, Some("-88(frame)".into())));
        assert_eq!(say(Expr::Verbatim(&[])), (State::OptimizedOut, None));
    }
}
