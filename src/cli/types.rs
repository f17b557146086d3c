//! `probeidx type`
use super::args::Type;
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::several::Several;
use super::why_not::{nothing, without_names};
use crate::error::Result;
use crate::query::explain;
use crate::query::spec::member_path::{self, Path, Step};
use crate::query::types::layout::{Body, layout};
use crate::query::types::member::walk_path;
use crate::query::types::{lookup, users};
use crate::render::{types as text, types_json as json};
use probeidx_format::View;
use probeidx_format::id::TypeId;
use std::io::Write;

/// Shows the layout of types, one of their members, or the functions that use them.
pub fn run(args: &Type, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let mut path = member_path::parse(&args.name.join(" "))?;
    // The type itself is meant, not a pointer to it: both spellings of the first step are equivalent.
    if let Some(first) = path.steps.first_mut()
        && let Step::Arrow(name) = first
    {
        *first = Step::Member(std::mem::take(name));
    }
    let mut outcome = Outcome::Nothing;
    let mut reasons = vec![];
    let files = config.indexes()?;
    let mut several = Several::new(config, files.len());
    for file in files {
        let index = config.open(&file)?;
        let view = &index.view()?;
        let out = &mut several.below(view, out);
        let release = String::from_utf8_lossy(view.release());
        let asked = Asked { view, release: &release, path: &path, json: config.json };
        let found = lookup::find(view, &path.root);
        let done = if found.is_empty() {
            reasons.push(explain::types::missing(view, &path.root).to_string());
            Ok(false)
        } else if args.users {
            asked.users(&found, &mut reasons, out)
        } else if path.steps.is_empty() {
            asked.layouts(&found, &mut reasons, out)
        } else {
            asked.members(&found, &mut reasons, out)
        };
        match done.map_err(failed)? {
            true => outcome = Outcome::Done,
            false => several.lacks(view, reasons.last().map(|why| without_names(why))),
        }
    }
    if outcome == Outcome::Nothing { nothing(&reasons, config) } else { several.end(outcome, out) }
}

/// A query of one index. Its methods return whether anything matched.
struct Asked<'a> {
    view: &'a View<'a>,
    release: &'a str,
    path: &'a Path,
    json: bool,
}

impl Asked<'_> {
    fn layouts(
        &self,
        found: &[TypeId],
        reasons: &mut Vec<String>,
        out: &mut dyn Write,
    ) -> std::io::Result<bool> {
        let mut any = false;
        for type_id in found {
            let Some(laid_out) = layout(self.view, *type_id) else { continue };
            let objects = match found.len() {
                1 => vec![],
                _ => users::objects(self.view, *type_id),
            };
            let objects: Vec<String> = objects.into_iter().map(|o| text::object(self.view, o)).collect();
            if matches!(laid_out.body, Body::Declared) && laid_out.chain.is_empty() {
                let name = &laid_out.named.spelled;
                reasons
                    .push(format!("{name} is only declared: its definition is in nothing that was indexed"));
                continue;
            }
            match self.json {
                true => json::layout(self.release, &laid_out, &objects, out)?,
                false if any => {
                    writeln!(out).and_then(|()| text::layout(self.view, &laid_out, &objects, out))?
                }
                false => text::layout(self.view, &laid_out, &objects, out)?,
            }
            any = true;
        }
        Ok(any)
    }

    fn members(
        &self,
        found: &[TypeId],
        reasons: &mut Vec<String>,
        out: &mut dyn Write,
    ) -> std::io::Result<bool> {
        let mut any = false;
        for type_id in found {
            let Some(root) = layout(self.view, *type_id) else { continue };
            let walked = match walk_path(self.view, *type_id, self.path) {
                Ok(walked) => walked,
                Err(error) => {
                    let place = match (found.len(), root.named.line) {
                        (1, _) | (_, 0) => String::new(),
                        (_, line) => format!("{}:{line}: ", String::from_utf8_lossy(root.named.file)),
                    };
                    reasons.push(format!("{place}{error}"));
                    continue;
                }
            };
            any = true;
            let path = self.path.to_string();
            match self.json {
                true => json::member(self.view, self.release, &path, &root.named, &walked, out)?,
                false => text::member(self.view, &path, &walked, out)?,
            }
        }
        Ok(any)
    }

    fn users(
        &self,
        found: &[TypeId],
        reasons: &mut Vec<String>,
        out: &mut dyn Write,
    ) -> std::io::Result<bool> {
        let name = &self.path.root;
        if !self.path.steps.is_empty() {
            reasons.push(format!("{}: functions take types, not members: ask for the type of it", self.path));
            return Ok(false);
        }
        let wanted = users::asked(self.view, name, found);
        let (mut any, mut line) = (false, vec![]);
        users::users(self.view, &wanted, |user| {
            any = true;
            match self.json {
                true => json::user(self.view, self.release, name, user, out),
                false => text::user(self.view, user, &mut line, out),
            }
        })?;
        if !any {
            reasons.push(format!("no function takes or returns {name}"));
        }
        Ok(any)
    }
}
