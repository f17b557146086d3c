//! Reads vmlinux into batches of facts.
use super::account::{count_faults, part_metas};
use super::batch::Stores;
use super::description::{self, Description};
use super::open::open;
use super::{Skipped, units};
use crate::btf;
use crate::code::layout::{self, Layout};
use crate::code::{Evidence, Kernel, marks};
use crate::debug_files::Buffers;
use crate::discover::Input;
use crate::dwarf::SourceTree;
use crate::error::{Error, Result};
use crate::link::ObjectFacts;
use crate::link::btf::Prototypes;
use crate::load::config::KernelConfig;
use crate::load::live;
use crate::load::object_kind::ObjectKind;
use crate::merge::{Extracted, FirstSeen};
use crate::shapes::Shapes;
use crate::version;
use probeidx_format::meta::InputMeta;
use probeidx_format::record::ObjectRecord;

/// The result of reading vmlinux.
pub struct Vmlinux<T> {
    pub facts: ObjectFacts,
    /// The result of `evaluate` for the kernel's machine and configuration.
    pub evaluated: T,
    pub extracted: Vec<Extracted>,
    /// What reading modules needs to know of the kernel.
    pub known: KernelFacts,
    /// How modules without DWARF are read.
    pub fallback: Fallback,
    pub skipped: Vec<Skipped>,
    /// Other files that hold debug information for vmlinux.
    pub parts: Vec<InputMeta>,
}

/// Facts from vmlinux that reading the tables of modules needs.
#[derive(Default)]
pub struct KernelFacts {
    /// The layouts of the structs in tables.
    pub shapes: Shapes,
    /// Where tracepoint structs hold what.
    pub layout: Option<Layout>,
    /// Which rules the kernel applies.
    pub evidence: Evidence,
    /// Where its sources lay.
    pub tree: SourceTree,
}

/// How modules without DWARF are read, given what vmlinux had.
pub enum Fallback {
    /// vmlinux has DWARF: modules without it are left out, and prototypes are compared with its BTF, if any.
    Nothing(Option<btf::Base>),
    /// From their BTF, which refers to that of vmlinux.
    Btf(btf::Base),
    /// Only symbols.
    Symbols,
}

/// Reads vmlinux, its units in batches in parallel. Meanwhile `evaluate` runs with its machine (`e_machine`) and its
/// configuration, if one was found.
pub fn read<T: Send>(
    input: &Input,
    release: &str,
    stores: Stores<'_>,
    types: &FirstSeen,
    functions: &FirstSeen,
    evaluate: impl Fn(u16, Option<&KernelConfig>) -> T + Sync,
) -> Result<Vmlinux<T>> {
    let interner = stores.interner;
    let ((facts, evaluated, extracted, known, fallback), files, mut skipped) =
        open(input, 0, true, None, &mut Buffers::default(), |object, code, description, image, faults| {
            let path = input.path.display().to_string();
            let facts = |shapes: &Shapes, faults: &mut Vec<Error>| {
                // A debug file may lie anywhere; the configuration lies beside the installed kernel.
                let places = std::iter::once(&input.path).chain(&input.shipped);
                let config = places.into_iter().find_map(|path| KernelConfig::find(path, release, object));
                let version = version::version(release);
                let kernel =
                    Kernel { version, config: config.as_ref(), shapes, evidence: Evidence::default() };
                let facts = || {
                    ObjectFacts::new(object, code, ObjectKind::Vmlinux, &path, kernel, interner, &mut *faults)
                };
                let (mut facts, evaluated) = rayon::join(facts, || evaluate(object.machine, config.as_ref()));
                if !matches!(description, Description::Dwarf(_)) {
                    let may_check = config.is_none() && kernel.checks_notrace();
                    facts.code.flags |= description::undetectable_rules(object, may_check);
                    if object.section(live::LISTED).is_some() {
                        facts.code.flags |= ObjectRecord::OF_MEMORY;
                    }
                    if !code.has_some_code() {
                        description::without_image(object, faults);
                    }
                }
                let mut base = None;
                if let Description::Dwarf(_) = description {
                    base = description::of_prototypes(&[object, code], faults);
                    facts.prototypes = base.as_ref().map(|base| Prototypes::of(&base.prototypes(), interner));
                    facts.btf_types = base.as_ref().map(btf::Base::named).unwrap_or_default();
                    if let Some(base) = &base {
                        let marks = marks::read(object, code, false, &|id| base.name_of(id));
                        facts.mark(&marks, interner);
                    }
                }
                let is_linked = matches!(description, Description::Dwarf(_));
                let is_read = base.is_some() || matches!(description, Description::Btf(_));
                facts.code.flags |=
                    description::btf_flags(&[object, code], is_read, is_linked, config.as_ref());
                (facts, evaluated, base)
            };
            let extract = || match description {
                Description::Dwarf(source) => {
                    (units::whole(*source, stores, types, functions, image), Fallback::Nothing(None))
                }
                Description::Btf(data) => {
                    let (batch, base) = description::kernel(data, object);
                    let extracted = stores.finish_batch(batch);
                    extracted.register(0, types, functions);
                    (vec![extracted], base.map_or(Fallback::Symbols, Fallback::Btf))
                }
                Description::Symbols => (vec![], Fallback::Symbols),
            };
            let of_batches = |extracted: &[Extracted]| layout::shapes(extracted.iter().map(|e| &e.batch));
            // BTF yields the table structs at once; DWARF only once the units are read.
            let mut shapes = description::shapes(&[object, code]);
            let ((mut facts, evaluated, base), (mut extracted, mut fallback)) = if shapes.is_empty() {
                let (extracted, fallback) = extract();
                shapes = of_batches(&extracted);
                (facts(&shapes, faults), (extracted, fallback))
            } else {
                rayon::join(|| facts(&shapes, faults), extract)
            };
            extracted.iter_mut().for_each(Extracted::forget_texts);
            match (description, &fallback) {
                (Description::Dwarf(_), _) => fallback = Fallback::Nothing(base),
                (_, Fallback::Btf(base)) => {
                    facts.btf_types = base.named();
                    facts.mark(&marks::read(object, code, false, &|id| base.name_of(id)), interner);
                }
                // Its BTF is damaged.
                (_, Fallback::Symbols) => facts.code.flags &= !ObjectRecord::BTF,
                _ => {}
            }
            // Pointers in memory are those of the run, and tracepoints are enabled there.
            let is_of_memory = facts.code.flags & ObjectRecord::OF_MEMORY != 0;
            let assumed =
                || shapes.is_empty().then(|| Layout::assumed(object.address_size, version::version(release)));
            let layout = Layout::of(&shapes).or_else(assumed).filter(|_| !is_of_memory);
            if is_of_memory {
                faults.push(description::without_tracepoints());
            }
            let facts =
                facts.with_tracepoints(object, code, ObjectKind::Vmlinux, layout.as_ref(), interner, faults);
            let tree = match description {
                Description::Dwarf(source) => source.tree.clone(),
                _ => SourceTree::default(),
            };
            let known = KernelFacts {
                shapes,
                layout,
                evidence: facts.code.evidence.as_deref().copied().unwrap_or_default(),
                tree,
            };
            Ok((facts, evaluated, extracted, known, fallback))
        })?;
    for e in &extracted {
        skipped.extend(count_faults(&e.batch.faults, |_| &files));
    }
    Ok(Vmlinux { facts, evaluated, extracted, known, fallback, skipped, parts: part_metas(&files) })
}
