//! `probeidx blacklist`
use super::args::Blacklist;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::several::Several;
use super::why_not::nothing;
use crate::error::Result;
use crate::pattern::Pattern;
use crate::query::explain::no_module;
use crate::query::index::functions::Scope;
use crate::query::spec::ModuleScope;
use crate::query::verdict::blacklist;
use crate::render::{json, text};
use probeidx_format::View;
use std::io::Write;

/// Lists the kprobe blacklist of the kernel or of modules.
pub fn run(args: &Blacklist, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let mut outcome = Outcome::Nothing;
    let (mut reasons, mut told) = (vec![], vec![]);
    let files = config.indexes()?;
    let several = Several::new(config, files.len());
    for path in files {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let out = &mut several.below(view, out);
        let release = String::from_utf8_lossy(view.release());
        for scope in scopes(&args.modules, args.all)? {
            let asked = Scope::new(view, &scope);
            warn_of_gaps(view, &asked, config);
            for range in blacklist::refused(view, &asked) {
                outcome = Outcome::Done;
                let written = match config.json {
                    true => json::refused(&release, &range, out),
                    false => text::refused(&range, out),
                };
                written.map_err(failed)?;
            }
            match &scope {
                ModuleScope::Kernel => {
                    let others: Vec<_> =
                        blacklist::other_modules(view, &asked).map(String::from_utf8_lossy).collect();
                    let said = format!("modules add to it once they are loaded: {}", others.join(", "));
                    // Many kernels have the same ones.
                    if !others.is_empty() && !told.contains(&said) {
                        note(config, &said);
                        told.push(said);
                    }
                }
                ModuleScope::Module(module) if asked.objects().next().is_none() => {
                    reasons.push(no_module(view, &module.to_string()).to_string());
                }
                _ => {}
            }
        }
    }
    if outcome == Outcome::Nothing { nothing(&reasons, config) } else { Ok(outcome) }
}

/// What is asked: modules by name, or all; without either, vmlinux.
///
/// # Errors
/// Those of patterns.
pub fn scopes(modules: &[String], all: bool) -> Result<Vec<ModuleScope>> {
    match modules {
        [] if all => Ok(vec![ModuleScope::Any]),
        [] => Ok(vec![ModuleScope::Kernel]),
        modules => modules
            .iter()
            .map(|module| Ok(ModuleScope::Module(Pattern::new(&module.replace('-', "_"))?)))
            .collect(),
    }
}

fn warn_of_gaps(view: &View<'_>, asked: &Scope, config: &Config) {
    for object in asked.objects().filter(|o| blacklist::is_unsure(view, *o)) {
        let path = view.object_path(object);
        let path = String::from_utf8_lossy(&path);
        let what = "a table could not be read, and the list may lack something; see: probeidx stats";
        note(config, &format!("{path}: {what}"));
    }
}
