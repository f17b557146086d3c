//! Formats what a kernel offers to BPF programs.
use super::printable;
use crate::query::offers::Offer;
use serde_json::json;
use std::io::{Result, Write};

/// Writes an offer as one line: kind, name, and its prototype or number.
pub fn text(offer: &Offer, out: &mut dyn Write) -> Result<()> {
    let module = offer.module.as_ref().map_or(String::new(), |module| format!("  [{}]", printable(module)));
    let disabled = if offer.is_disabled { "  no program can be attached to it" } else { "" };
    let number = offer.number.map_or(String::new(), |number| number.to_string());
    let more = if offer.declaration.is_empty() { number } else { printable(&offer.declaration).into_owned() };
    writeln!(out, "{:10}  {}  {more}{module}{disabled}", offer.kind.name(), printable(&offer.name))
}

/// Writes an offer as a line of JSON.
pub fn json(kernel: &str, offer: &Offer, out: &mut dyn Write) -> Result<()> {
    let declaration = Some(&offer.declaration).filter(|declaration| !declaration.is_empty());
    let line = json!({"kernel": kernel, "kind": offer.kind.name(), "name": offer.name, "module": offer.module,
        "declaration": declaration, "number": offer.number, "disabled": offer.is_disabled});
    writeln!(out, "{line}")
}
