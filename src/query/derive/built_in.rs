//! From the points that SystemTap knows by itself to places.
use super::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::query::listing::Probed;
use crate::query::pattern::Pattern;
use crate::query::resolve;
use crate::query::select;
use crate::query::spec::{self, Filter, Spelled};
use crate::tapset::ast::{Component, Literal};
use probeidx_format::View;
use probeidx_format::id::{NameId, ObjectId, SymbolId, TypeId};

/// A tracepoint of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Tracepoint<'q> {
    /// Name and type of what its probes are given.
    pub parameters: &'q [(&'q [u8], Option<TypeId>)],
}

/// What is called with each place, and its point in the canonical spelling.
type Each<'e> = dyn FnMut(&[u8], Place<'_>) -> Result<()> + 'e;

/// Calls `each` with every place of a point that is one of the [forms](super::forms).
///
/// # Errors
/// Why there is none, where that is known; whatever `each` gives.
pub(super) fn each<'a>(
    view: View<'a>,
    probed: &mut Probed<'a>,
    components: &[Component],
    each: &mut Each<'_>,
) -> Result<()> {
    let [head, rest @ ..] = components else { return Ok(()) };
    let kind = rest.first().map_or("", |c| &*c.name);
    match (&*head.name, kind) {
        ("kernel" | "module", "function" | "statement") => code(view, probed, components, each),
        ("kernel", "trace") => trace(view, components, each),
        ("kprobe", _) => kprobe(view, rest, each),
        ("process", _) => each(spelled(components).as_bytes(), Place::Unindexed),
        // Markers went with Linux 2.6.32.
        ("kernel", "mark") => Err(no_match("the kernel has no markers")),
        _ => each(spelled(components).as_bytes(), Place::Nowhere),
    }
}

/// Why a point of one of the forms has no place.
pub(super) fn absent(view: &View<'_>, components: &[Component]) -> Error {
    let _ = view;
    no_match(format!("nothing matches {}", spelled(components)))
}

fn no_match(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NoMatch, message)
}

/// The components with their dots.
pub(super) fn spelled(components: &[Component]) -> String {
    components.iter().map(Component::to_string).collect::<Vec<_>>().join(".")
}

fn code<'a>(
    view: View<'a>,
    probed: &mut Probed<'a>,
    components: &[Component],
    each: &mut Each<'_>,
) -> Result<()> {
    let spec = spec::of_components(components)?;
    let listed = resolve::listed(&view, &spec)?;
    let mut point = vec![];
    probed.each(&listed, Spelled::Systemtap, &mut |met| {
        point.clear();
        met.put(&mut point);
        let returns = met.filter == Filter::Return;
        for seen in met.seen {
            each(&point, Place::Code { object: met.object, seen: *seen, returns })?;
        }
        match met.symbol {
            Some(symbol) => each(&point, Place::Symbol { object: met.object, symbol, returns }),
            None => Ok(()),
        }
    })
}

fn trace(view: View<'_>, components: &[Component], each: &mut Each<'_>) -> Result<()> {
    let spec = spec::of_components(components)?;
    let _ = (view, spec, each);
    Ok(())
}

/// `kprobe.function("NAME")`: functions by their symbols, in vmlinux or, unseen, in a module (`kprobe_builder::build`).
fn kprobe(view: View<'_>, components: &[Component], each: &mut Each<'_>) -> Result<()> {
    let text = |component: &Component| match &component.argument {
        Some(Literal::String(text)) => Some(text.clone()),
        _ => None,
    };
    let argument = |name: &str| components.iter().find(|c| c.name == name).and_then(text);
    let Some(function) = argument("function") else {
        return each(format!("kprobe.{}", spelled(components)).as_bytes(), Place::Unindexed);
    };
    let returns = components.iter().any(|c| c.name == "return");
    let behind: String =
        components.iter().skip_while(|c| c.name != "function").skip(1).map(|c| format!(".{c}")).collect();
    let kernel = select::kernel(&view);
    let place = |object: Option<ObjectId>, name: NameId| {
        let object = object?;
        let symbol = functions(&view, object, name).next()?;
        Some(Place::Symbol { object, symbol, returns })
    };
    if let Some(module) = argument("module") {
        let object = select::module(&view, module.as_bytes());
        let place = view.name(function.as_bytes()).and_then(|name| place(object, name));
        let point = format!("kprobe.module(\"{module}\").function(\"{function}\"){behind}");
        return each(point.as_bytes(), place.unwrap_or(Place::Unindexed));
    }
    for name in select::names(&view, &Pattern::new(&function)?) {
        if let Some(place) = place(kernel, name) {
            let name = String::from_utf8_lossy(view.string(view.names[name.index()].name));
            each(format!("kprobe.function(\"{name}\"){behind}").as_bytes(), place)?;
        }
    }
    Ok(())
}

/// The functions of a name in one object.
fn functions(view: &View<'_>, object: ObjectId, name: NameId) -> impl Iterator<Item = SymbolId> {
    let view = *view;
    let is_function = move |id: &SymbolId| select::symbol(&view, *id).is_some_and(|s| s.is_function());
    select::symbols_named(&view, object, name).filter(is_function)
}
