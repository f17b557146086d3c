//! What places are called, and what can be traced instead of those that are refused.
use crate::query::index::functions::Instance;
use crate::query::index::symbols::Anchor;
use crate::query::resolve::placement::Placement;
use crate::query::trace::Place;
use crate::query::verdict::alternative::Alternative;

/// `do_open in path_openat`
pub(super) fn copy_name(p: &Placement<'_>, is_return: bool) -> String {
    let subject = subject(p, is_return);
    match p.inlined_into.first() {
        Some(call) => format!("{subject} in {}", text(call.function)),
        None => subject,
    }
}

/// What is traced: `vfs_read`, `vfs_read.return`, `vfs_read at fs/read_write.c:467`.
pub(super) fn subject(p: &Placement<'_>, is_return: bool) -> String {
    let function = text(p.function);
    match (p.source, p.instance) {
        _ if is_return => format!("{function}.return"),
        (Some(source), _) => format!("{function} at {}:{}", text(source.file), source.line),
        (None, Instance::Statement) => match p.symbol {
            Some((symbol, offset)) => format!("{}+{offset:#x}", text(symbol)),
            None => function,
        },
        _ => function,
    }
}

pub(super) fn place(p: &Placement<'_>) -> Option<Place> {
    let (anchor, module) = match p.anchor.as_ref()? {
        Anchor::Symbol { module, symbol, offset } => ((text(symbol), u64::from(*offset)), module.map(text)),
        Anchor::File { path, offset } => ((text(path), *offset), None),
    };
    let run_time = p.running.as_ref().and_then(|r| r.address).map(|at| at + u64::from(p.verdicts.shift));
    Some(Place { anchor, module, address: p.address, run_time })
}

/// What can be traced instead of a place that is refused.
pub(super) fn instead(alternative: &Alternative<'_>) -> Option<String> {
    match alternative {
        Alternative::At(nearby) => {
            let (symbol, offset) = nearby.symbol;
            Some(format!("trace {}+{offset:#x}", text(symbol)))
        }
        Alternative::Mechanism("kprobe") => Some("SystemTap takes it (register_kprobe)".to_owned()),
        Alternative::Mechanism(_) => Some("ftrace takes it (fprobe)".to_owned()),
        Alternative::BeforeLoading => None,
        Alternative::ReturnOf(function) => {
            Some(format!("trace {}%return, of which it is a part", text(function)))
        }
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
