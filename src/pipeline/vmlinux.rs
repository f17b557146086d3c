//! vmlinux to batches of facts.
use super::account::{count_faults, part_metas};
use super::open::open;
use super::told::{self, Told};
use super::{Skipped, units};
use crate::btf;
use crate::code::layout::{self, Layout};
use crate::code::{Evidence, Kernel};
use crate::discover::Input;
use crate::dwarf::SourceTree;
use crate::error::{Error, Result};
use crate::link::ObjectFacts;
use crate::link::btf::Prototypes;
use crate::load::config::KernelConfig;
use crate::load::object_kind::ObjectKind;
use crate::merge::intern::Interner;
use crate::merge::{Extracted, FirstSeen};
use crate::shapes::Shapes;
use crate::version;
use probeidx_format::meta::InputMeta;

/// What vmlinux gave.
pub struct Vmlinux<T> {
    pub facts: ObjectFacts,
    /// What was made of the kernel's machine and configuration.
    pub evaluated: T,
    pub extracted: Vec<Extracted>,
    /// What modules are read by.
    pub known: KnownOfKernel,
    /// What the modules can do with instead of debug information.
    pub instead: Instead,
    pub skipped: Vec<Skipped>,
    /// Other files that have debug information of it.
    pub parts: Vec<InputMeta>,
}

/// What vmlinux tells of its kernel, so that the tables of modules can be read.
#[derive(Default)]
pub struct KnownOfKernel {
    /// The structs of tables.
    pub shapes: Shapes,
    /// What tells of tracepoints.
    pub layout: Option<Layout>,
    /// Which rules it has.
    pub evidence: Evidence,
    /// Where its sources lay.
    pub tree: SourceTree,
}

/// What modules can be read by that have no debug information, as vmlinux was.
pub enum Instead {
    /// vmlinux has debug information: modules without it are left out. What its BTF has is compared.
    Nothing(Option<btf::Base>),
    /// What their BTF refers to.
    Btf(btf::Base),
    /// Symbols alone.
    Symbols,
}

/// Reads vmlinux, its units in batches side by side; beside them `evaluate` asks for its machine (`e_machine`) and, where it
/// was found, its configuration.
pub fn read<T: Send>(
    input: &Input,
    release: &str,
    interner: &Interner,
    types: &FirstSeen,
    functions: &FirstSeen,
    evaluate: impl Fn(u16, Option<&KernelConfig>) -> T + Sync,
) -> Result<Vmlinux<T>> {
    let ((facts, evaluated, extracted, known, instead), files, mut skipped) =
        open(input, 0, true, None, |object, code, told, faults| {
            let path = input.path.display().to_string();
            let facts = |shapes: &Shapes, faults: &mut Vec<Error>| {
                // A debug file may lie anywhere; the configuration is beside what is installed.
                let places = std::iter::once(&input.path).chain(&input.shipped);
                let config = places.into_iter().find_map(|path| KernelConfig::find(path, release, object));
                let version = version::version(release);
                let kernel =
                    Kernel { version, config: config.as_ref(), shapes, evidence: Evidence::default() };
                let facts = || {
                    ObjectFacts::new(object, code, ObjectKind::Vmlinux, &path, kernel, interner, &mut *faults)
                };
                let (mut facts, evaluated) = rayon::join(facts, || evaluate(object.machine, config.as_ref()));
                if !matches!(told, Told::Dwarf(_)) {
                    facts.code.flags |= told::rules_unseen(object, config.is_some());
                    if !code.has_some_code() {
                        told::without_image(faults);
                    }
                }
                (facts, evaluated)
            };
            let extract = || match told {
                Told::Dwarf(source) => {
                    (units::whole(*source, interner, types, functions), Instead::Nothing(None))
                }
                Told::Btf(data) => {
                    let (batch, base) = told::kernel(data, object);
                    let extracted =
                        Extracted { strings: interner.intern_all(&batch.strings), batch, first_object: 0 };
                    extracted.tell(0, types, functions);
                    (vec![extracted], base.map_or(Instead::Symbols, Instead::Btf))
                }
                Told::Symbols => (vec![], Instead::Symbols),
            };
            let of_batches = |extracted: &[Extracted]| layout::shapes(extracted.iter().map(|e| &e.batch));
            // BTF has the structs of the tables at once; else they are known when the units are read.
            let mut shapes = told::shapes(&[object, code]);
            let ((mut facts, evaluated), (extracted, mut instead)) = if shapes.is_empty() {
                let (extracted, instead) = extract();
                shapes = of_batches(&extracted);
                (facts(&shapes, faults), (extracted, instead))
            } else {
                rayon::join(|| facts(&shapes, faults), extract)
            };
            if let Told::Dwarf(_) = told {
                let base = told::of_prototypes(&[object, code], faults);
                facts.prototypes = base.as_ref().map(|base| Prototypes::of(&base.prototypes(), interner));
                instead = Instead::Nothing(base);
            }
            let layout = Layout::of(&shapes);
            let facts =
                facts.with_tracepoints(object, code, ObjectKind::Vmlinux, layout.as_ref(), interner, faults);
            let tree = match told {
                Told::Dwarf(source) => source.tree.clone(),
                _ => SourceTree::default(),
            };
            let known = KnownOfKernel { shapes, layout, evidence: facts.code.evidence, tree };
            Ok((facts, evaluated, extracted, known, instead))
        })?;
    for e in &extracted {
        skipped.extend(count_faults(&e.batch.faults, |_| &files));
    }
    Ok(Vmlinux { facts, evaluated, extracted, known, instead, skipped, parts: part_metas(&files) })
}
