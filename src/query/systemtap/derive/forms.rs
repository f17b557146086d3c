//! SystemTap's built-in probe points, as `stap --dump-probe-types` of 4.8 and 5.6 prints them for a kernel module.
use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::pattern::Pattern;
use crate::tapset::Version;
use crate::tapset::ast::{Component, Literal};
use std::sync::OnceLock;

/// The components before functions and lines of code.
const OF_CODE: [&str; 3] = ["kernel|module(string)", OF_PROCESS, OF_LIBRARY];
const OF_PROCESS: &str = "process|process(number)|process(string)";
const OF_LIBRARY: &str = "process|process(string).library(string)";

/// The points in code.
const CODE: [&str; 7] = [
    "function(number)|function(string)",
    "function(number)|function(string).call|exported|return",
    "function(string).inline|callees|callees(number)|label(string)|callee(string)",
    "function(string).callee(string).call|return",
    "statement(number)|statement(string)",
    "statement(number)|statement(string).nearest",
    "",
];

/// The additional points in a program or library.
const USER: [&str; 4] =
    ["mark(string)", "provider(string).mark(string)", "plt|plt(string)", "plt|plt(string).return"];

/// All other points; bars separate the alternatives of a component.
const OTHERS: [&str; 31] = [
    "never|begin|begin(number)|end|end(number)|error|error(number)",
    "kernel|module(string).function(number)|function(string).return.maxactive(number)",
    "kernel.statement(number).absolute",
    "kernel.trace(string)",
    "kernel.data(number)|data(string).rw|write",
    "kernel.data(number).length(number).rw|write",
    "kprobe.function(string)",
    "kprobe.function(string).call|return",
    "kprobe.function(string).return.maxactive(number)",
    "kprobe.module(string).function(string)",
    "kprobe.module(string).function(string).call|return",
    "kprobe.module(string).function(string).return.maxactive(number)",
    "kprobe.statement(number).absolute",
    "netfilter.hook(string).pf(string)",
    "netfilter.hook(string).pf(string).priority(string)",
    "netfilter.pf(string).hook(string)",
    "netfilter.pf(string).hook(string).priority(string)",
    "perf.type(number).config(number)",
    "perf.type(number).config(number).counter(string)|hz(number)|process|process(string)|sample(number)",
    "perf.type(number).config(number).process(string).counter(string)",
    "process|process(number)|process(string).begin|end|syscall",
    "process|process(number)|process(string).syscall.return",
    "process|process(number)|process(string).thread.begin|end",
    "process(number).statement(number).absolute",
    "process(number).statement(number).absolute.return",
    "procfs|procfs(string).read|write",
    "procfs|procfs(string).read.maxsize(number)",
    "procfs|procfs(string).umask(number).read|write",
    "procfs|procfs(string).umask(number).read.maxsize(number)",
    "timer.jiffies(number)|s(number)|sec(number)|ms(number)|msec(number)|us(number)|usec(number)|ns(number)\
     |nsec(number)|hz(number)",
    "timer.profile.tick",
];

/// Points of some versions: those before one, and those from one on. 5.6 prints some more, with `.die(number)` and
/// `.pc(number)`, which it uses itself, and those for other runtimes.
const BEFORE: [(Version, &str); 4] = [
    (Version::WITHOUT_MARKERS, "kernel.mark(string)"),
    (Version::WITHOUT_MARKERS, "kernel.mark(string).format(string)"),
    (Version::WITHOUT_INSTRUCTIONS, "process(number)|process(string).insn"),
    (Version::WITHOUT_INSTRUCTIONS, "process(number)|process(string).insn.block"),
];
const FROM: [(Version, &str); 5] = [
    (Version::DATA_OF_PROCESSES, "process.data(number).rw|write"),
    (Version::DATA_OF_PROCESSES, "process.data(number).length(number).rw|write"),
    (Version::TRACEPOINTS_BY_BTF, "kernel|module(string).tracepoint(string)"),
    (Version::TRACEPOINTS_BY_BTF, "tp_syscall(string)"),
    (Version::TRACEPOINTS_BY_BTF, "tp_syscall(string).return"),
];

/// The versions whose points differ, in order.
const VERSIONS: [Version; 5] = [
    Version::OLDEST,
    Version::WITHOUT_INSTRUCTIONS,
    Version::DATA_OF_PROCESSES,
    Version::WITHOUT_MARKERS,
    Version::TRACEPOINTS_BY_BTF,
];

/// Components of points that SystemTap has for its BPF runtime alone, as 5.6 has them (tapset/bpf, stapprobes(3stap)).
const OF_BPF: [&str; 2] = ["lsm", "xdp"];

const RANDOM: &str = "timer.jiffies(number)|s(number)|sec(number)|ms(number)|msec(number)|us(number)|usec(number)\
                      |ns(number)|nsec(number).randomize(number)";

/// The argument of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    Nothing,
    Number,
    Text,
}

/// A tree of the forms by component.
#[derive(Debug, Default)]
struct Node {
    below: Vec<(&'static str, Takes, Node)>,
    /// Whether a form ends at this node.
    ends: bool,
}

/// The forms of a version. Cost: making the tree when a version is asked for the first time.
fn of_version(version: Version) -> &'static Node {
    static TREES: [OnceLock<Node>; VERSIONS.len()] = [const { OnceLock::new() }; VERSIONS.len()];
    let at = VERSIONS.partition_point(|first| *first <= version).saturating_sub(1);
    TREES[at].get_or_init(|| forms(VERSIONS[at]))
}

fn forms(version: Version) -> Node {
    let mut root = Node::default();
    for of in OF_CODE {
        CODE.iter()
            .filter(|tail| !tail.is_empty())
            .for_each(|tail| root.add(of.split('.').chain(tail.split('.'))));
    }
    for of in [OF_PROCESS, OF_LIBRARY] {
        USER.iter().for_each(|tail| root.add(of.split('.').chain(tail.split('.'))));
    }
    let before = BEFORE.iter().filter(|(end, _)| version < *end);
    let from = FROM.iter().filter(|(first, _)| *first <= version);
    let of_some = before.chain(from).map(|(_, form)| form);
    OTHERS.iter().chain([&RANDOM]).chain(of_some).for_each(|form| root.add(form.split('.')));
    root
}

impl Takes {
    fn of(component: &Component) -> Self {
        match component.argument {
            None => Self::Nothing,
            Some(Literal::Number(_)) => Self::Number,
            Some(Literal::String(_)) => Self::Text,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Number => "(number)",
            Self::Text => "(string)",
        }
    }
}

impl Node {
    /// Adds a form, given as components with their alternatives.
    fn add(&mut self, mut form: impl Iterator<Item = &'static str> + Clone) {
        let Some(alternatives) = form.next() else {
            self.ends = true;
            return;
        };
        for alternative in alternatives.split('|') {
            let (name, takes) = match alternative.split_once('(') {
                None => (alternative, Takes::Nothing),
                Some((name, "number)")) => (name, Takes::Number),
                Some((name, _)) => (name, Takes::Text),
            };
            let at = match self.below.iter().position(|(n, t, _)| (*n, *t) == (name, takes)) {
                Some(at) => at,
                None => {
                    self.below.push((name, takes, Self::default()));
                    self.below.len() - 1
                }
            };
            self.below[at].2.add(form.clone());
        }
    }

    /// The node after a component.
    fn below(&self, component: &Component) -> Option<&Self> {
        let takes = Takes::of(component);
        let below = self.below.iter().find(|(name, t, _)| *name == component.name && *t == takes);
        below.map(|(.., node)| node)
    }

    /// Calls `each` with the matching forms of the components from `at` on, with wildcards replaced. Returns whether
    /// there was one.
    fn matching(
        &self,
        components: &mut Vec<Component>,
        at: usize,
        each: &mut dyn FnMut(&[Component]),
    ) -> Result<bool> {
        let Some(component) = components.get(at).cloned() else {
            if self.ends {
                each(components);
            }
            return Ok(self.ends);
        };
        if !component.name.contains('*') {
            return self.below(&component).map_or(Ok(false), |node| node.matching(components, at + 1, each));
        }
        let takes = Takes::of(&component);
        let pattern = Pattern::new(&component.name)?;
        let mut found = false;
        for (name, _, node) in self.below.iter().filter(|(_, t, _)| *t == takes) {
            if pattern.matches(name.as_bytes()) {
                (*name).clone_into(&mut components[at].name);
                found |= node.matching(components, at + 1, each)?;
            }
        }
        components[at] = component;
        Ok(found)
    }
}

/// Calls `each` with the form of a version that the components match; if their names have wildcards, with every form that
/// matches.
///
/// # Errors
/// [`ErrorKind::Usage`] if no form matches: with the first component that does not fit, and the nearest one that would.
pub fn each(version: Version, components: &[Component], each: &mut dyn FnMut(&[Component])) -> Result<()> {
    let forms = of_version(version);
    if !components.iter().any(|c| c.name.contains('*')) {
        match components.iter().try_fold(forms, Node::below) {
            Some(node) if node.ends => each(components),
            _ => return Err(unknown(version, components)),
        }
        return Ok(());
    }
    let mut own = components.to_vec();
    if forms.matching(&mut own, 0, each)? { Ok(()) } else { Err(unknown(version, components)) }
}

fn unknown(version: Version, components: &[Component]) -> Error {
    let is_of =
        |of: &Version| components.iter().try_fold(of_version(*of), Node::below).is_some_and(|n| n.ends);
    if let Some(other) = VERSIONS.iter().rev().find(|of| is_of(of)) {
        let point = super::built_in::spelled(components);
        let why = match *other > version {
            true => {
                let first = VERSIONS.iter().find(|of| is_of(of)).unwrap_or(other);
                format!("SystemTap has {point} from {first} on")
            }
            false => format!("SystemTap {version} has no {point} any more"),
        };
        return Error::new(
            ErrorKind::Usage,
            format!("{why}, and the tapsets of the index are those of {version}"),
        );
    }
    let mut node = of_version(version);
    for component in components {
        let Some(below) = node.below(component) else {
            let error = Error::new(ErrorKind::Usage, format!("unknown probe point component {component}"));
            if OF_BPF.contains(&&*component.name) {
                return error
                    .hint("only the BPF runtime (stap --runtime=bpf) has it: such scripts are not checked");
            }
            return match node.near(&component.name) {
                near if near.is_empty() => error,
                near => error.hint(format!("did you mean {}?", near.join(", "))),
            };
        };
        node = below;
    }
    let follow: Vec<_> = node.spelled().collect();
    Error::new(ErrorKind::Usage, format!("the probe point goes on with one of: {}", follow.join(", ")))
}

impl Node {
    fn spelled(&self) -> impl Iterator<Item = String> + '_ {
        self.below.iter().map(|(name, takes, _)| format!("{name}{}", takes.name()))
    }
    /// Components allowed here that resemble a name: with other arguments, or with a similar spelling.
    fn near(&self, wanted: &str) -> Vec<String> {
        let mut names = nearest::nearest(wanted, self.below.iter().map(|(n, ..)| *n), 3);
        names.insert(0, wanted.to_owned());
        let spelled = |name: &String| {
            let same = self.below.iter().filter(move |(n, ..)| n == name);
            same.map(|(n, takes, _)| format!("{n}{}", takes.name())).collect::<Vec<_>>()
        };
        names.iter().flat_map(spelled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tapset::Place;

    fn point(text: &str) -> Vec<Component> {
        let component = |part: &str| {
            let (name, argument) = match part.split_once('(') {
                None => (part, None),
                Some((name, "number)")) => (name, Some(Literal::Number(1))),
                Some((name, _)) => (name, Some(Literal::String("x".to_owned()))),
            };
            Component { name: name.to_owned(), argument, place: Place::default() }
        };
        text.split('.').map(component).collect()
    }

    fn matching(text: &str) -> Vec<String> {
        let mut found = vec![];
        let name = |c: &Component| format!("{}{}", c.name, Takes::of(c).name());
        each(Version::OLDEST, &point(text), &mut |c| {
            found.push(c.iter().map(name).collect::<Vec<_>>().join("."))
        })
        .unwrap();
        found
    }

    #[test]
    fn there_are_as_many_forms_as_systemtap_dumps() {
        fn count(node: &Node) -> usize {
            usize::from(node.ends) + node.below.iter().map(|(.., below)| count(below)).sum::<usize>()
        }
        // `stap --dump-probe-types` of 4.8.
        assert_eq!(count(of_version(Version::OLDEST)), 260);
        // Of 5.6 all but those with `.die(number)` and `.pc(number)`, and `kernel.xdp`, `xdp` and `process.data(string)` of
        // other runtimes.
        assert_eq!(count(of_version(Version(5, 6))), 262);
    }

    #[test]
    fn wildcards_stand_for_names_of_components() {
        assert_eq!(
            matching("kernel.function(string).c*"),
            ["kernel.function(string).call", "kernel.function(string).callees"]
        );
        assert_eq!(matching("timer.*s(number)").len(), 5);
        assert_eq!(matching("begin"), ["begin"]);
    }

    #[test]
    fn what_is_no_form_is_said_with_what_is_near() {
        let error = |text: &str| each(Version::OLDEST, &point(text), &mut |_| {}).unwrap_err();
        let wrong = error("kernel.functoin(string)");
        assert_eq!(wrong.message(), "unknown probe point component functoin(\"x\")");
        assert_eq!(wrong.remedy(), Some("did you mean function(number), function(string)?"));
        assert_eq!(
            error("timer.ms").remedy(),
            Some("did you mean ms(number), ns(number), s(number), us(number)?")
        );
        assert!(error("timer.profile").message().ends_with("one of: tick"));
        assert_eq!(error("zzz.y").remedy(), None);
        for of_bpf in ["lsm.file_open", "xdp(string)", "kernel.lsm(string)"] {
            assert!(
                error(of_bpf).remedy().is_some_and(|remedy| remedy.contains("--runtime=bpf")),
                "{of_bpf}"
            );
        }
    }

    #[test]
    fn what_another_version_has_is_said() {
        let said = |version, text: &str| {
            each(version, &point(text), &mut |_| {}).map_err(|error| error.message().to_owned())
        };
        let newest = Version::TRACEPOINTS_BY_BTF;
        for new in
            ["kernel.tracepoint(string)", "module(string).tracepoint(string)", "tp_syscall(string).return"]
        {
            assert_eq!(said(newest, new), Ok(()), "{new}");
            assert!(said(Version(5, 5), new).unwrap_err().contains("from 5.6 on"), "{new}");
        }
        for old in ["kernel.mark(string)", "process(string).insn"] {
            assert_eq!(said(Version::OLDEST, old), Ok(()), "{old}");
            assert!(said(newest, old).unwrap_err().contains("any more"), "{old}");
        }
        assert!(said(Version(5, 0), "process.data(number).rw").unwrap_err().contains("from 5.1 on"));
    }
}
