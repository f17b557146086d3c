//! What kprobe_events take of arguments: as much as is written, and no type or variable that this kernel has not.
use super::boot::{Address, Machine, Request};
use super::symbols;
use super::values::run;
use crate::installed::{self, Architecture, Kernel, needed};
use serde_json::Value;

const E2BIG: i32 = 7;
const EINVAL: i32 = 22;

/// A function that all kernels have, with a `struct dentry *`.
const FUNCTION: &str = "vfs_mkdir";

#[test]
fn the_kernels_take_what_is_written() {
    // 5.10 takes longer records than it has room for, and later ones other numbers of arguments.
    installed::on_each(|kernel| {
        if kernel.is_of_cases() {
            takes_what_is_written(kernel);
        }
    });
}

fn takes_what_is_written(kernel: &Kernel) {
    // The registers are those of x86-64.
    if kernel.architecture != Architecture::X86_64 {
        return;
    }
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let symbols = symbols::of(&kernel.vmlinux, None).unwrap();
    let [address, text] = [FUNCTION, "_text"].map(|name| symbols[name][0].clone());
    let (Address::Kernel(from), Address::Kernel(to)) = (&text, &address) else { panic!("{FUNCTION}") };
    let place = format!("_text+{}", to - from);
    // 3072 bytes; a byte more; a string is 4 bytes of the record; a bit-field is its container.
    let full = (0..6).map(|n| format!("a{n}=+0(%sp):x64[64]")).collect::<Vec<_>>().join(" ");
    let nearly = full.replacen("[64]", "[63]", 1);
    let mut cases = vec![
        (format!("p:t/full {place} {full}"), 0),
        (format!("p:t/over {place} {full} b=%di:u8"), E2BIG),
        (format!("p:t/string {place} {nearly} b=+0(%sp):string c=%di:u32"), 0),
        (format!("p:t/strings {place} {nearly} b=+0(%sp):string[2] c=%di:u8"), E2BIG),
        (format!("p:t/task {place} {nearly} b=$comm c=%di:b1@0/32"), 0),
        (format!("p:t/bits {place} {nearly} b=%di:b1@0/64 c=%di:u8"), E2BIG),
        (format!("p:t/untyped {place} {nearly} b=%di"), 0),
        (format!("p:t/after {place} {nearly} b=%di c=%di:u8"), E2BIG),
    ];
    // What the program writes, and what it refuses.
    for (number, (spec, argument, definition)) in [
        (FUNCTION, "dentry:symstr", format!("{place} a=%di:symstr")),
        (FUNCTION, "dentry:char", format!("{place} a=%di:char")),
        (FUNCTION, "dentry:%pd", format!("{place} a=%di:%pd")),
        (FUNCTION, "dentry->d_parent:%pd", format!("{place} a=+24(%di):%pd")),
        ("vfs_mkdir%return", "dentry", format!("{place} a=$arg1:x64")),
        ("vfs_mkdir%return", "dentry->d_name.name:string", format!("{place} a=+0(+40($arg3)):string")),
    ]
    .into_iter()
    .enumerate()
    {
        let printed = run(kernel, &["resolve", spec, argument, "--json"]).unwrap();
        let printed: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
        let is_taken = printed["vars"][0]["fetch"].is_string();
        let kind = if spec.ends_with("%return") { 'r' } else { 'p' };
        cases.push((format!("{kind}:t/b{number} {definition}"), if is_taken { 0 } else { EINVAL }));
    }
    let define = |(line, _): &(String, i32)| Request::Define { line: line.clone(), expect: address.clone() };
    let requests: Vec<Request> = cases.iter().map(define).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let mut failures = String::new();
    for ((line, errno), answer) in cases.iter().zip(&answers.answers) {
        if answer.errno != *errno {
            failures += &format!("\n{line}: expected {errno}, {answer}");
        }
    }
    assert!(failures.is_empty(), "{}:{failures}", kernel.release);
    installed::say(&format!("{}: {} definitions taken and refused as foreseen", kernel.release, cases.len()));
}
