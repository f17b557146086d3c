//! Joins the equal facts of many kernels, name by name.
use crate::cell::{Cell, decode, encode};
use crate::sink::Tables;
use probeidx::Result;
use probeidx::cli::args::Table;
use rustc_hash::FxHashMap;

/// The facts of a name, each with the kernels that have it.
#[derive(Default)]
pub struct Facts {
    found: FxHashMap<Vec<u8>, Vec<(usize, Option<i64>)>>,
    scratch: Vec<u8>,
}

impl Facts {
    /// A fact of a kernel. Kernels come in order; `detail` is what may differ between kernels that have the same fact: the
    /// first of a kernel counts.
    pub fn add(&mut self, kernel: usize, fact: &[Cell<'_, '_>], detail: Option<i64>) {
        self.scratch.clear();
        encode(fact, &mut self.scratch);
        match self.found.get_mut(&self.scratch[..]) {
            Some(kernels) if kernels.last().is_some_and(|(last, _)| *last == kernel) => {}
            Some(kernels) => kernels.push((kernel, detail)),
            None => _ = self.found.insert(self.scratch.clone(), vec![(kernel, detail)]),
        }
    }

    /// Writes the facts as rows of a table: see [`drain`](Self::drain).
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&mut self, table: Table, names: &[String], out: &mut Tables<'_, '_>) -> Result<()> {
        self.drain(names, |row, _| out.push(table, 0, &row))
    }

    /// Calls `each` with every fact, `since`, `until` and `kernels` behind it, and with the kernels that have it; in an order
    /// that depends on the facts alone. Forgets them.
    pub fn drain(
        &mut self,
        names: &[String],
        mut each: impl FnMut(Vec<Cell<'static, '_>>, &[(usize, Option<i64>)]) -> Result<()>,
    ) -> Result<()> {
        let mut found: Vec<_> = self.found.drain().collect();
        found.sort_unstable();
        found.iter().try_for_each(|(fact, having)| {
            let mut row = decode(fact);
            row.extend(kernels(names, having));
            each(row, having)
        })
    }
}

/// The columns behind a fact: `since`, `until`, `kernels`.
fn kernels<'a>(names: &'a [String], having: &[(usize, Option<i64>)]) -> [Cell<'static, 'a>; 3] {
    let name = |at: Option<&(usize, Option<i64>)>| Cell::maybe(at.map(|(kernel, _)| &*names[*kernel]));
    let all = having.iter().map(|(kernel, _)| names[*kernel].as_bytes()).collect();
    [name(having.first()), name(having.last()), Cell::Texts(all)]
}
