//! A record of a trace: what happened, and values that are decoded when they are printed.
use super::names::{Frame, Namer};
use super::{Copy, Event, Place};

/// One event that happened.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// In nanoseconds since the boot, or since the trace began.
    pub time: u64,
    /// The processor.
    pub cpu: u32,
    /// The task; 0 for an idle processor.
    pub pid: i32,
    /// The name of the task; empty if it is unknown.
    pub comm: &'a [u8],
    /// The event of the plan.
    pub event: &'a Event,
    /// The copy of it; `None` if it is unknown, or the event has none.
    pub copy: Option<&'a Copy>,
    /// The values, one for each column of the event.
    pub values: &'a [Value<'a>],
    /// Return addresses, innermost first; empty if none were asked for.
    pub stack: &'a [u64],
    /// Where the function returns to, of the event of a return (`__probe_ret_ip`).
    pub returns_to: Option<u64>,
}

/// What the kernel puts in place of the address to which a probed function returns: up to 5.14, from 5.15, from 5.18 on.
/// (`arch_prepare_kretprobe`, `arch_rethook_prepare`)
const TRAMPOLINES: [&str; 3] = ["kretprobe_trampoline", "__kretprobe_trampoline", "arch_rethook_trampoline"];

impl Record<'_> {
    /// The frames of the stack, innermost first: the address, and its name.
    ///
    /// The first is where the probe is, or a little behind it. On arm64 a kprobe runs in place of the instruction, so that at
    /// the entry of a function the address is that of the function, and the one before it belongs to another (5.10). Of an
    /// fprobe, which is called from there, the kernel's own functions before it are left out (arm64, 7.3). Of a return, the first
    /// is in the caller; where the unwinder ends at what the kernel returns to instead (5.10), it is the only one.
    pub fn frames(&self, names: &mut dyn Namer, then: &mut dyn FnMut(u64, &Frame)) {
        /// `ftrace_caller`, what it calls, and more of that kind.
        const MOST: usize = 8;
        /// What precedes the return address of an ftrace site in its function: `bti`, and two instructions on arm64.
        const SITE: u64 = 12;
        if self.stack.is_empty() {
            return;
        }
        let probe =
            self.copy.and_then(|copy| copy.place.as_ref()?.run_time).filter(|_| self.returns_to.is_none());
        let is_first = |address: &u64| match (self.returns_to, probe) {
            (Some(caller), _) => *address == caller,
            (None, probe) => probe.is_some_and(|probe| address.wrapping_sub(probe) <= SITE),
        };
        let first = match (self.stack.iter().take(MOST).position(is_first), self.returns_to) {
            (Some(first), _) => first,
            (None, None) => 0,
            (None, Some(caller)) => {
                then(caller, names.frame(caller));
                let is_trampoline = |address: &&u64| {
                    let symbol = names.symbol(**address).unwrap_or_default();
                    TRAMPOLINES.contains(&symbol.split('+').next().unwrap_or(symbol))
                };
                self.stack.iter().take_while(is_trampoline).count()
            }
        };
        for (nth, address) in self.stack[first..].iter().enumerate() {
            match nth == 0 && probe == Some(*address) {
                true => then(*address, names.place(*address)),
                false => then(*address, names.frame(*address)),
            }
        }
    }
}

/// What a record and its reader have besides records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The kernel overwrote events of a processor before they were read.
    Lost {
        /// Of the first event after them.
        time: u64,
        /// The processor.
        cpu: u32,
        /// How many; `None` if that is unknown.
        count: Option<u64>,
    },
}

/// A value of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(Number),
    /// Several numbers.
    Numbers(Numbers<'a>),
    /// Text, without a zero byte; not always UTF-8.
    Text(&'a [u8]),
    /// Bytes of an unknown type.
    Bytes(&'a [u8]),
    /// The kernel could not read it: it was not in memory, or the record is too short.
    Unreadable,
}

/// A number of 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    bits: u64,
    size: u8,
    is_signed: bool,
}

impl Number {
    /// A number of so many bytes, whose upper bits do not count.
    pub fn new(bits: u64, size: u8, is_signed: bool) -> Self {
        let unused = 64 - 8 * u32::from(size.clamp(1, 8));
        Self { bits: bits << unused >> unused, size: size.clamp(1, 8), is_signed }
    }
    /// The number without a sign.
    pub fn unsigned(self) -> u64 {
        self.bits
    }
    /// The number, of which the highest bit is the sign.
    pub fn signed(self) -> i64 {
        let unused = 64 - 8 * u32::from(self.size);
        (self.bits << unused) as i64 >> unused
    }
    /// Its size in bytes.
    pub fn size(self) -> u8 {
        self.size
    }
    /// Whether the kernel says that it has a sign.
    pub fn is_signed(self) -> bool {
        self.is_signed
    }
}

/// Numbers of the same size, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers<'a> {
    /// Their bytes.
    pub bytes: &'a [u8],
    /// The size of each in bytes: 1 to 8.
    pub size: u8,
    /// Whether they have a sign.
    pub is_signed: bool,
    /// Whether the highest byte is the first.
    pub is_big_endian: bool,
}

impl<'a> Numbers<'a> {
    /// The numbers, in their order.
    pub fn iter(self) -> impl Iterator<Item = Number> + use<'a> {
        self.bytes.chunks_exact(usize::from(self.size.clamp(1, 8))).map(move |bytes| {
            let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
            let number = match self.is_big_endian {
                true => bytes.iter().fold(0, add),
                false => bytes.iter().rev().fold(0, add),
            };
            Number::new(number, self.size, self.is_signed)
        })
    }
}

/// The copies of an event by the run-time address that its records have.
#[derive(Clone, Debug, Default)]
pub struct CopyFinder {
    /// Ascending by address.
    copies: Vec<(u64, usize)>,
}

impl CopyFinder {
    /// The copies of an event. `run_time` gives the address at which a place is in the kernel that runs.
    pub fn new(event: &Event, run_time: impl Fn(&Place) -> Option<u64>) -> Self {
        let address = |(copy, at): (&Copy, usize)| Some((run_time(copy.place.as_ref()?)?, at));
        let mut copies: Vec<(u64, usize)> = event.copies.iter().zip(0..).filter_map(address).collect();
        copies.sort_unstable();
        Self { copies }
    }

    /// The position of the copy whose probe wrote this address (`__probe_ip`, `__probe_func`). Cost: a binary search.
    pub fn find(&self, address: u64) -> Option<usize> {
        /// The kernel moves a probe behind `endbr64` at the entry of a function, and behind `bti` or `paciasp` on arm64.
        /// (`arch_adjust_kprobe_addr`, since 5.18)
        const MOVED: u64 = 8;
        let after = self.copies.partition_point(|(start, _)| *start <= address);
        let (start, copy) = self.copies[..after].last()?;
        (address - start <= MOVED).then_some(*copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::trace::Kind;

    #[test]
    fn numbers_have_the_sign_that_is_asked_for() {
        let byte = Number::new(0xffff_fffe, 1, true);
        assert_eq!((byte.unsigned(), byte.signed()), (0xfe, -2));
        let long = Number::new(u64::MAX, 8, false);
        assert_eq!((long.unsigned(), long.signed()), (u64::MAX, -1));
        let both = [false, true].map(|is_big_endian| {
            let numbers = Numbers { bytes: &[1, 2, 3, 0xff, 9], size: 2, is_signed: true, is_big_endian };
            numbers.iter().map(Number::signed).collect::<Vec<_>>()
        });
        assert_eq!(both, [vec![0x201, -253], vec![0x102, 0x3ff]]);
    }

    #[test]
    fn a_copy_is_found_by_its_address_and_a_little_behind_it() {
        let copy = |address| Copy {
            definition: None,
            is_certain: true,
            place: Some(Place {
                anchor: ("_text".to_owned(), address),
                module: None,
                address,
                run_time: None,
            }),
            inlined_into: vec![],
            unreadable: vec![],
        };
        let event = Event {
            kind: Kind::Kprobe,
            group: String::new(),
            name: String::new(),
            subject: String::new(),
            copies: vec![copy(0x200), copy(0x100), copy(0x108)],
            columns: vec![],
            filter: None,
        };
        let finder = CopyFinder::new(&event, |place| Some(place.address + 0x1000));
        let found = [0x1200, 0x1100, 0x1104, 0x1108, 0x110c, 0x1111, 0x10ff].map(|a| finder.find(a));
        assert_eq!(found, [Some(0), Some(1), Some(1), Some(2), Some(2), None, None]);
    }
}
