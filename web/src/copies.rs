//! The placements of a spec in brief: what pictures of thousands of copies are drawn of. `resolve` has the rest, some at a
//! time.
use crate::lines::{Lines, text};
use probeidx::answer::{self, Answer, Coverage, Instance, Mechanism, Placement, Wanted};
use probeidx::cli::config::Config;
use probeidx::{Error, ErrorKind, Result};
use probeidx_format::View;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The largest number of placements.
const MOST: usize = 100_000;

/// Answers for one kernel: an item for each declaration in each object, in the order of `resolve`. Cost: some microseconds
/// for a placement.
pub fn lines(kernel: &str, spec: &str, config: &Config) -> Vec<u8> {
    let mut out = Lines::default();
    let answered = answer(kernel, spec, config, &mut out);
    out.end(answered)
}

fn answer(kernel: &str, spec: &str, config: &Config, out: &mut Lines) -> Result<()> {
    for path in probeidx::kernels::choose(&config.db, Some(kernel), None)?.iter().take(1) {
        let index = config.open(path)?;
        let view: View<'_> = index.view()?;
        let wanted = Wanted { no_values: true, no_alternatives: true, ..Wanted::default() };
        let mut group: Option<Group> = None;
        let mut count = 0;
        for spec in answer::parse(&view, spec)? {
            answer::answers(&view, &spec, wanted, &mut |found| {
                let Answer::Code(placement, _) = found else {
                    return Err(Error::new(ErrorKind::Usage, "only code is told in brief"));
                };
                count += 1;
                if count > MOST {
                    out.is_truncated = true;
                    return Ok(());
                }
                if !group.as_ref().is_some_and(|group| group.has(&placement)) {
                    group.replace(Group::of(&placement)).into_iter().for_each(|group| group.put(out));
                }
                group.iter_mut().for_each(|group| group.add(&placement));
                Ok(())
            })?;
        }
        group.into_iter().for_each(|group| group.put(out));
    }
    Ok(())
}

/// The placements of a declaration in an object.
struct Group {
    declaration: (Option<Vec<u8>>, Vec<u8>, Vec<u8>, u32),
    coverage: Value,
    /// The rows as JSON, with commas between.
    placements: String,
    names: Names,
}

/// Each name once, and its number.
#[derive(Default)]
struct Names {
    all: Vec<Value>,
    numbers: FxHashMap<Vec<u8>, usize>,
}

impl Names {
    fn number(&mut self, name: &[u8]) -> usize {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        self.all.push(text(name).into());
        self.numbers.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}

impl Group {
    fn of(placement: &Placement<'_>) -> Self {
        let Placement { module, function, file, line, .. } = *placement;
        Self {
            declaration: (module.map(<[u8]>::to_owned), function.to_owned(), file.to_owned(), line),
            coverage: coverage(&placement.coverage),
            placements: String::new(),
            names: Names::default(),
        }
    }

    fn has(&self, placement: &Placement<'_>) -> bool {
        let (module, function, file, line) = &self.declaration;
        *line == placement.line
            && function == placement.function
            && file == placement.file
            && module.as_deref() == placement.module
    }

    fn add(&mut self, placement: &Placement<'_>) {
        let outermost = placement.inlined_into.last();
        let (symbol, offset) = placement.symbol.unwrap_or_default();
        let mut number = |name: &[u8]| self.names.number(name);
        let outer = outermost
            .map_or("null".to_owned(), |call| format!("[{},{}]", number(call.function), number(call.file)));
        let [section, symbol] = [placement.section, symbol].map(&mut number);
        let verdict = number(placement.verdicts.any_address().name().as_bytes());
        let inline = u8::from(placement.instance == Instance::Inline);
        let comma = if self.placements.is_empty() { "" } else { "," };
        // Numbers alone; a string takes all of it.
        let _ = write!(
            self.placements,
            "{comma}[{section},\"{:#x}\",{symbol},{offset},{inline},{verdict},{outer}]",
            placement.address
        );
    }

    fn put(self, out: &mut Lines) {
        let (module, function, file, line) = &self.declaration;
        let head = json!({
            "module": module.as_deref().map(text), "function": text(function), "file": text(file), "line": line,
            "coverage": self.coverage, "names": self.names.all,
        })
        .to_string();
        let head = head.strip_suffix('}').unwrap_or_default();
        out.written(&format_args!("{head},\"placements\":[{}]}}", self.placements));
    }
}

/// As `resolve` has it, without the reasons.
fn coverage(of: &Coverage) -> Value {
    let named = of.by.iter().map(|(mechanism, count)| (mechanism.name(), count));
    let both = of.by.get(Mechanism::Trampoline).map(|count| (Mechanism::FENTRY, count));
    let by: Map<String, Value> =
        named.chain(both).map(|(name, count)| (name.to_owned(), count.into())).collect();
    json!({
        "instances": of.instances(), "reachable": of.by.any_address(), "callers": of.callers, "by": by,
        "out_of_line": { "instances": of.out_of_line.total }, "inline": { "instances": of.inline.total },
    })
}
