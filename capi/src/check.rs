//! Checks a script against the kernel of an index.
use crate::border::{self, Answer, ErrorOut, Failure, Status, sized, text, texts};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::names::verdict as verdict_number;
use crate::text::{Text, Texts};
use probeidx::query::check::{self, Asked, Located, Point, State, Verdict};
use probeidx::query::verdict::reason::Reason;
use probeidx::tapset::handler::Trouble;
use probeidx::tapset::target::Runtime;
use std::ffi::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The largest size of a script in bytes.
const LARGEST: usize = 16 << 20;

/// `struct probeidx_stap`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Stap {
    /// The size of the struct as the caller knows it.
    pub size: usize,
    /// The arguments after the script: `$1`, `@1`.
    pub arguments: *const *const c_char,
    /// The length of `arguments`.
    pub argument_count: usize,
    /// As with `--compatible`; may be null.
    pub compatible: *const c_char,
    /// See the constants.
    pub flags: u32,
    /// 0 a kernel module, 1 Dyninst, 2 BPF.
    pub runtime: u32,
}

impl Stap {
    /// As with `-g`.
    pub const GURU: u32 = 1;
    const NONE: Self = Self {
        size: size_of::<Self>(),
        arguments: std::ptr::null(),
        argument_count: 0,
        compatible: std::ptr::null(),
        flags: 0,
        runtime: 0,
    };

    fn asked(&self) -> Answer<Asked> {
        Ok(Asked {
            arguments: texts(self.arguments, self.argument_count)?.into_iter().map(str::to_owned).collect(),
            guru: self.flags & Self::GURU != 0,
            runtime: match self.runtime {
                0 => Runtime::Kernel,
                1 => Runtime::Dyninst,
                2 => Runtime::Bpf,
                _ => {
                    return Err(Failure::Border(
                        Status::Argument,
                        "there is no such runtime",
                        "ask for 0, 1 or 2",
                    ));
                }
            },
            systemtap: match self.compatible.is_null() {
                true => None,
                false => Some(text(self.compatible)?.to_owned()),
            },
            bpftrace: None,
        })
    }
}

/// `struct probeidx_finding`
#[repr(C)]
pub struct Finding {
    /// The size of the struct.
    pub size: usize,
    /// The script or a tapset.
    pub file: Text,
    /// The probe point as written, or what is wrong.
    pub what: Text,
    /// Why it fails.
    pub why: Text,
    /// Replacements to suggest.
    pub instead: *const Text,
    /// The length of `instead`.
    pub instead_count: usize,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// 0 a probe point; else see the header.
    pub kind: u32,
    /// For a point, the result: see the header.
    pub state: u32,
    /// Whether SystemTap rejects the script because of it.
    pub breaks: u32,
    /// For a point, the number of probes it makes.
    pub probes: u32,
    /// The number of addresses of these.
    pub addresses: u32,
    /// The number of addresses that the kernel accepts.
    pub reachable: u32,
    /// The number of inlined copies.
    pub inlined: u32,
    /// The number of further copies that are gone once the kernel runs.
    pub left_out: u32,
    /// Pairs of a verdict and a number: the refused addresses.
    pub refused: *const u32,
    /// The number of pairs in `refused`.
    pub refused_count: usize,
    /// What is not known about the undecided addresses: the tables by their sections, separated by commas.
    pub because: Text,
    /// The number of addresses whose verdict is undecided.
    pub undecided: u32,
    /// 0.
    pub reserved32: u32,
}

/// Checks a script, or a list of probe points, and calls `each` with its points, then with the findings in its
/// handlers.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_check(
    index: *const Handle,
    name: *const c_char,
    script: *const c_char,
    length: usize,
    options: *const Stap,
    each: EachFn<Finding>,
    context: *mut c_void,
    verdict: *mut u32,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, None, |open, each| {
        let view = open.lookup().view();
        let asked = sized(options, Stap::NONE)?.asked()?;
        let name = match name.is_null() {
            true => Path::new("script.stp"),
            false => Path::new(std::ffi::OsStr::from_bytes(border::bytes(name, usize::MAX)?)),
        };
        let script = border::bytes(script, length)?;
        if script.len() > LARGEST {
            return Err(Failure::Border(Status::Usage, "the script has more than 16 MiB", "check its parts"));
        }
        let definitions = check::definitions(view);
        let report = check::check(view, definitions.as_ref(), &asked, name, script)?;
        let mut told = || {
            report.points.iter().try_for_each(|point| {
                let mut texts = Texts::default();
                let instead = texts.all(&point.instead);
                let pair = |(reason, count): &(Reason, u32)| [verdict_number(Some(*reason)), *count];
                let refused: Vec<u32> = point.refused.iter().flat_map(pair).collect();
                each.call(&of_point(point, &instead, &refused, &mut texts))
            })?;
            report.findings.iter().try_for_each(|found| {
                let mut texts = Texts::default();
                let instead = texts.all(&found.instead);
                each.call(&of_handler(found, &instead, &mut texts))
            })
        };
        let result = told();
        if !verdict.is_null() {
            let number = match report.verdict() {
                Verdict::Resolves => 0,
                Verdict::Unindexed => 1,
                Verdict::Fails => 2,
            };
            border::give(verdict, number)?;
        }
        Ok(result?)
    })
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The number for the result of a point.
pub(crate) fn state(state: State) -> u32 {
    match state {
        State::Resolves => 0,
        State::Nothing => 1,
        State::Skipped => 2,
        State::Unindexed => 3,
        State::Fails => 4,
    }
}

fn of_point(point: &Point, instead: &[Text], refused: &[u32], texts: &mut Texts) -> Finding {
    Finding {
        size: size_of::<Finding>(),
        file: texts.of(point.path.as_os_str().as_bytes()),
        what: texts.of(&*point.point),
        why: texts.of(point.why.join("; ")),
        instead: instead.as_ptr(),
        instead_count: instead.len(),
        line: point.place.line,
        column: point.place.column,
        kind: 0,
        state: state(point.state),
        breaks: (point.state == State::Fails).into(),
        probes: number(point.probes),
        addresses: number(point.addresses),
        reachable: number(point.reachable),
        inlined: number(point.inlined),
        left_out: number(point.left_out),
        refused: refused.as_ptr(),
        refused_count: point.refused.len(),
        because: texts.of(point.unknown.to_string()),
        undecided: number(point.undecided),
        reserved32: 0,
    }
}

pub(crate) fn of_handler(found: &Located, instead: &[Text], texts: &mut Texts) -> Finding {
    Finding {
        size: size_of::<Finding>(),
        file: texts.of(found.path.as_os_str().as_bytes()),
        what: texts.of(&*found.what),
        why: texts.of(&*found.why),
        instead: instead.as_ptr(),
        instead_count: instead.len(),
        line: found.line,
        column: found.column,
        kind: match found.trouble {
            Trouble::Variable => 1,
            Trouble::Function => 2,
            Trouble::Arity => 3,
            Trouble::Name => 4,
            Trouble::Type => 5,
            Trouble::Untyped => 6,
            Trouble::Control => 7,
            Trouble::Privilege => 8,
            Trouble::Unassigned => 9,
            Trouble::Regex => 10,
            Trouble::Assumed => 11,
        },
        state: 0,
        breaks: found.trouble.breaks().into(),
        probes: 0,
        addresses: 0,
        reachable: 0,
        inlined: 0,
        left_out: 0,
        refused: std::ptr::null(),
        refused_count: 0,
        because: Text::EMPTY,
        undecided: 0,
        reserved32: 0,
    }
}
