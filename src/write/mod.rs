//! Writes the tables to a file, which appears atomically.
mod aside;
mod build_lock;
mod memory;
mod pieces;

use crate::error::{Error, Result};
use crate::link::Linked;
use crate::merge::{Encoded, Extracted, Model, Piece};
use crate::tapset::evaluated::Evaluated;
pub use aside::Aside;
pub use build_lock::BuildLock;
use build_lock::UNFINISHED;
pub use memory::{Memory, Target};
use pieces::Pieces;
use probeidx_format::SectionName as S;
use probeidx_format::meta::Meta;
use probeidx_format::table::{Packed, pack};
use probeidx_format::writer::Writer;
use probeidx_format::zerocopy::IntoBytes;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes an index, and returns its length.
///
/// A file replaces an old one atomically. The data is on disk before the file is renamed: after a power cut there is either
/// the old index or the new one. The caller holds the [`BuildLock`].
pub fn write(
    target: &Target,
    meta: &Meta,
    batches: &[Extracted],
    aside: &Aside,
    model: &Model,
    linked: &Linked,
    evaluated: &Evaluated,
) -> Result<u64> {
    let path = target.path();
    let io = |e| Error::io(path, "write the index", e);
    let all = |file: &File| {
        let mut writer = write_to(Pieces::new(file), meta, batches, aside, model, linked)?;
        let Evaluated { configuration, tables, sources } = evaluated;
        let mut one = |name, bytes: &[u8]| writer.section(name, [bytes]);
        one(S::Configuration, configuration)?;
        one(S::Tapset, &tables.meta)?;
        one(S::TapsetNames, tables.names.as_bytes())?;
        one(S::TapsetStrings, &tables.strings)?;
        one(S::TapsetDefinitions, tables.definitions.as_bytes())?;
        one(S::TapsetTrees, &tables.trees)?;
        one(S::TapsetSources, sources)?;
        writer.finish(meta.machine, model.release)
    };
    match target {
        Target::Memory(memory) => all(memory.file()).map_err(io),
        Target::File(_) => {
            let folder = path.parent().unwrap_or(Path::new("."));
            let file =
                unfinished(folder).map_err(|e| Error::io(folder, "write into the folder of indexes", e))?;
            let length = all(file.as_file()).map_err(io)?;
            file.as_file().sync_all().map_err(io)?;
            file.persist(path).map_err(|e| io(e.error))?;
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
            Ok(length)
        }
    }
}

/// A file in a folder, to be given its name once it is whole. If that never happens, the next build removes it.
pub fn unfinished(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut how = tempfile::Builder::new();
    how.prefix(UNFINISHED.0).suffix(UNFINISHED.1).permissions(Permissions::from_mode(0o644));
    how.tempfile_in(folder)
}

/// The tables that are packed.
#[derive(Default)]
struct Tables {
    sections: Packed,
    event_fields: Packed,
    unit_files: Packed,
    type_users: Packed,
    called: Packed,
    btf_types: Packed,
    names: Packed,
    functions: Packed,
    variables: Packed,
    places: Packed,
    ranges: Packed,
    symbols: Packed,
    symbol_names: Packed,
    types: Packed,
    members: Packed,
    sequences: Packed,
    sites: Packed,
    frames: Packed,
}

impl Tables {
    /// Packs all tables. The largest come first, so that threads end at the same time.
    fn new(model: &Model, linked: &Linked) -> Self {
        let Model { functions, places, types, .. } = model;
        let mut packed = Self::default();
        rayon::scope(|s| {
            s.spawn(|_| packed.places = pack(&places.places));
            s.spawn(|_| packed.functions = pack(&functions.records));
            s.spawn(|_| packed.symbols = pack(&linked.symbols));
            s.spawn(|_| packed.members = pack(&types.members));
            s.spawn(|_| packed.names = pack(&linked.names.records));
            s.spawn(|_| packed.types = pack(&types.records));
            s.spawn(|_| packed.sites = pack(&linked.sites));
            s.spawn(|_| packed.variables = pack(&functions.variables));
            s.spawn(|_| packed.ranges = pack(&places.ranges));
            s.spawn(|_| packed.frames = pack(&places.frames));
            s.spawn(|_| packed.symbol_names = pack(&linked.names.symbols));
            s.spawn(|_| packed.sequences = pack(&places.sequences));
            s.spawn(|_| packed.sections = pack(&linked.sections));
            s.spawn(|_| packed.unit_files = pack(&places.unit_files));
            s.spawn(|_| packed.type_users = pack(&model.users.records));
            s.spawn(|_| packed.called = pack(&linked.calls.records));
            s.spawn(|_| packed.btf_types = pack(&linked.btf_types));
            s.spawn(|_| packed.event_fields = pack(&linked.event_fields));
        });
        packed
    }
}

/// Writes all sections except the configuration and tapsets.
fn write_to<W: std::io::Write + std::io::Seek>(
    out: W,
    meta: &Meta,
    batches: &[Extracted],
    aside: &Aside,
    model: &Model,
    linked: &Linked,
) -> std::io::Result<Writer<W>> {
    let packed = Tables::new(model, linked);
    let mut writer = Writer::new(out)?;
    let one = |writer: &mut Writer<W>, name, bytes: &[u8]| writer.section(name, [bytes]);
    let aside = |writer: &mut Writer<W>, name, piece: fn(&Encoded) -> Piece| {
        let pieces = batches.iter().map(|batch| piece(&batch.encoded));
        writer.section_by(name, |pass| pieces.into_iter().try_for_each(|piece| aside.get(piece, pass)))
    };
    one(&mut writer, S::Meta, &meta.to_bytes())?;
    one(&mut writer, S::Strings, &model.strings.section())?;
    one(&mut writer, S::Objects, linked.objects.as_bytes())?;
    writer.table(S::Sections, &packed.sections)?;
    one(&mut writer, S::Units, model.places.units.as_bytes())?;
    writer.table(S::UnitFiles, &packed.unit_files)?;
    writer.table(S::Names, &packed.names)?;
    one(&mut writer, S::NameHash, &linked.names.hash)?;
    writer.table(S::Functions, &packed.functions)?;
    one(&mut writer, S::FunctionDetails, &model.functions.details)?;
    writer.table(S::Variables, &packed.variables)?;
    one(&mut writer, S::Postings, &model.places.postings)?;
    writer.table(S::Places, &packed.places)?;
    aside(&mut writer, S::PlaceDetails, |encoded| encoded.details)?;
    writer.table(S::Ranges, &packed.ranges)?;
    writer.table(S::Symbols, &packed.symbols)?;
    writer.table(S::SymbolNames, &packed.symbol_names)?;
    writer.table(S::Types, &packed.types)?;
    writer.table(S::Members, &packed.members)?;
    writer.table(S::Sequences, &packed.sequences)?;
    aside(&mut writer, S::Lines, |encoded| encoded.lines)?;
    writer.table(S::Sites, &packed.sites)?;
    one(&mut writer, S::Segments, linked.segments.as_bytes())?;
    one(&mut writer, S::Refused, linked.refused.as_bytes())?;
    one(&mut writer, S::Boundaries, &linked.boundaries)?;
    writer.table(S::TypeUsers, &packed.type_users)?;
    one(&mut writer, S::TypeUses, &model.users.uses)?;
    writer.table(S::BtfTypes, &packed.btf_types)?;
    writer.table(S::Called, &packed.called)?;
    one(&mut writer, S::Calls, &linked.calls.bytes)?;
    writer.table(S::Frames, &packed.frames)?;
    aside(&mut writer, S::FrameRows, |encoded| encoded.frame_rows)?;
    one(&mut writer, S::Tracepoints, linked.tracepoints.as_bytes())?;
    writer.table(S::EventFields, &packed.event_fields)?;
    one(&mut writer, S::Labels, &model.places.labels)?;
    Ok(writer)
}
