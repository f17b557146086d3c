//! Lists probe points like SystemTap: a line for each declaration; with variables, those that all of its placements
//! have.
mod aliases;
mod labels_and_callees;
pub mod listed;
mod probe_sites;
mod statements;

pub use probe_sites::{Met, Probed, Seen};

use crate::error::Result;
use crate::query::resolve::tracepoint::{self, Parameter, Tracepoint};
use crate::query::spec::{Filter, Spelled};
use crate::query::systemtap::listing::listed::Listed;
use crate::query::value::stap_visibility::{self, Spellings};
use probeidx_format::View;
use probeidx_format::id::StrId;

/// Lines of text in a single buffer.
#[derive(Default)]
pub struct Lines {
    text: Vec<u8>,
    /// For each line: its start, the end of the probe point, and its end.
    lines: Vec<(usize, usize, usize)>,
}

impl Lines {
    /// Appends a line: a probe point and the text after it.
    pub fn push(&mut self, point: impl FnOnce(&mut Vec<u8>), rest: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        point(&mut self.text);
        let middle = self.text.len();
        rest(&mut self.text);
        self.lines.push((start, middle, self.text.len()));
    }
    /// The number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }
    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
    /// Sorts the lines bytewise by probe point, and removes duplicates.
    pub fn sort(&mut self) {
        let Self { text, lines } = self;
        lines.sort_by(|a, b| (&text[a.0..a.1], &text[a.1..a.2]).cmp(&(&text[b.0..b.1], &text[b.1..b.2])));
        lines.dedup_by(|a, b| text[a.0..a.2] == text[b.0..b.2]);
    }
    /// The lines in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|l| &self.text[l.0..l.2])
    }
}

/// Lists the placements of functions like SystemTap, without what it leaves out.
pub struct Lister<'a> {
    probed: Probed<'a>,
    variables: Option<Variables<'a>>,
}

impl<'a> Lister<'a> {
    /// A lister with variables like `stap -L`, or without like `stap -l`.
    pub fn new(view: &'a View<'a>, with_variables: bool) -> Self {
        Self { probed: Probed::new(view), variables: with_variables.then(|| Variables::new(view)) }
    }

    /// Appends the lines of a listing. Tracepoints are those in the kernel and its modules, while SystemTap lists those
    /// declared in the headers of include/trace/events (4.8). In SystemTap's spelling, functions are the same as
    /// SystemTap's. In the bare spelling, the listing also has functions of the symbol table that SystemTap drops; the
    /// padding before functions is listed only if named.
    ///
    /// # Errors
    /// For an address that is not the start of a statement.
    pub fn list(&mut self, listed: &Listed, spelled: Spelled, lines: &mut Lines) -> Result<()> {
        let Self { probed, variables } = self;
        if let Listed::Tracepoints(spec) = listed {
            for tracepoint in tracepoint::matching(probed.view, spec) {
                let put_parameters = |out: &mut Vec<u8>| {
                    if let Some(variables) = variables {
                        variables.put_parameters(&tracepoint, out);
                    }
                };
                lines.push(|out| tracepoint.put(out), put_parameters);
            }
            return Ok(());
        }
        probed.each(listed, spelled, &mut |met| {
            let put_variables = |out: &mut Vec<u8>| {
                if let Some(variables) = variables {
                    variables.put(met, out);
                }
            };
            lines.push(|out| met.put(out), put_variables);
            Ok(())
        })
    }
}

/// Lists variables of the kernel like `stap -L`.
pub struct Variables<'a> {
    view: &'a View<'a>,
    spellings: Spellings<'a>,
    counts: Vec<(u64, u32)>,
    keys: Vec<u64>,
}

impl<'a> Variables<'a> {
    /// With an empty cache.
    pub fn new(view: &'a View<'a>) -> Self {
        Self { view, spellings: Spellings::new(view), counts: vec![], keys: vec![] }
    }

    /// Appends ` $name:type` for each variable that all of the placements have.
    ///
    /// SystemTap counts how often each text occurs over all placements, and prints those that occur as often as there
    /// are placements (`printscript`, main.cxx), in the order of first occurrence.
    fn put(&mut self, met: &Met<'_>, out: &mut Vec<u8>) {
        self.counts.clear();
        for seen in met.seen {
            self.keys_of(*seen, met.filter);
            for key in &self.keys {
                match self.counts.iter_mut().find(|(k, _)| k == key) {
                    Some((_, count)) => *count += 1,
                    None => self.counts.push((*key, 1)),
                }
            }
        }
        for &(key, _) in self.counts.iter().filter(|(_, count)| *count as usize == met.seen.len()) {
            out.push(b' ');
            self.put_key(key, out);
        }
    }

    /// Calls `each` with `$name:type` of every variable of a placement, in SystemTap's order.
    pub fn each(&mut self, seen: Seen, filter: Filter, mut each: impl FnMut(String)) {
        self.keys_of(seen, filter);
        for key in &self.keys {
            let mut text = vec![];
            self.put_key(*key, &mut text);
            each(String::from_utf8_lossy(&text).into_owned());
        }
    }

    /// Calls `each` with `$name:type` of every parameter of a tracepoint with a name and a type.
    pub fn each_parameter(&mut self, tracepoint: &Tracepoint<'_>, mut each: impl FnMut(String)) {
        for Parameter { name, variable, .. } in tracepoint.named_parameters() {
            let spelled = variable.type_id.and_then(|t| self.spellings.spelled(t));
            let name = String::from_utf8_lossy(&name);
            if let Some(spelled) = spelled.filter(|_| !name.is_empty()) {
                each(format!("${name}:{}", self.spellings.text(spelled)));
            }
        }
    }

    fn put_parameters(&mut self, tracepoint: &Tracepoint<'_>, out: &mut Vec<u8>) {
        // It has no parameters, but fields.
        if tracepoint.is_system_call() {
            for field in tracepoint.fields().into_iter().flatten() {
                let [name, type_name] = [field.name, field.type_name].map(|text| self.view.string(text));
                out.extend([b" ", name, b":", type_name].concat());
            }
            return;
        }
        self.each_parameter(tracepoint, |parameter| {
            out.push(b' ');
            out.extend_from_slice(parameter.as_bytes());
        });
    }

    fn keys_of(&mut self, Seen { placed, pc, block }: Seen, filter: Filter) {
        let Self { view, spellings, keys, .. } = self;
        keys.clear();
        spellings.enter(placed.record.function);
        if filter == Filter::Return
            && let Some(spelled) = spellings.return_type()
        {
            keys.push(u64::from(StrId::NONE.get()) << 32 | u64::from(spelled));
        }
        let key = |index| keys.extend(spellings.key(index));
        match pc {
            None => stap_visibility::visible(view, placed, key),
            Some(pc) => stap_visibility::visible_within(view, placed, pc, block, key),
        }
    }

    fn put_key(&self, key: u64, out: &mut Vec<u8>) {
        let name = StrId::new((key >> 32) as u32);
        out.push(b'$');
        out.extend_from_slice(if name == StrId::NONE { b"return" } else { self.view.string(name) });
        out.push(b':');
        out.extend_from_slice(self.spellings.text(key as u32).as_bytes());
    }
}
