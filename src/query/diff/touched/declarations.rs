//! Functions by their declarations, and tracepoints.
use super::{Both, Names};
use probeidx_format::id::StrId;
use probeidx_format::record::{FunctionRecord, TracepointRecord};
use probeidx_format::store::common::{Common, Which};
use probeidx_format::store::runs::Hint;
use probeidx_format::store::translate::Shared;
use probeidx_format::store::{Kernel, Space};
use rustc_hash::FxHashSet;

/// Functions that only one kernel has, or whose parameters, return type, flags or order among those of their name may differ.
/// Returns the shared numbers of those with another prototype or other flags. Cost: linear in what only one has.
pub fn functions<'a>(both: &Both<'a>, names: &mut Names<'a>) -> FxHashSet<u32> {
    let (ids, rows) = (both.common(Space::FunctionIds), both.common(Space::Functions));
    let mut prototypes = FxHashSet::default();
    let mut hints = [Hint::default(); 4];
    for (new, old) in ids.changed(&rows) {
        let [first, second, of_ids, neighbours] = &mut hints;
        let one: Option<FunctionRecord> = both.row(Which::Old, old, first);
        let other: Option<FunctionRecord> = both.row(Which::New, new, second);
        let (Some(one), Some(other)) = (one, other) else { continue };
        let same_details = one.details == other.details && one.variables == other.variables;
        // The flags say how BTF describes it, on which a verdict depends: 6.1.0-57 has `arch_prepare_bpf_trampoline` once, and
        // 6.1.0-56 twice.
        let differs = one.flags != other.flags
            || !same_details && !same_signature([both.pair.old, both.pair.new], [one, other]);
        // Declarations of a name are told apart by their lines.
        let is_moved = one.line != other.line && !is_alone(both, new, other.name, neighbours);
        if differs || is_moved {
            names.push(both.text(other.name));
        }
        if differs {
            prototypes.extend(both.pair.new.levels().there(Space::FunctionIds, new, of_ids));
        }
    }
    one_sided(both, &ids, |f: FunctionRecord| f.name, |name| names.push(both.text(name)));
    prototypes
}

/// Whether no other function of the newer kernel has this one's name.
fn is_alone(both: &Both<'_>, at: u32, name: StrId, hint: &mut Hint) -> bool {
    let mut has = |at: Option<u32>| {
        let row: Option<FunctionRecord> = both.row(Which::New, at?, hint);
        row.filter(|row| row.name == name)
    };
    has(at.checked_sub(1)).is_none() && has(at.checked_add(1)).is_none()
}

/// Whether two functions have the same parameters and return type, in shared numbers.
fn same_signature(kernels: [&Kernel<'_>; 2], functions: [FunctionRecord; 2]) -> bool {
    let [one, other] = [0, 1].map(|at| kernels[at].shared_variables(functions[at]));
    let parameters = [one, other].map(|variables| variables.parameters().map(|v| (v.name, v.type_id)));
    let [mine, theirs] = parameters;
    one.return_type == other.return_type && mine.eq(theirs)
}

/// The names of records that only one kernel has, and those whose order breaks between two of the same name; the table is
/// sorted by name.
pub fn one_sided<R: Shared>(
    both: &Both<'_>,
    common: &Common,
    name: impl Fn(R) -> StrId,
    mut tell: impl FnMut(StrId),
) {
    for which in Which::BOTH {
        let mut hint = Hint::default();
        for at in common.only(which).flatten() {
            let Some(row) = both.row(which, at, &mut hint) else { break };
            tell(name(row));
        }
        let mut hint = Hint::default();
        let mut name_at = |at: u32| both.row(which, at, &mut hint).map(&name);
        for at in common.breaks(which).filter(|at| *at > 0) {
            let two = name_at(at - 1).zip(name_at(at));
            if let Some((_, name)) = two.filter(|(before, after)| before == after) {
                tell(name);
            }
        }
    }
}

/// Tracepoints that only one kernel has, or whose parameters or fields may differ, given the functions with other
/// prototypes. Cost: linear in all tracepoints.
pub fn tracepoints<'a>(both: &Both<'a>, prototypes: &FxHashSet<u32>) -> Names<'a> {
    let mut names = Names::default();
    let (rows, fields) = (both.common(Space::Tracepoints), both.common(Space::EventFields));
    one_sided(both, &rows, |t: TracepointRecord| t.name, |name| names.push(both.text(name)));
    for which in Which::BOTH {
        let kernel = both.kernel(which);
        let breaks: Vec<u32> = fields.breaks(which).collect();
        let has_other_fields = |tracepoint: &TracepointRecord| {
            let first = kernel.levels().back(Space::EventFields, tracepoint.first_field.get());
            let within = first.map(|first| first..=first.saturating_add(tracepoint.fields.get().into()));
            within.is_none_or(|within| {
                breaks[breaks.partition_point(|at| at < within.start())..]
                    .first()
                    .is_some_and(|at| within.contains(at))
            })
        };
        for (_, tracepoint) in kernel.all_stored::<TracepointRecord>() {
            if prototypes.contains(&tracepoint.prototype.get())
                || (!breaks.is_empty() && has_other_fields(&tracepoint))
            {
                names.push(both.text(tracepoint.name));
            }
        }
    }
    names
}
