//! For which programs a kfunc is, where that is known.
use super::measured::{KINDS, LINES, NONE, ROWS, SLEEPING};
use crate::query::index::release::Release;
use probeidx_format::View;

/// Whether programs may call a kfunc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Allowed,
    Refused,
    /// Not measured, or different on the measured kernels before and after this one.
    Unknown,
}

/// Who may call a kfunc of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programs {
    /// By kind: certainly allowed, and certainly refused.
    allowed: u32,
    refused: u32,
    /// Whether it is for programs that may sleep alone.
    pub is_sleeping: bool,
}

impl Programs {
    /// Who may call a kfunc that the kernel has. Cost: a walk over some hundred names.
    pub fn of(view: &View<'_>, name: &[u8]) -> Self {
        let release = String::from_utf8_lossy(view.release());
        let line = Release::parse(&release).line().split_once('.');
        let line = line.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        Self::on(line, name)
    }

    fn on(line: Option<(u32, u32)>, name: &[u8]) -> Self {
        let has = |names: &str| names.split_whitespace().any(|one| one.as_bytes() == name);
        let unknown = Self { allowed: 0, refused: 0, is_sleeping: has(SLEEPING) };
        let row = ROWS.iter().find(|(_, names)| has(names));
        let (Some((masks, _)), Some(line)) = (row, line) else { return unknown };
        let measured = || LINES.iter().zip(masks).filter(|(_, mask)| **mask != NONE);
        let before = measured().rfind(|(at, _)| **at <= line);
        let after = measured().find(|(at, _)| **at >= line);
        let known = (1 << KINDS.len()) - 1;
        match (before, after) {
            (Some((_, before)), Some((_, after))) => {
                Self { allowed: before & after, refused: !before & !after & known, ..unknown }
            }
            // What is newer than all has at least what the last one had.
            (Some((_, before)), None) if line > LINES[LINES.len() - 1] => {
                Self { allowed: *before, ..unknown }
            }
            _ => unknown,
        }
    }

    /// Whether programs of a kind may, which may sleep or not. Kinds are called as in [`Self::kinds`].
    pub fn takes(&self, kind: &str, may_sleep: bool) -> Use {
        if self.is_sleeping && !may_sleep {
            return Use::Refused;
        }
        let Some(bit) = KINDS.iter().position(|one| *one == kind) else { return Use::Unknown };
        match (self.allowed >> bit & 1, self.refused >> bit & 1) {
            (1, _) => Use::Allowed,
            // Each table has its own.
            (_, 1) if kind != "struct_ops" => Use::Refused,
            _ => Use::Unknown,
        }
    }

    /// The kinds that may, and those of which it is not known.
    pub fn kinds(&self, of: Use) -> Vec<&'static str> {
        KINDS.into_iter().filter(|kind| self.takes(kind, true) == of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(line: (u32, u32), name: &str, kind: &str) -> Use {
        Programs::on(Some(line), name.as_bytes()).takes(kind, false)
    }

    #[test]
    fn a_kernel_between_two_that_agree_is_as_they_are() {
        assert_eq!(takes((6, 12), "bpf_task_from_pid", "kprobe"), Use::Refused);
        assert_eq!(takes((6, 15), "bpf_task_from_pid", "fentry"), Use::Allowed);
        assert_eq!(takes((6, 15), "bpf_task_from_pid", "raw_tp"), Use::Unknown);
        assert_eq!(takes((7, 3), "bpf_task_from_pid", "raw_tp"), Use::Allowed);
        assert_eq!(takes((7, 9), "bpf_task_from_pid", "kprobe"), Use::Unknown);
        // Newer than the first kernel that has it: not before.
        assert_eq!(takes((6, 6), "bpf_task_from_pid", "fentry"), Use::Unknown);
        assert_eq!(takes((6, 12), "no_such_kfunc", "fentry"), Use::Unknown);
    }

    #[test]
    fn what_sleeps_is_for_programs_that_may() {
        let copy = Programs::on(Some((7, 3)), b"bpf_copy_from_user_str");
        assert_eq!((copy.takes("lsm", true), copy.takes("lsm", false)), (Use::Allowed, Use::Refused));
        assert!(copy.kinds(Use::Allowed).contains(&"syscall"));
    }
}
