//! Finds the symbols of strings (`src/strings/symbols.rs`) for what is in some indexes, each of which counts as much as the others.
//!
//! ```text
//! cargo run --release -p probeidx-format --features train --example symbols -- *.pidx
//! ```
//!
//! It prints the rows of `TEXTS`. The present ones are from Debian's 6.1, 7.3 and 5.10 for x86-64, and 5.10 and 7.3 for arm64.
use probeidx_format::View;
use probeidx_format::strings::{BLOCK, Decoded, train};

fn main() {
    let mut ends = vec![];
    for path in std::env::args().skip(1) {
        let file = std::fs::read(&path).unwrap();
        let decoded = Decoded::new();
        let view = View::open(&file, &decoded).unwrap();
        let mut before: &[u8] = &[];
        let weight = 10_000_000 / u64::from(view.strings().len()).max(1);
        for (at, string) in view.strings().iter().enumerate() {
            let alike = string.iter().zip(before).take_while(|(a, b)| a == b).count();
            let shared = if at % BLOCK == 0 { 0 } else { alike };
            ends.push((string[shared..].to_vec(), weight));
            before = string;
        }
    }
    print!("{}", train::symbols_file(&ends));
}
