//! Functions and their variables.
use super::Adding;
use super::pool::{Owner, Pool};
use probeidx_format::id::{StrId, TypeId};
use probeidx_format::record::*;
use probeidx_format::store::Kernel;
use probeidx_format::store::numbered;
use probeidx_format::store::record::CounterRecord;
use probeidx_format::store::runs::Builder;
use probeidx_format::store::segment::{Free, Part, Space};
use probeidx_format::store::translate::{Shared, Translate};
use probeidx_format::variables;
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use rustc_hash::{FxHashMap, FxHashSet};

impl<'v> Adding<'v> {
    /// Shares all functions, with their variables.
    pub(super) fn functions(&mut self) {
        let mut ranks = self.variables();
        self.functions_with(&mut ranks);
        self.all_variables(ranks);
    }
    /// Shares all functions, and ranks the variables of theirs that have a number.
    fn functions_with(&mut self, ranks: &mut Ranks) {
        let key = |f: &FunctionRecord| u64::from(f.name.get()) << 32 | u64::from(f.file.get());
        let owner = |f: &FunctionRecord| Owner { key: key(f), group: f.file.get() };
        let known = self.before.into_iter().flat_map(Kernel::all_stored::<FunctionRecord>);
        let known = known.map(|(_, f)| (owner(&f), f.details.get()));
        let mut details = Pool::new(Part::FunctionDetails, self.before, known);
        let mut records = vec![];
        let (mut counters, mut used): (Vec<CounterRecord>, FxHashSet<u32>) = Default::default();
        let owners = self.view.functions.owners().len();
        for (at, function) in self.view.functions.iter().enumerate() {
            let mut record = function.translate(&self.to);
            record.postings = U32::ZERO;
            if at < owners {
                let mut own = self.view.ranked(function);
                let returned = own.return_type.map(|t| TypeId::new(self.to.number(Space::TypeIds, t.get())));
                let linkage = StrId::new(self.to.string(own.linkage_name.get()));
                // A name with a number has no rank, and few functions have one.
                let mut ranked = own;
                let mut each = std::iter::from_fn(|| ranked.next_ranked());
                let base = each
                    .any(|(rank, _)| ranks.own[rank as usize] == u32::MAX)
                    .then(|| self.lowest_number(function))
                    .flatten();
                let mut writer = variables::Writer::new(vec![], returned, linkage, function.line.get());
                while let Some((rank, variable)) = own.next_ranked() {
                    let type_id =
                        || variable.type_id.map_or(u32::MAX, |t| self.to.number(Space::TypeIds, t.get()));
                    let numbered = base.and_then(|base| Some((base, self.number_of(&variable)?)));
                    let shared = match (numbered, ranks.own[rank as usize]) {
                        (Some((base, (start, number))), _) => {
                            let mut buffer = numbered::buffer();
                            let name = self.to.text(numbered::join(start, number - base, &mut buffer));
                            ranks.of(name, type_id())
                        }
                        (None, u32::MAX) => ranks.of(self.to.string(variable.name.get()), type_id()),
                        (None, rank) => rank,
                    };
                    writer.put(shared, variable.line, variable.parameter, variable.nested);
                }
                let bytes = writer.finish();
                let put = match base {
                    None => details.put(&bytes, owner(&record)),
                    // What is added is kept by details, so that no other function may have the same ones.
                    Some(base) => {
                        let put = details.put_own(&bytes, owner(&record), |at| !used.contains(&at));
                        used.insert(put);
                        counters.push(CounterRecord { details: U32::new(put), base: U32::new(base) });
                        put
                    }
                };
                record.details.set(put);
            }
            records.push(record);
        }
        self.bytes(details);
        counters.sort_unstable_by_key(|counter| counter.details.get());
        self.share(&counters);
        let own: Vec<u64> = records[..owners].iter().map(key).collect();
        let before: Vec<u64> =
            self.known.iter().flat_map(|known| known.functions.owners()).map(|f| key(&f)).collect();
        self.call(Space::FunctionIds, &own, &before, Free::Functions);
        self.share_rows(&records);
    }
    /// The shared rank of each rank.
    fn variables(&mut self) -> Ranks {
        let first = self.before.map_or(0, |kernel| kernel.end(Part::Variables));
        let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        known.reserve(first as usize);
        if let Some(kernel) = self.before {
            for rank in 0..first {
                if let Some(record) = kernel.raw::<VariableRecord>(Part::Variables, rank) {
                    known.insert((record.name.get(), record.type_id.get()), rank);
                }
            }
        }
        let mut ranks = Ranks { own: vec![], known, new: vec![], first };
        for record in self.view.all_variables() {
            // Those with a number are ranked as they are used, without it.
            let rank = match numbered::split(self.view.string(record.name)) {
                Some(_) => u32::MAX,
                None => {
                    let record = record.translate(&self.to);
                    ranks.of(record.name.get(), record.type_id.get())
                }
            };
            ranks.own.push(rank);
        }
        ranks
    }
    fn all_variables(&mut self, ranks: Ranks) {
        let all = ranks.first as usize + ranks.new.len();
        self.packed(Part::Variables, &ranks.new, ranks.first);
        let mut runs = Builder::default();
        runs.extend(0, all as u32);
        self.numbered(Space::Variables, runs, all);
    }
    /// The names that variables have instead of numbered ones.
    pub(super) fn numbered_names(&self) -> Vec<Vec<u8>> {
        let mut names = FxHashSet::default();
        let has_number = |name: StrId| numbered::split(self.view.string(name)).is_some();
        let by_rank: Vec<bool> = self.view.all_variables().iter().map(|v| has_number(v.name)).collect();
        for function in self.view.functions.owners() {
            let mut own = self.view.ranked(function);
            let mut ranks = std::iter::from_fn(|| Some(own.next_ranked()?.0));
            if !ranks.any(|rank| by_rank.get(rank as usize).is_some_and(|has| *has)) {
                continue;
            }
            let Some(base) = self.lowest_number(function) else { continue };
            for (start, number) in self.numbers_of(function) {
                names.insert(numbered::join(start, number - base, &mut numbered::buffer()).to_vec());
            }
        }
        names.into_iter().collect()
    }
    /// The names of a function's local variables that have a number.
    fn numbers_of(&self, function: FunctionRecord) -> impl Iterator<Item = (&'v [u8], u32)> {
        self.view.variables(function).filter_map(|v| self.number_of(&v))
    }
    fn number_of(&self, variable: &variables::Variable) -> Option<(&'v [u8], u32)> {
        numbered::split(self.view.string(variable.name)).filter(|_| !variable.parameter)
    }
    fn lowest_number(&self, function: FunctionRecord) -> Option<u32> {
        self.numbers_of(function).map(|(_, number)| number).min()
    }
}

/// The ranks of variables.
struct Ranks {
    /// The shared rank of each rank of the kernel; `u32::MAX` where the name has a number.
    own: Vec<u32>,
    /// The ranks by name and type.
    known: FxHashMap<(u32, u32), u32>,
    /// Those to be appended.
    new: Vec<VariableRecord>,
    /// The rank of the first of them.
    first: u32,
}

impl Ranks {
    /// The rank of a variable, given in shared numbers.
    fn of(&mut self, name: u32, type_id: u32) -> u32 {
        *self.known.entry((name, type_id)).or_insert_with(|| {
            self.new.push(VariableRecord { name: StrId::new(name), type_id: TypeId::new(type_id) });
            self.first + self.new.len() as u32 - 1
        })
    }
}
