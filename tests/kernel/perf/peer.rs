//! What `perf probe` fetches.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// What perf says where it cannot fetch a parameter. Anything else is a failure of the test.
const REFUSALS: [&str; 2] = ["Failed to find the location of the", "we don't support this variable location"];

/// Whether there is a perf.
pub fn is_here() -> Result<(), String> {
    perf(&["--version".as_ref()]).map(drop)
}

fn perf(arguments: &[&OsStr]) -> Result<Output, String> {
    Command::new("perf").args(arguments).output().map_err(|e| format!("cannot run perf: {e}"))
}

/// What perf fetches for these parameters at the entry of a function, each with what stands behind the `=`; those that it
/// cannot fetch are left out. It looks through the debug information of the whole kernel: 0.6 seconds for each question.
///
/// With `$params` it leaves out what is nowhere. What it gives up for is asked for alone: one such parameter costs all others.
pub fn fetched(
    vmlinux: &Path,
    function: &str,
    parameters: &[&str],
) -> Result<BTreeMap<String, String>, String> {
    let mut found = asked(vmlinux, function, "$params")?.unwrap_or_default();
    for name in parameters {
        if !found.contains_key(*name) {
            found.extend(asked(vmlinux, function, name)?.unwrap_or_default());
        }
    }
    Ok(found)
}

/// The fetch arguments at the entry; none if perf cannot fetch what is asked for.
fn asked(vmlinux: &Path, function: &str, what: &str) -> Result<Option<BTreeMap<String, String>>, String> {
    let definition = format!("{function} {what}");
    let Output { status, stdout, stderr } =
        perf(&["probe".as_ref(), "-k".as_ref(), vmlinux.as_ref(), "-D".as_ref(), definition.as_ref()])?;
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if !status.success() {
        let is_refusal = REFUSALS.iter().any(|known| stderr.contains(known));
        return if is_refusal { Ok(None) } else { Err(format!("perf probe -D '{definition}': {stderr}")) };
    }
    // `p:probe/vfs_read vfs_read+0 file=%di:x64`; copies inlined into others have lines too.
    let entry = format!("{function}+0");
    let words =
        stdout.lines().map(|l| l.split(' ').skip(1)).find_map(|mut w| (w.next()? == entry).then_some(w));
    let words = words.ok_or_else(|| format!("perf probe -D '{definition}': no {entry} in {stdout}"))?;
    // The radix `x` only where tracefs tells perf that the kernel knows it.
    let fetch = |word: &str| word.split_once('=').map(|(n, f)| (n.to_owned(), f.replace(":u", ":x")));
    Ok(Some(words.filter_map(fetch).collect()))
}
