//! Expressions before the cursor, as far as they lead to a type: `$file->f_path`, `args.file`, `((struct sock *)arg0)`,
//! `@cast(p, "task_struct")`.
use std::ops::Range;

/// What an expression starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A path from a type: `struct sock->sk_prot`.
    Type(String),
    /// A path from what the probe has: `file->f_path`; empty for `args` of bpftrace.
    Argument(String),
}

/// How far assignments are followed.
const DEEPEST: usize = 8;

/// The expression that ends at the end of a text: names, members, and what is in brackets right before them.
pub fn last(text: &str) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut at = text.len();
    while at > 0 {
        match bytes[at - 1] {
            b'_' | b'$' | b'.' | b'@' => at -= 1,
            byte if byte.is_ascii_alphanumeric() => at -= 1,
            b'>' if at > 1 && bytes[at - 2] == b'-' => at -= 2,
            // Only what a member follows, or a name that is called.
            b')' | b']' if matches!(bytes.get(at), Some(b'.' | b'-')) => match opening(bytes, at - 1) {
                Some(open) => at = open,
                None => break,
            },
            _ => break,
        }
    }
    at..text.len()
}

/// The bracket that belongs to a closing one.
fn opening(bytes: &[u8], close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in (0..=close).rev() {
        match bytes[at] {
            b')' | b']' => depth += 1,
            b'(' | b'[' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            b'{' | b'}' | b';' => return None,
            _ => {}
        }
    }
    None
}

/// What an expression leads to. `body` is the handler up to there: what its variables were assigned last.
pub fn root(expression: &str, body: &str) -> Option<Root> {
    followed(expression, body, DEEPEST)
}

fn followed(expression: &str, body: &str, deepest: usize) -> Option<Root> {
    let deepest = deepest.checked_sub(1)?;
    let expression = without_indices(expression.trim());
    let expression = expression.as_str();
    // `(…)->member` and `@cast(…)->member`: what is in brackets, and the rest.
    if let Some(inner_start) = expression.find('(') {
        let close = closing(expression.as_bytes(), inner_start)?;
        let (inner, rest) = (&expression[inner_start + 1..close], &expression[close + 1..]);
        let head = match &expression[..inner_start] {
            "@cast" => {
                let name = inner.split('"').nth(1)?;
                Root::Type(if name.contains(' ') { name.to_owned() } else { format!("struct {name}") })
            }
            "" => match cast(inner) {
                Some(of) => Root::Type(of),
                None => followed(inner, body, deepest)?,
            },
            _ => return None,
        };
        return Some(head.with(rest));
    }
    let (name, rest) = expression.split_at(expression.find(['.', '-']).unwrap_or(expression.len()));
    match name {
        "args" => {
            let path = rest.trim_start_matches(['.', '-', '>']);
            Some(Root::Argument(path.to_owned()))
        }
        "curtask" => Some(Root::Type("struct task_struct".to_owned()).with(rest)),
        name if name.starts_with('$') => match assigned(name, body) {
            Some(value) => {
                let value = value.to_owned();
                let root = match cast(&value) {
                    Some(of) => Root::Type(of),
                    None => followed(&value, body, deepest)?,
                };
                Some(root.with(rest))
            }
            // SystemTap: what the probe has.
            None => Some(Root::Argument(expression[1..].to_owned())),
        },
        _ => None,
    }
}

impl Root {
    fn with(self, rest: &str) -> Self {
        match self {
            Self::Type(path) => Self::Type(path + rest),
            Self::Argument(path) => Self::Argument(path + rest),
        }
    }
}

/// The type of a cast: `(struct sock *)arg0` is `struct sock`.
fn cast(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix('(')?;
    let (of, _) = rest.split_once(')')?;
    let name = of.trim().trim_end_matches(['*', ' ']);
    let is_type = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ');
    is_type.then(|| name.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// What a variable was assigned last.
fn assigned<'t>(name: &str, body: &'t str) -> Option<&'t str> {
    let mut end = body.len();
    while let Some(at) = body[..end].rfind(name) {
        let rest = &body[at + name.len()..];
        if let Some(value) = rest.trim_start().strip_prefix('=').filter(|value| !value.starts_with('=')) {
            return value.split([';', '\n', '}']).next().map(str::trim).filter(|value| !value.is_empty());
        }
        end = at;
    }
    None
}

/// An expression without what is in `[]`, which leads to an element.
fn without_indices(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

/// The bracket that belongs to an opening one.
fn closing(bytes: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_expression() {
        for (text, expected) in [
            ("x = $file->f_pa", "$file->f_pa"),
            ("if (args.", "args."),
            ("print(((struct sock *)arg0)->sk", "((struct sock *)arg0)->sk"),
            ("@cast(p, \"task_struct\")->", "@cast(p, \"task_struct\")->"),
            ("$x[1].y", "$x[1].y"),
            ("a > b", "b"),
            ("f(x) + ", ""),
            ("f(x)", ""),
            ("é.x", ".x"),
        ] {
            assert_eq!(&text[last(text)], expected, "{text}");
        }
    }

    #[test]
    fn roots() {
        let of = |path: &str| Some(Root::Type(path.to_owned()));
        let argument = |path: &str| Some(Root::Argument(path.to_owned()));
        for (expression, body, expected) in [
            ("args", "", argument("")),
            ("args.file->f_path", "", argument("file->f_path")),
            ("$file", "", argument("file")),
            ("$file->f_path", "", argument("file->f_path")),
            ("((struct sock *)arg0)", "", of("struct sock")),
            ("((struct sock *)arg0)->sk_prot", "", of("struct sock->sk_prot")),
            ("@cast(p, \"task_struct\")->mm", "", of("struct task_struct->mm")),
            ("curtask", "", of("struct task_struct")),
            ("curtask->mm[3]", "", of("struct task_struct->mm")),
            ("$sk", "$sk = (struct sock *)arg0; $sk->", of("struct sock")),
            ("$b->c", "$a = args.file;\n$b = $a->f_path; $b == 1", argument("file->f_path->c")),
            ("$a", "$a = $a->x", argument("a->x->x->x->x->x->x->x")),
            ("f(x)", "", None),
            ("pid", "", None),
        ] {
            let found = root(expression, body);
            if expression == "$a" {
                assert_eq!(found, None, "an assignment to itself leads nowhere");
                continue;
            }
            assert_eq!(found, expected, "{expression}");
        }
    }
}
