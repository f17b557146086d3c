//! What the tracefs of this kernel has.
use super::mount::Tracefs;

/// Features that kernels have or have not; told by files and by the text of `README`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// `dynamic_events`, which takes definitions of all kinds (5.0).
    pub dynamic_events: bool,
    /// `kprobe_events`; without CONFIG_KPROBE_EVENTS there is none.
    pub kprobes: bool,
    /// `uprobe_events`.
    pub uprobes: bool,
    /// `f:` and `t:`, probes of functions and tracepoints by ftrace (6.5).
    pub fprobes: bool,
}

impl Features {
    /// Those of a kernel.
    pub fn of(tracefs: &Tracefs) -> Self {
        let [dynamic_events, kprobes, uprobes] =
            ["dynamic_events", "kprobe_events", "uprobe_events"].map(|name| tracefs.has(name));
        // `f[:[<group>/][<event>]] <func-name>[%return] [<args>]`
        let fprobes = dynamic_events
            && tracefs.read("README").lines().any(|line| line.trim_start().starts_with("f[:["));
        Self { dynamic_events, kprobes, uprobes, fprobes }
    }

    /// The file that takes a definition; `None` if there is none.
    pub fn file(self, definition: &str) -> Option<&'static str> {
        let is_of_program = definition.split(' ').nth(1).is_some_and(|place| place.contains('/'));
        match definition.get(..1) {
            // Without CONFIG_KPROBE_EVENTS dynamic_events has not the kind either.
            Some("p" | "r") if is_of_program && !self.uprobes => None,
            Some("p" | "r") if !is_of_program && !self.kprobes => None,
            _ if self.dynamic_events => Some("dynamic_events"),
            Some("p" | "r") if is_of_program => Some("uprobe_events"),
            Some("p" | "r") => Some("kprobe_events"),
            _ => None,
        }
    }

    /// The files that list definitions.
    pub fn lists(self) -> &'static [&'static str] {
        if self.dynamic_events { &["dynamic_events"] } else { &["kprobe_events", "uprobe_events"] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_definition_has_its_file() {
        let old = Features { dynamic_events: false, kprobes: true, uprobes: true, fprobes: false };
        let new = Features { dynamic_events: true, ..old };
        let bare = Features { uprobes: false, ..new };
        for (features, line, file) in [
            (old, "p:g/e _text+5 a=%di:x64", Some("kprobe_events")),
            (old, "p:g/e /bin/sh:0x5", Some("uprobe_events")),
            (old, "r5:g/e vfs_read", Some("kprobe_events")),
            (old, "t:g/e sched_switch", None),
            (new, "t:g/e sched_switch", Some("dynamic_events")),
            (new, "p:g/e _text+5", Some("dynamic_events")),
            (bare, "p:g/e /bin/sh:0x5", None),
        ] {
            assert_eq!(features.file(line), file, "{line}");
        }
    }
}
