//! Loads and stores through what the verifier takes for a number: "invalid mem access 'scalar'", or 'inv' before 5.17;
//! and through what may be null: 'map_value_or_null' (`check_mem_access`, kernel/bpf/verifier.c).
use super::super::outcome::{Finding, State};
use super::Checking;
use probeidx_bpf::reach::Reached;

/// The first of each kind in a program: the verifier ends there.
pub fn findings(checking: &Checking<'_, '_, '_>, reached: &Reached) -> Vec<Finding> {
    let number = reached.through_numbers.first().map(|place| {
        let why = "it follows a pointer that is a number to the verifier, as no type says what it points to";
        let text = checking.text(*place, "the program");
        let instead = "read it with BPF_CORE_READ or bpf_probe_read_kernel".to_owned();
        checking.at(Finding::new(State::Loader, text, why).errno("EACCES").instead([instead]), *place)
    });
    let doubtful = reached.through_doubtful.first().filter(|_| number.is_none()).map(|place| {
        let why = "it follows a pointer that may be a number to the verifier: a helper has read it on the stack, or something that \
                   is not known was added; it depends on the release";
        let text = checking.text(*place, "the program");
        checking.at(Finding::new(State::Undecided, text, why), *place)
    });
    let unchecked = reached.through_unchecked.first().map(|place| {
        let why = "it follows what a helper gives without a check for null";
        let text = checking.text(*place, "the program");
        checking.at(Finding::new(State::Loader, text, why).errno("EACCES"), *place)
    });
    number.into_iter().chain(unchecked).chain(doubtful).collect()
}
