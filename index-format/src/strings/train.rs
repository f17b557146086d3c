//! Finds symbols for strings, as FSST does (Boncz, Neumann, Leis: "FSST: Fast Random Access String Compression", VLDB 2020):
//! encodes with the symbols of the round before, and counts symbols and pairs of neighbours, which are those of the next round.
use super::symbols::{LITERAL, SYMBOL, Symbol};
use super::write::Coder;
use std::collections::HashMap;
use std::fmt::Write;

const ROUNDS: usize = 12;

/// The text of `symbols.rs` after its first lines: symbols for the ends of strings (what they do not share with those before), each
/// with how much it counts.
pub fn symbols_file(ends: &[(Vec<u8>, u64)]) -> String {
    let mut symbols: Vec<Vec<u8>> = vec![];
    for _ in 0..ROUNDS {
        symbols = next(&symbols, ends);
    }
    symbols.sort();
    let mut text = String::new();
    for row in symbols.chunks(16) {
        let row: Vec<String> = row.iter().map(|symbol| format!("b\"{}\"", symbol.escape_ascii())).collect();
        let _ = writeln!(text, "    {},", row.join(", "));
    }
    text
}

/// The symbols of the next round.
fn next(symbols: &[Vec<u8>], ends: &[(Vec<u8>, u64)]) -> Vec<Vec<u8>> {
    let all: Vec<Symbol> = symbols.iter().map(|symbol| Symbol::of(symbol)).collect();
    let coder = Coder::new(&all);
    let mut gains: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut codes = vec![];
    for (end, weight) in ends {
        codes.clear();
        coder.encode(end, &mut codes);
        let mut before: Vec<u8> = vec![];
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            let symbol = match *code {
                LITERAL => vec![*codes.next().expect("a byte follows")],
                code => symbols[usize::from(code)].clone(),
            };
            // A byte alone costs two without a symbol.
            let worth = if symbol.len() == 1 { 8 } else { 1 };
            *gains.entry(symbol.clone()).or_default() += weight * symbol.len() as u64 * worth;
            let pair = [&before[..], &symbol].concat();
            if !before.is_empty() && pair.len() <= SYMBOL {
                *gains.entry(pair.clone()).or_default() += weight * pair.len() as u64;
            }
            if symbol.len() > 1 {
                *gains.entry(symbol[..1].to_vec()).or_default() += weight;
            }
            before = symbol;
        }
    }
    // A string needs its end.
    gains.insert(vec![0], u64::MAX);
    let mut best: Vec<(u64, Vec<u8>)> = gains.into_iter().map(|(symbol, gain)| (gain, symbol)).collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    best.truncate(usize::from(LITERAL));
    best.into_iter().map(|(_, symbol)| symbol).collect()
}
