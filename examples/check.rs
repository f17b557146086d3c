//! Whether a script of SystemTap is right on a kernel, and what is wrong in it: `check INDEX SCRIPT [ARGUMENT...]`
use probeidx::query::Index;
use probeidx::query::check::{self, Asked, State, Verdict};
use probeidx::tapset::target::Runtime;
use std::path::Path;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().collect();
    let [_, path, script, arguments @ ..] = &given[..] else {
        return Err("usage: check INDEX SCRIPT [ARGUMENT...]".into());
    };
    let index = Index::open(Path::new(path))?;
    let view = index.view()?;
    let definitions = check::definitions(&view)?;
    let arguments = arguments.to_vec();
    let asked = Asked { arguments, guru: false, runtime: Runtime::Kernel, systemtap: None, bpftrace: None };
    let report = check::check(&view, Ok(&definitions), &asked, Path::new(script), &std::fs::read(script)?)?;
    for point in &report.points {
        println!("{script}:{}: {}: {}", point.place.line, point.point, point.state.name());
        if point.state == State::Fails {
            println!("    {}", point.why.join("; "));
        }
    }
    for found in &report.findings {
        println!("{}:{}:{}: {}: {}", found.path.display(), found.line, found.column, found.what, found.why);
    }
    println!("{}", report.verdict().name());
    Ok(match report.verdict() {
        Verdict::Fails => ExitCode::FAILURE,
        Verdict::Resolves | Verdict::Unindexed => ExitCode::SUCCESS,
    })
}
