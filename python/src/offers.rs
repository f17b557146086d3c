//! What a kernel refuses to kprobes, and what it offers to BPF programs.
use crate::failure::{Answer, Failure, usage};
use crate::kernel::Kernel;
use crate::record::record;
use probeidx::Pattern;
use probeidx::cli::{blacklist, bpf};
use probeidx::query::explain::no_module;
use probeidx::query::index::functions::Scope;
use probeidx::query::offers::offers as offered;
use probeidx::query::spec::ModuleScope;
use probeidx::query::verdict::blacklist::refused;
use probeidx::render::json::{RefusedRange, refused_range};
use probeidx::render::offers as render;

/// The ranges of the blacklist of vmlinux, or of modules, or of all.
///
/// # Errors
/// [`Failure::NotFound`] if there are none; usage for both modules and all.
pub fn ranges(kernel: &Kernel, modules: &[String], all: bool) -> Answer<Vec<Refused>> {
    if all && !modules.is_empty() {
        return Err(usage("modules and all exclude each other", "leave out one of them"));
    }
    let scopes = blacklist::scopes(modules, all)?;
    kernel.ask(|view| {
        let (mut found, mut reasons) = (vec![], vec![]);
        for scope in &scopes {
            let asked = Scope::new(view, scope);
            let ranges = refused(view, &asked);
            found.extend(ranges.iter().map(|range| Refused(refused_range(kernel.release(), range))));
            if let ModuleScope::Module(module) = scope
                && asked.objects().next().is_none()
            {
                reasons.push(no_module(view, &module.to_string()));
            }
        }
        if found.is_empty() {
            let near = reasons.iter().flat_map(|missing| missing.near.clone()).collect();
            return Err(Failure::NotFound(reasons.iter().map(ToString::to_string).collect(), near));
        }
        Ok(found)
    })
}

record! {
    /// A range that the kernel refuses to kprobes.
    Refused(RefusedRange), |it| format!("{} {:#x} to {:#x}: {}", it.name, it.start.0, it.end.0, it.source);
    /// The release of the kernel.
    kernel: &str = &it.kernel;
    /// The module; None for vmlinux.
    module: Option<&str> = it.module.as_deref();
    /// The section's name.
    section: &str = &it.section;
    /// Its first address: a link address; in a module, an offset within the section.
    start: u64 = it.start.0;
    /// The address behind its last byte.
    end: u64 = it.end.0;
    /// The function, or what the kernel calls the range.
    name: &str = &it.name;
    /// The verdict of kprobes there.
    reason: &'static str = it.reason;
    /// What says so.
    source: &'static str = it.source;
}

/// What the kernel offers of a kind.
///
/// # Errors
/// [`Failure::NotFound`] if nothing is called so; usage for what is no kind.
pub fn offers(kernel: &Kernel, kind: &str, pattern: &str) -> Answer<Vec<Offer>> {
    let kinds = bpf::kinds(bpf::named(kind)?);
    let pattern = Pattern::new(pattern)?;
    kernel.ask(|view| {
        let (mut found, mut near) = (vec![], vec![]);
        for kind in kinds {
            let all = offered(view, kind, &pattern);
            if all.is_empty() {
                near.extend(bpf::near_to(view, kind, &pattern)?);
            }
            found.extend(all.iter().map(|offer| Offer(render::line(kernel.release(), offer))));
        }
        if found.is_empty() {
            let missing = bpf::missing(&pattern, &mut near);
            return Err(Failure::NotFound(vec![missing], near));
        }
        Ok(found)
    })
}

record! {
    /// Something that a kernel offers to BPF programs.
    Offer(render::Line), |it| format!("{} {}", it.kind, it.name);
    /// The release of the kernel.
    kernel: &str = &it.kernel;
    /// ``kfunc``, ``helper``, ``lsm``, ``iter``, ``struct_ops``, ….
    kind: &'static str = it.kind;
    /// As programs name it.
    name: &str = &it.name;
    /// The module that has it; None for vmlinux.
    module: Option<&str> = it.module.as_deref();
    /// The prototype of a function, in C; None for what is none.
    declaration: Option<&str> = it.declaration.as_deref();
    /// Its number in the kernel's interface.
    number: Option<i64> = it.number;
    /// Whether no program can be attached to it.
    disabled: bool = it.disabled;
    /// Of a kfunc, the kinds of programs that may call it.
    allowed: Option<Vec<&'static str>> = it.programs.as_ref().map(|programs| programs.allowed.clone());
    /// Of a kfunc, the kinds of programs of which it is not known.
    unknown: Option<Vec<&'static str>> = it.programs.as_ref().map(|programs| programs.unknown.clone());
    /// Of a kfunc, whether they may call it only where they may sleep.
    sleeping: Option<bool> = it.programs.as_ref().map(|programs| programs.sleeping);
}
