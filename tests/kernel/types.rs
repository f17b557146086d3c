//! Every struct and union of a real kernel, member by member, against what pahole prints; and the functions that take or
//! return one.
use crate::installed::{self, Kernel, needed, wanted};
use probeidx::query::Index;
use probeidx::query::types::layout::{Aggregate, Body, layout};
use probeidx::query::types::{lookup, users};
use probeidx_format::View;
use probeidx_format::id::{FunctionId, TypeId};
use probeidx_format::types::TypeKind;
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn types_of_the_installed_kernel_are_laid_out_as_pahole_prints_them() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(printed) = needed(pahole(&kernel)) else { return };
    compare(&kernel, &printed);
}

#[test]
fn types_of_a_newer_kernel_are_laid_out_as_pahole_prints_them() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    let Some(printed) = wanted(pahole(&kernel)) else { return };
    compare(&kernel, &printed);
}

/// Rust's compiler names pointers after what they lead to, and gives types no place: 7.2.6 had three that led elsewhere.
#[test]
fn pointers_of_rust_lead_to_what_they_are_named_after() {
    installed::on_each(|kernel| {
        let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
        let view = index.view().unwrap_or_else(|e| panic!("{e}"));
        let text = |id| String::from_utf8_lossy(view.string(id)).into_owned();
        let (mut right, mut wrong) = (0, vec![]);
        for record in view.types.owners().iter().filter(|t| TypeKind::from_u8(t.kind) == TypeKind::Pointer) {
            let name = text(record.name);
            let named = name.strip_prefix("*mut ").or_else(|| name.strip_prefix("*const "));
            let Some(named) = named.filter(|named| !named.contains(['<', '(', '[', '&', '*', '{'])) else {
                continue;
            };
            let target = record.target.some().and_then(|id| view.types.get(id.index()));
            let Some(target) = target else { continue };
            let last = named.rsplit("::").next().unwrap_or_default();
            let found = text(target.name);
            match found.rsplit("::").next().unwrap_or_default() == last {
                true => right += 1,
                false => wrong.push(format!("{name}: {found}")),
            }
        }
        installed::say(&format!(
            "{}: {right} pointers of Rust lead to what they are named after",
            kernel.release
        ));
        assert!(wrong.is_empty(), "{}: {wrong:#?}", kernel.release);
    });
}

/// A struct or union, or a member of one; within another one by its depth.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    depth: usize,
    name: String,
    /// Of the number that holds it, if it is a bit-field.
    offset: u64,
    bits: Option<(u32, u32)>,
    size: u64,
}

/// By kind and name: size and members of each definition.
type Definitions = BTreeMap<String, Vec<(u64, Vec<Line>)>>;

/// What pahole prints. It reads the BTF of the kernel, which is made of the same debug information, in a moment;
/// `$PROBEIDX_PAHOLE_FORMAT=dwarf` has it read that itself, which takes 3 GB.
fn pahole(kernel: &Kernel) -> Result<Definitions, String> {
    let format = std::env::var("PROBEIDX_PAHOLE_FORMAT").unwrap_or_else(|_| "btf".to_owned());
    let run = |options: &[&str]| {
        let ran = Command::new("pahole").args(["-F", &format]).args(options).arg(&kernel.vmlinux).output();
        let ran = ran.map_err(|e| format!("cannot run pahole: {e}"))?;
        match ran.stdout.len() {
            0..10_000 => Err(format!("pahole failed: {}", String::from_utf8_lossy(&ran.stderr).trim())),
            _ => String::from_utf8(ran.stdout).map_err(|e| e.to_string()),
        }
    };
    let all = run(&["--suppress_aligned_attribute", "--suppress_packed", "--suppress_force_paddings"])?;
    Ok(parse(&all, &run(&["--sizes"])?))
}

/// Of a union the size is only in the list of sizes, which has the same order.
fn parse(text: &str, sizes: &str) -> Definitions {
    let mut definitions = Definitions::new();
    let mut lines: Vec<Line> = vec![];
    let mut sizes = sizes.lines().map(|line| line.split('\t'));
    let (mut head, mut open) = (String::new(), vec![]);
    for line in text.lines() {
        if let Some(start) = line.strip_suffix(" {").filter(|l| !l.starts_with(['\t', ' '])) {
            head = start.to_owned();
            lines.clear();
        } else if line.starts_with('}') {
            let mut row = sizes.next().expect("a size for each");
            assert_eq!(row.next(), head.split(' ').nth(1), "sizes are in the same order");
            let size = row.next().and_then(|n| n.parse().ok()).expect("a size");
            definitions.entry(head.clone()).or_default().push((size, std::mem::take(&mut lines)));
        } else if line.ends_with('{') {
            // Its own line is known once it closes; it stands before those within it.
            let depth = open.len() + 1;
            open.push(lines.len());
            lines.push(Line { depth, name: String::new(), offset: 0, bits: None, size: 0 });
        } else if let Some((declaration, numbers)) = line.rsplit_once("/*") {
            let Some(declaration) = declaration.trim().strip_suffix(';') else { continue };
            let Some((offset, bit, size)) = place(numbers) else { continue };
            let closes = declaration.starts_with('}').then(|| open.pop()).flatten();
            let (name, width) = declared(declaration.trim_start_matches('}'));
            let depth = open.len() + 1;
            let own = Line { depth, name, offset, bits: bit.map(|bit| (bit, width)), size };
            match closes {
                Some(at) => lines[at] = own,
                None => lines.push(own),
            }
        }
    }
    definitions
}

/// `16: 3  2 */` is offset, bit and size.
fn place(numbers: &str) -> Option<(u64, Option<u32>, u64)> {
    let numbers = numbers.trim().strip_suffix("*/")?.replace(':', " : ");
    let words: Vec<&str> = numbers.split_whitespace().collect();
    match words[..] {
        [offset, size] => Some((offset.parse().ok()?, None, size.parse().ok()?)),
        [offset, ":", bit, size] => Some((offset.parse().ok()?, Some(bit.parse().ok()?), size.parse().ok()?)),
        _ => None,
    }
}

/// The name that a declaration gives, and the width of a bit-field.
fn declared(declaration: &str) -> (String, u32) {
    let plain = declaration.trim();
    if let Some((_, inner)) = plain.split_once("(*") {
        // A pointer to a function or array: the name is the innermost.
        let inner = inner.trim_start_matches("(*").trim_start_matches(['*', ' ']);
        let inner = inner.strip_prefix("const ").unwrap_or(inner);
        return (inner.split([')', '[']).next().unwrap_or_default().to_owned(), 0);
    }
    let (plain, width) = match plain.rsplit_once(':') {
        Some((plain, width)) => (plain, width.trim().parse().expect(declaration)),
        None => (plain, 0),
    };
    let plain = plain.split('[').next().unwrap_or_default().trim_end();
    let name = plain.rsplit([' ', '*']).next().unwrap_or_default();
    (name.to_owned(), width)
}

/// Declared in a block of a function, for the sake of BTF alone (`register_bpf_struct_ops`, include/linux/bpf.h of 6.12):
/// nothing there is of such a type, and types within functions are read only where something is of them.
fn is_of_nothing(head: &str) -> bool {
    head.starts_with("struct bpf_struct_ops_")
}

fn compare(kernel: &Kernel, printed: &Definitions) {
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let (mut compared, mut members, mut different) = (0, 0, vec![]);
    for (head, definitions) in printed {
        let ours: Vec<_> = lookup::find(&view, head).into_iter().map(|t| lines(&view, t)).collect();
        for theirs in definitions {
            if ours.is_empty() && is_of_nothing(head) {
                continue;
            }
            compared += 1;
            members += theirs.1.len();
            if !ours.contains(theirs) {
                different.push(format!("{head}\n  pahole {theirs:?}\n  here   {ours:?}"));
            }
        }
    }
    installed::say(&format!("{}: {compared} structs and unions, {members} members", kernel.release));
    assert!(compared > 5000 && members > 50_000, "{compared} {members}");
    let count = different.len();
    different.truncate(20);
    assert!(different.is_empty(), "{count} differ, such as\n{}", different.join("\n"));
}

/// Size and members of a type.
fn lines(view: &View<'_>, type_id: TypeId) -> (u64, Vec<Line>) {
    let mut lines = vec![];
    let laid_out = layout(view, type_id).unwrap_or_else(|| panic!("{type_id:?}"));
    if let Body::Members(aggregate) = &laid_out.body {
        put_lines(aggregate, 1, &mut lines);
    }
    (laid_out.size.unwrap_or(0), lines)
}

fn put_lines(aggregate: &Aggregate<'_>, depth: usize, lines: &mut Vec<Line>) {
    for member in &aggregate.members {
        let name = String::from_utf8_lossy(member.name).into_owned();
        lines.push(Line { depth, name, offset: member.offset, bits: member.bits, size: member.size });
        if let Some(within) = &member.within {
            put_lines(within, depth + 1, lines);
        }
    }
}

/// The lists of users are what a look at every function finds.
#[test]
fn users_are_those_whose_parameters_and_results_say_so() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let index = Index::open(&installed::index(&kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let count = view.types.len() as u32 - 1;
    let ends: Vec<_> = (0..count).map(|t| end(&view, TypeId::new(t))).collect();
    let mut found: BTreeMap<TypeId, Vec<(FunctionId, u32, u32)>> = BTreeMap::new();
    for at in 0..view.functions.len() as u32 - 1 {
        let variables = view.variables(view.functions.at(at as usize));
        let mut types = vec![variables.return_type];
        types.extend(variables.filter(|v| v.parameter && !v.nested).map(|v| v.type_id));
        for (position, type_id) in (0..).zip(types) {
            if let Some((end, depth)) = type_id.and_then(|t| ends[t.index()]) {
                found.entry(end).or_default().push((FunctionId::new(at), position, depth));
            }
        }
    }
    for at in (0..count).map(TypeId::new) {
        let listed: Vec<_> = view.users(at).map(|u| (u.function, u.position, u.depth)).collect();
        assert_eq!(listed, found.remove(&at).unwrap_or_default(), "{at:?}");
    }
    assert!(found.is_empty());
    let mut users = 0;
    let counted: Result<(), ()> = users::users(&view, &lookup::find(&view, "struct sk_buff"), |user| {
        users += 1;
        assert!(!user.uses.is_empty());
        Ok(())
    });
    assert!(counted.is_ok() && users > 1000, "{users}");
}

/// The struct, union or enum that a type is or points to, and through how many pointers.
fn end(view: &View<'_>, type_id: TypeId) -> Option<(TypeId, u32)> {
    let record = view.types.get(type_id.index()).unwrap();
    let next = || end(view, record.target.some()?);
    match TypeKind::from_u8(record.kind) {
        TypeKind::Struct | TypeKind::Union | TypeKind::Enum => Some((type_id, 0)),
        TypeKind::Pointer => next().map(|(end, depth)| (end, depth + 1)),
        TypeKind::Typedef | TypeKind::Const | TypeKind::Volatile | TypeKind::Restrict | TypeKind::Array => {
            next()
        }
        _ => None,
    }
}
