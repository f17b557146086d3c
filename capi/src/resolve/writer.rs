//! Converts placements to C structs.
use super::Options;
use super::alias::Alias;
use super::placement::{Call, Placement};
use super::tracepoint;
use super::value::Values;
use crate::kept::Kept;
use crate::names::{by_name, verdict};
use crate::places::instance;
use crate::text::Texts;
use probeidx::lookup::Lookup;
use probeidx::query::index::symbols::{self, Anchor};
use probeidx::query::resolve::placement as query;
use probeidx::query::resolve::placement::InlineCall;
use probeidx::query::resolve::tracepoint_values::TracepointValues;
use probeidx::query::spec::Filter;
use probeidx::query::systemtap::alias::{At, Named, Probe};
use probeidx::query::systemtap::probe_point;
use probeidx::query::verdict::alternative::Alternative;
use probeidx::query::verdict::mechanism::Mechanism;
use probeidx::query::verdict::reason::Reason;
use probeidx::render::{kprobe_events, words};
use probeidx_format::id::ObjectId;

/// A placement with everything it points to.
pub struct Written {
    placement: Placement,
    /// What the placement points to, at fixed addresses.
    _texts: Texts,
    _kept: Kept,
    _values: Values,
    _tracepoint: Option<Box<tracepoint::Written>>,
}

impl AsRef<Placement> for Written {
    fn as_ref(&self) -> &Placement {
        &self.placement
    }
}

impl Written {
    /// Adds the alias that leads to it.
    fn named(mut self, named: &Named<'_>) -> Self {
        let alias = Alias::new(named, &mut self._texts, &mut self._kept);
        self.placement.alias = self._kept.one(alias);
        self
    }
}

/// Converts placements.
pub struct Writer<'a> {
    lookup: &'a Lookup<'a>,
    options: Options,
    texts: Texts,
    kept: Kept,
}

impl<'a> Writer<'a> {
    /// For one placement.
    pub fn new(lookup: &'a Lookup<'a>, options: Options) -> Self {
        Self { lookup, options, texts: Texts::default(), kept: Kept::default() }
    }

    /// Converts a placement.
    pub fn placement(mut self, p: &query::Placement<'_>, filter: Filter) -> Written {
        let calls: Vec<Call> = p.inlined_into.iter().map(|c| self.call(c)).collect();
        let values = Values::new(self.lookup, self.options, &p.values, &mut self.texts);
        let (inlined_into, inlined_into_count) = self.kept.pointers(calls);
        let view = self.lookup.view();
        let named = |o: &ObjectId| view.objects.get(o.index()).map(|o| view.string(o.name));
        let collides = p.uniqueness.collides_with.iter().map(|o| self.texts.of_some(named(o))).collect();
        let (collides_with, collides_with_count) = self.kept.list(collides);
        let coverage = &*p.coverage;
        let mut counted = |counts: &[(Reason, u32)]| {
            let pairs = counts.iter().flat_map(|(reason, count)| [verdict(Some(*reason)), *count]).collect();
            (self.kept.list(pairs).0, counts.len())
        };
        let (entries_refused, entries_refused_count) = counted(&coverage.out_of_line.refused);
        let (copies_refused, copies_refused_count) = counted(&coverage.inline.refused);
        let (left_out, left_out_count) = counted(&coverage.left_out);
        let nearby = match &p.instead {
            Some(Alternative::At(nearby)) => Some(nearby),
            _ => None,
        };
        let mut probe = vec![];
        probe_point::put_placement(view, p, filter, &mut probe);
        let (anchor_module, anchor_symbol, anchor_offset) = match &p.anchor {
            Some(Anchor::Symbol { module, symbol, offset }) => (*module, *symbol, (*offset).into()),
            Some(Anchor::File { path, offset }) => (None, *path, *offset),
            None => (None, &[][..], 0),
        };
        let anchor = p.anchor.as_ref().map_or(String::new(), ToString::to_string);
        let definition = kprobe_events::definition(p, filter, None).unwrap_or_default();
        let instead = p.instead.as_ref().map_or(String::new(), words::instead);
        let source = p.source;
        let flags = [
            (p.uniqueness.unique, Placement::UNIQUE),
            (p.is_nested, Placement::NESTED),
            (filter == Filter::Return, Placement::RETURN),
            (p.returns.never, Placement::NEVER_RETURNS),
            (p.returns.tail_calls, Placement::TAIL_CALLS),
            (source.is_some_and(|s| s.is_best), Placement::BEST),
            (source.is_some_and(|s| s.is_systemtap), Placement::SYSTEMTAP),
        ];
        let texts = &mut self.texts;
        let placement = Placement {
            size: size_of::<Placement>(),
            kernel: texts.of(self.lookup.release()),
            module: texts.of_some(p.module),
            process: texts.of_some(p.process),
            function: texts.of(p.function),
            file: texts.of(p.file),
            section: texts.of(p.section),
            symbol: texts.of_some(p.symbol.map(|s| s.0)),
            anchor: texts.of(anchor),
            anchor_module: texts.of_some(anchor_module),
            anchor_symbol: texts.of(anchor_symbol),
            definition: texts.of(definition),
            instead: texts.of(instead),
            source_file: texts.of_some(source.map(|s| s.file)),
            address: p.address,
            anchor_offset,
            inlined_into,
            inlined_into_count,
            values: values.pointers.as_ptr(),
            value_count: values.pointers.len(),
            line: p.line,
            instance: instance(p.instance),
            symbol_offset: p.symbol.map_or(0, |s| s.1),
            flags: flags.iter().filter(|f| f.0).fold(0, |all, f| all | f.1),
            kprobe: verdict(p.verdicts.any_address().reason()),
            kprobe_events: verdict(p.verdicts.definition(false).reason()),
            kretprobe: verdict(p.verdicts.definition(true).reason()),
            fentry: verdict(p.verdicts.trampoline().reason()),
            shift: p.verdicts.shift,
            source_line: source.map_or(0, |s| s.line),
            source_column: source.map_or(0, |s| s.column),
            instances: coverage.instances(),
            reachable: coverage.by.any_address(),
            reachable_events: coverage.by.definition(false),
            object: p.object.get(),
            pc: p.pc,
            collides_with,
            collides_with_count,
            probe: texts.of(probe),
            instead_anchor: texts
                .of(nearby.and_then(|n| n.anchor.as_ref()).map_or(String::new(), ToString::to_string)),
            instead_address: nearby.map_or(0, |n| n.address),
            entries_refused,
            entries_refused_count,
            copies_refused,
            copies_refused_count,
            left_out,
            left_out_count,
            copies: coverage.inline.total,
            copies_reachable: coverage.inline.reachable,
            callers: coverage.callers,
            reachable_kretprobe: coverage.by.definition(true),
            reachable_fentry: coverage.by.get(Mechanism::Trampoline).unwrap_or(0),
            source_is_stmt: source.is_some_and(|s| s.is_stmt).into(),
            because: texts.of(p.verdicts.unknown().to_string()),
            entries_undecided: coverage.out_of_line.undecided,
            copies_undecided: coverage.inline.undecided,
            ftrace: verdict(p.verdicts.ftrace().reason()),
            trampoline: verdict(p.verdicts.trampoline().reason()),
            reachable_ftrace: coverage.by.get(Mechanism::Ftrace).unwrap_or(0),
            reachable_trampoline: coverage.by.get(Mechanism::Trampoline).unwrap_or(0),
            by_name: texts.of_some(p.by_name.map(|by| by.name)),
            by_name_state: p.by_name.map_or(Placement::NO_NAME, |by| by_name(by.state)),
            ..Placement::BLANK
        };
        Written { _values: values, ..self.without_code(placement) }
    }

    /// Converts a tracepoint. Its verdicts are those for code, and a `struct tracepoint` is not code.
    pub fn tracepoint(mut self, traced: &TracepointValues<'_>) -> Written {
        let lookup = self.lookup;
        let (view, t) = (lookup.view(), &traced.tracepoint);
        let values = Values::new(self.lookup, self.options, &traced.values, &mut self.texts);
        let (file, line) = t.declared().unwrap_or_default();
        let held = symbols::holding(view, t.object(), t.pc());
        let is_unique = held.is_some_and(|h| symbols::uniqueness(view, t.object(), h.record.name).unique);
        let own = tracepoint::Written::new(view, traced, &mut self.texts);
        let [not_code, not_entry] = [Reason::NotBoundary, Reason::NotEntry].map(|r| verdict(Some(r)));
        let blank = self.blank();
        let texts = &mut self.texts;
        let mut probe = vec![];
        t.put(&mut probe);
        let placement = Placement {
            probe: texts.of(probe),
            module: texts.of_some(t.module()),
            function: texts.of(t.name()),
            file: texts.of(file),
            section: texts.of(t.section()),
            symbol: texts.of_some(held.map(|h| view.string(h.record.name))),
            definition: texts.of(traced.definition.as_deref().unwrap_or_default()),
            address: t.address(),
            values: values.pointers.as_ptr(),
            value_count: values.pointers.len(),
            line,
            instance: Placement::TRACEPOINT,
            symbol_offset: held.map_or(0, |h| h.offset),
            flags: if is_unique { Placement::UNIQUE } else { 0 },
            kprobe: not_code,
            kprobe_events: not_code,
            kretprobe: not_entry,
            fentry: not_entry,
            ftrace: not_entry,
            trampoline: not_entry,
            instances: 1,
            object: t.object().get(),
            pc: t.pc(),
            tracepoint: &raw const own.tracepoint,
            ..blank
        };
        Written { _values: values, _tracepoint: Some(own), ..self.without_code(placement) }
    }

    /// Converts a probe of an alias.
    pub fn probe(self, probe: &Probe<'_, '_>) -> Written {
        let written = match &probe.place {
            At::Code(placement) => self.placement(placement, probe.filter),
            At::Trace(traced) => self.tracepoint(traced),
            At::Nowhere => self.outside(Placement::NOWHERE),
            At::Unindexed => self.outside(Placement::UNINDEXED),
        };
        written.named(&probe.named)
    }

    /// A probe that is not at a place of the kernel, or not indexed.
    fn outside(mut self, instance: u32) -> Written {
        let placement = Placement { instance, ..self.blank() };
        self.without_code(placement)
    }

    fn without_code(self, placement: Placement) -> Written {
        Written {
            placement,
            _texts: self.texts,
            _kept: self.kept,
            _values: Values::default(),
            _tracepoint: None,
        }
    }

    /// An empty placement of this kernel.
    fn blank(&mut self) -> Placement {
        let kernel = self.texts.of(self.lookup.release());
        Placement { kernel, ..Placement::BLANK }
    }

    fn call(&mut self, call: &InlineCall<'_>) -> Call {
        Call {
            size: size_of::<Call>(),
            function: self.texts.of(call.function),
            file: self.texts.of(call.file),
            line: call.line,
            column: call.column,
        }
    }
}
