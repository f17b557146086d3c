//! TracingPolicies of Tetragon (`cilium.io/v1alpha1`): the hooks that they place, with the arguments that they read.
//!
//! Nothing here knows a kernel. What does not depend on one, as selectors and actions, is skipped.
mod document;

use crate::error::{Error, ErrorKind, Result};
use document::{Node, Value};

/// A place in a policy. Lines and columns start at 1, columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Of the name.
    pub place: Place,
    /// What is hooked.
    pub kind: Kind,
    /// The function, event or hook; of a system call without `sys_` and the architecture's prefix.
    pub name: String,
    /// Whether the return is hooked, too.
    pub is_return: bool,
    /// Whether Tetragon goes on without it, if the kernel does not have it (`ignore.callNotFound`).
    pub may_be_missing: bool,
    /// What is read.
    pub arguments: Vec<Argument>,
}

/// What is hooked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function.
    Function,
    /// A system call, by the function that implements it.
    SystemCall,
    /// An event of this subsystem.
    Event(String),
    /// A tracepoint itself.
    RawTracepoint,
    /// A hook of the security modules.
    Lsm,
    /// A program or shared library.
    User,
    /// A list that Tetragon makes when it loads the policy (`generated_syscalls`, `generated_ftrace`), or that is not there.
    Unknown,
}

/// What is read of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Of its index, or of the argument.
    pub place: Place,
    /// From 0: of a function the position of the parameter, of an event that of the field, the common ones included.
    pub index: Option<u32>,
    /// `int`, `file`, `sock`; empty if there is none.
    pub kind: String,
}

/// Reads the hooks of a file, which may have several policies.
///
/// # Errors
/// [`ErrorKind::Syntax`], with line and column: what is no YAML, nesting that is too deep, and documents of another kind.
pub fn parse(text: &str) -> Result<Vec<Hook>> {
    let mut hooks = vec![];
    for policy in document::read(text)? {
        if matches!(policy.value, Value::Scalar(ref text) if text.is_empty()) {
            continue;
        }
        let kind = policy.get("kind").and_then(Node::text).unwrap_or_default();
        if !matches!(kind, "TracingPolicy" | "TracingPolicyNamespaced") {
            let message = "no TracingPolicy: its kind is another";
            return Err(error(policy.place, message).hint("check reads policies of Tetragon only"));
        }
        if let Some(spec) = policy.get("spec") {
            of_spec(spec, &mut hooks);
        }
    }
    Ok(hooks)
}

fn error(place: Place, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Syntax, message).line(place.line, place.column)
}

fn of_spec(spec: &Node, hooks: &mut Vec<Hook>) {
    for hook in spec.items("kprobes").chain(spec.items("fentries")) {
        let Some(call) = hook.get("call") else { continue };
        let is_system_call = hook.flag("syscall");
        let kind = if is_system_call { Kind::SystemCall } else { Kind::Function };
        let read = Hook {
            place: call.place,
            kind,
            name: call.text().unwrap_or_default().to_owned(),
            is_return: hook.flag("return"),
            may_be_missing: hook.get("ignore").is_some_and(|ignored| ignored.flag("callNotFound")),
            arguments: arguments(hook),
        };
        match read.name.strip_prefix("list:") {
            Some(list) => hooks.extend(of_list(spec, list, &read)),
            None => hooks.push(named(read)),
        }
    }
    for hook in spec.items("tracepoints") {
        let Some(event) = hook.get("event") else { continue };
        let system = hook.get("subsystem").and_then(Node::text).unwrap_or_default().to_owned();
        let kind = if hook.flag("raw") { Kind::RawTracepoint } else { Kind::Event(system) };
        hooks.push(of(event, kind, arguments(hook)));
    }
    for hook in spec.items("lsmhooks") {
        if let Some(name) = hook.get("hook") {
            hooks.push(of(name, Kind::Lsm, arguments(hook)));
        }
    }
    for hook in spec.items("uprobes").chain(spec.items("usdts")) {
        if let Some(path) = hook.get("path") {
            hooks.push(of(path, Kind::User, vec![]));
        }
    }
}

fn of(name: &Node, kind: Kind, arguments: Vec<Argument>) -> Hook {
    let text = name.text().unwrap_or_default().to_owned();
    Hook { place: name.place, kind, name: text, is_return: false, may_be_missing: false, arguments }
}

/// The hooks of a list, each at its place in it.
fn of_list(spec: &Node, name: &str, hook: &Hook) -> Vec<Hook> {
    let list = spec.items("lists").find(|list| list.get("name").and_then(Node::text) == Some(name));
    let kind = list.and_then(|list| list.get("type")).and_then(Node::text).unwrap_or_default();
    let Some(list) = list.filter(|_| !kind.starts_with("generated")) else {
        return vec![Hook { kind: Kind::Unknown, ..hook.clone() }];
    };
    let values = list.items("values").filter_map(|value| {
        let kind = if kind == "syscalls" { Kind::SystemCall } else { hook.kind.clone() };
        Some(named(Hook { place: value.place, kind, name: value.text()?.to_owned(), ..hook.clone() }))
    });
    values.collect()
}

/// System calls may be written with `sys_`, and with an architecture's prefix.
fn named(mut hook: Hook) -> Hook {
    if hook.kind == Kind::SystemCall {
        let name = hook.name.rsplit('/').next().unwrap_or_default();
        let name = ["__x64_", "__arm64_", "__ia32_"]
            .iter()
            .find_map(|before| name.strip_prefix(before))
            .unwrap_or(name);
        hook.name = name.strip_prefix("sys_").unwrap_or(name).to_owned();
    }
    hook
}

fn arguments(hook: &Node) -> Vec<Argument> {
    let read = hook.items("args").map(|argument| {
        let index = argument.get("index");
        Argument {
            place: index.map_or(argument.place, |index| index.place),
            index: index.and_then(Node::text).and_then(|text| text.parse().ok()),
            kind: argument.get("type").and_then(Node::text).unwrap_or_default().to_owned(),
        }
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "apiVersion: cilium.io/v1alpha1\nkind: TracingPolicy\nmetadata:\n  name: one\nspec:\n  lists:\n  \
        - name: calls\n    type: syscalls\n    values: [sys_dup, __x64_sys_open]\n  - name: all\n    type: generated_syscalls\n  \
        kprobes:\n  - call: tcp_connect\n    syscall: false\n    args:\n    - index: 0\n      type: \"sock\"\n  \
        - call: \"sys_write\"\n    syscall: true\n    return: true\n  - call: list:calls\n  - call: list:all\n  tracepoints:\n  \
        - subsystem: raw_syscalls\n    event: sys_exit\n    args:\n    - index: 4\n  lsmhooks:\n  - hook: file_open\n  uprobes:\n  \
        - path: /bin/bash\n    symbols: [readline]\n";

    #[test]
    fn hooks_of_all_kinds() {
        let hooks = parse(POLICY).unwrap();
        let found: Vec<_> =
            hooks.iter().map(|h| (h.kind.clone(), &*h.name, h.is_return, h.place.line)).collect();
        let expected = [
            (Kind::Function, "tcp_connect", false, 13),
            (Kind::SystemCall, "write", true, 18),
            (Kind::SystemCall, "dup", false, 9),
            (Kind::SystemCall, "open", false, 9),
            (Kind::Unknown, "list:all", false, 22),
            (Kind::Event("raw_syscalls".to_owned()), "sys_exit", false, 25),
            (Kind::Lsm, "file_open", false, 29),
            (Kind::User, "/bin/bash", false, 31),
        ];
        assert_eq!(found, expected);
        let place = Place { line: 16, column: 14 };
        assert_eq!(hooks[0].arguments, [Argument { place, index: Some(0), kind: "sock".to_owned() }]);
        // Several in a file, and none.
        let two = format!("---\n---\n{POLICY}---\n{POLICY}");
        assert_eq!(parse(&two).unwrap().len(), 2 * hooks.len());
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn errors_have_a_place_and_bombs_are_bounded() {
        for (text, said) in [
            ("kind: Pod", "1:1"),
            ("kind: TracingPolicy\nspec: [", "3:1"),
            ("kind: *x", "1:"),
            ("a: &a [x]\nb: [*a, *a]\nkind: TracingPolicy", ""),
        ] {
            match parse(text) {
                Ok(hooks) => assert!(said.is_empty() && hooks.is_empty(), "{text}"),
                Err(error) => {
                    assert!(!said.is_empty() && error.to_string().contains(said), "{text}: {error}")
                }
            }
        }
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
            let text = format!("{}{}", open.repeat(20_000), close.repeat(20_000));
            assert_eq!(parse(&text).unwrap_err().kind(), ErrorKind::Syntax);
        }
        for at in 0..POLICY.len() {
            let _ = parse(&POLICY[..at]);
            let _ = parse(&POLICY[at..]);
        }
    }
}
