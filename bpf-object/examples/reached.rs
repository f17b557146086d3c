//! Prints which failed relocations of a program's objects are reached on a kernel: `reached BTF FILE...`
use probeidx_bpf::btf::Btf;
use probeidx_bpf::object::Object;
use probeidx_bpf::reach::{Unknown, reach};
use probeidx_bpf::relocate::{Decision, KernelBtf, Relocator, relocate};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let btf = std::fs::read(arguments.next().expect("BTF")).expect("BTF");
    let kernel = KernelBtf::new(Btf::parse(&btf, None, "kernel").expect("BTF"), Vec::new());
    let (mut programs, mut failing, mut alarms) = (0, 0, 0);
    for path in arguments {
        let file = std::fs::read(&path).expect("file");
        for range in probeidx_bpf::embedded(&file) {
            let object = Object::open(&file[range]).expect("object");
            for error in &object.refused {
                println!("{path}: {error}");
            }
            let decisions = relocate(&object, &kernel);
            let Some(types) = &object.btf else { continue };
            let relocator = Relocator::new(types, object.byte_order(), &kernel);
            for (id, program) in object.programs() {
                programs += 1;
                let linked = object.linked(id);
                let is_broken = |n: usize| !matches!(decisions[n], Decision::Applied { .. });
                let failed = (0..decisions.len())
                    .filter(|&n| linked.contains(&object.relocations[n].function) && is_broken(n))
                    .count();
                let reached = reach(&object, id, &decisions, &Unknown);
                failing += usize::from(failed > 0);
                let name = String::from_utf8_lossy(program.name);
                let bound = if reached.is_bounded { " bounded" } else { "" };
                let all: Vec<_> =
                    reached.relocations.iter().filter(|r| is_broken(r.relocation as usize)).collect();
                alarms += usize::from(!all.is_empty());
                if failed > 0 || reached.is_bounded {
                    println!("{path} {name}: {failed} failed, {} reached{bound}", all.len());
                }
                let mut features: Vec<_> = reached.features.iter().map(|(_, feature)| feature).collect();
                features.dedup();
                for feature in features {
                    println!("{path} {name}: needs {feature:?}");
                }
                for plain in reached.plain_offsets.iter().filter(|plain| !plain.in_field) {
                    let (place, offset) = (plain.place, plain.offset);
                    let text = object
                        .line(place.function, place.instruction)
                        .map(|l| String::from_utf8_lossy(l.text).trim().to_string());
                    println!("{path} {name}: plain offset {offset} {text:?}");
                }
                for r in all {
                    let relocation = &object.relocations[r.relocation as usize];
                    let line = object.line(relocation.function, relocation.instruction);
                    let text = line.map(|l| {
                        format!(
                            "{}:{}: {}",
                            String::from_utf8_lossy(l.file),
                            l.line,
                            String::from_utf8_lossy(l.text).trim()
                        )
                    });
                    println!(
                        "  {} {:?} {:?} {:?} {:?}",
                        relocation.instruction,
                        decisions[r.relocation as usize],
                        r.conditions,
                        relocator.explain(relocation),
                        text
                    );
                }
            }
        }
    }
    println!("{programs} programs, {failing} with failed relocations, {alarms} reach one");
}
