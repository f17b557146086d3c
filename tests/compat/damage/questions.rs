//! Questions of every kind to an index, made of the names in it.
use crate::sample::Random;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, StrId, TypeId};
use probeidx_format::tapset::DefinitionKind;
use probeidx_format::types::TypeKind;
use serde_json::{Value, json};
use std::path::Path;

/// Questions of every command: about so many functions, types, tracepoints and aliases each, and about the index as a
/// whole. `script` is where those for `check` are written.
pub fn questions(view: &View, random: &mut Random, of_each: usize, script: &Path) -> Vec<Value> {
    let mut all = vec![];
    let mut points = String::new();
    let text = |id: StrId| String::from_utf8_lossy(view.string(id)).into_owned();

    let placed = |f: &u32| view.places_of_function(FunctionId::new(*f)).next().is_some();
    let functions = random.choose((0..view.functions.len() as u32 - 1).filter(placed).collect(), of_each);
    let mut log = String::new();
    for id in functions {
        let f = view.functions.at(id as usize);
        let (name, file) = (text(f.name), text(f.file));
        let place = view.places_of_function(FunctionId::new(id)).next().unwrap();
        let root = match text(view.objects[view.object_of_place(place).index()].name) {
            module if module.is_empty() => "kernel".to_owned(),
            module => format!("module(\"{module}\")"),
        };
        let mut arguments = vec![];
        for variable in view.variables(f).take(4) {
            let name = text(variable.name);
            arguments.extend(variable.type_id.map(|id| format!("{name}{}", member_behind(view, id))));
            arguments.push(name);
        }
        let spec = format!("{root}.function(\"{name}@{file}\")");
        points += &format!("{spec}\n{name}\n{root}.statement(\"{name}@{file}:*\")\n");
        log += &format!(
            "[ 1.0]  {name}+0x{:x}/0x200 [beta]\n RIP: 0010:{name}+0x1/0x2\n ? {name}+0x4\n",
            id % 64
        );
        all.extend([
            json!({"method": "find", "params": {"patterns": [&name], "args": true, "locals": true}}),
            json!({"method": "find", "params": {"patterns": [format!("{}*", initial(&name))], "json": false}}),
            json!({"method": "find", "params": {"patterns": [&spec, format!("{spec}.return")], "each": true}}),
            json!({"method": "find", "params": {"patterns": [format!("{spec}.callees(2)"), format!("{spec}.inline")]}}),
            json!({"method": "find", "params": {"patterns": [format!("{root}.statement(\"{name}@{file}:*\")")]}}),
            json!({"method": "find", "params": {"patterns": [format!("{spec}.label(\"*\")"), format!("{name}x")]}}),
            json!({"method": "resolve", "params": {"spec": &spec, "locals": true}}),
            json!({"method": "resolve", "params": {"spec": &name, "args": &arguments}}),
            json!({"method": "resolve", "params": {"spec": format!("{name}%return"), "args": ["$return"]}}),
            json!({"method": "resolve", "params": {"spec": format!("{name}+1"), "json": false}}),
            json!({"method": "resolve", "params": {"spec": &name, "defined": arguments.last().map_or("x", |argument| argument)}}),
            json!({"method": "resolve", "params": {"spec": &name, "args": &arguments, "format": "kprobe-events", "json": false}}),
            json!({"method": "lines", "params": {"spec": &name}}),
            json!({"method": "lines", "params": {"spec": format!("@{file}"), "json": false}}),
            json!({"method": "addr", "params": {"addresses": [format!("{name}+0x1"), format!("{name}+0x10/0x20")]}}),
            json!({"method": "complete", "params": {"words": ["resolve", initial(&name)]}}),
            json!({"method": "complete", "params": {"words": ["resolve", &name, "--defined", initial(arguments.first().map_or("", |argument| argument))]}}),
            json!({"method": "complete", "params": {"words": ["lines", format!("@{}", initial(&file))]}}),
        ]);
    }
    for place in random.choose(view.places.iter().collect(), of_each) {
        all.push(json!({"method": "addr", "params": {"addresses": [format!("{:#x}", 0xffff_ffff_8100_0000u64 + u64::from(place.entry.get()))]}}));
    }
    let decoded = log + "Code: 0f 0b\n ffffffff81000010 (do_open)\nkernel BUG at core.c:1!\n";
    all.push(json!({"method": "decode", "params": {"json": false}, "input": decoded}));

    let named =
        (0..view.types.len() as u32 - 1).filter(|id| view.types.at(*id as usize).name.get() != 0).collect();
    for id in random.choose(named, of_each) {
        let name = text(view.types.at(id as usize).name);
        let members = view.members(TypeId::new(id));
        let member = members.first().map_or(String::new(), |member| text(member.name));
        all.extend([
            json!({"method": "type", "params": {"name": name}}),
            json!({"method": "type", "params": {"name": name, "json": false}}),
            json!({"method": "type", "params": {"name": name, "users": true}}),
            json!({"method": "type", "params": {"name": format!("{name}.{member}")}}),
            json!({"method": "complete", "params": {"words": ["type", format!("{name}.")]}}),
        ]);
    }
    for tracepoint in random.choose(view.tracepoints().iter().collect(), of_each) {
        let spec = format!("kernel.trace(\"{}\")", text(tracepoint.name));
        points += &format!("{spec}\n");
        all.extend([
            json!({"method": "find", "params": {"patterns": [&spec], "args": true}}),
            json!({"method": "resolve", "params": {"spec": &spec, "locals": true}}),
            json!({"method": "resolve", "params": {"spec": &spec, "json": false}}),
            json!({"method": "complete", "params": {"words": ["find", initial(&spec)]}}),
        ]);
    }
    for at in random.choose(view.tapset.of_kind(DefinitionKind::Alias).collect(), of_each) {
        let name = String::from_utf8_lossy(view.tapset.name(at)).into_owned();
        points += &format!("{name}\n");
        all.extend([
            json!({"method": "find", "params": {"patterns": [&name], "args": true}}),
            json!({"method": "resolve", "params": {"spec": &name, "locals": true}}),
            json!({"method": "tapset", "params": {"patterns": [&name]}}),
            json!({"method": "tapset", "params": {"patterns": [format!("{}*", initial(&name))], "json": false}}),
            json!({"method": "complete", "params": {"words": ["tapset", initial(&name)]}}),
        ]);
    }
    std::fs::write(script, points).unwrap();
    for params in [json!({}), json!({"functions": true}), json!({"macros": true}), json!({"all": true})] {
        all.push(json!({"method": "tapset", "params": params}));
    }
    all.extend([
        json!({"method": "find", "params": {"patterns": ["kernel.trace(\"*\")"], "args": true}}),
        json!({"method": "find", "params": {"patterns": ["*"]}, "limit": 200}),
        json!({"method": "check", "params": {"files": [script]}}),
        json!({"method": "check", "params": {"tapset": true}}),
        json!({"method": "blacklist"}),
        json!({"method": "blacklist", "params": {"all": true, "json": false}}),
        json!({"method": "blacklist", "params": {"modules": ["*"]}}),
        json!({"method": "kernels"}),
        json!({"method": "stats"}),
        json!({"method": "stats", "params": {"json": false}}),
        json!({"method": "verify"}),
        json!({"method": "complete", "params": {"line": "probeidx --kernel "}}),
        json!({"method": "complete", "params": {"words": ["blacklist", ""]}}),
    ]);
    all
}

/// What `complete` is asked and `*` is put behind.
fn initial(name: &str) -> &str {
    let end = name.char_indices().nth(name.chars().count() / 2 + 1).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

/// `->member` of the struct to which a type points, through as many members as there are pointers to structs.
fn member_behind(view: &View, pointer: TypeId) -> String {
    let mut path = String::new();
    let mut type_id = pointer;
    for _ in 0..12 {
        let Some(of) = view.types.get(type_id.index()) else { break };
        let member = view.members(type_id).iter().rev().find(|member| member.name.get() != 0);
        type_id = match (TypeKind::from_u8(of.kind), member) {
            (TypeKind::Pointer | TypeKind::Typedef | TypeKind::Const | TypeKind::Volatile, _) => of.target,
            (TypeKind::Struct | TypeKind::Union, Some(member)) if path.len() < 60 => {
                path += &format!("->{}", String::from_utf8_lossy(view.string(member.name)));
                member.target
            }
            _ => break,
        };
    }
    path
}
