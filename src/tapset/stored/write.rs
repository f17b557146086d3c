//! Converts a library to the tables of an index.
use probeidx_format::tapset::{DefinitionKind as Kind, Tables, TapsetMeta, TapsetNameRecord, encode, order};
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use serde::Serialize;

use super::super::ast::{Alias, Embedded, Function, Global, Point, Probe};
use super::super::macros::Macro;
use super::super::{Library, Target};
use super::{Source, Stored, tree};

impl Library {
    /// The tables for an index, for the target that the library was read for. Content beyond 4 GiB is left out.
    pub fn tables(&self, target: &Target<'_>) -> Tables {
        let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        let meta = TapsetMeta {
            arch: target.arch.to_owned(),
            release: target.release.to_owned(),
            systemtap: target.systemtap.to_owned(),
            system_map: target.system_map,
            files: self.files.iter().map(path).chain(target.vmlinux_header.map(str::to_owned)).collect(),
        };
        let mut writing = Writing::default();
        for script in &self.scripts {
            for alias in &script.aliases {
                let names = alias.names.iter().map(Point::name).collect();
                writing.add(Kind::Alias, names, &Written::Alias(alias));
            }
            for function in &script.functions {
                let names = vec![function.name.clone()];
                writing.add(Kind::Function, names, &Written::Function(function));
            }
            for global in &script.globals {
                writing.add(Kind::Global, vec![global.name.clone()], &Written::Global(global));
            }
            for probe in &script.probes {
                writing.add(Kind::Probe, vec![String::new()], &Written::Probe(probe));
            }
            for embedded in &script.embedded {
                writing.add(Kind::Embedded, vec![String::new()], &Written::Embedded(embedded));
            }
        }
        for (name, of) in self.macros() {
            writing.add(Kind::Macro, vec![name.to_owned()], &Written::Macro((name, of)));
        }
        writing.into_tables(&meta)
    }
}

impl Stored<'static> {
    /// The definitions in a library outside of any index. Cost: encoding all of it.
    pub fn of_library(library: &Library) -> Self {
        let target = Target::new("", "", &|_| None);
        let meta = TapsetMeta {
            files: library.files.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            ..TapsetMeta::default()
        };
        Self::new(Source::Library(library.tables(&target)), meta)
    }
}

/// Like [`Definition`](super::Definition), but borrowed for writing: the same variants in the same order.
#[derive(Serialize)]
enum Written<'a> {
    Alias(&'a Alias),
    Function(&'a Function),
    Global(&'a Global),
    Macro((&'a str, &'a Macro<'static>)),
    Probe(&'a Probe),
    Embedded(&'a Embedded),
}

/// Tables in the making.
#[derive(Default)]
struct Writing {
    /// Kind, name, definition.
    names: Vec<(Kind, String, u32)>,
    definitions: Vec<U32>,
    trees: Vec<u8>,
}

impl Writing {
    fn add(&mut self, kind: Kind, names: Vec<String>, definition: &Written<'_>) {
        let (Ok(number), Ok(start)) =
            (u32::try_from(self.definitions.len()), u32::try_from(self.trees.len()))
        else {
            return;
        };
        self.definitions.push(U32::new(start));
        self.trees.extend(tree::encode(definition));
        self.names.extend(names.into_iter().map(|name| (kind, name, number)));
    }

    fn into_tables(mut self, meta: &TapsetMeta) -> Tables {
        self.definitions.push(U32::new(u32::try_from(self.trees.len()).unwrap_or(u32::MAX)));
        self.names.sort_by(|(kind, name, number), (other_kind, other_name, other_number)| {
            let names = || order(name.as_bytes(), other_name.as_bytes());
            kind.cmp(other_kind).then_with(names).then(number.cmp(other_number))
        });
        let (mut strings, mut records, mut last) = (vec![], vec![], None);
        for (kind, name, number) in &self.names {
            // A name with several definitions is stored once.
            let start = match last {
                Some((before, start)) if before == name => start,
                _ => {
                    let start = strings.len() as u32;
                    strings.extend([name.as_bytes(), b"\0"].concat());
                    start
                }
            };
            last = Some((name, start));
            let (name, definition) = (U32::new(start), U32::new(*number));
            records.push(TapsetNameRecord { name, definition, kind: *kind as u8 });
        }
        let Self { definitions, trees, .. } = self;
        Tables { meta: encode(meta), names: records, strings, definitions, trees }
    }
}
