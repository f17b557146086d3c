//! The functions and lines behind the addresses on stdin, one a line, as vmlinux was linked or as `symbol+0xoffset`:
//! `decode INDEX`
use probeidx::query::Index;
use std::io::BufRead;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path] = &arguments[..] else { return Err("usage: decode INDEX".into()) };
    let index = Index::open(Path::new(path))?;
    let kernel = index.lookup()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        println!("{line}");
        // What is no address, or none of this kernel, stands alone.
        for address in kernel.locate(line.as_bytes()).unwrap_or_default() {
            let mut at = kernel.line_at(address);
            for frame in kernel.frames(address) {
                let function = String::from_utf8_lossy(frame.function());
                match at {
                    Some(at) => println!("    {function} {}:{}", String::from_utf8_lossy(at.file), at.line),
                    None => println!("    {function}"),
                }
                at = frame.call();
            }
        }
    }
    Ok(())
}
