//! The program itself in a booted machine.
use super::boot::{Machine, Request};
use super::parts;
use crate::installed::{self, Kernel};
use std::path::Path;

/// What a script prints in a machine that has the program, busybox and the machine's modules, which are loaded.
pub fn printed(kernel: &Kernel, machine: Machine, script: &str) -> Result<String, String> {
    let read = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let script = format!("for m in $(cat /modules); do insmod /m/$m.ko; done\n{script}");
    let machine = machine
        .running(parts::tools(kernel.architecture)?)
        .file("bin/busybox", read("/bin/busybox".as_ref())?)
        .file("bin/probeidx", parts::stripped(&installed::program())?)
        .file("x/script", script.into_bytes())
        .files(parts::libraries(&installed::program())?);
    let answers = machine.moved().boot(&[Request::Run { script: "/x/script".to_owned() }])?;
    Ok(answers.answers[0].traced.join("\n") + "\n")
}
