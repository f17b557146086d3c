//! The code of a program as it is loaded.
use crate::btf::RelocationKind;
use crate::instruction::Instruction;
use crate::object::{FunctionId, Object};
use crate::reach::Place;
use crate::reach::flow::Flow;
use crate::relocate::Decision;
use rustc_hash::{FxHashMap, FxHashSet};

/// The code of all functions of a program, relocated.
#[derive(Debug)]
pub(super) struct Patched {
    functions: FxHashMap<FunctionId, (Vec<Instruction>, Flow)>,
    /// The instructions that hold the offset of a field by a relocation.
    offsets: FxHashSet<Place>,
    /// The instructions whose relocation is poisoned or failed: what they do is not known.
    broken: FxHashSet<Place>,
}

impl Patched {
    pub(super) fn new(object: &Object<'_>, functions: &[FunctionId], decisions: &[Decision]) -> Self {
        let mut code: FxHashMap<FunctionId, Vec<Instruction>> =
            functions.iter().map(|&id| (id, object.function(id).code.clone())).collect();
        let (mut offsets, mut broken) = (FxHashSet::default(), FxHashSet::default());
        for (relocation, decision) in object.relocations.iter().zip(decisions) {
            let Some(code) = code.get_mut(&relocation.function) else { continue };
            let place = Place { function: relocation.function, instruction: relocation.instruction };
            let at = relocation.instruction as usize;
            if relocation.kind == Ok(RelocationKind::FieldOffset) {
                offsets.insert(place);
            }
            match decision {
                Decision::Applied { patch, .. } => {
                    code[at] = patch.first;
                    if let Some((slot, second)) = code.get_mut(at + 1).zip(patch.second) {
                        *slot = second;
                    }
                }
                _ => {
                    broken.insert(place);
                }
            }
        }
        let flows = code.into_iter().map(|(id, code)| {
            let flow = Flow::new(&code);
            (id, (code, flow))
        });
        Self { functions: flows.collect(), offsets, broken }
    }

    /// The code of a function and its flow.
    pub(super) fn function(&self, id: FunctionId) -> Option<&(Vec<Instruction>, Flow)> {
        self.functions.get(&id)
    }

    /// All functions.
    pub(super) fn all(&self) -> impl Iterator<Item = (FunctionId, &[Instruction])> {
        self.functions.iter().map(|(&id, (code, _))| (id, &code[..]))
    }

    /// Whether the relocation of an instruction is poisoned or failed.
    pub(super) fn is_broken(&self, place: Place) -> bool {
        self.broken.contains(&place)
    }

    /// Whether an instruction holds the offset of a field by a relocation.
    pub(super) fn is_offset(&self, place: Place) -> bool {
        self.offsets.contains(&place)
    }
}
