//! Resolves SystemTap's built-in points to places.
use super::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;
use crate::query::explain::{self, why_not};
use crate::query::index::{functions, symbols};
use crate::query::resolve::tracepoint;
use crate::query::spec::{self, Filter, Point, Spelled};
use crate::query::systemtap::listing::Probed;
use crate::query::systemtap::listing::listed::listed;
use crate::tapset::Definitions;
use crate::tapset::ast::{Component, Literal};
use probeidx_format::View;
use probeidx_format::id::{NameId, ObjectId, SymbolId};
use probeidx_format::machine;

/// Called with each place, and its point in the canonical spelling.
type Each<'e> = dyn FnMut(&[u8], Place<'_>) -> Result<()> + 'e;

/// Calls `each` with every place of a point that has one of the [forms](super::forms).
///
/// # Errors
/// Why there is no place, if known; any error of `each`.
pub(super) fn each<'a>(
    view: &'a View<'a>,
    probed: &mut Probed<'a>,
    components: &[Component],
    definitions: &Definitions<'_>,
    each: &mut Each<'_>,
) -> Result<()> {
    let [head, rest @ ..] = components else { return Ok(()) };
    let kind = rest.first().map_or("", |c| &*c.name);
    match (&*head.name, kind) {
        ("kernel" | "kprobe", "statement") if is_absolute(components) => absolute(view, components, each),
        ("kernel", "data") => data(view, components, each),
        ("kernel" | "module", "function" | "statement") => code(view, probed, components, each),
        ("kernel", "trace") => trace(view, components, each),
        ("kernel" | "module", "tracepoint") => {
            needs_header(view, definitions, head)?;
            trace(view, components, each)
        }
        ("tp_syscall", _) => system_call(view, components, definitions, each),
        ("kprobe", _) => kprobe(view, rest, definitions.system_map(), each),
        ("process", "data") => each(spelled(components).as_bytes(), Place::Nowhere),
        ("process", _) => each(spelled(components).as_bytes(), Place::Unindexed),
        // Markers were removed in Linux 2.6.32.
        ("kernel", "mark") => Err(no_match("the kernel has no markers")),
        _ => each(spelled(components).as_bytes(), Place::Nowhere),
    }
}

/// Why a point with one of the forms has no place.
pub(super) fn absent(view: &View<'_>, components: &[Component]) -> Error {
    let of_code = matches!(components, [head, ..] if head.name == "kernel" || head.name == "module");
    let spec = of_code.then(|| spec::of_components(components).ok()).flatten();
    if let Some(Point::Trace(asked)) = spec.as_ref().map(|spec| &spec.point) {
        return no_match(tracepoint::absence(view, asked));
    }
    let reasons = spec.map(|spec| why_not(view, &[spec])).unwrap_or_default();
    let function = components.iter().find(|c| c.name == "function").and_then(|c| c.argument.as_ref());
    match (&reasons[..], function) {
        ([], Some(Literal::String(name))) => no_match(format!("no function {name}")),
        ([], _) => no_match("nothing matches"),
        (reasons, _) => no_match(reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

/// Explains an unknown function name; `None` if that is not the reason.
pub(super) fn unknown_function(view: &View<'_>, components: &[Component]) -> Option<String> {
    let spec = spec::of_components(components).ok()?;
    let Point::Function(asked) = &spec.point else { return None };
    let Pattern::Literal(name) = &asked.declared.name else { return None };
    view.name(name.as_bytes()).is_none().then(|| explain::no_function(view, name))
}

fn no_match(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NoMatch, message)
}

/// The components, joined by dots.
pub(super) fn spelled(components: &[Component]) -> String {
    components.iter().map(Component::to_string).collect::<Vec<_>>().join(".")
}

fn code<'a>(
    view: &'a View<'a>,
    probed: &mut Probed<'a>,
    components: &[Component],
    each: &mut Each<'_>,
) -> Result<()> {
    let spec = spec::of_components(components)?;
    let listed = listed(view, &spec)?;
    let mut point = vec![];
    probed.each(&listed, Spelled::Systemtap, &mut |met| {
        point.clear();
        met.put(&mut point);
        let returns = met.filter == Filter::Return;
        for seen in met.seen {
            each(&point, Place::Code { object: met.object, seen: *seen, returns })?;
        }
        match met.symbol {
            Some(symbol) => {
                each(&point, Place::Symbol { object: met.object, symbol, by_name: false, returns })
            }
            None => Ok(()),
        }
    })
}

fn is_absolute(components: &[Component]) -> bool {
    components.last().is_some_and(|last| last.name == "absolute")
}

/// An address that the kernel is given as it is. SystemTap takes any; the kernel refuses what is no code.
fn absolute(view: &View<'_>, components: &[Component], each: &mut Each<'_>) -> Result<()> {
    let Some(Literal::Number(address)) = components.get(1).and_then(|c| c.argument.as_ref()) else {
        return Ok(());
    };
    let address = *address as u64;
    let of_kernel = || {
        let object = functions::kernel(view)?;
        let pc = u32::try_from(address.checked_sub(view.objects[object.index()].base.get())?).ok()?;
        symbols::section(view, object, pc).map(|_| (object, pc))
    };
    match of_kernel() {
        Some((object, pc)) => each(spelled(components).as_bytes(), Place::Address { object, pc }),
        None => Err(no_match(format!("nothing of vmlinux is at {address:#x}"))),
    }
}

/// `kernel.data("NAME")`: a watchpoint on a symbol, which is looked up when the script starts (`hwbkpt_builder::build`,
/// `_stp_kallsyms_lookup_name`).
fn data(view: &View<'_>, components: &[Component], each: &mut Each<'_>) -> Result<()> {
    if view.machine() == machine::AARCH64 {
        return Err(no_match("SystemTap has no probes of data on arm64"));
    }
    if let Some(Literal::String(name)) = components.get(1).and_then(|c| c.argument.as_ref())
        && view.name(name.as_bytes()).is_none_or(|name| view.symbols_named(name).is_empty())
    {
        return Err(no_match(format!("no symbol {name}")));
    }
    each(spelled(components).as_bytes(), Place::Nowhere)
}

/// Tracepoints in the kernel and its modules. SystemTap has those declared in the headers of include/trace/events.
fn trace(view: &View<'_>, components: &[Component], each: &mut Each<'_>) -> Result<()> {
    let Point::Trace(asked) = spec::of_components(components)?.point else { return Ok(()) };
    let mut point = vec![];
    for tracepoint in tracepoint::matching(view, &asked) {
        point.clear();
        tracepoint.put(&mut point);
        each(&point, Place::Trace(&tracepoint))?;
    }
    Ok(())
}

/// Tracepoints of vmlinux are those of a header of its types (`btf_tracepoint_builder::build`, tapsets.cxx of 5.6); those of
/// modules are found in their debug information.
fn needs_header(view: &View<'_>, definitions: &Definitions<'_>, head: &Component) -> Result<()> {
    if head.name == "module" || definitions.has_vmlinux_header() {
        return Ok(());
    }
    let header = format!("/lib/modules/{}/build/vmlinux.h", String::from_utf8_lossy(view.release()));
    let why = format!(
        "SystemTap finds these tracepoints in {header}, which was not there when the index was built"
    );
    let hint = format!(
        "bpftool btf dump file /sys/kernel/btf/vmlinux format c > {header}; build it again with: probeidx build --force"
    );
    Err(no_match(why).hint(hint))
}

/// `tp_syscall("read,~compat_read")`: the tracepoint of all system calls, told apart by number (stapprobes(3stap) of 5.6).
fn system_call(
    view: &View<'_>,
    components: &[Component],
    definitions: &Definitions<'_>,
    each: &mut Each<'_>,
) -> Result<()> {
    let [head, rest @ ..] = components else { return Ok(()) };
    needs_header(view, definitions, head)?;
    let returns = !rest.is_empty();
    let name: &[u8] = if returns { b"sys_exit" } else { b"sys_enter" };
    match tracepoint::named(view, name).find(|tracepoint| tracepoint.module().is_none()) {
        Some(tracepoint) => {
            each(spelled(components).as_bytes(), Place::Trace(&tracepoint.of_system_call(returns)))
        }
        None => Err(no_match(format!("the kernel has no tracepoint {}", String::from_utf8_lossy(name)))),
    }
}

/// `kprobe.function("NAME")`: functions by symbol, in vmlinux or, without a check, in a module
/// (`kprobe_builder::build`).
fn kprobe(view: &View<'_>, components: &[Component], system_map: bool, each: &mut Each<'_>) -> Result<()> {
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
    let kernel = functions::kernel(view);
    let place = |object: Option<ObjectId>, name: NameId| {
        let object = object?;
        let symbol = functions(view, object, name).next()?;
        Some(Place::Symbol { object, symbol, by_name: true, returns })
    };
    if let Some(module) = argument("module") {
        let object = functions::module(view, module.as_bytes());
        let found = view.name(function.as_bytes()).and_then(|name| place(object, name));
        let point = format!("kprobe.module(\"{module}\").function(\"{function}\"){behind}");
        return match (found, object) {
            (Some(place), _) => each(point.as_bytes(), place),
            (None, None) => each(point.as_bytes(), Place::Unindexed),
            // SystemTap accepts any name; the kernel then refuses to load its module.
            (None, Some(_)) => Err(no_match(format!("no function {function} in module {module}"))),
        };
    }
    if !system_map {
        return Err(no_match(
            "SystemTap finds functions by their symbols in System.map, which this kernel comes without",
        ));
    }
    for name in names(view, &function)? {
        if let Some(place) = place(kernel, name) {
            let name = String::from_utf8_lossy(view.string(view.names.at(name.index()).name));
            each(format!("kprobe.function(\"{name}\"){behind}").as_bytes(), place)?;
        }
    }
    Ok(())
}

/// The names that a pattern matches; braces hold alternatives: `__{ia32,x64}_sys_open` (`csh_to_ksh`).
fn names(view: &View<'_>, pattern: &str) -> Result<Vec<NameId>> {
    let mut found = vec![];
    for plain in alternatives(pattern) {
        found.extend(functions::names(view, &Pattern::new(&plain)?));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The largest number of patterns that braces may expand to.
const MOST: usize = 64;

/// Expands the braces of a pattern.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut open = vec![pattern.to_owned()];
    let mut done = vec![];
    while let Some(text) = open.pop() {
        let inner = text.rfind('{').and_then(|start| Some((start, start + text[start..].find('}')?)));
        match inner.filter(|_| open.len() + done.len() < MOST) {
            None => done.push(text),
            Some((start, end)) => {
                let all = text[start + 1..end].split(',');
                open.extend(all.map(|one| format!("{}{one}{}", &text[..start], &text[end + 1..])));
            }
        }
    }
    done.sort_unstable();
    done.dedup();
    done
}

/// The functions of a name in one object.
fn functions(view: &View<'_>, object: ObjectId, name: NameId) -> impl Iterator<Item = SymbolId> {
    let is_function = move |id: &SymbolId| functions::symbol(view, *id).is_some_and(|s| s.is_function());
    functions::symbols_named(view, object, name).filter(is_function)
}

#[cfg(test)]
mod tests {
    use super::alternatives;

    #[test]
    fn braces_hold_alternatives() {
        assert_eq!(alternatives("__{ia32,x64}_sys_open"), ["__ia32_sys_open", "__x64_sys_open"]);
        assert_eq!(alternatives("{a,b{c,d}}*"), ["a*", "bc*", "bd*"]);
        assert_eq!(alternatives("a{b"), ["a{b"]);
        // The number is bounded, whatever the braces.
        assert!(alternatives(&"{a,b}".repeat(40)).len() <= 2 * super::MOST);
    }
}
