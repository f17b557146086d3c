//! Scripts against a real kernel: two that have to be right on every kernel, and those that SystemTap ships.
use crate::installed::{self, Kernel};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where systemtap-doc puts its examples.
const EXAMPLES: &str = "/usr/share/systemtap/examples";

/// Why we and SystemTap differ about a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// It probes programs, which are in no index of a kernel; SystemTap looks for the program on this machine.
    Program,
    /// SystemTap compiles a header of the kernel to find a type, which the headers package does not have where it looks.
    Header,
    /// SystemTap's run depends on the machine: it did not end within its time.
    Machine,
}

/// Scripts about which we differ, with the reason.
const DECIDED: [(&str, Class); 2] =
    [("general/sizeof.stp", Class::Header), ("process/noptrace.stp", Class::Machine)];
