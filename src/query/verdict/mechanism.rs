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
    is_user: bool,
    /// In the order of [`Mechanism::reaching`]; the rest is unused.
    values: [T; Mechanism::MOST],
}

impl<T: Copy + Default> ByMechanism<T> {
    /// Computes the value of each mechanism for kernel code, or for programs and shared libraries.
    pub fn new(is_user: bool, value: impl Fn(Mechanism) -> T) -> Self {
        Self::in_order(is_user, Mechanism::reaching(is_user).iter().map(|mechanism| value(*mechanism)))
    }
    /// Maps each value.
    pub fn map<U: Copy + Default>(&self, value: impl Fn((Mechanism, T)) -> U) -> ByMechanism<U> {
        ByMechanism::in_order(self.is_user, self.iter().map(value))
    }
    /// Joins the values of each mechanism that reaches the same object.
    pub fn join<U: Copy, V: Copy + Default>(
        &self,
        other: &ByMechanism<U>,
        join: impl Fn(T, U) -> V,
    ) -> ByMechanism<V> {
        let both = Mechanism::reaching(other.is_user).iter().zip(self.values.iter().zip(&other.values));
        ByMechanism::in_order(other.is_user, both.map(|(_, (one, other))| join(*one, *other)))
    }
    /// Takes the value of each of the mechanisms.
    fn in_order(is_user: bool, each: impl Iterator<Item = T>) -> Self {
        let mut values = [T::default(); Mechanism::MOST];
        values.iter_mut().zip(each).for_each(|(to, value)| *to = value);
        Self { is_user, values }
    }
    /// The value of a mechanism; `None` if it does not reach the object.
    pub fn get(&self, mechanism: Mechanism) -> Option<T> {
        self.iter().find(|(one, _)| *one == mechanism).map(|(_, value)| value)
    }
    /// The values in the order of [`Mechanism::reaching`].
    pub fn iter(&self) -> impl Iterator<Item = (Mechanism, T)> + use<T> {
        Mechanism::reaching(self.is_user).iter().copied().zip(self.values)
    }
    /// The value of the mechanism that accepts any address: kprobes, or uprobes.
    pub fn any_address(&self) -> T {
        self.values[0]
    }
    /// The value of the mechanism behind a tracefs definition of a probe or a return probe.
    pub fn definition(&self, is_return: bool) -> T {
        let mechanism = match (self.is_user, is_return) {
            (true, false) => Mechanism::Uprobe,
            (true, true) => Mechanism::Uretprobe,
            (false, false) => Mechanism::KprobeEvents,
            (false, true) => Mechanism::Kretprobe,
        };
        self.get(mechanism).unwrap_or_default()
    }
}

impl<T: Copy + Default> Default for ByMechanism<T> {
    fn default() -> Self {
        Self::new(false, |_| T::default())
    }
}
