//! Formats what a kernel offers to BPF programs.
use super::{json_of, printable};
use crate::query::offers::Offer;
use crate::query::offers::kfuncs::{Programs, Use};
use serde::Serialize;
use std::io::{Result, Write};

/// Writes an offer as one line: kind, name, and its prototype or number.
pub fn text(offer: &Offer, out: &mut dyn Write) -> Result<()> {
    let module = offer.module.as_ref().map_or(String::new(), |module| format!("  [{}]", printable(module)));
    let disabled = if offer.is_disabled { "  no program can be attached to it" } else { "" };
    let number = offer.number.map_or(String::new(), |number| number.to_string());
    let more = if offer.declaration.is_empty() { number } else { printable(&offer.declaration).into_owned() };
    let programs =
        offer.programs.as_ref().map_or(String::new(), |programs| format!("  for {}", who(programs)));
    writeln!(out, "{:10}  {}  {more}{module}{disabled}{programs}", offer.kind.name(), printable(&offer.name))
}

/// Which programs may call a kfunc.
fn who(programs: &Programs) -> String {
    let (allowed, unknown) = (programs.kinds(Use::Allowed), programs.kinds(Use::Unknown));
    let is_of_all = programs.kinds(Use::Refused).is_empty();
    let mut text = match () {
        () if allowed.is_empty() && is_of_all => "programs that are not known".to_owned(),
        () if is_of_all && unknown.iter().all(|kind| *kind == "struct_ops") => "all programs".to_owned(),
        () if allowed.is_empty() => "none of the programs that are known".to_owned(),
        () => allowed.join(" "),
    };
    if programs.is_sleeping {
        text.push_str(", where they may sleep");
    }
    text
}

/// Something that a kernel offers to BPF programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Offer"))]
pub struct Line {
    /// The release.
    pub kernel: String,
    /// `kfunc`, `helper`, `lsm`, `iter`, `struct_ops`, ….
    pub kind: &'static str,
    /// As programs name it.
    pub name: String,
    /// The module that has it; null for vmlinux.
    pub module: Option<String>,
    /// The prototype of a function, in C; null for what is none.
    pub declaration: Option<String>,
    /// Its number in the kernel's interface.
    pub number: Option<i64>,
    /// Whether no program can be attached to it.
    pub disabled: bool,
    /// Which programs may call it, of a kfunc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<ProgramsObject>,
}

/// Which kinds of programs may call a kfunc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Programs"))]
pub struct ProgramsObject {
    /// Those that may.
    pub allowed: Vec<&'static str>,
    /// Those of which it is not known.
    pub unknown: Vec<&'static str>,
    /// Whether only where they may sleep.
    pub sleeping: bool,
}

/// Writes an offer as a line of JSON.
pub fn json(kernel: &str, offer: &Offer, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", json_of(&line(kernel, offer)))
}

/// An offer, as JSON has it.
pub fn line(kernel: &str, offer: &Offer) -> Line {
    Line {
        kernel: kernel.to_owned(),
        kind: offer.kind.name(),
        name: offer.name.clone(),
        module: offer.module.clone(),
        declaration: Some(offer.declaration.clone()).filter(|declaration| !declaration.is_empty()),
        number: offer.number,
        disabled: offer.is_disabled,
        programs: offer.programs.as_ref().map(|programs| ProgramsObject {
            allowed: programs.kinds(Use::Allowed),
            unknown: programs.kinds(Use::Unknown),
            sleeping: programs.is_sleeping,
        }),
    }
}
