//! Functions whose name matches, with how much of each can be probed: `list INDEX PATTERN`
use probeidx::pattern::Pattern;
use probeidx::query::Index;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, pattern] = &arguments[..] else { return Err("usage: list INDEX PATTERN".into()) };
    let index = Index::open(Path::new(path))?;
    let kernel = index.lookup()?;
    for function in kernel.matching(&Pattern::new(pattern)?) {
        let (mut places, mut taken) = (0, 0);
        for place in function.placements() {
            places += 1;
            taken += u32::from(place.verdicts().any_address().is_ok());
        }
        let [name, file] = [function.name(), function.file()].map(String::from_utf8_lossy);
        println!("{name}@{file}:{}  {taken} of {places}", function.line());
    }
    Ok(())
}
