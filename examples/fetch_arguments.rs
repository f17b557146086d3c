//! What can be read where a function runs, as arguments of kprobe_events: `fetch_arguments INDEX FUNCTION [ARGUMENT]...`
//!
//! Without arguments all variables that the source has there; else those that are asked for: `file->f_mode`,
//! `name=s->name:string`.
use probeidx::lookup::Unfetchable;
use probeidx::query::Index;
use probeidx::query::spec::Filter;
use probeidx::query::spec::argument::{self, Argument};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, function, wanted @ ..] = &arguments[..] else {
        return Err("usage: fetch_arguments INDEX FUNCTION [ARGUMENT]...".into());
    };
    let wanted: Vec<Argument> = wanted.iter().map(|text| argument::parse(text)).collect::<Result<_, _>>()?;
    let index = Index::open(Path::new(path))?;
    let kernel = index.lookup()?;
    for place in kernel.functions(function.as_bytes()).flat_map(|f| f.placements()) {
        let symbol = place
            .symbol()
            .map_or_else(String::new, |s| format!("{}+{:#x}", String::from_utf8_lossy(s.name()), s.offset()));
        println!("{symbol}  {}", place.instance().name());
        for argument in &wanted {
            let value = place.value(argument, Filter::Any)?;
            println!(
                "    {}",
                value.fetch.or(value.location).unwrap_or_else(|| value.state.name().to_owned())
            );
        }
        let all = place.variables().filter(|_| wanted.is_empty());
        for variable in all {
            let mut fetch = String::new();
            match variable.write_fetch(&mut fetch) {
                Ok(()) => println!("    {fetch}"),
                Err(Unfetchable::Not(why)) => {
                    println!("    {}: {why}", String::from_utf8_lossy(variable.name()));
                }
                Err(Unfetchable::Full) => {}
            }
        }
    }
    Ok(())
}
