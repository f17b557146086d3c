//! Joins the equal facts of many kernels.
use super::fact::{About, Value, What};
use super::kernel_set::KernelSet;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A fact, and the kernels that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The kind.
    pub what: What,
    /// The state.
    pub value: Value,
    /// The kernels, by their positions.
    pub kernels: KernelSet,
}

/// All facts of a name. Of each kind, the facts have each kernel exactly once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The name; with what tells it from others of the name, if a kernel has several.
    pub name: String,
    /// By kind, then by the first kernel that has them.
    pub facts: Vec<Fact>,
}

impl History {
    /// The kernels that have the name.
    pub fn present(&self) -> KernelSet {
        let there = self.facts.iter().filter(|fact| fact.value != Value::Absent);
        there.flat_map(|fact| fact.kernels.iter()).collect()
    }

    /// The facts by kind.
    pub fn by_kind(&self) -> impl Iterator<Item = &[Fact]> {
        self.facts.chunk_by(|one, other| one.what == other.what)
    }

    /// Keeps the kinds of which some family of kernels has several facts. `families` are the positions of kernels that
    /// follow one another.
    pub fn keep_changes(&mut self, families: &[Vec<u32>]) {
        let changes = |facts: &[Fact]| {
            families.iter().any(|family| {
                facts.iter().filter(|fact| family.iter().any(|at| fact.kernels.contains(*at))).count() > 1
            })
        };
        let kept: Vec<What> =
            self.by_kind().filter(|facts| changes(facts)).map(|facts| facts[0].what).collect();
        self.facts.retain(|fact| kept.contains(&fact.what));
    }
}

/// The states of a kind of fact, and the kernels of each.
type States = FxHashMap<Value, KernelSet>;

/// Collects what a number of kernels have of a name.
#[derive(Clone, Debug)]
pub struct Grouping {
    kernels: u32,
    /// Those of which it is not known.
    unknown: KernelSet,
    names: BTreeMap<String, Parts>,
}

/// The parts of a name, in order.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// Whether some kernel has several.
    is_split: bool,
    facts: BTreeMap<Option<String>, (String, BTreeMap<What, States>)>,
}

impl Grouping {
    /// Of so many kernels.
    pub fn of(kernels: u32) -> Self {
        Self { kernels, unknown: KernelSet::default(), names: BTreeMap::new() }
    }

    /// Adds kernels of which it is not known whether they have the name.
    pub fn add_unknown(&mut self, kernels: &KernelSet) {
        kernels.iter().for_each(|at| self.unknown.insert(at));
    }

    /// Adds what each of these kernels has. Cost: linear in its facts.
    pub fn add(&mut self, abouts: &[About], kernels: &KernelSet) {
        let mut parts_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for about in abouts {
            let parts = self.names.entry(about.name.clone()).or_default();
            if let Some(part) = &about.part {
                let seen = parts_of.entry(&about.name).or_default();
                seen.insert(part);
                parts.is_split |= seen.len() > 1;
            }
            let (_, facts) = parts
                .facts
                .entry(about.part.clone())
                .or_insert_with(|| (about.full_name.clone(), BTreeMap::new()));
            for (what, value) in &about.facts {
                let states = facts.entry(*what).or_default();
                match states.get_mut(value) {
                    Some(known) => kernels.iter().for_each(|at| known.insert(at)),
                    None => {
                        states.insert(value.clone(), kernels.clone());
                    }
                }
            }
        }
    }

    /// The histories of all names, in order: a name of which a kernel has several becomes one history for each.
    pub fn finish(self) -> Vec<History> {
        let mut joined: BTreeMap<(String, String), BTreeMap<What, States>> = BTreeMap::new();
        for (name, parts) in self.names {
            for (full_name, facts) in parts.facts.into_values() {
                let own = if parts.is_split { full_name } else { name.clone() };
                let known = joined.entry((name.clone(), own)).or_default();
                for (what, states) in facts {
                    for (value, kernels) in states {
                        let same = known.entry(what).or_default().entry(value).or_default();
                        kernels.iter().for_each(|at| same.insert(at));
                    }
                }
            }
        }
        let history =
            |((_, name), facts)| History { name, facts: covering(facts, self.kernels, &self.unknown) };
        joined.into_iter().map(history).collect()
    }
}

/// The facts in order, with the absence where a kernel has none of a kind.
fn covering(facts: BTreeMap<What, States>, all: u32, unknown: &KernelSet) -> Vec<Fact> {
    let mut ordered = vec![];
    for (what, mut states) in facts {
        let has: KernelSet = states.values().flat_map(KernelSet::iter).collect();
        for at in (0..all).filter(|at| !has.contains(*at)) {
            let value = if unknown.contains(at) { Value::Unknown } else { Value::Absent };
            states.entry(value).or_default().insert(at);
        }
        let mut own: Vec<Fact> =
            states.into_iter().map(|(value, kernels)| Fact { what, value, kernels }).collect();
        own.sort_by_key(|fact| fact.kernels.iter().next());
        ordered.extend(own);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn about(part: Option<&str>, line: u32) -> About {
        let full_name = part.map_or("f".to_owned(), |part| format!("f@{part}"));
        About {
            name: "f".to_owned(),
            part: part.map(str::to_owned),
            full_name,
            facts: vec![
                (What::Declared, Value::Number(line.into())),
                (What::Type, Value::Word("int".to_owned())),
            ],
        }
    }

    fn one(kernel: u32) -> KernelSet {
        [kernel].into_iter().collect()
    }

    fn histories(kernels: &[&[About]]) -> Vec<String> {
        let mut grouping = Grouping::of(kernels.len() as u32);
        (0..).zip(kernels).for_each(|(at, abouts)| grouping.add(abouts, &one(at)));
        let told = grouping.finish();
        for history in &told {
            for facts in history.by_kind() {
                let mut has: Vec<u32> = facts.iter().flat_map(|fact| fact.kernels.iter()).collect();
                has.sort_unstable();
                assert!(has.into_iter().eq(0..kernels.len() as u32), "{history:?}");
            }
        }
        let line = |name: &str, fact: &Fact| {
            let kernels: Vec<u32> = fact.kernels.iter().collect();
            format!("{name} {} {:?} {kernels:?}", fact.what.name(), fact.value)
        };
        told.iter().flat_map(|h| h.facts.iter().map(|fact| line(&h.name, fact))).collect()
    }

    #[test]
    fn what_is_not_known_of_a_kernel_is_not_absent() {
        let mut grouping = Grouping::of(3);
        grouping.add(&[about(None, 1)], &one(0));
        grouping.add_unknown(&one(1));
        grouping.add(&[], &one(2));
        let [history] = &grouping.finish()[..] else { panic!("one name") };
        let values = |at: u32| -> Vec<&Value> {
            history.facts.iter().filter(|f| f.kernels.contains(at)).map(|f| &f.value).collect()
        };
        assert_eq!(values(1), [&Value::Unknown, &Value::Unknown]);
        assert_eq!(values(2), [&Value::Absent, &Value::Absent]);
    }

    #[test]
    fn equal_facts_are_one_and_every_kernel_has_one_of_each_kind() {
        let (one, moved) = (about(Some("a.c"), 1), about(Some("b.c"), 2));
        assert_eq!(
            histories(&[from_ref(&one), from_ref(&one), &[], &[moved], from_ref(&one)]),
            [
                "f declared Number(1) [0, 1, 4]",
                "f declared Absent [2]",
                "f declared Number(2) [3]",
                "f type Word(\"int\") [0, 1, 3, 4]",
                "f type Absent [2]",
            ]
        );
    }

    #[test]
    fn several_of_a_name_in_one_kernel_have_a_history_each() {
        let (one, two) = (about(Some("a.c"), 1), about(Some("b.c"), 2));
        let whole = About { facts: vec![(What::Duplicates, Value::Number(2))], ..about(None, 0) };
        assert_eq!(
            histories(&[&[whole, one.clone(), two], &[one]]),
            [
                "f duplicates Number(2) [0]",
                "f duplicates Absent [1]",
                "f@a.c declared Number(1) [0, 1]",
                "f@a.c type Word(\"int\") [0, 1]",
                "f@b.c declared Number(2) [0]",
                "f@b.c declared Absent [1]",
                "f@b.c type Word(\"int\") [0]",
                "f@b.c type Absent [1]",
            ]
        );
    }

    #[test]
    fn what_differs_only_between_families_did_not_change() {
        let mut grouping = Grouping::of(4);
        for (at, line) in [1, 1, 2, 3].into_iter().enumerate() {
            grouping.add(&[about(None, line)], &one(at as u32));
        }
        let told = grouping.finish();
        let [mut history, mut same] = [told[0].clone(), told[0].clone()];
        history.keep_changes(&[vec![0, 1], vec![2, 3]]);
        assert_eq!(history.facts.len(), 3);
        same.keep_changes(&[vec![0, 1], vec![2], vec![3]]);
        assert!(same.facts.is_empty());
    }
}
