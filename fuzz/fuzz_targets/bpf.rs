//! Any bytes as a program with BPF objects: each is opened, relocated against its own types and followed, or refused.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx_bpf::object::Object;
use probeidx_bpf::reach::{Unknown, reach};
use probeidx_bpf::relocate::{KernelBtf, Relocator, relocate};
use probeidx_bpf::{embedded, section};

fuzz_target!(|data: &[u8]| {
    for range in embedded(data) {
        let Ok(object) = Object::open(&data[range]) else { continue };
        let Some(btf) = &object.btf else { continue };
        let kernel = KernelBtf::new(btf.clone(), Vec::new());
        let decisions = relocate(&object, &kernel);
        assert_eq!(decisions.len(), object.relocations.len());
        let relocator = Relocator::new(btf, object.byte_order(), &kernel);
        for relocation in object.relocations.iter().take(64) {
            relocator.explain(relocation);
            object.line(relocation.function, relocation.instruction);
        }
        for (id, program) in object.programs().take(8) {
            section::read(program.section);
            reach(&object, id, &decisions, &Unknown);
        }
    }
});
