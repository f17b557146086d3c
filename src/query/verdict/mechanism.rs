//! The kernel's probe mechanisms.

/// A probe mechanism. Kernel code and user code have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// `register_kprobe`: SystemTap, modules.
    Kprobe,
    /// `p` in tracefs: perf, BPF through `perf_event_open`.
    KprobeEvents,
    /// `r` in tracefs.
    Kretprobe,
    /// ftrace, fprobe, kprobe.multi.
    Ftrace,
    /// BPF trampolines: fentry, fexit, fmod_ret, lsm.
    Trampoline,
    /// `p` in `uprobe_events`, and `uprobe_register`.
    Uprobe,
    /// `r` in `uprobe_events`.
    Uretprobe,
}

impl Mechanism {
    const KERNEL: &'static [Self] =
        &[Self::Kprobe, Self::KprobeEvents, Self::Kretprobe, Self::Ftrace, Self::Trampoline];
    /// Both mechanisms that need an ftrace site, where they say the same.
    pub const FENTRY: &'static str = "fentry";
    const USER: &'static [Self] = &[Self::Uprobe, Self::Uretprobe];
    /// The largest number of mechanisms that reach one object.
    const MOST: usize = Self::KERNEL.len();

    /// The mechanisms for kernel code, or those for programs and shared libraries. The first accepts any address.
    pub fn reaching(is_user: bool) -> &'static [Self] {
        if is_user { Self::USER } else { Self::KERNEL }
    }

    /// The name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kprobe => "kprobe",
            Self::KprobeEvents => "kprobe_events",
            Self::Kretprobe => "kretprobe",
            Self::Ftrace => "ftrace",
            Self::Trampoline => "trampoline",
            Self::Uprobe => "uprobe",
            Self::Uretprobe => "uretprobe",
        }
    }
}

/// A value for each mechanism that reaches an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByMechanism<T> {
    mechanisms: &'static [Mechanism],
    /// In the order of [`Mechanism::reaching`]; the rest is unused.
    values: [T; Mechanism::MOST],
}

impl<T: Copy + Default> ByMechanism<T> {
    /// Computes the value of each mechanism for kernel code, or for programs and shared libraries.
    pub fn new(is_user: bool, value: impl Fn(Mechanism) -> T) -> Self {
        let mechanisms = Mechanism::reaching(is_user);
        Self::in_order(mechanisms, mechanisms.iter().map(|mechanism| value(*mechanism)))
    }
    /// Maps each value.
    pub fn map<U: Copy + Default>(&self, value: impl Fn((Mechanism, T)) -> U) -> ByMechanism<U> {
        ByMechanism::in_order(self.mechanisms, self.iter().map(value))
    }
    /// Takes the value of each of these mechanisms.
    fn in_order(mechanisms: &'static [Mechanism], each: impl Iterator<Item = T>) -> Self {
        let mut values = [T::default(); Mechanism::MOST];
        values.iter_mut().zip(each).for_each(|(to, value)| *to = value);
        Self { mechanisms, values }
    }
    /// The value of a mechanism; `None` if it does not reach the object.
    pub fn get(&self, mechanism: Mechanism) -> Option<T> {
        self.iter().find(|(one, _)| *one == mechanism).map(|(_, value)| value)
    }
    /// The values in the order of [`Mechanism::reaching`].
    pub fn iter(&self) -> impl Iterator<Item = (Mechanism, T)> + use<T> {
        self.mechanisms.iter().copied().zip(self.values)
    }
    /// The value of the mechanism that accepts any address: kprobes, or uprobes.
    pub fn any_address(&self) -> T {
        self.values[0]
    }
    /// The value of the mechanism behind a tracefs definition of a probe or a return probe.
    pub fn definition(&self, is_return: bool) -> T {
        let mechanism = match (self.mechanisms[0], is_return) {
            (Mechanism::Uprobe, false) => Mechanism::Uprobe,
            (Mechanism::Uprobe, true) => Mechanism::Uretprobe,
            (_, false) => Mechanism::KprobeEvents,
            (_, true) => Mechanism::Kretprobe,
        };
        self.get(mechanism).unwrap_or_default()
    }
}

impl<T: Copy + Default> Default for ByMechanism<T> {
    fn default() -> Self {
        Self::new(false, |_| T::default())
    }
}
