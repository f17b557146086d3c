//! The structs of the header are those of the library, field by field, for every C and C++ that compiles the header; and
//! header, version script and library have the same functions.
use std::fmt::Write;
use std::mem::offset_of;
use std::process::{Command, Stdio};

/// A struct of the header: its name, size, and the place of each field.
struct Struct {
    name: &'static str,
    size: usize,
    fields: Vec<(&'static str, usize, usize)>,
}

macro_rules! structs {
    ($($name:literal $type:ty { $($field:ident)* })*) => {
        vec![$(Struct {
            name: $name,
            size: size_of::<$type>(),
            fields: vec![$((
                // `type` is a word of Rust's.
                match stringify!($field) { "type_name" => "type", "link" => "place", name => name },
                offset_of!($type, $field),
                size_of_field(|v: &$type| &raw const v.$field),
            )),*],
        }),*]
    };
}

fn size_of_field<T, F>(_: impl Fn(&T) -> *const F) -> usize {
    size_of::<F>()
}

fn structs() -> Vec<Struct> {
    use probeidx_capi::*;
    structs! {
        "error" border::ErrorOut { size kind reserved message place remedy }
        "text" text::Text { text length }
        "summary" contents::Summary {
            size release process machine format objects units functions placements symbols names types bytes
            inline_instances tracepoints labels line_sequences definitions skipped written_by direct_calls
        }
        "file" open::File { size path release process why status reserved32 reserved }
        "object" contents::Object { size object flags name path build_id }
        "section" contents::Section { size name bytes }
        "skipped" contents::Skipped { size path kind why count is_whole_object reserved32 }
        "place" places::Place { address object pc place instance }
        "frame" frames::Frame { function declared_file file declared_line line column is_inlined }
        "step" resolve::Step { op size value name }
        "value" resolve::Value {
            size name type_name location fetch expression steps step_count role state parameter proof
            convention_register is_asked elsewhere elsewhere_line convention_stack
        }
        "call" resolve::Call { size function file line column }
        "placement" resolve::Placement {
            size kernel module process function file section symbol anchor anchor_module anchor_symbol definition instead
            source_file address anchor_offset inlined_into inlined_into_count values value_count line instance
            symbol_offset flags kprobe kprobe_events kretprobe fentry shift source_line source_column instances reachable
            reachable_events object pc alias tracepoint collides_with collides_with_count probe instead_anchor instead_address
            entries_refused entries_refused_count copies_refused copies_refused_count left_out left_out_count copies
            copies_reachable callers reachable_kretprobe reachable_fentry source_is_stmt because entries_undecided copies_undecided
            ftrace trampoline reachable_ftrace reachable_trampoline by_name by_name_state reserved32
        }
        "field" resolve::Field { size name type_name offset bytes is_signed reserved32 }
        "tracepoint" resolve::Tracepoint {
            size system refusal fields field_count has_event has_fields reserved
        }
        "local" resolve::Local {
            size name type_name copy_of variable why instead instead_count state reserved32 reserved
        }
        "alias" resolve::Alias { size name point through through_count locals local_count reserved }
        "arm" tapset::ArmOut {
            size point condition why through through_count probes reachable outcome flags undecided reserved
        }
        "assignment" tapset::Assignment { size name value line is_behind }
        "group" tapset::Group { size probes locals local_count }
        "definition" tapset::Definition {
            size names name_count file comment arms arm_count assignments assignment_count groups group_count line reserved32
            reserved
        }
        "parameter" functions::Parameter { size name type_name }
        "function" functions::Function {
            size name result parameters parameter_count marks mark_count file comment line is_private reserved
        }
        "macro" functions::Macro { size name parameters parameter_count body file line reserved32 reserved }
        "defined" resolve::Defined { size places defined }
        "missing" missing::Missing { size why near near_count is_known reserved32 reserved }
        "health" health::Health {
            size name file points point_count matches broken broken_count line column state reserved32 reserved
        }
        "stap" check::Stap { size arguments argument_count compatible flags runtime }
        "finding" check::Finding {
            size file what why instead instead_count line column kind state breaks probes addresses reachable inlined
            left_out refused refused_count because undecided reserved32
        }
        "options" resolve::Options { size flags reserved }
        "line" lines::Line {
            size module function file places place_count line best is_reachable declared_line reserved
        }
        "where" addr::Spot {
            size module section symbol frames frame_count address symbol_offset symbol_size ground gone is_stmt object pc
            reserved32 reserved
        }
        "log" decode::Log { size slide flags stack stopped_at_length reserved32 stopped_at reserved }
        "decoded" decode::Decoded { size text behind below places place_count why end role is_exact reserved }
        "member" types::Member {
            size name type_name offset bytes value lowest_bit width type_id reserved32 steps step_count
        }
        "type" types::Type {
            size name spelled file members member_count bytes line kind id target objects object_count
        }
        "user" types::User { size function file uses use_count line is_inlined object_count reserved32 objects reserved }
        "refused" refused::Refused { size module symbol section start end reason reserved32 reserved }
    }
}

const HEADER: &str = include_str!("../include/probeidx.h");

/// The names of the header's structs.
fn declared() -> Vec<&'static str> {
    let name = |line: &'static str| line.strip_prefix("struct probeidx_")?.strip_suffix(" {");
    let mut found: Vec<_> = HEADER.lines().filter_map(name).collect();
    found.sort_unstable();
    found
}

#[test]
fn structs_have_no_gaps_and_none_is_forgotten() {
    for one in structs() {
        let mut end = 0;
        for (field, offset, size) in &one.fields {
            assert_eq!(*offset, end, "before {}.{field}", one.name);
            end = offset + size;
        }
        assert_eq!(end, one.size, "at the end of {}", one.name);
    }
    let mut own: Vec<_> = structs().iter().map(|s| s.name).collect();
    own.sort_unstable();
    assert_eq!(own, declared());
}

/// What C must agree with.
fn assertions() -> String {
    let mut text = String::from("#include <probeidx.h>\n");
    text += "#ifdef __cplusplus\n#define SAME(a, b) static_assert((a) == (b), #a)\n";
    text += "#elif __STDC_VERSION__ >= 201112L\n#define SAME(a, b) _Static_assert((a) == (b), #a)\n";
    text += "#else\n#define JOIN2(a, b) a##b\n#define JOIN(a, b) JOIN2(a, b)\n";
    text += "#define SAME(a, b) extern char JOIN(same, __LINE__)[(a) == (b) ? 1 : -1]\n#endif\n";
    for one in structs() {
        let _ = writeln!(text, "SAME(sizeof(struct probeidx_{}), {});", one.name, one.size);
        for (field, offset, size) in one.fields {
            let _ = writeln!(text, "SAME(offsetof(struct probeidx_{}, {field}), {offset});", one.name);
            let _ = writeln!(text, "SAME(sizeof(((struct probeidx_{} *)0)->{field}), {size});", one.name);
        }
    }
    for status in probeidx_capi::border::Status::ALL {
        let name = format!("{status:?}");
        let mut shouted = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !shouted.is_empty() {
                shouted.push('_');
            }
            shouted.extend(letter.to_uppercase());
        }
        let _ = writeln!(text, "SAME(PROBEIDX_{shouted}, {});", status as i32);
    }
    let _ = writeln!(text, "SAME(PROBEIDX_VERSION, {});", probeidx_capi::names::VERSION);
    use probeidx_capi::resolve::{Options, Placement};
    for (name, value) in [
        ("LOCALS", Options::LOCALS),
        ("EXPRESSIONS", Options::EXPRESSIONS),
        ("LINES", Options::LINES),
        ("UNIQUE", Placement::UNIQUE),
        ("NESTED", Placement::NESTED),
        ("IS_RETURN", Placement::RETURN),
        ("NEVER_RETURNS", Placement::NEVER_RETURNS),
        ("TAIL_CALLS", Placement::TAIL_CALLS),
        ("BEST", Placement::BEST),
        ("SYSTEMTAPS", Placement::SYSTEMTAP),
        ("TRACEPOINT", Placement::TRACEPOINT),
        ("NOWHERE", Placement::NOWHERE),
        ("UNINDEXED", Placement::UNINDEXED),
        ("BROKEN", probeidx_capi::resolve::Local::BROKEN),
        ("ADD", probeidx_capi::resolve::Step::ADD),
        ("READ", probeidx_capi::resolve::Step::READ),
        ("HIDDEN", probeidx_capi::tapset::HIDDEN),
        ("EXPLAINED", probeidx_capi::tapset::EXPLAINED),
        ("OPTIONAL", probeidx_capi::tapset::ArmOut::OPTIONAL),
        ("SUFFICIENT", probeidx_capi::tapset::ArmOut::SUFFICIENT),
        ("ENDS", probeidx_capi::tapset::ArmOut::ENDS),
        ("ARM_UNASKED", probeidx_capi::tapset::ArmOut::UNASKED),
        ("UNSURE", probeidx_capi::contents::Object::UNSURE),
        ("SOUGHT_SPEC", probeidx_capi::missing::Sought::Spec as u32),
        ("SOUGHT_TYPE", probeidx_capi::missing::Sought::Type as u32),
        ("SOUGHT_MODULE", probeidx_capi::missing::Sought::Module as u32),
        ("SOUGHT_ALIAS", probeidx_capi::missing::Sought::Alias as u32),
        ("SOUGHT_FUNCTION", probeidx_capi::missing::Sought::Function as u32),
        ("SOUGHT_MACRO", probeidx_capi::missing::Sought::Macro as u32),
        ("GURU", probeidx_capi::check::Stap::GURU),
        ("LOG_MOVED", probeidx_capi::decode::Log::MOVED),
        ("LOG_GIVEN", probeidx_capi::decode::Log::GIVEN),
        ("KIND_RVALUE_REFERENCE", probeidx_format::types::TypeKind::RvalueReference as u32),
        ("KIND_STRUCT", probeidx_format::types::TypeKind::Struct as u32),
    ] {
        let _ = writeln!(text, "SAME(PROBEIDX_{name}, {value}u);");
    }
    text + "extern int end_of_assertions;\n"
}

#[test]
fn every_compiler_agrees() {
    const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-pedantic", "-Wpadded", "-Werror"];
    let text = assertions();
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    let c = ["c99", "c11", "c17", "c23"].map(|s| ("c", ["gcc", "clang"], s));
    let cpp = ["c++11", "c++14", "c++17", "c++20", "c++23"].map(|s| ("c++", ["g++", "clang++"], s));
    let mut compiled = 0;
    for (language, compilers, standard) in c.into_iter().chain(cpp) {
        for compiler in compilers {
            // Compilers before the standard call it by the year that was planned.
            let spelled = [standard, if standard == "c23" { "c2x" } else { "c++2b" }];
            let mut said = vec![];
            let agrees = spelled.iter().any(|standard| {
                let mut c = Command::new(compiler);
                c.args(["-fsyntax-only", include, "-x", language, &format!("-std={standard}"), "-"])
                    .args(WARNINGS);
                let Ok(mut child) = c.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
                    return false;
                };
                // One that does not know the standard goes before it has read all.
                let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes());
                let output = child.wait_with_output().unwrap();
                said.push(String::from_utf8_lossy(&output.stderr).into_owned());
                output.status.success()
            });
            match said.iter().find(|s| !s.is_empty() && !s.contains("-std=")) {
                _ if agrees => compiled += 1,
                Some(said) => panic!("{compiler} -std={standard}: {said}"),
                None => eprintln!("skipped: {compiler} -std={standard}"),
            }
        }
    }
    assert!(compiled > 0, "there is no compiler");
}

#[test]
fn header_version_script_and_library_have_the_same_functions() {
    let script = include_str!("../probeidx.map");
    let mut exported: Vec<&str> = script
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter_map(|name| name.strip_prefix("probeidx_"))
        .collect();
    exported.sort_unstable();
    let returns = |line: &&str| {
        ["int32_t ", "uint32_t ", "uint64_t ", "struct probeidx_text "].iter().any(|t| line.starts_with(t))
    };
    let heads = HEADER.lines().filter(returns).filter_map(|line| line.split_once('(')).map(|(head, _)| head);
    let mut header: Vec<&str> =
        heads.filter_map(|head| head.rsplit(' ').next()?.strip_prefix("probeidx_")).collect();
    header.sort_unstable();
    assert_eq!(exported, header);
    let mut defined = vec![];
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(path).unwrap();
            let name = |line: &str| {
                Some(line.strip_prefix("pub extern \"C\" fn probeidx_")?.split('(').next()?.to_owned())
            };
            defined.extend(text.lines().filter_map(name));
        }
    }
    defined.sort_unstable();
    assert_eq!(exported, defined);
}

#[test]
fn the_version_is_that_of_the_package() {
    let parts: Vec<u32> = env!("CARGO_PKG_VERSION").split('.').map(|n| n.parse().unwrap()).collect();
    assert_eq!(probeidx_capi::names::VERSION, parts[0] << 16 | parts[1] << 8 | parts[2]);
}
