//! Builds the index of one kernel, in two parts: it is read, then merged, linked and written.
use super::account::{from_skipped_meta, input_meta, skipped_meta};
use super::batch::Stores;
use super::modules::{self, Group, Groups, Module};
use super::pool::Pool;
use super::tapset::{Prediction, Tapsets};
use super::vmlinux::{self, Fallback, KernelFacts};
use super::{Built, Options, Read, Skipped, index_file, known_or_locked, unchanged};
use crate::discover::{Input, KernelInputs};
use crate::error::{Error, ErrorKind, Result};
use crate::load::config::KernelConfig;
use crate::load::members::Members;
use crate::mapping::ahead;
use crate::merge::Extracted;
use crate::observer::Observer;
use crate::write::{BuildLock, Memory, Target};
use probeidx_format::machine::address_size;
use probeidx_format::meta::{InputMeta, Meta};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A kernel after the first part of its build.
pub enum Started {
    /// There is nothing to write: the index was up to date or better, or the kernel could not be read.
    Done(Option<Built>, Vec<Skipped>),
    /// It was read.
    Read(Box<ToWrite>),
}

/// Everything read from a kernel, to be written.
pub struct ToWrite {
    read: Read,
    target: Target,
    meta: Meta,
    skipped: Vec<Skipped>,
    since: Instant,
}

/// The packages that kernels may be from.
pub struct Packages<'p> {
    /// Their files, some of which are yet to be unpacked.
    pub members: &'p Members,
    /// By what an index tells that none of them changed; none if one of them could not be read in full.
    pub metas: Vec<InputMeta>,
}

impl Packages<'_> {
    /// Reads those of a kernel to their ends. Gives what was wrong with them.
    fn end(&self, kernel: &KernelInputs) -> Vec<Error> {
        let inputs = kernel.vmlinux.iter().chain(&kernel.modules);
        self.members.end_of(inputs.flat_map(Input::files))
    }
}

/// The first part of a kernel's build: reads it unless its index is up to date. Takes the lock before reading; without one, the index is
/// made in memory.
pub fn start(
    kernel: &KernelInputs,
    packages: &Packages<'_>,
    lock: Option<&mut BuildLock>,
    tapsets: &Tapsets,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Started> {
    let Some(lock) = lock else {
        return read(kernel, packages, Target::Memory(Memory::new()?), tapsets, options, observer);
    };
    let index = index_file(&options.db, &kernel.release)?;
    let inputs = || kernel.vmlinux.iter().chain(&kernel.modules);
    let known = || unchanged::unchanged(&index, inputs(), &tapsets.sources, options);
    match known_or_locked(lock, options, observer, known)? {
        Some((built, skipped)) => {
            Ok(Started::Done(Some(built), skipped.iter().map(from_skipped_meta).collect()))
        }
        None => read(kernel, packages, Target::File(index), tapsets, options, observer),
    }
}

impl Started {
    /// The second part: merges, links and writes what was read. Returns what was built, the memory that it is in if it is
    /// in no folder, and what was left out.
    pub fn finish(self, observer: &dyn Observer) -> Result<(Option<Built>, Option<Memory>, Vec<Skipped>)> {
        match self {
            Self::Done(built, skipped) => Ok((built, None, skipped)),
            Self::Read(kernel) => {
                let ToWrite { read, target, meta, skipped, since } = *kernel;
                let lap = |stage| observer.stage(stage, since.elapsed().as_secs_f64());
                let built = read.write(&target, &meta, observer, lap)?;
                let memory = match target {
                    Target::File(_) => None,
                    Target::Memory(memory) => Some(memory),
                };
                Ok((Some(built), memory, skipped))
            }
        }
    }
}

/// Reads vmlinux and the modules.
fn read(
    kernel: &KernelInputs,
    packages: &Packages<'_>,
    target: Target,
    tapsets: &Tapsets,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Started> {
    let since = Instant::now();
    let lap = |stage| observer.stage(stage, since.elapsed().as_secs_f64());
    let mut read = Read::new(target.folder())?;
    let Read { interner, aside, types, functions, objects, batches, .. } = &mut read;
    let stores = Stores { interner, aside };
    let (mut inputs, mut parts) = (vec![], vec![]);
    let mut skipped = vec![];
    let (mut known, mut evaluated, mut fallback) = (KernelFacts::default(), None, Fallback::Nothing(None));
    let prediction = Mutex::new(None);
    let evaluate = |machine: u16, config: Option<&KernelConfig>| {
        let predicted = prediction.lock().unwrap_or_else(PoisonError::into_inner).take();
        let predicted = predicted
            .filter(|prediction: &Prediction| prediction.holds_for(machine, config))
            .map(Prediction::evaluated);
        predicted.unwrap_or_else(|| tapsets.evaluate(&kernel.release, machine, config))
    };
    if let Some(input) = &kernel.vmlinux {
        let Some(input) = &input.arrived() else {
            // Whatever the package is wrong in, nothing of the kernel came before.
            return packages.end(kernel).into_iter().next().map_or(Ok(Started::Done(None, skipped)), Err);
        };
        let vmlinux = ahead::beside(input.files(), || {
            // Unpacking a boot image leaves the other processors idle.
            let (_, predicted) = rayon::join(
                || input.unpacked.look(&input.path, |_| ()),
                || tapsets.predict(&input.path, &kernel.release),
            );
            *prediction.lock().unwrap_or_else(PoisonError::into_inner) = predicted;
            vmlinux::read(input, &kernel.release, stores, types, functions, evaluate)
        });
        match vmlinux {
            Ok(vmlinux) => {
                evaluated = Some(vmlinux.evaluated);
                objects.push(vmlinux.facts);
                batches.extend(vmlinux.extracted);
                known = vmlinux.known;
                fallback = vmlinux.fallback;
                skipped.extend(vmlinux.skipped);
                parts = vmlinux.parts;
            }
            Err(error) if error.kind() == ErrorKind::Exhausted => return Err(error),
            // vmlinux was there and may come back: an index of only modules must not replace a whole one.
            Err(error) if matches!(error.kind(), ErrorKind::Changed | ErrorKind::Io) => {
                return Ok(Started::Done(None, vec![Skipped::object(error)]));
            }
            Err(error) => skipped.push(Skipped::object(error)),
        }
        inputs.push(input_meta(input, objects.first()));
        input.forget();
        observer.object_done(&input.path, input.size);
    }
    lap("vmlinux");
    let memory = Pool::default();
    let read_group = |(number, group): (usize, Vec<Module>)| {
        let (release, fallback) = (&kernel.release, &fallback);
        group.iter().flat_map(|module| module.input.files()).for_each(ahead::ask_for);
        let read = |memory: &mut _| {
            modules::read(&group, release, types, &known, fallback, stores, memory, observer)
        };
        Ok((number, memory.lend(read)?))
    };
    let groups = Groups::of(&kernel.modules).enumerate();
    let mut modules: Vec<(usize, Group)> = if kernel.modules.iter().any(|module| module.is_listed) {
        groups.par_bridge().map(read_group).collect::<Result<_>>()?
    } else {
        let mut groups: Vec<_> = groups.collect();
        groups.sort_by_key(|(_, group)| Reverse(group.iter().map(|module| module.input.size).sum::<u64>()));
        groups.into_par_iter().with_max_len(1).map(read_group).collect::<Result<_>>()?
    };
    modules.sort_by_key(|(number, _)| *number);
    let first = batches.len();
    modules.par_iter().for_each(|(g, group)| group.extracted.register((first + g) as u32, types, functions));
    // In the index, modules are in the order of their names.
    let mut by_name: Vec<u32> =
        modules.iter().flat_map(|(_, group)| group.objects.iter().map(|o| o.0)).collect();
    by_name.sort_unstable();
    let first = objects.len();
    let number = |(module, _): &(u32, _)| (first + by_name.partition_point(|other| other < module)) as u32;
    let (mut inputs_of_modules, mut of_modules) = (vec![], vec![]);
    for (_, group) in modules {
        batches.push(Extracted { objects: group.objects.iter().map(number).collect(), ..group.extracted });
        inputs_of_modules.extend(group.inputs);
        of_modules.extend(group.objects);
        parts.extend(group.parts);
        skipped.extend(group.skipped);
    }
    of_modules.sort_by_key(|(module, _)| *module);
    objects.extend(of_modules.into_iter().map(|(_, facts)| facts));
    inputs_of_modules.sort_by_key(|(module, _)| *module);
    inputs.extend(inputs_of_modules.into_iter().map(|(_, input)| input));
    lap("modules");
    inputs.extend(parts);
    let of_packages = packages.end(kernel);
    // What could not be read in full is read again the next time, to say so again.
    inputs.extend(packages.metas.iter().filter(|_| of_packages.is_empty()).cloned());
    let Some(machine) = objects.first().map(|o| o.machine) else { return Ok(Started::Done(None, skipped)) };
    // Without vmlinux the first module determines the machine.
    let (evaluated, lost) = evaluated.unwrap_or_else(|| evaluate(machine, None));
    skipped.extend(lost);
    let meta = Meta {
        release: kernel.release.clone(),
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        machine,
        address_size: address_size(machine),
        inputs,
        skipped: skipped.iter().map(skipped_meta).collect(),
        without_modules: !options.modules,
        user: None,
    };
    skipped.extend(of_packages.into_iter().map(Skipped::object));
    read.evaluated = evaluated;
    if !options.force
        && !matches!(fallback, Fallback::Nothing(_))
        && let Target::File(index) = &target
        && let Some(kept) = unchanged::better(index)
    {
        let what = "an index from debug information is there, and kept: what was found has none";
        let error = Error::new(ErrorKind::NoDebugInfo, what).at(index);
        let skipped = vec![Skipped::part(error.hint("replace it with --force"), 1)];
        return Ok(Started::Done(Some(kept), skipped));
    }
    Ok(Started::Read(Box::new(ToWrite { read, target, meta, skipped, since })))
}
