//! Frame rules: those of gimli, whatever compiler wrote them; and entries that were made to do harm.
use crate::hostile::dwarf::{assert_victim, index, victim};
use crate::support::fixture::{Recipe, Tree, USUAL, possible};
use crate::support::index::{Index, build_whole};
use crate::support::oracle;
use crate::support::raw::Raw;
use gimli::DwTag;
use gimli::constants::*;
use probeidx::query::index::cfa;
use probeidx::query::index::functions::entry_at;
use probeidx::query::resolve::placement::Wanted;
use probeidx::query::value::lifetime::{Stay, lifetimes};
use probeidx::query::value::reader::ValueAt;
use probeidx::query::{resolve, spec};
use probeidx_format::id::ObjectId;

fn agree(recipe: &Recipe) {
    if !possible(recipe) {
        return;
    }
    let tree = Tree::compile(recipe);
    let index = build_whole(&tree);
    let view = index.view();
    let (mut functions, mut changes) = (0, 0);
    for (object, path) in (0..).map(ObjectId::new).zip(tree.objects()) {
        let entries = oracle::frames::entries(&path);
        functions += entries.len();
        assert_eq!(view.frames_of(object).len(), entries.len(), "{recipe:?}: {}", path.display());
        for rows in entries {
            changes += rows.len() - 1;
            for (start, end, rule) in rows {
                for pc in [start, end - 1] {
                    let found = cfa::cfa(&view, object, pc as u32);
                    assert_eq!(found, rule, "{recipe:?}: {} at {pc:#x}", path.display());
                }
            }
        }
        let end = view.frames_of(object).last().map_or(0, |f| f.end.get());
        assert_eq!(cfa::cfa(&view, object, end), None);
        assert_eq!(cfa::cfa(&view, object, 0), None);
    }
    assert!(functions > 5 && changes > 20, "{recipe:?}: {functions} functions, {changes} changes");
}

macro_rules! agree {
    ($($name:ident: $recipe:expr,)*) => {$(
        #[test]
        fn $name() {
            agree(&$recipe);
        }
    )*};
}

agree! {
    gcc: USUAL,
    gcc_unoptimized: Recipe::new("gcc", &["-O0", "-gdwarf-5"]),
    gcc_with_frame_pointer: Recipe::new("gcc", &["-O2", "-gdwarf-4", "-fno-omit-frame-pointer"]),
    gcc_common_entries_of_version_3: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-Wa,--gdwarf-cie-version=3"]),
    gcc_common_entries_of_version_4: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-Wa,--gdwarf-cie-version=4"]),
    gcc_without_debug_frame: Recipe::new("gcc", &["-O2", "-gdwarf-5", "-fasynchronous-unwind-tables"]),
    clang: Recipe::new("clang", &["-O2", "-gdwarf-5"]),
    clang_unoptimized: Recipe::new("clang", &["-O0", "-gdwarf-5"]),
    big_endian: Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5"]),
    big_endian_without_debug_frame:
        Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5", "-fasynchronous-unwind-tables"]),
    zlib: Recipe { objcopy: &["--compress-debug-sections=zlib"], ..USUAL },
}

/// `state` and location of each variable of the placements of a function at their entries.
fn variables(index: &Index, function: &str) -> Vec<String> {
    let mut found = vec![];
    for wanted in spec::parse(function).unwrap() {
        let all = Wanted { locals: true, ..Wanted::default() };
        resolve::resolve(&index.view(), &wanted, all, |place, _| {
            let text = |v: &ValueAt| {
                format!("{} {} {}", v.name, v.state.name(), v.location.as_deref().unwrap_or_default())
            };
            found.extend(place.values.iter().map(text));
            Ok(())
        })
        .unwrap();
    }
    found
}

/// A slot below the stack pointer is not there yet at the entry; behind the prologue it is relative to the frame pointer.
#[cfg(target_arch = "x86_64")]
#[test]
fn variables_of_the_frame_are_readable() {
    let tree = Tree::compile(&Recipe::new("gcc", &["-O0", "-gdwarf-5", "-fcf-protection=none"]));
    let with_rules = build_whole(&tree);
    assert_eq!(variables(&with_rules, "scaled"), ["value elsewhere ", "factor elsewhere "]);
    // push %rbp; mov %rsp,%rbp
    assert_eq!(variables(&with_rules, "scaled+4"), ["value readable -20(%bp)", "factor readable -24(%bp)"]);
}

/// At the frame base plus 24.
const SLOT: [u8; 2] = [DW_OP_fbreg.0, 0x18];

/// A function with a parameter, beside the victim.
fn with_parameter(base: &[u8], location: &[u8]) -> Raw {
    let mut raw = Raw::unit(4);
    let code = raw.code(
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_low_pc, DW_FORM_addr),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_frame_base, DW_FORM_exprloc),
        ],
    );
    let parameter = raw.code(
        DW_TAG_formal_parameter,
        false,
        &[(DW_AT_name, DW_FORM_string), (DW_AT_location, DW_FORM_exprloc)],
    );
    raw.entry(code).string("framed").u64(0x1000).u32(0x100).uleb(base.len() as u64).bytes(base);
    raw.entry(parameter).string("p").uleb(location.len() as u64).bytes(location).end();
    victim(&mut raw);
    raw
}

/// `.debug_frame` while it grows; in 64-bit DWARF.
#[derive(Default)]
struct Entries(Vec<u8>);

impl Entries {
    fn add(&mut self, body: &[&[u8]]) -> u64 {
        let (at, body) = (self.0.len() as u64, body.concat());
        self.0.extend([0xff; 4]);
        self.0.extend((body.len() as u64).to_le_bytes());
        self.0.extend(body);
        at
    }
    /// A common entry of version 4: code in steps of 2, data of -8, and these instructions.
    fn common(&mut self, instructions: &[u8]) -> u64 {
        self.add(&[&[0xff; 8], &[4, 0, 8, 0, 2, 0x78, 16], instructions])
    }
    fn described(&mut self, common: u64, start: u64, instructions: &[u8]) {
        self.add(&[&common.to_le_bytes(), &start.to_le_bytes(), &0x40u64.to_le_bytes(), instructions]);
    }
}

const DEF_CFA_SP_8: [u8; 3] = [DW_CFA_def_cfa.0, 7, 8];

#[test]
fn every_instruction_is_followed_or_passed_over() {
    let mut entries = Entries::default();
    let common = entries.common(&DEF_CFA_SP_8);
    let instructions: [&[u8]; 15] = [
        &[DW_CFA_advance_loc.0 | 1, DW_CFA_def_cfa_offset.0, 16, DW_CFA_offset.0 | 6, 2],
        &[DW_CFA_undefined.0, 3, DW_CFA_same_value.0, 3, DW_CFA_restore_extended.0, 3],
        &[DW_CFA_offset_extended.0, 3, 2, DW_CFA_register.0, 3, 4, DW_CFA_val_offset.0, 3, 2],
        &[DW_CFA_offset_extended_sf.0, 3, 0x7e, DW_CFA_val_offset_sf.0, 3, 0x7e],
        &[DW_CFA_expression.0, 3, 2, 0x77, 0, DW_CFA_val_expression.0, 3, 2, 0x77, 0],
        &[DW_CFA_GNU_args_size.0, 0x80, 1, DW_CFA_GNU_negative_offset_extended.0, 3, 2, DW_CFA_nop.0],
        &[DW_CFA_remember_state.0, DW_CFA_advance_loc1.0, 1, DW_CFA_def_cfa_register.0, 6],
        &[DW_CFA_advance_loc2.0, 1, 0, DW_CFA_def_cfa_sf.0, 7, 0x7c],
        &[DW_CFA_advance_loc4.0, 1, 0, 0, 0, DW_CFA_def_cfa_offset_sf.0, 0x7b],
        &[DW_CFA_advance_loc.0 | 1, DW_CFA_def_cfa_expression.0, 2, 0x77, 0],
        &[DW_CFA_advance_loc.0 | 1, DW_CFA_restore_state.0, DW_CFA_restore.0 | 6],
        &[DW_CFA_set_loc.0, 0x10, 0x20, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa.0, 0x80, 2, 0],
        &[DW_CFA_advance_loc.0 | 1],
        &DEF_CFA_SP_8,
        // Behind the end of the range.
        &[DW_CFA_advance_loc.0 | 0x3f, DW_CFA_def_cfa_offset.0, 99],
    ];
    entries.described(common, 0x2000, &instructions.concat());
    let (index, skipped) =
        index(&with_parameter(&[DW_OP_call_frame_cfa.0], &SLOT).module(&[(".debug_frame", &entries.0)]));
    assert_eq!(skipped, [] as [&str; 0]);
    let view = index.view();
    let hostile = view.object_ids().next_back().unwrap();
    let at = |pc| cfa::cfa(&view, hostile, pc);
    let expected = [
        (0x1fff, None),
        (0x2000, Some((7, 8))),
        (0x2002, Some((7, 16))),
        (0x2004, Some((6, 16))),
        (0x2006, Some((7, 32))),
        (0x2008, Some((7, 40))),
        (0x200a, None),
        (0x200c, Some((7, 16))),
        // Register 256 is none that a rule can name.
        (0x2010, None),
        (0x2012, Some((7, 8))),
        (0x203f, Some((7, 8))),
        (0x2040, None),
    ];
    assert_eq!(expected.map(|(pc, _)| (pc, at(pc))), expected);
}

#[test]
fn damaged_entries_are_named_and_the_others_read() {
    let mut entries = Entries::default();
    let common = entries.common(&DEF_CFA_SP_8);
    entries.described(common, 0x1000, &[]);
    let bad: [&[u8]; 5] = [
        &[0x3e],
        &[DW_CFA_restore_state.0],
        &[DW_CFA_set_loc.0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[DW_CFA_advance_loc4.0, 1],
        &[DW_CFA_def_cfa_expression.0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
    ];
    let first = entries.0.len();
    let mut offsets = vec![];
    for instructions in bad {
        offsets.push(entries.0.len());
        entries.described(common, 0x1100, instructions);
    }
    offsets.push(entries.0.len());
    entries.described(3, 0x1200, &[]);
    entries.described(3, 0x1200, &[]);
    let unknown = entries.add(&[&[0xff; 8], b"\x04armcc\0", &[8, 0, 1, 0x78, 16]]);
    offsets.push(entries.0.len());
    entries.described(unknown, 0x1200, &[]);
    entries.described(common, 0x1300, &[]);
    let last = entries.0.len();
    entries.0.extend([0x40, 0, 0, 0, 1]);
    assert!(first < last);
    let raw = with_parameter(&[DW_OP_call_frame_cfa.0], &SLOT);
    let (index, skipped) = index(&raw.module(&[(".debug_frame", &entries.0)]));
    assert_victim(&index);
    let at = |offset: usize, what: &str| format!("hostile.ko: section .debug_frame at {offset:#x}: {what}");
    let expected = [
        format!("part of {}", at(offsets[0], "a frame entry with an unknown instruction")),
        format!("part of {}", at(offsets[1], "a frame entry restores a state that it has not remembered")),
        format!("part of {}", at(offsets[2], "a frame entry goes backwards")),
        format!("part of 2 times: {}", at(offsets[3], "the instructions of a frame entry are cut off")),
        format!("part of {}", at(offsets[5], "a frame entry refers to a common one that is none")),
        format!("part of {}", at(offsets[6], "frame entries of an unknown augmentation")),
        format!("part of {}", at(last, "a frame entry is longer than the section")),
    ];
    assert_eq!(skipped, expected);
    let view = index.view();
    let hostile = view.object_ids().next_back().unwrap();
    let starts: Vec<u32> = view.frames_of(hostile).iter().map(|f| f.start.get()).collect();
    assert_eq!(starts, [0x1000, 0x1300]);
}

/// Assemblers write `S` alone for `.cfi_signal_frame` in `.debug_frame` (genex.S of mips64, 6.1).
#[test]
fn letters_without_data_need_no_length() {
    for (letters, is_known) in [("S", true), ("BS", true), ("SR", false)] {
        let mut entries = Entries::default();
        let head = [&[4], letters.as_bytes(), &[0, 8, 0, 2, 0x78, 16]].concat();
        let common = entries.add(&[&[0xff; 8], &head, &DEF_CFA_SP_8]);
        entries.described(common, 0x2000, &[]);
        let raw = with_parameter(&[DW_OP_call_frame_cfa.0], &SLOT);
        let (index, skipped) = index(&raw.module(&[(".debug_frame", &entries.0)]));
        assert_eq!(skipped.is_empty(), is_known, "{letters}: {skipped:?}");
        let view = index.view();
        let hostile = view.object_ids().next_back().unwrap();
        assert_eq!(cfa::cfa(&view, hostile, 0x2000), is_known.then_some((7, 8)), "{letters}");
    }
}

/// The frame rules of the function with a parameter.
fn framed(instructions: &[u8]) -> Entries {
    let mut entries = Entries::default();
    let common = entries.common(&DEF_CFA_SP_8);
    entries.described(common, 0x1000, instructions);
    entries
}

#[test]
fn what_the_frame_base_is_decides_what_can_be_read() {
    let entries = framed(&[]);
    let rules = [(".debug_frame", &entries.0[..])];
    // 16 bytes are pushed.
    let entries = framed(&[DW_CFA_advance_loc.0 | 2, DW_CFA_def_cfa_offset.0, 24]);
    let moving = [(".debug_frame", &entries.0[..])];
    type Case<'a> = (&'a [u8], &'a [(&'a str, &'a [u8])], &'a str);
    let cases: [Case<'_>; 8] = [
        (&[DW_OP_call_frame_cfa.0], &rules, "p readable +32(%sp)"),
        (&[DW_OP_call_frame_cfa.0], &[], "p unsupported in the frame, of which nothing is known here"),
        // At the entry it is still the caller's.
        (&[DW_OP_reg6.0], &[], "p elsewhere "),
        (&[DW_OP_reg6.0], &rules, "p elsewhere "),
        (&[DW_OP_breg0.0, 8], &rules, "p unsupported DWARF operations 91 18"),
        (&[DW_OP_reg7.0], &rules, "p readable +24(%sp)"),
        (&[DW_OP_reg7.0], &moving, "p elsewhere "),
        (&[DW_OP_reg7.0], &[], "p elsewhere "),
    ];
    for (base, sections, expected) in cases {
        let (index, skipped) = index(&with_parameter(base, &SLOT).module(sections));
        assert_eq!(skipped, [] as [&str; 0]);
        assert_eq!(variables(&index, "framed"), [expected]);
    }
}

/// What is more than an offset in the frame: a pointer there that is followed, a piece of a value.
#[test]
fn longer_expressions_know_the_frame_too() {
    let entries = framed(&[]);
    let rules = [(".debug_frame", &entries.0[..])];
    let [fbreg, deref, more, piece] =
        [DW_OP_fbreg, DW_OP_deref, DW_OP_plus_uconst, DW_OP_piece].map(|op| op.0);
    let [cfa, reg3, reg6, breg0] = [DW_OP_call_frame_cfa, DW_OP_reg3, DW_OP_reg6, DW_OP_breg0].map(|op| op.0);
    type Case<'a> = (&'a [u8], &'a [u8], &'a str);
    let cases: [Case<'_>; 6] = [
        (&[cfa], &[fbreg, 0x18, deref, more, 8], "p readable +8(+32(%sp))"),
        (&[cfa], &[cfa], "p readable +8(%sp)"),
        (&[reg3], &[fbreg, 0x18, deref], "p elsewhere "),
        (&[reg6], &[fbreg, 0x18, deref], "p elsewhere "),
        (
            &[cfa],
            &[fbreg, 0x18, piece, 4, piece, 4],
            "p unsupported in pieces: 4 bytes in +32(%sp), 4 bytes optimized out",
        ),
        (&[breg0, 8], &[fbreg, 0x18, deref], "p unsupported DWARF operations 91 18 06"),
    ];
    for (base, location, expected) in cases {
        let (found, skipped) = index(&with_parameter(base, location).module(&rules));
        assert_eq!(skipped, [] as [&str; 0]);
        assert_eq!(variables(&found, "framed"), [expected], "{location:x?}");
    }
    // What the stack pointer leads to in the body is not there before the function moves it, and where it never does nothing is below
    // it at the entry. An operand may look like an operation: -100 is 9c 7f.
    let moving = framed(&[DW_CFA_advance_loc.0 | 2, DW_CFA_def_cfa_offset.0, 24]);
    let moving = [(".debug_frame", &moving.0[..])];
    for (rules, offset, expected) in [
        (&rules, &[0x18][..], "p readable +0(+24(%sp))"),
        (&rules, &[0x9c, 0x7f], "p elsewhere "),
        (&moving, &[0x18], "p elsewhere "),
        (&moving, &[0x9c, 0x01], "p elsewhere "),
    ] {
        let location = [&[fbreg], offset, &[deref]].concat();
        let (found, _) = index(&with_parameter(&[DW_OP_reg7.0], &location).module(rules));
        assert_eq!(variables(&found, "framed"), [expected], "{location:x?}");
    }
    // Behind the entry the register may have its value; and without frame rules no address of the frame is known.
    let (found, _) = index(&with_parameter(&[reg3], &[fbreg, 0x18, deref]).module(&rules));
    assert_eq!(variables(&found, "framed+4"), ["p readable +0(+24(%bx))"]);
    let (found, _) = index(&with_parameter(&[cfa], &[fbreg, 0x18, deref]).module(&[]));
    assert_eq!(variables(&found, "framed"), ["p unsupported in the frame, of which nothing is known here"]);
}

/// The frame pointer has its value from the prologue to the epilogue.
#[test]
fn a_variable_lives_while_its_frame_is_there() {
    let [advance, rbp] = [DW_CFA_advance_loc.0, 6];
    // 4 bytes in, `mov %rsp, %rbp` is done; 40 bytes on, `pop %rbp`.
    let made = [advance | 2, DW_CFA_def_cfa.0, rbp, 16, advance | 20, DW_CFA_def_cfa.0, 7, 8];
    let entries = framed(&made);
    let rules = [(".debug_frame", &entries.0[..])];
    let (found, skipped) = index(&with_parameter(&[DW_OP_reg6.0], &SLOT).module(&rules));
    assert_eq!(skipped, [] as [&str; 0]);
    let view = found.view();
    let mut lives = vec![];
    let wanted = spec::parse("framed").unwrap().remove(0);
    resolve::resolve(&view, &wanted, Wanted::default(), |place, _| {
        let placed = entry_at(&view, place.object, place.pc).unwrap();
        for lifetime in lifetimes(&view, place.object, placed) {
            let stay = |s: &Stay| (s.range.start - place.pc, s.range.end - place.pc, s.text.clone());
            lives.push(lifetime.stays.iter().map(stay).collect::<Vec<_>>());
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(lives, [[(4, 44, "+24(%bp)".to_owned())]]);
}

/// clang writes them where a value changes its width: a number of so many bits is what is left.
#[test]
fn conversions_keep_the_bits_of_an_integer() {
    // Encoding and size of two types in a row, of a value in `%rdi`.
    for ([one, other], is) in [
        ([(DW_ATE_unsigned, 1), (DW_ATE_unsigned, 4)], Some((0, 8, false))),
        ([(DW_ATE_signed, 4), (DW_ATE_signed, 8)], Some((0, 32, true))),
        ([(DW_ATE_unsigned, 8), (DW_ATE_signed, 8)], None),
    ] {
        let mut raw = Raw::unit(5);
        let base = raw.code(
            DW_TAG_base_type,
            false,
            &[(DW_AT_encoding, DW_FORM_data1), (DW_AT_byte_size, DW_FORM_data1)],
        );
        let function =
            [(DW_AT_name, DW_FORM_string), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];
        let function = raw.code(DW_TAG_subprogram, true, &function);
        let parameter = [(DW_AT_name, DW_FORM_string), (DW_AT_location, DW_FORM_exprloc)];
        let parameter = raw.code(DW_TAG_formal_parameter, false, &parameter);
        let types = [one, other].map(|(encoding, size)| {
            let at = raw.here();
            raw.entry(base).u8(encoding.0).u8(size);
            u8::try_from(at).expect("a short unit")
        });
        let location =
            [DW_OP_breg5.0, 0, DW_OP_convert.0, types[0], DW_OP_convert.0, types[1], DW_OP_stack_value.0];
        raw.entry(function).string("framed").u64(0x1000).u32(0x100);
        raw.entry(parameter).string("p").uleb(location.len() as u64).bytes(&location).end();
        victim(&mut raw);
        let (found, skipped) = index(&raw.module(&[]));
        assert_eq!(skipped, [] as [&str; 0]);
        assert_eq!(variables(&found, "framed"), ["p readable %di"]);
        let mut bits = vec![];
        let wanted = spec::parse("framed").unwrap().remove(0);
        resolve::resolve(&found.view(), &wanted, Wanted::default(), |place, _| {
            bits.extend(place.values.iter().map(|v| v.plan.as_ref().unwrap().bits));
            Ok(())
        })
        .unwrap();
        assert_eq!(bits.len(), 1);
        assert_eq!(bits[0].map(|b| (b.lowest, b.width, b.is_signed)), is);
    }
}

#[test]
fn one_piece_is_the_value_if_it_has_all_of_it() {
    for (size, expected) in
        [(8, "p readable %di"), (16, "p readable %di"), (4, "p unsupported in pieces: 4 bytes in %di")]
    {
        let (index, _) = index(&with_parameter(&[], &[DW_OP_reg5.0, DW_OP_piece.0, size]).module(&[]));
        assert_eq!(variables(&index, "framed"), [expected]);
    }
}

/// Where assignments precede the first instruction, an empty range at the entry says what was passed.
#[test]
fn a_parameter_at_the_entry_is_what_was_passed() {
    let reg5: &[u8] = &[DW_OP_reg5.0];
    let zero: &[u8] = &[DW_OP_lit0.0, DW_OP_stack_value.0];
    type Case<'a> = (DwTag, &'a [(u64, u64, &'a [u8])], &'a str, &'a str);
    let cases: [Case<'_>; 5] = [
        (DW_TAG_formal_parameter, &[(0, 0, reg5), (0, 8, zero)], "p readable %di", "p constant \\0"),
        (DW_TAG_formal_parameter, &[(0, 0, reg5)], "p readable %di", "p elsewhere "),
        // Not the first: it would be what an assignment leaves.
        (DW_TAG_formal_parameter, &[(0, 8, zero), (0, 0, reg5)], "p constant \\0", "p constant \\0"),
        (DW_TAG_formal_parameter, &[(4, 4, reg5), (0, 8, zero)], "p constant \\0", "p constant \\0"),
        (DW_TAG_variable, &[(0, 0, reg5), (0, 8, zero)], "p constant \\0", "p constant \\0"),
    ];
    for (tag, list, at_entry, behind) in cases {
        let mut raw = Raw::unit(4);
        let function =
            [(DW_AT_name, DW_FORM_string), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];
        let function = raw.code(DW_TAG_subprogram, true, &function);
        let variable =
            raw.code(tag, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_location, DW_FORM_sec_offset)]);
        raw.entry(function).string("framed").u64(0x1000).u32(0x100);
        raw.entry(variable).string("p").u32(0).end();
        victim(&mut raw);
        let mut loc = vec![];
        for (start, end, expr) in list {
            loc.extend((0x1000 + start).to_le_bytes());
            loc.extend((0x1000 + end).to_le_bytes());
            loc.extend((expr.len() as u16).to_le_bytes());
            loc.extend_from_slice(expr);
        }
        loc.extend([0; 16]);
        let (index, skipped) = index(&raw.module(&[(".debug_loc", &loc)]));
        assert_eq!(skipped, [] as [&str; 0]);
        assert_eq!(variables(&index, "framed"), [at_entry], "{list:x?}");
        assert_eq!(variables(&index, "framed+4"), [behind], "{list:x?}");
    }
}
