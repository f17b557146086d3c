//! Applies a capture of a running kernel to its index: what is loaded, where, and how that changes answers.
use super::address_map::Loaded;
use crate::error::{Error, ErrorKind, Result};
use crate::live::{Instruction, Live};
use crate::query::index::functions::{self, kernel};
use crate::query::index::has_build_id;
use crate::query::index::symbols::Uniqueness;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, StrId};
use std::borrow::Cow;
use std::ops::Range;

/// A running kernel and the index of the same build.
#[derive(Clone, Debug)]
pub struct Overlay<'l> {
    live: Cow<'l, Live>,
    loaded: Loaded,
    /// For each object, whether the indexed build of it runs.
    runs: Vec<bool>,
    /// The kprobe blacklist, by run-time address.
    refused: Vec<Range<u64>>,
}

/// What a running kernel adds to a placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Whether the indexed build of its object is loaded.
    pub loaded: bool,
    /// Its run-time address; `None` if it is not loaded or its address is unknown.
    pub address: Option<u64>,
    /// Loaded modules that are not in the index and also have the symbol's name.
    pub strangers: Vec<String>,
}

impl<'l> Overlay<'l> {
    /// Applies a capture to an index. Cost: linear in its symbols.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if it belongs to another kernel.
    pub fn new(view: &View<'_>, live: &'l Live) -> Result<Self> {
        let release = String::from_utf8_lossy(view.release());
        let differ = |what: String| {
            let what = format!("the capture is of another kernel: {what}");
            Error::new(ErrorKind::Mismatch, what).hint("capture again, or index the kernel that runs there")
        };
        if live.release != release {
            return Err(differ(format!("release {}, indexed is {release}", live.release)));
        }
        let is_of = |object: ObjectId, id: &Option<String>| {
            id.as_ref().is_none_or(|digits| has_build_id(view, object, digits.as_bytes()))
        };
        if kernel(view).is_some_and(|vmlinux| !is_of(vmlinux, &live.build_id)) {
            let id = live.build_id.as_deref().unwrap_or_default();
            return Err(differ(format!("build id {id}, and the index has another of {release}")));
        }
        let runs: Vec<bool> = view
            .object_ids()
            .map(|object| {
                let name = view.string(view.objects[object.index()].name);
                name.is_empty() || live.module(name).is_some_and(|module| is_of(object, &module.build_id))
            })
            .collect();
        let loaded = Loaded::of_live(view, live, |object| runs.get(object.index()) == Some(&true));
        Ok(Self {
            live: Cow::Borrowed(live),
            loaded,
            runs,
            refused: live.refused_ranges().unwrap_or_default(),
        })
    }

    /// The same with a capture of its own, which it keeps.
    pub fn into_owned(self) -> Overlay<'static> {
        let Self { live, loaded, runs, refused } = self;
        Overlay { live: Cow::Owned(live.into_owned()), loaded, runs, refused }
    }

    /// The address map.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
    /// The address map.
    pub fn into_loaded(self) -> Loaded {
        self.loaded
    }
    /// The running modules of which the index has another build or none.
    pub fn strangers<'a>(&'a self, view: &'a View<'_>) -> impl Iterator<Item = &'a str> {
        let runs = |name: &str| functions::module(view, name.as_bytes()).is_some_and(|o| self.runs(o));
        self.live.modules.iter().map(|m| m.name.as_str()).filter(move |name| !runs(name))
    }

    /// The state of an address in the running kernel, without verdicts; and whether the name of the symbol that holds
    /// it is unique there, if the capture has symbols.
    pub fn at(
        &self,
        view: &View<'_>,
        object: ObjectId,
        pc: u32,
        symbol: Option<&[u8]>,
    ) -> (Running, Option<Uniqueness>) {
        let (loaded, address) = (self.runs(object), self.loaded.address(object, pc));
        let mut running = Running { loaded, address, strangers: vec![] };
        let name = symbol.filter(|_| self.live.symbols.is_some());
        let uniqueness = name.map(|name| self.uniqueness(view, object, name, &mut running.strangers));
        (running, uniqueness)
    }

    /// Whether a name is unique among the symbols loaded now.
    fn uniqueness(
        &self,
        view: &View<'_>,
        object: ObjectId,
        name: &[u8],
        strangers: &mut Vec<String>,
    ) -> Uniqueness {
        let (mut own, mut is_kernels) = (0, false);
        for id in view.name(name).map(|n| view.symbols_named(n)).unwrap_or_default() {
            if functions::is_kept(view, id) {
                let holder = view.object_of_symbol(id);
                own += u32::from(holder == object);
                is_kernels |= holder != object && Some(holder) == kernel(view);
            }
        }
        let listed = std::str::from_utf8(name).ok().and_then(|name| self.live.symbols.as_ref()?.get(name));
        let mut others = vec![];
        for symbol in listed.map(Vec::as_slice).unwrap_or_default() {
            match functions::module(view, symbol.module.as_bytes()) {
                Some(module) if module == object => {}
                Some(module) => others.push(module),
                None => strangers.push(symbol.module.clone()),
            }
        }
        others.sort_unstable();
        others.dedup();
        strangers.sort_unstable();
        strangers.dedup();
        let is_single = own == 1 && !is_kernels;
        Uniqueness {
            unique: is_single && others.is_empty() && strangers.is_empty(),
            collides_with: if is_single { others } else { vec![] },
        }
    }

    /// Whether the running kernel's blacklist has the address.
    pub fn refuses(&self, object: ObjectId, pc: u32) -> bool {
        let refused = |address: u64| {
            let after = self.refused.partition_point(|range| range.start <= address);
            self.refused[..after].last().is_some_and(|range| range.contains(&address))
        };
        self.runs(object) && self.loaded.address(object, pc).is_some_and(refused)
    }

    /// What is at an address of code that was patched when the kernel started; `None` if the capture does not say, `Some(None)` if no
    /// instruction starts there.
    pub fn instruction(&self, object: ObjectId, pc: u32) -> Option<Option<Instruction>> {
        self.live.code.as_ref().filter(|_| self.runs(object))?;
        self.live.instruction(self.loaded.address(object, pc)?)
    }

    /// The run-time address of an address in an object, if that is known. Cost: linear in the loaded sections.
    pub fn address(&self, object: ObjectId, pc: u32) -> Option<u64> {
        self.loaded.address(object, pc)
    }

    /// Whether the function is missing from the running kernel's list of functions that ftrace can trace.
    pub fn leaves_out(&self, view: &View<'_>, object: ObjectId, name: StrId) -> bool {
        let Some(traced) = self.live.traced.as_ref().filter(|_| self.runs(object)) else { return false };
        let text = |name: StrId| String::from_utf8_lossy(view.string(name)).into_owned();
        let module = view.objects.get(object.index()).map(|o| text(o.name)).filter(|name| !name.is_empty());
        !traced.contains(&(text(name), module))
    }

    /// Whether the indexed build of an object runs.
    pub fn runs(&self, object: ObjectId) -> bool {
        self.runs.get(object.index()) == Some(&true)
    }
}
