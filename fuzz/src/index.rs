//! Index files that change section by section.
use libfuzzer_sys::fuzzer_mutate;
use probeidx_format::id::StrId;

#[path = "../../tests/suite/support/parts.rs"]
mod parts;

pub use parts::Parts;

/// The index of a small kernel, for targets that need something to ask. `scripts/fuzz-seeds` makes it.
pub const SMALL: &[u8] = include_bytes!("../seeds/index_open_and_ask/kernel.pidx");

/// Changes one section of an index, mostly; now and then any bytes of it, or the header's fields. For `fuzz_mutator!`.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let Some(mut parts) = Parts::of(&data[..size]) else { return fuzzer_mutate(data, size, max_size) };
    let choice = (seed >> 16) as usize;
    match seed & 0xff {
        0..8 => return fuzzer_mutate(data, size, max_size),
        8..12 => parts.machine = choice as u16,
        12..16 => parts.release = StrId::new(choice as u32),
        _ => {
            // Empty sections are as good as others, but there is less to find in them.
            let filled: Vec<usize> =
                (0..parts.sections.len()).filter(|s| !parts.sections[*s].is_empty()).collect();
            let chosen = match filled.len() {
                n if n > 0 && seed & 0x700 != 0 => filled[choice % n],
                _ => choice % parts.sections.len(),
            };
            let room = max_size.saturating_sub(size);
            let section = &mut parts.sections[chosen];
            let length = section.len();
            // Mutations that keep the length keep tables of unpacked records whole.
            let most = if seed & 0x800 == 0 { length } else { length + room.min(64) };
            section.resize(most.max(1), 0);
            let most = section.len();
            let changed = fuzzer_mutate(section, length, most);
            section.truncate(changed);
        }
    }
    let file = parts.file();
    let size = file.len().min(max_size);
    data[..size].copy_from_slice(&file[..size]);
    size
}
