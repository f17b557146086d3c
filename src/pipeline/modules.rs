//! Reads modules into batches of facts, a group of modules into each.
use super::Skipped;
use super::account::{count_faults, input_meta, part_metas};
use super::batch::Stores;
use super::description::{self, Description};
use super::open::open;
use super::vmlinux::{Fallback, KernelFacts};
use crate::code::Kernel;
use crate::code::layout::{self, Layout};
use crate::debug_files::Buffers;
use crate::discover::{Input, UNKNOWN_RELEASE};
use crate::dwarf::{self, Gathered, KnownTypes, UnitHeader};
use crate::error::{Error, ErrorKind, Result};
use crate::link::ObjectFacts;
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::object_kind::ObjectKind;
use crate::merge::Extracted;
use crate::observer::Observer;
use crate::version;
use probeidx_format::meta::InputMeta;
use std::cell::Cell;

/// Bytes of module files per batch. Each batch describes the types that its modules share once, so that few batches save
/// work; many keep all threads busy to the end. The bytes of an index depend on it, so it must not depend on the machine.
const GROUP: u64 = 48 << 20;

/// Bytes of `.debug_info` after which the pages of a module that were read are removed from memory. Linkers leave the
/// strings of each unit in a module, one unit after the other: few pages are read again.
const FORGOTTEN: usize = 4 << 20;

/// A module.
pub struct Module {
    /// Its position among those of the kernel.
    pub number: u32,
    pub input: Input,
}

/// The modules in groups, each read into one batch. They are in the order of their paths: what lies
/// in one folder has types in common, and in this order a package has them. Of a package that is unpacked, the next group is given
/// once it is there.
pub struct Groups<'k> {
    modules: &'k [Input],
    order: std::vec::IntoIter<u32>,
}

impl<'k> Groups<'k> {
    pub fn of(modules: &'k [Input]) -> Self {
        let mut order: Vec<u32> = (0..modules.len() as u32).collect();
        order.sort_by_key(|number| &modules[*number as usize].path);
        Self { modules, order: order.into_iter() }
    }
}

impl Iterator for Groups<'_> {
    type Item = Vec<Module>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut group, mut sum) = (vec![], 0);
        for number in self.order.by_ref() {
            // What does not come is told once for the whole package.
            let Some(input) = self.modules[number as usize].arrived() else { continue };
            sum += input.size;
            group.push(Module { number, input });
            if sum >= GROUP {
                break;
            }
        }
        (!group.is_empty()).then_some(group)
    }
}

/// The result of reading a group of modules.
pub struct Group {
    pub extracted: Extracted,
    /// With the numbers of the modules.
    pub objects: Vec<(u32, ObjectFacts)>,
    pub inputs: Vec<(u32, InputMeta)>,
    /// Other files that hold debug information for the objects.
    pub parts: Vec<InputMeta>,
    pub skipped: Vec<Skipped>,
}

/// Working memory to read a group of modules.
#[derive(Default)]
pub struct Memory {
    gathered: Gathered,
    buffers: Buffers,
}

/// Reads modules one after another into one batch; each file is dropped before the next is opened. `of_kernel` is
/// what vmlinux yielded, empty without vmlinux. If a module changes while it is read, the attempt is discarded and
/// the other modules are read again without it.
///
/// # Errors
/// [`ErrorKind::Exhausted`] if memory or files ran out.
#[expect(clippy::too_many_arguments, reason = "what a build has beside the modules")]
pub fn read(
    modules: &[Module],
    release: &str,
    known: &dyn KnownTypes,
    of_kernel: &KernelFacts,
    fallback: &Fallback,
    stores: Stores<'_>,
    memory: &mut Memory,
    observer: &dyn Observer,
) -> Result<Group> {
    let mut changed: Vec<Option<Error>> = vec![None; modules.len()];
    let mut done = 0;
    loop {
        let observe = |number: usize, input: &Input| {
            if number == done {
                observer.object_done(&input.path, input.size);
                done += 1;
            }
        };
        match attempt(modules, &changed, release, known, of_kernel, fallback, stores, memory, observe) {
            Ok(group) => {
                modules.iter().for_each(|module| module.input.forget());
                // The memory that a very large module took is too much for all others.
                if modules.iter().map(|module| module.input.size).sum::<u64>() > 2 * GROUP {
                    memory.gathered = Gathered::default();
                }
                return Ok(group);
            }
            Err((number, error)) if error.kind() == ErrorKind::Changed => changed[number] = Some(error),
            Err((_, error)) => return Err(error),
        }
    }
}

/// Reads the modules not marked as changed, and calls `observe` with the number of each. Fails with the number of a
/// module that changed now.
#[allow(
    clippy::too_many_arguments,
    reason = "they are those of the function above, and what happened so far"
)]
fn attempt(
    modules: &[Module],
    changed: &[Option<Error>],
    release: &str,
    known: &dyn KnownTypes,
    of_kernel: &KernelFacts,
    fallback: &Fallback,
    stores: Stores<'_>,
    memory: &mut Memory,
    mut observe: impl FnMut(usize, &Input),
) -> Result<Group, (usize, Error)> {
    let may_lack_dwarf = !matches!(fallback, Fallback::Nothing(_));
    let Memory { gathered, buffers } = memory;
    let interner = stores.interner;
    // What an attempt before this one left.
    gathered.finish();
    let (mut objects, mut inputs, mut parts, mut skipped) = (vec![], vec![], vec![], vec![]);
    for (number, (Module { number: module, input }, changed)) in modules.iter().zip(changed).enumerate() {
        let object_number = objects.len() as u32;
        let read = |object: &Elf<'_>,
                    code: &Elf<'_>,
                    description: Description<'_>,
                    image: &Image,
                    faults: &mut Vec<Error>| {
            check_release(object, release)?;
            let name = input.name.as_deref().unwrap_or_default();
            match (description, fallback) {
                (Description::Dwarf(source), _) => {
                    let units = source.own();
                    let read_since = Cell::new(0);
                    let passed = |unit: &UnitHeader| {
                        read_since.set(read_since.get() + unit.end - unit.start);
                        if read_since.get() > FORGOTTEN {
                            image.forget(image.bytes());
                            read_since.set(0);
                        }
                    };
                    let read = dwarf::read_units(std::mem::take(gathered), *source, &units, known, &passed);
                    *gathered = dwarf::read_frames(read, *source);
                }
                (Description::Btf(data), Fallback::Btf(base)) => {
                    description::module(base, gathered.facts(), data, object, object_number, name);
                }
                _ => {}
            }
            let path = input.path.display().to_string();
            // Without vmlinux, each module supplies its own structs.
            let own_shapes;
            let (shapes, layout) = if of_kernel.shapes.is_empty() {
                own_shapes = layout::shapes(std::iter::once(gathered.so_far()));
                (&own_shapes, Layout::of(&own_shapes).or(of_kernel.layout))
            } else {
                (&of_kernel.shapes, of_kernel.layout)
            };
            let version = version::version(release);
            let kernel = Kernel { version, config: None, shapes, evidence: of_kernel.evidence };
            let kind = ObjectKind::Module(name);
            let mut facts = ObjectFacts::new(object, code, kind, &path, kernel, interner, faults);
            let base = match fallback {
                Fallback::Nothing(base) => base.as_ref(),
                Fallback::Btf(base) => Some(base),
                Fallback::Symbols => None,
            };
            let of_module =
                base.and_then(|base| description::of_module(base, object, code, interner, faults));
            let is_read = of_module.is_some();
            if let Some(of_module) = of_module {
                facts.prototypes =
                    Some(of_module.prototypes).filter(|_| matches!(description, Description::Dwarf(_)));
                facts.btf_types = of_module.named;
                facts.mark(&of_module.marks, interner);
            }
            facts.code.flags |= description::btf_flags(&[object, code], is_read, false, None);
            if code.section("__tracepoints").is_none() {
                return Ok(facts);
            }
            Ok(facts.with_tracepoints(object, code, kind, layout.as_ref(), interner, faults))
        };
        match changed.clone().map_or_else(
            || open(input, object_number, may_lack_dwarf, Some(&of_kernel.tree), buffers, read),
            Err,
        ) {
            Ok((facts, files, faults)) => {
                inputs.push((*module, input_meta(input, Some(&facts))));
                parts.extend(part_metas(&files));
                objects.push(((*module, facts), files));
                skipped.extend(faults);
            }
            Err(error)
                if changed.is_none() && matches!(error.kind(), ErrorKind::Changed | ErrorKind::Exhausted) =>
            {
                return Err((number, error));
            }
            Err(error) => {
                inputs.push((*module, input_meta(input, None)));
                skipped.push(Skipped::object(error));
            }
        }
        observe(number, input);
    }
    let mut extracted = stores.finish(gathered);
    extracted.forget_texts();
    skipped.extend(count_faults(&extracted.batch.faults, |object| &objects[object as usize].1));
    Ok(Group { extracted, objects: objects.into_iter().map(|o| o.0).collect(), inputs, parts, skipped })
}

/// Checks the kernel release in `.modinfo` (`vermagic`).
fn check_release(object: &Elf<'_>, release: &str) -> Result<()> {
    let info = object.section(".modinfo").map(|s| s.raw()).unwrap_or_default();
    let made_for = info.split(|b| *b == 0).find_map(|entry| entry.strip_prefix(b"vermagic="));
    let made_for = made_for.and_then(|v| v.split(|b| *b == b' ').next()).unwrap_or_default();
    if made_for.is_empty() || release == UNKNOWN_RELEASE || made_for == release.as_bytes() {
        return Ok(());
    }
    let made_for = String::from_utf8_lossy(made_for);
    let what = format!("a module of kernel {made_for} among those of {release}");
    Err(Error::new(ErrorKind::Mismatch, what).section(".modinfo"))
}
