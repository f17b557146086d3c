//! Where the probes of a spec go, and whether the kernel takes them: `resolve INDEX SPEC`
use probeidx::query::{Index, spec};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, text] = &arguments[..] else { return Err("usage: resolve INDEX SPEC".into()) };
    let index = Index::open(Path::new(path))?;
    let kernel = index.lookup()?;
    for spec in spec::parse(text)? {
        kernel.resolve(&spec, &[], |place, _| {
            let anchor = place.anchor.as_ref().map_or_else(|| "nowhere".to_owned(), ToString::to_string);
            let [function, module] =
                [place.function, place.module.unwrap_or(b"vmlinux")].map(String::from_utf8_lossy);
            println!("{function}  {module}  {}  {anchor}", place.instance.name());
            for (mechanism, verdict) in place.verdicts.iter() {
                println!("    {}: {}", mechanism.name(), verdict.name());
            }
            for call in &place.inlined_into {
                println!("    inlined into {}", String::from_utf8_lossy(call.function));
            }
            Ok(())
        })?;
    }
    Ok(())
}
