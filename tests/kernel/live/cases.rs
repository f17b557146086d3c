//! Well-known cases, one of each kind: what every other test here builds on.
use super::boot::{Address, Answer, Machine, Request, What};
use super::symbols;
use crate::installed::{self, Kernel, needed};
use std::collections::HashMap;

const ENOENT: i32 = 2;
const EINVAL: i32 = 22;
const EILSEQ: i32 = 84;
const EADDRNOTAVAIL: i32 = 99;
const TRACED: &str = "/sys/kernel/tracing/available_filter_functions";

#[test]
fn the_installed_kernel_does_what_is_known_of_it() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    if kernel.release.starts_with("6.1.") {
        does_what_is_known(&kernel, ENOENT, EADDRNOTAVAIL);
    } else {
        installed::say(&format!("skipped: {} is not one of which the errors are known", kernel.release));
    }
}

/// The errors for an unknown and an ambiguous name are what changed. (9d8616034f16, v6.12)
fn does_what_is_known(kernel: &Kernel, unknown: i32, ambiguous: i32) {
    let Some(known) = needed(Known::new(kernel)) else { return };
    // kstrtoull is in lib/, which is built without ftrace sites; notify_die is a NOKPROBE_SYMBOL; there are several
    // type_show.
    let mut cases = vec![
        ("a function", known.define("p:t/a vfs_read", "vfs_read", 0), Expect::Lands),
        ("behind _text", known.behind_text("p:t/from", "vfs_read"), Expect::Lands),
        ("a return", known.behind_text("r:t/return", "vfs_read"), Expect::Lands),
        ("a wrong expectation", known.define("p:t/b vfs_write", "vfs_read", 0), Expect::LandsElsewhere),
        ("unknown", known.define("p:t/c no_such_function", "vfs_read", 0), Expect::Refused(unknown)),
        ("ambiguous", known.define("p:t/d type_show", "type_show", 0), Expect::Refused(ambiguous)),
        ("not a boundary", known.define("p:t/e vfs_read+1", "vfs_read", 1), Expect::Refused(EILSEQ)),
        ("a return from within", known.define("r:t/f vfs_read+9", "vfs_read", 9), Expect::Refused(EINVAL)),
        ("init code", known.behind_text("p:t/init", "start_kernel"), Expect::Refused(EINVAL)),
        ("blacklisted", known.define("p:t/g notify_die", "notify_die", 0), Expect::Refused(EINVAL)),
        ("no ftrace site", known.define("p:t/h kstrtoull", "kstrtoull", 0), Expect::Refused(EINVAL)),
        ("a module", known.define("p:t/i overlay:ovl_fill_super", "ovl_fill_super", 0), Expect::Lands),
        ("not loaded", known.define("p:t/j btrfs:btrfs_sync_file", "vfs_read", 0), Expect::Waits),
        ("not a module", known.define("p:t/k vmlinux:vfs_read", "vfs_read", 0), Expect::Waits),
    ];
    match known.machine.cannot_register() {
        None => cases.extend([
            ("register", known.register(What::Kprobe, "vfs_read"), Expect::Lands),
            ("register without ftrace site", known.register(What::Kprobe, "kstrtoull"), Expect::Lands),
            ("register, blacklisted", known.register(What::Kprobe, "notify_die"), Expect::Refused(EINVAL)),
            ("register in init code", known.register(What::Kprobe, "start_kernel"), Expect::Refused(EINVAL)),
            ("register in a module", known.register(What::Kprobe, "ovl_fill_super"), Expect::Lands),
            ("register a return", known.register(What::Kretprobe, "vfs_read"), Expect::Lands),
            ("an ftrace site", known.register(What::Ftrace, "vfs_read"), Expect::Lands),
            ("not an ftrace site", known.register(What::Ftrace, "kstrtoull"), Expect::Refused(EINVAL)),
        ]),
        Some(why) => installed::say(&format!("skipped: register_kprobe on {}: {why}", kernel.release)),
    }
    let requests: Vec<Request> = cases.iter().map(|(_, request, _)| request.clone()).collect();
    let machine = known.machine.clone().print(TRACED);
    for machine in [machine.clone(), machine.moved()] {
        let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
        let refused: Vec<_> = answers.modules.iter().filter(|(_, errno)| *errno != 0).collect();
        assert!(refused.is_empty(), "not loaded: {refused:?}");
        for ((name, request, expect), answer) in cases.iter().zip(&answers.answers) {
            assert!(expect.holds(answer), "{}: {name}: {request}: {answer}", kernel.release);
        }
        let blacklisted = answers.blacklist.iter().any(|line| line.ends_with("\tnotify_die"));
        assert!(blacklisted, "{}: {} lines without notify_die", kernel.release, answers.blacklist.len());
        let traced: Vec<&str> = answers.printed[TRACED].lines().collect();
        assert!(traced.contains(&"vfs_read") && !traced.contains(&"kstrtoull"), "{} lines", traced.len());
    }
}

enum Expect {
    Lands,
    LandsElsewhere,
    /// Accepted, and nothing is placed before a module of that name is loaded.
    Waits,
    Refused(i32),
}

impl Expect {
    fn holds(&self, answer: &Answer) -> bool {
        let landed = answer.landed.as_ref().map(|l| l.is_as_wanted());
        match self {
            Self::Lands => (answer.errno, landed) == (0, Some(true)),
            Self::LandsElsewhere => (answer.errno, landed) == (0, Some(false)),
            Self::Waits => (answer.errno, landed) == (0, None),
            Self::Refused(errno) => (answer.errno, landed) == (*errno, None),
        }
    }
}

/// A machine with overlay loaded, and where its functions are.
struct Known {
    machine: Machine,
    symbols: HashMap<String, Vec<Address>>,
}

impl Known {
    fn new(kernel: &Kernel) -> Result<Self, String> {
        let machine = Machine::new(kernel)?.modules(kernel, &["overlay"])?;
        let mut symbols = symbols::of(&kernel.vmlinux, None)?;
        let overlay = kernel.debug_modules.join("kernel/fs/overlayfs/overlay.ko");
        symbols.extend(symbols::of(&overlay, Some("overlay"))?);
        Ok(Self { machine, symbols })
    }

    fn at(&self, name: &str) -> Address {
        let found = self.symbols.get(name).and_then(|found| found.first());
        found.unwrap_or_else(|| panic!("no symbol {name}")).clone()
    }

    /// A line that is to land so far into a function.
    fn define(&self, line: &str, name: &str, offset: u64) -> Request {
        Request::Define { line: line.to_owned(), expect: self.at(name).plus(offset) }
    }

    /// A probe given by its distance from `_text`.
    fn behind_text(&self, probe: &str, name: &str) -> Request {
        let (Address::Kernel(text), Address::Kernel(address)) = (self.at("_text"), self.at(name)) else {
            panic!("{name} is not in vmlinux");
        };
        self.define(&format!("{probe} _text+{}", address - text), name, 0)
    }

    fn register(&self, what: What, name: &str) -> Request {
        Request::Register { what, address: self.at(name) }
    }
}
