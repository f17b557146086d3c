//! The parameters of functions, at their entry, against what `perf probe` fetches there.
//!
//! Compared is the whole text behind the `=`: registers, offsets and dereferences, and of the type its width and sign.
//! Where the kernel's tracefs cannot be read perf writes `u64` for `x64`, as the radix is nothing but how a number is
//! shown. Where neither fetches a parameter, they agree.
//!
//! A sample is asked, another one in each run, as perf takes 0.6 seconds for a function: some at random, and some of those
//! with a parameter that is not in a register of its own. `PROBEIDX_SEED` repeats one; `PROBEIDX_PERF` is how many
//! at random; from 1000 on all of the others too.
//!
//! Of the parameters of the former at least 99.5 % must agree, and each that does not, among both, must be of one of these
//! classes ([`classes::CLASSES`]; perf 6.1, 6.1.0-56 and 6.12.95):
//!
//! | class | what it is | who is right |
//! | --- | --- | --- |
//! | assigned before the first instruction | GCC says in an empty range what was passed, and in the next one what an assignment leaves of it. perf knows the latter only: `phys` of `xen_set_fixmap`, `nr_pages` of `free_contig_range` (`-1(%si)`), `pos` of `css_rightmost_descendant` (0, which it does not read). | we: `%si` and `%di` are passed |
//! | computed value | The value is a register plus something (`DW_OP_stack_value`). perf takes the first operation alone, and that for memory. | we, who refuse it |
//! | not yet in the frame | GCC says in which slot of the frame a parameter is, and not from when on. At the entry that slot is below the stack pointer (`remap_pfn_range`, `prot`: `-56(%sp)`, written at +48), or is the return address (`acpi_sleep_run_lps0_dsm`, `dsm_guid`: `+0(%sp)`, written at +23), or counts from `%bp`, which is the caller's. | we, who refuse it |
//! | cut to 64 bits | A struct of more than 8 bytes, in two registers or in memory. perf warns and takes its first half for a number: `optval` of `ip_setsockopt`. | we, who ask for a member |
//! | aggregate as number | A struct or union of up to 8 bytes, as a number: `qid` of `quota_send_warning`. | both: perf's is where we say that it is, and we ask for a member |
//! | sign of the only member | A struct of one signed number, `pm_message_t`: perf takes structs for unsigned. | we: `state` of `pm_dev_dbg` is an `int` |
//! | known from later on | Nothing is said of the parameter at the entry. perf takes the next place behind it, whatever has happened by then: `customMem` of `ZSTD_customMalloc` in `%ax`. Or a register that keeps the caller's value is all that is said, for the whole function: `dev` of `ata_dev_power_set_standby` (libata of 6.1) in `%bx`, while the code reads `%rdi`. | we; perf by chance (`flags` of `native_set_fixmap` in `%dx`, as passed) |
//! | as at the entry | What a register held at the entry (`DW_OP_entry_value`), which perf does not know: `data` of `__irq_get_irqchip_state`, and `lruvec` of `workingset_age_nonresident`, which starts with a loop that changes it. | we: at the entry the register still holds it |
//! | constant | perf reads no constants. | we |
mod classes;
mod peer;

use crate::installed::{self, Kernel, needed, wanted};
use crate::sample::{Random, seed};
use classes::{CLASSES, Difference};
use probeidx::query::index::functions::entry_at;
use probeidx::query::resolve::placement::{Placement, Wanted};
use probeidx::query::types::lookup;
use probeidx::query::value::reader::{Role, ValueAt};
use probeidx::query::value::stap_visibility::after_fentry;
use probeidx::query::{Index, resolve, spec};
use probeidx_format::View;
use probeidx_format::details::Location;
use probeidx_format::types::TypeKind;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

/// Asked in a minute, on two processors.
const FUNCTIONS: usize = 75;
const OTHERS: usize = 25;
/// So many show how often we agree.
const MANY: usize = 1000;

#[test]
fn parameters_of_the_installed_kernel_are_fetched_as_by_perf() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(()) = needed(peer::is_here()) else { return };
    agree(&kernel);
}

#[test]
fn parameters_of_a_newer_kernel_are_fetched_as_by_perf() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    let Some(()) = wanted(peer::is_here()) else { return };
    agree(&kernel);
}

/// A function with its parameters.
struct Function {
    name: String,
    parameters: Vec<Parameter>,
}

struct Parameter {
    value: ValueAt,
    /// Of its type, in bytes.
    size: u64,
    is_aggregate: bool,
    /// What the debug information says of where it is, if it says anything.
    operations: Vec<u8>,
    /// It says more: in an empty range what was passed, and in the next one what assignments leave of it.
    is_assigned: bool,
    /// Somewhere it is what a register held at the entry.
    is_at_entry: bool,
}

impl Parameter {
    /// What stands behind the `=` of our fetch argument.
    fn fetch(&self) -> Option<&str> {
        Some(self.value.fetch.as_ref()?.split_once('=')?.1)
    }
    fn is_in_register(&self) -> bool {
        self.fetch().is_some_and(|fetch| fetch.starts_with('%'))
    }
}

/// How the parameters of some functions compare.
#[derive(Default)]
struct Tally {
    parameters: usize,
    neither: usize,
    by_class: BTreeMap<&'static str, usize>,
    unexplained: Vec<String>,
}

fn agree(kernel: &Kernel) {
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let count =
        std::env::var("PROBEIDX_PERF").map_or(FUNCTIONS, |n| n.parse().expect("PROBEIDX_PERF is a number"));
    let seed = seed();
    let mut random = Random(seed);
    let all = functions(&view);
    let (release, found) = (&kernel.release, all.len());
    assert!(found > 20_000, "{release}: only {found} functions");
    let others = all.iter().filter(|f| !f.parameters.iter().all(Parameter::is_in_register)).collect();
    let others = random.choose(others, if count < MANY { OTHERS } else { usize::MAX });
    let at_random = random.choose(all.iter().collect(), count);

    for (functions, kind) in [(at_random, "at random"), (others, "not all in registers")] {
        let tally = compare(&kernel.vmlinux, &functions);
        let Tally { parameters, neither, by_class, unexplained } = tally;
        let different = unexplained.len() + by_class.values().sum::<usize>();
        let agreement = 100.0 * (parameters - different) as f64 / parameters as f64;
        installed::say(&format!(
            "{release}, PROBEIDX_SEED={seed}: {} functions, {kind}: {agreement:.2} % of {parameters} parameters are \
             fetched as by perf, {neither} of them not at all; of {different} that are not: {by_class:?}",
            functions.len()
        ));
        let shown: String = unexplained.iter().take(20).map(|d| format!("\n{d}")).collect();
        assert!(
            unexplained.is_empty(),
            "{release}, PROBEIDX_SEED={seed}: {} differences in no class:{shown}",
            unexplained.len()
        );
        assert!(kind != "at random" || functions.len() < MANY || agreement >= 99.5, "{agreement:.2} %");
    }
}

/// The functions of vmlinux that perf cannot take for others: those that run at one address, with a symbol of their name
/// there that no other has, and no other symbol (`__do_sys_fork` is `__ia32_sys_fork` too).
fn functions(view: &View<'_>) -> Vec<Function> {
    let every = spec::parse("kernel.function(\"*\").call").unwrap_or_else(|e| panic!("{e}"));
    let mut found: BTreeMap<&[u8], Option<Placement<'_>>> = BTreeMap::new();
    let resolved = resolve::resolve(view, &every[0], Wanted::default(), |placement, _| {
        let is_second = found.contains_key(placement.function);
        found.insert(placement.function, Some(placement).filter(|p| !is_second && is_clear(view, p)));
        Ok(())
    });
    resolved.unwrap_or_else(|e| panic!("{e}"));
    let functions = found.into_values().flatten().map(|placement| Function {
        name: String::from_utf8_lossy(placement.function).into_owned(),
        parameters: parameters(view, placement),
    });
    functions.filter(|f| !f.parameters.is_empty()).collect()
}

fn is_clear(view: &View<'_>, placement: &Placement<'_>) -> bool {
    let symbols = view.symbols.part(view.symbols_of(placement.object));
    let first = symbols.partition_point(|s| s.pc.get() < placement.pc);
    let is_alone = symbols.get(first + 1).is_none_or(|next| next.pc.get() != placement.pc);
    is_alone
        && placement.symbol == Some((placement.function, 0))
        && placement.uniqueness.unique
        && placement.coverage.inline.total == 0
        && placement.verdicts.definition(false).is_ok()
}

fn parameters(view: &View<'_>, placement: Placement<'_>) -> Vec<Parameter> {
    let Some(placed) = entry_at(view, placement.object, placement.pc) else { return vec![] };
    let variables: Vec<_> =
        view.variables(view.functions.get(placed.record.function.index()).unwrap()).collect();
    let places = [Some(placement.pc), after_fentry(view, placed)];
    let operations = |location: Location<'_>| {
        let expr = match location {
            Location::Everywhere(expr) => Some(expr),
            list => places.iter().flatten().find_map(|pc| list.at(*pc)),
        };
        expr.map_or(vec![], |e| e.operations())
    };
    let parameter = |value: ValueAt| {
        let mut own =
            view.details(placed.id, placed.record).items.outermost().filter_map(|(at, location)| {
                let variable = variables.get(at as usize)?;
                (variable.parameter && view.string(variable.name) == value.name.as_bytes())
                    .then_some(location)
            });
        let size = value.type_id.and_then(|t| lookup::size_of(view, t)).unwrap_or(0);
        let kind = value.type_id.and_then(|t| lookup::kind(view, lookup::strip(view, t)?));
        let is_aggregate = matches!(kind, Some(TypeKind::Struct | TypeKind::Union));
        let location = own.next();
        let is_assigned = location.is_some_and(|l| l.at_start(placement.pc) != l.at(placement.pc));
        let is_at_entry = location.is_some_and(is_at_entry);
        let operations = location.map_or(vec![], operations);
        Parameter { operations, is_assigned, is_at_entry, size, is_aggregate, value }
    };
    placement.values.into_iter().filter(|v| v.role == Role::Parameter).map(parameter).collect()
}

fn is_at_entry(location: Location<'_>) -> bool {
    let Location::List(mut list) = location else { return false };
    list.any(|(_, expr)| classes::is_of_entry(&expr.operations()))
}

/// Asks perf, on all processors.
fn compare(vmlinux: &Path, functions: &[&Function]) -> Tally {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = functions.len().div_ceil(threads).max(1);
    let ask = |f: &&Function| {
        let names: Vec<&str> = f.parameters.iter().map(|p| p.value.name.as_str()).collect();
        peer::fetched(vmlinux, &f.name, &names)
    };
    let answers: Result<Vec<_>, String> = thread::scope(|scope| {
        let running: Vec<_> = functions
            .chunks(share)
            .map(|chunk| scope.spawn(move || chunk.iter().map(ask).collect::<Vec<_>>()))
            .collect();
        running.into_iter().flat_map(|thread| thread.join().expect("a thread ends")).collect()
    });
    let answers = answers.unwrap_or_else(|e| panic!("{e}"));
    let mut tally = Tally::default();
    for (function, theirs) in functions.iter().zip(&answers) {
        for parameter in &function.parameters {
            let theirs = theirs.get(&parameter.value.name).map(String::as_str);
            tally.add(Difference { function: &function.name, parameter, theirs });
        }
    }
    tally
}

impl Tally {
    fn add(&mut self, pair: Difference<'_>) {
        let ours = pair.parameter.fetch();
        self.parameters += 1;
        self.neither += usize::from((ours, pair.theirs) == (None, None));
        if pair.theirs == ours {
            return;
        }
        match CLASSES.iter().find(|c| (c.holds)(&pair)) {
            Some(class) => *self.by_class.entry(class.name).or_default() += 1,
            None => self.unexplained.push(pair.to_string()),
        }
    }
}
