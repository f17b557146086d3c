//! Tables whose records say where their parts of other tables start: each rule of `index-format/src/parts.rs`, broken alone in
//! an index that has right checksums.
use super::forged::{answer, section, unanswered, whole};
use crate::support::parts::Parts;
use probeidx::cli::args::{self, Command, Request};
use probeidx_format::id::FunctionId;
use probeidx_format::record::*;
use probeidx_format::strings::Decoded;
use probeidx_format::table::pack;
use probeidx_format::types::TypeKind;
use probeidx_format::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use probeidx_format::{Error, SectionName, Table, View};

/// A rule: the parts that the records of one table own of another follow one another, and end with it.
struct Rule {
    name: &'static str,
    owners: SectionName,
    /// Whether it is compared whenever an index is opened, else by `verify` alone.
    at_opening: bool,
    /// Makes the part of the record at a position start elsewhere.
    start: fn(&mut Parts, usize, u32),
}

/// Changes the records of a table.
fn plain<R: FromBytes + IntoBytes + Immutable + KnownLayout>(
    parts: &mut Parts,
    name: SectionName,
    change: impl FnOnce(&mut [R]),
) {
    change(<[R]>::mut_from_bytes(section(parts, name)).expect("whole records"));
}

/// Changes the records of a packed table.
pub fn packed<R: Record>(parts: &mut Parts, name: SectionName, change: impl FnOnce(&mut [R])) {
    let count = parts.records[name as usize];
    let bytes = section(parts, name);
    let mut records: Vec<R> = Table::open(bytes, count).expect("a table").iter().collect();
    change(&mut records);
    let packed = pack(&records);
    *bytes = packed.bytes;
    parts.records[name as usize] = packed.records;
}

macro_rules! rules {
    ($($when:literal $how:ident $table:ident: $record:ident { $($field:ident),* })*) => {&[$($(Rule {
        name: stringify!($table.$field),
        owners: SectionName::$table,
        at_opening: $when,
        start: |parts, at, value| {
            $how(parts, SectionName::$table, |all: &mut [$record]| all[at].$field = value.into());
        },
    },)*)*]};
}

const RULES: &[Rule] = rules! {
    true plain Objects: ObjectRecord {
        first_section, first_symbol, first_unit, first_place, first_range, first_sequence, first_site, first_refused,
        first_frame
    }
    true plain Units: UnitRecord { first_place, first_file }
    false packed Names: NameRecord { first_symbol }
    false packed Functions: FunctionRecord { postings }
    false packed Types: TypeRecord { first_member }
    false packed TypeUsers: TypeUsersRecord { first_use }
    false packed Called: CalledRecord { first_call }
};

/// The field of an id of functions, which no number becomes.
const FIRST_FUNCTION: Rule = Rule {
    name: "Names.first_function",
    owners: SectionName::Names,
    at_opening: false,
    start: |parts, at, value| {
        let change_one = |all: &mut [NameRecord]| all[at].first_function = FunctionId::new(value);
        packed(parts, SectionName::Names, change_one);
    },
};

/// How many records own parts, with the one that ends the last.
pub fn count(parts: &mut Parts, owners: SectionName) -> usize {
    match owners {
        SectionName::Objects => section(parts, owners).len() / size_of::<ObjectRecord>(),
        SectionName::Units => section(parts, owners).len() / size_of::<UnitRecord>(),
        _ => parts.records[owners as usize] as usize,
    }
}

#[test]
fn each_rule_is_found_broken() {
    for rule in RULES.iter().chain([&FIRST_FUNCTION]) {
        let last = count(&mut whole(), rule.owners) - 1;
        assert!(last > 1, "{}: {last}", rule.name);
        // The first part starts behind all others; the last record says that there is more than there is.
        for (at, value) in [(0, u32::MAX), (last, u32::MAX)] {
            let mut parts = whole();
            (rule.start)(&mut parts, at, value);
            let file = parts.file();
            let decoded = Decoded::new();
            let view = View::open(&file, &decoded).unwrap();
            let found = view.whole().expect_err(rule.name);
            let Error::Section { section, what, .. } = found else { panic!("{}: {found}", rule.name) };
            let expected = (rule.owners.text(), "the parts that its records own do not follow one another");
            assert_eq!((section, what), expected, "{} at {at}", rule.name);
            assert_eq!(view.check_owners().is_err(), rule.at_opening, "{} at {at}", rule.name);
            let questions = unanswered(&parts).len();
            if rule.at_opening {
                assert!(questions > 5, "{} at {at}: nothing is asked of it", rule.name);
            } else {
                assert!(questions > 0, "{} at {at}: verify finds it", rule.name);
            }
        }
    }
}

/// Every second part is the whole table: who walks over all names walks over what there is, not over all of it for each.
#[test]
fn owners_of_everything_own_it_once() {
    let find = ["probeidx", "find", "*", "--each", "--json"];
    let Ok(Request::Run(args)) = args::parse(find) else { panic!("{find:?}") };
    let lines = |parts: &Parts, question: &Command| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forged.pidx");
        std::fs::write(&path, parts.file()).unwrap();
        answer(&path, question).unwrap_or_default().len()
    };
    let expected = lines(&whole(), &args.command);
    assert!(expected > 20, "{expected}");
    let functions = count(&mut whole(), SectionName::Functions) as u32;
    let postings = section(&mut whole(), SectionName::Postings).len() as u32;
    let forged: [(&Rule, u32); 2] = [
        (&FIRST_FUNCTION, functions),
        (RULES.iter().find(|rule| rule.owners == SectionName::Functions).unwrap(), postings),
    ];
    for (rule, all) in forged {
        let mut parts = whole();
        for at in 0..count(&mut parts, rule.owners) {
            (rule.start)(&mut parts, at, if at % 2 == 0 { 0 } else { all });
        }
        let found = lines(&parts, &args.command);
        assert!(found <= expected, "{}: {found} of {expected}", rule.name);
    }
}

/// All types have one name, and every second one all members: of what is shared the first has it.
#[test]
fn types_of_one_name_that_share_their_members() {
    let mut parts = whole();
    let file = parts.file();
    let decoded = Decoded::new();
    let view = View::open(&file, &decoded).unwrap();
    let all = count(&mut parts, SectionName::Members);
    let (mut name, mut at) = (None, 0);
    packed(&mut parts, SectionName::Types, |types: &mut [TypeRecord]| {
        for record in types.iter_mut().filter(|record| !view.string(record.name).is_empty()) {
            record.name = *name.get_or_insert(record.name);
            record.kind = TypeKind::Struct as u8;
            record.first_member = if at % 2 == 0 { 0 } else { all as u32 }.into();
            at += 1;
        }
    });
    let name = String::from_utf8_lossy(view.string(name.unwrap())).into_owned();
    assert!(at > 20 && all > 20, "{at} types, {all} members");
    let Ok(Request::Run(args)) = args::parse(["probeidx", "type", &name, "--json"]) else { panic!("{name}") };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.pidx");
    std::fs::write(&path, parts.file()).unwrap();
    let found: usize = answer(&path, &args.command)
        .unwrap_or_default()
        .iter()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["members"].as_array().unwrap().len()
        })
        .sum();
    assert!((1..=all).contains(&found), "{found} of {all}");
}
