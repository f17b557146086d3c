//! The definitions of tapsets.
use crate::failure::{Answer, Failure, usage};
use crate::index::config;
use crate::kernel::Kernel;
use crate::list::{text, texts};
use crate::record::record;
use probeidx::cli::args::Tapset;
use probeidx::cli::config::Config;
use probeidx::cli::tapset::{of_index, parsed};
use probeidx::query::explain::Missing;
use serde_json::Value;

/// Aliases, functions or macros by name.
///
/// # Errors
/// [`Failure::NotFound`]; usage for what tapsets do not define.
pub fn definitions(kernel: &Kernel, patterns: Vec<String>, what: &str, all: bool) -> Answer<Vec<Definition>> {
    if !["aliases", "functions", "macros"].contains(&what) {
        return Err(usage(format!("tapsets define no {what}"), "write aliases, functions or macros"));
    }
    let args = Tapset { patterns, functions: what == "functions", macros: what == "macros", all };
    let patterns = parsed(&args)?;
    let config = Config { json: true, ..config(Some("/".into()), None)? };
    let mut lines = vec![];
    let missing = kernel.ask(|_| Ok(of_index(&args, &patterns, &kernel.index, &config, &mut lines)?))?;
    if let Some(missing) = missing {
        let near = missing.iter().flat_map(|one| one.near.clone()).collect();
        return Err(Failure::NotFound(missing.iter().map(Missing::to_string).collect(), near));
    }
    let values = serde_json::Deserializer::from_slice(&lines).into_iter::<Value>();
    Ok(values.map(|value| Definition(value.unwrap_or_default())).collect())
}

/// The names that it defines: an alias may have several.
fn names(of: &Value) -> Vec<String> {
    let own = ["function", "macro"].iter().find_map(|kind| of[kind].as_str());
    own.map_or_else(|| texts(&of["alias"]), |name| vec![name.to_owned()])
}

record! {
    /// An alias, a function or a macro of a tapset. ``to_dict()`` has its points, its parameters, and what an alias means here.
    Definition(Value), |it| format!("{} at {}:{}", names(it).join(" = "), text(it, "file"), it["line"]);
    /// The release of the kernel.
    kernel: &str = text(it, "kernel");
    /// Its names: an alias may have several.
    names: Vec<String> = names(it);
    /// The file that defines it.
    file: &str = text(it, "file");
    /// The line of that, from 1.
    line: u64 = it["line"].as_u64().unwrap_or(0);
    /// The comment before it.
    comment: Option<&str> = it["comment"].as_str();
}
