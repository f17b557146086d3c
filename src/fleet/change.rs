//! Writes to a store. The segments are appended, and the manifest that names them replaces the old one at once: after a
//! failure there is the old store or the new one.
use super::add::segment;
use super::nearest::{Other, Told};
use crate::build_id::hex;
use crate::error::{Error, ErrorKind, Result};
use crate::observer::Observer;
use crate::query::Index;
use crate::query::index::kernel_description::compiler;
use crate::store::{self, MANIFEST, Store, damaged, data};
use crate::write::BuildLock;
use probeidx_format::View;
use probeidx_format::store::manifest::{NONE, NewKernel, SegmentEntry, write};
use probeidx_format::store::{Segment, SegmentId};
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32, U64};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// What became of a kernel that was added.
#[derive(Clone, Debug)]
pub struct Added {
    /// Its release.
    pub release: String,
    /// The bytes that the store has more; 0 if it had the kernel already.
    pub bytes: u64,
    /// The release of the kernel that it was compared with.
    pub after: Option<String>,
}

/// Segments begin at multiples of this, so that two of them share no page.
const ALIGNMENT: u64 = 4096;

/// Adds a kernel, given its index. One process at a time writes to a store.
///
/// # Errors
/// [`ErrorKind::Io`]; [`ErrorKind::Mismatch`] if the store has another kernel of this build id; [`ErrorKind::Unsupported`] for a
/// kernel of another store that this one lacks; those of [`Store::open`].
pub fn add(folder: &Path, index: &Index, observer: &dyn Observer) -> Result<Added> {
    let mut lock = BuildLock::new(folder.to_owned());
    lock.take(observer)?;
    let view = index.view()?;
    let build_id = view.objects.first().map_or([0; 20], |object| object.build_id);
    let release = String::from_utf8_lossy(view.release()).into_owned();
    if view.object_ids().next().is_none_or(|object| view.is_user(object)) {
        let what = "a store has kernels only, and this is an index of a program";
        return Err(Error::new(ErrorKind::Usage, what).at(index.path()));
    }
    let mut contents = Contents::read(folder)?;
    let known = contents.kernels.iter().find(|kernel| contents.id(kernel).build_id == build_id);
    if let Some(known) = known {
        let store = contents.store.as_ref().expect("it has a kernel");
        let entry = store.manifest().kernels.iter().find(|k| k.segment.get() == known.segment).copied();
        let kernel = entry.as_ref().map(|entry| store.kernel(entry)).transpose()?;
        let differs = kernel.and_then(|kernel| super::same::difference(&view, &View::of_store(&kernel)));
        return match differs {
            None => Ok(Added { release, bytes: 0, after: None }),
            Some(_) => {
                let what = format!("the store has another kernel of build id {}", hex(&build_id));
                let remedy = "remove that one first: probeidx fleet remove";
                Err(Error::new(ErrorKind::Mismatch, what).at(index.path()).hint(remedy))
            }
        };
    }
    // Its records have the numbers of its store, with those of other kernels between them.
    if view.store().is_some() {
        let what = "a kernel of a store cannot be added to another store";
        let remedy = "join the stores with: probeidx fleet merge; or add its index, or its packages";
        return Err(Error::new(ErrorKind::Unsupported, what).at(index.path()).hint(remedy));
    }
    let machine = view.machine();
    let nearest = contents.nearest(&view)?;
    let (bytes, after) = {
        let before = match (&contents.store, nearest) {
            (Some(store), Some(at)) => Some(store.kernel(&store.manifest().kernels[at])?),
            _ => None,
        };
        let failed = |what: String| Error::new(ErrorKind::IndexDamaged, what).at(index.path());
        let after = before.as_ref().map(|kernel| View::of_store(kernel).release().to_vec());
        (segment(&view, before.as_ref(), &|| index.forget()).map_err(failed)?, after)
    };
    let before = nearest.map_or(NONE, |at| contents.at(at));
    let flags = if view.build_id().is_some() { 0 } else { SegmentEntry::WITHOUT_VMLINUX };
    contents.push(&bytes, before, machine, flags)?;
    let made = view.meta().ok().and_then(|meta| meta.inputs.first().map(|input| input.modified)).unwrap_or(0);
    contents.kernels.push(NewKernel {
        release: release.clone().into_bytes(),
        compiler: compiler(&view).to_owned(),
        segment: contents.segments.len() as u32 - 1,
        made,
    });
    let end = contents.append(folder, &[&bytes])?;
    contents.commit(folder)?;
    let bytes = end.saturating_sub(contents.segments.last().map_or(0, |s| s.offset.get()));
    Ok(Added { release, bytes, after: after.map(|name| String::from_utf8_lossy(&name).into_owned()) })
}

/// Removes kernels by name; what others share with them stays. Returns how many bytes the store has less.
///
/// # Errors
/// [`ErrorKind::NoIndex`] if the store has no such kernel; [`ErrorKind::Io`].
pub fn remove(folder: &Path, names: &[String], observer: &dyn Observer) -> Result<u64> {
    let mut lock = BuildLock::new(folder.to_owned());
    lock.take(observer)?;
    let store = Store::open(folder)?;
    let manifest = store.manifest();
    for name in names {
        if manifest.kernel(name.as_bytes()).is_none() {
            return Err(store::no_kernel(folder, name));
        }
    }
    let is_kept = |name: &[u8]| !names.iter().any(|gone| gone.as_bytes() == name);
    let kept: Vec<(&Store, usize)> = (0..manifest.kernels.len())
        .filter(|at| is_kept(manifest.string(manifest.kernels[*at].name)))
        .map(|at| (&store, at))
        .collect();
    rewrite(folder, &kept)
}

/// Joins stores: a new one with the kernels of all. The order in which they are given does not matter, nor what was
/// joined before.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is something at `to`; [`ErrorKind::Mismatch`] if two have different kernels of one build
/// id; those of [`Store::open`]; [`ErrorKind::Io`].
pub fn merge(to: &Path, from: &[&Path], observer: &dyn Observer) -> Result<u64> {
    if store::is_store(to) {
        let what = "there is a store already";
        return Err(Error::new(ErrorKind::Usage, what).at(to).hint("name a new folder"));
    }
    let stores = from.iter().map(|folder| Store::open(folder)).collect::<Result<Vec<_>>>()?;
    let mut lock = BuildLock::new(to.to_owned());
    lock.take(observer)?;
    let all = stores.iter().flat_map(|store| (0..store.manifest().kernels.len()).map(move |at| (store, at)));
    let mut kept: Vec<(&Store, usize)> = all.collect();
    let id = |(store, at): &(&Store, usize)| {
        let manifest = store.manifest();
        manifest.segments[manifest.kernels[*at].segment.get() as usize].id
    };
    kept.sort_by_key(id);
    kept.dedup_by_key(|kernel| id(kernel));
    if let Some(two) = kept.windows(2).find(|two| id(&two[0]).build_id == id(&two[1]).build_id) {
        let what = format!("two stores have different segments of build id {}", hex(&id(&two[0]).build_id));
        let remedy = "remove the kernel from one of them: probeidx fleet remove";
        return Err(Error::new(ErrorKind::Mismatch, what).at(to).hint(remedy));
    }
    rewrite(to, &kept)
}

/// Checks every byte of a store.
///
/// # Errors
/// The first part that is damaged.
pub fn verify(folder: &Path) -> Result<usize> {
    let store = Store::open(folder)?;
    let manifest = store.manifest();
    let data = store.data();
    for entry in manifest.segments {
        let segment = Segment::open(store.segment(entry)).map_err(|e| damaged(data, e))?;
        segment.whole().map_err(|e| damaged(data, e))?;
        if segment.id() != entry.id {
            let what = "a segment is another one than the manifest names";
            return Err(Error::new(ErrorKind::IndexDamaged, what).at(data).offset(entry.offset.get()));
        }
    }
    for entry in manifest.kernels {
        let kernel = store.kernel(entry)?;
        View::of_store(&kernel).check_owners().map_err(|e| damaged(data, e))?;
    }
    Ok(manifest.kernels.len())
}

/// Writes a store with these kernels and the segments they need, in the order of their ids.
fn rewrite(folder: &Path, kept: &[(&Store, usize)]) -> Result<u64> {
    let old = store::is_store(folder).then(|| Store::open(folder)).transpose()?;
    let generation = old.as_ref().map_or(0, |old| old.manifest().generation + 1);
    let mut contents = Contents { generation, ..Contents::default() };
    let mut bytes: Vec<&[u8]> = vec![];
    // What is before comes first, and then by id: a function of the set.
    let mut needed: Vec<(u32, SegmentId, Option<SegmentId>, &Store, SegmentEntry)> = vec![];
    for (store, at) in kept {
        let manifest = store.manifest();
        let mut before = None;
        for (depth, segment) in (0..).zip(manifest.chain(&manifest.kernels[*at])) {
            needed.push((depth, segment.id, before, store, *segment));
            before = Some(segment.id);
        }
    }
    needed.sort_by_key(|(depth, id, ..)| (*depth, *id));
    needed.dedup_by_key(|(depth, id, ..)| (*depth, *id));
    for (_, id, before, store, segment) in &needed {
        let before = before.and_then(|before| contents.segments.iter().position(|s| s.id == before));
        let data = store.segment(segment);
        let before = before.map_or(NONE, |at| at as u32);
        contents.push(data, before, segment.machine.get(), segment.flags.get())?;
        debug_assert_eq!(contents.segments.last().map(|s| s.id), Some(*id));
        bytes.push(data);
    }
    for (store, at) in kept {
        let manifest = store.manifest();
        let entry = &manifest.kernels[*at];
        let id = manifest.segments[entry.segment.get() as usize].id;
        let segment = contents.segments.iter().position(|s| s.id == id).unwrap_or(0) as u32;
        contents.kernels.push(NewKernel {
            release: manifest.string(entry.release).to_vec(),
            compiler: manifest.string(entry.compiler).to_vec(),
            segment,
            made: entry.made.get(),
        });
    }
    contents.kernels.sort_by(|a, b| {
        (&a.release, contents.segments[a.segment as usize].id)
            .cmp(&(&b.release, contents.segments[b.segment as usize].id))
    });
    let new = contents.replace(folder, &bytes)?;
    contents.commit(folder)?;
    let Some(old) = old else { return Ok(0) };
    let before = std::fs::metadata(old.data()).map_or(0, |file| file.len());
    // Those who have it open keep it.
    std::fs::remove_file(old.data()).map_err(|e| Error::io(old.data(), "remove the old segments", e))?;
    Ok(before.saturating_sub(new))
}

/// What a manifest says.
#[derive(Default)]
struct Contents {
    store: Option<Store>,
    generation: u32,
    kernels: Vec<NewKernel>,
    segments: Vec<SegmentEntry>,
}

impl Contents {
    fn read(folder: &Path) -> Result<Self> {
        if !store::is_store(folder) {
            return Ok(Self::default());
        }
        let store = Store::open(folder)?;
        let manifest = store.manifest();
        let kernels = manifest.kernels.iter().map(|kernel| NewKernel {
            release: manifest.string(kernel.release).to_vec(),
            compiler: manifest.string(kernel.compiler).to_vec(),
            segment: kernel.segment.get(),
            made: kernel.made.get(),
        });
        let (kernels, segments) = (kernels.collect(), manifest.segments.to_vec());
        let generation = manifest.generation;
        Ok(Self { store: Some(store), generation, kernels, segments })
    }
    fn id(&self, kernel: &NewKernel) -> SegmentId {
        self.segments[kernel.segment as usize].id
    }
    /// The segment of a kernel of the manifest.
    fn at(&self, kernel: usize) -> u32 {
        self.kernels[kernel].segment
    }
    /// The kernel that a new one follows: see [`nearest`](super::nearest).
    fn nearest(&self, view: &View<'_>) -> Result<Option<usize>> {
        let Some(store) = &self.store else { return Ok(None) };
        let manifest = store.manifest();
        let own = Told::of(view.release(), compiler(view));
        let told = |at: usize| Told::of(&self.kernels[at].release, &self.kernels[at].compiler);
        let machine = |at: usize| self.segments[self.kernels[at].segment as usize].machine.get();
        let may_be = |at: &usize| machine(*at) == view.machine() && own.may_follow(&told(*at));
        let near: Vec<usize> = (0..self.kernels.len()).filter(may_be).collect();
        let other = |at: &usize| {
            // Its own segment is enough, however long the chain.
            let chain = manifest.chain(&manifest.kernels[*at]);
            let own = chain.last().map_or(&[][..], |segment| store.segment(segment));
            let own = Segment::open(own).map_err(|e| damaged(store.data(), e))?;
            Ok(Other { told: told(*at), chain: chain.len(), objects: own.objects() })
        };
        let others = near.iter().map(other).collect::<Result<Vec<_>>>()?;
        Ok(own.nearest(view.object_ids().count() as u32, &others).map(|at| near[at]))
    }
    fn push(&mut self, bytes: &[u8], before: u32, machine: u16, flags: u16) -> Result<()> {
        let id = Segment::open(bytes).map_err(|e| damaged(Path::new("segment"), e))?.id();
        let end = self.segments.iter().map(|s| s.offset.get() + s.length.get()).max().unwrap_or(0);
        self.segments.push(SegmentEntry {
            id,
            offset: U64::new(end.next_multiple_of(ALIGNMENT)),
            length: U64::new(bytes.len() as u64),
            before: U32::new(before),
            machine: U16::new(machine),
            flags: U16::new(flags),
        });
        Ok(())
    }
    /// Writes the last segments behind the others. What a killed process left there is overwritten.
    fn append(&self, folder: &Path, bytes: &[&[u8]]) -> Result<u64> {
        let path = data(folder, self.generation);
        let io = |e| Error::io(&path, "write the segments", e);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(io)?;
        self.write_to(&file, bytes, self.segments.len() - bytes.len()).map_err(io)
    }
    /// Writes all segments to a new file.
    fn replace(&self, folder: &Path, bytes: &[&[u8]]) -> Result<u64> {
        let path = data(folder, self.generation);
        let io = |e| Error::io(&path, "write the segments", e);
        let file = temporary(folder)?;
        let end = self.write_to(file.as_file(), bytes, 0).map_err(io)?;
        file.persist(&path).map_err(|e| io(e.error))?;
        Ok(end)
    }
    fn write_to(&self, mut file: &File, bytes: &[&[u8]], first: usize) -> std::io::Result<u64> {
        let mut end = 0;
        for (entry, bytes) in self.segments[first..].iter().zip(bytes) {
            file.seek(SeekFrom::Start(entry.offset.get()))?;
            file.write_all(bytes)?;
            end = entry.offset.get() + bytes.len() as u64;
        }
        file.set_len(end)?;
        file.sync_all()?;
        Ok(end)
    }
    fn commit(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let io = |e| Error::io(&path, "write the manifest", e);
        let mut file = temporary(folder)?;
        file.write_all(&write(self.generation, &self.kernels, &self.segments)).map_err(io)?;
        file.as_file().sync_all().map_err(io)?;
        file.persist(&path).map_err(|e| io(e.error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)
    }
}

fn temporary(folder: &Path) -> Result<tempfile::NamedTempFile> {
    crate::write::unfinished(folder).map_err(|e| Error::io(folder, "write into the store", e))
}
