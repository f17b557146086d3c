//! What a mechanism says to an address, and what all of them do.
use super::mechanism::{ByMechanism, Mechanism};
use super::reason::Reason;
use super::unknown::Unknown;

/// Whether a mechanism accepts an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The probe is accepted, and fires.
    Ok,
    /// The probe is refused.
    No(Reason),
}

impl Verdict {
    /// Whether the probe is accepted.
    pub fn is_ok(self) -> bool {
        self == Self::Ok
    }
    /// The reason for the refusal.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Ok => None,
            Self::No(reason) => Some(reason),
        }
    }
    /// `ok`, or the name of the reason.
    pub fn name(self) -> &'static str {
        self.reason().map_or("ok", Reason::name)
    }
    /// Like [`name`](Self::name), for people: a phrase if the architecture is the reason why it is undecided.
    pub fn words(self) -> &'static str {
        match self {
            Self::No(reason @ Reason::Undecided(Unknown::ARCHITECTURE)) => reason.phrase(),
            other => other.name(),
        }
    }
    /// What is not known, if the verdict is undecided.
    pub fn unknown(self) -> Unknown {
        self.reason().map_or(Unknown::NOTHING, Reason::unknown)
    }
    pub(super) fn or(self, next: impl FnOnce() -> Self) -> Self {
        if self.is_ok() { next() } else { self }
    }
}

impl Default for Verdict {
    /// What stands where no mechanism does: never `ok`.
    fn default() -> Self {
        Self::No(Reason::NoSymbol)
    }
}

impl From<Unknown> for Verdict {
    fn from(unknown: Unknown) -> Self {
        Reason::of(unknown).into()
    }
}

impl From<Option<Reason>> for Verdict {
    fn from(reason: Option<Reason>) -> Self {
        reason.map_or(Self::Ok, Self::No)
    }
}

/// The verdict of each mechanism on an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    pub(super) by: ByMechanism<Verdict>,
    /// How many bytes after the address the kernel puts the probe; mostly 0.
    pub shift: u32,
}

impl Verdicts {
    /// The verdict of a mechanism; `None` if it does not reach the object.
    pub fn of(&self, mechanism: Mechanism) -> Option<Verdict> {
        self.by.get(mechanism)
    }
    /// The mechanisms that reach the object, each with its verdict.
    pub fn iter(&self) -> impl Iterator<Item = (Mechanism, Verdict)> + use<> {
        self.by.iter()
    }
    /// The verdict of `register_kprobe`, or of uprobes for a program or shared library.
    pub fn any_address(&self) -> Verdict {
        self.by.any_address()
    }
    /// The verdict on a tracefs definition of a probe or a return probe.
    pub fn definition(&self, is_return: bool) -> Verdict {
        self.by.definition(is_return)
    }
    /// The verdict of ftrace, which does not reach programs and shared libraries.
    pub fn ftrace(&self) -> Verdict {
        self.of(Mechanism::Ftrace).unwrap_or(Verdict::No(Reason::NoFtraceSite))
    }
    /// The verdict of BPF trampolines: never better than that of [`ftrace`](Self::ftrace).
    pub fn trampoline(&self) -> Verdict {
        self.of(Mechanism::Trampoline).unwrap_or(Verdict::No(Reason::NoFtraceSite))
    }
    /// The verdict of each mechanism by its name, and `fentry` for both that need an ftrace site: the worse of the two.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, Verdict)> + use<> {
        let fentry = self.of(Mechanism::Trampoline).map(|verdict| (Mechanism::FENTRY, verdict));
        self.iter().map(|(mechanism, verdict)| (mechanism.name(), verdict)).chain(fentry)
    }
    /// Names and verdicts for people: `fentry` for both mechanisms of ftrace where their verdicts agree.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Verdict)> + use<> {
        let agree = self.ftrace() == self.trampoline();
        self.iter().filter_map(move |(mechanism, verdict)| match mechanism {
            Mechanism::Ftrace if agree => Some((Mechanism::FENTRY, verdict)),
            Mechanism::Trampoline if agree => None,
            _ => Some((mechanism.name(), verdict)),
        })
    }
    /// Maps each verdict.
    pub fn map<T: Copy + Default>(&self, value: impl Fn((Mechanism, Verdict)) -> T) -> ByMechanism<T> {
        self.by.map(value)
    }
    /// What is not known about the undecided verdicts.
    pub fn unknown(&self) -> Unknown {
        self.iter().fold(Unknown::NOTHING, |sum, (_, verdict)| sum.and(verdict.unknown()))
    }
}
