//! What a page may ask of [`Answers`](probeidx::cli::serve::Answers): these methods with these parameters. None of them names a
//! file of this machine.
use crate::message::Refusal;
use serde_json::{Map, Value, json};

/// A method that can be asked.
struct Method {
    name: &'static str,
    parameters: &'static [&'static str],
    /// Text is pasted for it.
    takes_text: bool,
}

const fn method(name: &'static str, parameters: &'static [&'static str]) -> Method {
    Method { name, parameters, takes_text: false }
}

const METHODS: [Method; 14] = [
    method("kernels", &[]),
    method("find", &["kernel", "patterns", "args", "each"]),
    method("resolve", &["kernel", "spec", "args", "format", "locals", "json"]),
    method("lines", &["kernel", "spec"]),
    method("callers", &["kernel", "spec"]),
    method("addr", &["kernel", "addresses"]),
    method("type", &["kernel", "name", "users"]),
    method("diff", &["before", "after", "pattern"]),
    method("history", &["kernel", "name"]),
    method("tapset", &["kernel", "patterns", "functions", "macros"]),
    method("blacklist", &["kernel", "modules"]),
    method("stats", &["kernel"]),
    Method { name: "decode", parameters: &["kernel", "base"], takes_text: true },
    Method { name: "check", parameters: &["kernel"], takes_text: true },
];

/// Parameters that are lists, and those that are on or off.
const LISTS: [&str; 4] = ["patterns", "args", "addresses", "modules"];
const SWITCHES: [&str; 6] = ["each", "locals", "json", "users", "functions", "macros"];
/// The largest number of items of an answer.
const MOST: u64 = 10_000;

/// The line of the protocol for a question.
///
/// # Errors
/// 404 for other methods; 400 for other parameters and values; 405 for text where none is taken, or none where it is.
pub fn line(
    name: &str,
    parameters: &[(String, String)],
    text: Option<&[u8]>,
    is_kernel: impl Fn(&str) -> bool,
) -> Result<Vec<u8>, Refusal> {
    let method = METHODS.iter().find(|method| method.name == name);
    let method = method.ok_or(Refusal(404, "there is no such method: see docs/web.md"))?;
    if method.takes_text != text.is_some() {
        return Err(Refusal(405, "decode and check take POST, all others GET"));
    }
    let mut request = Map::new();
    let mut params = Map::new();
    for (name, value) in parameters {
        let value = value.clone();
        match name.as_str() {
            "limit" | "skip" => {
                let number = value.parse().map_err(|_| Refusal(400, "limit and skip are numbers"))?;
                let number: u64 = if name == "limit" { u64::min(number, MOST) } else { number };
                request.insert(name.clone(), number.into());
            }
            name if !method.parameters.contains(&name) => {
                return Err(Refusal(400, "this method has no such parameter: see docs/web.md"));
            }
            // `diff` takes the files of indexes, too.
            "before" | "after" if !is_kernel(&value) => {
                return Err(Refusal(404, "a kernel that is asked for is not indexed"));
            }
            name if LISTS.contains(&name) && !(name == "args" && method.name == "find") => {
                let list = params.entry(name).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(value.into());
                }
            }
            name if SWITCHES.contains(&name) || name == "args" => {
                let is_on = match value.as_str() {
                    "true" => true,
                    "false" => false,
                    _ => return Err(Refusal(400, "a switch is true or false")),
                };
                params.insert(name.to_owned(), is_on.into());
            }
            name => {
                params.insert(name.to_owned(), value.into());
            }
        }
    }
    if method.name == "check" {
        params.insert("files".to_owned(), json!(["-"]));
    }
    if let Some(text) = text {
        request.insert("input".to_owned(), String::from_utf8_lossy(text).into());
    }
    request.insert("method".to_owned(), name.into());
    request.insert("params".to_owned(), params.into());
    Ok(Value::from(request).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, parameters: &[(&str, &str)], text: Option<&str>) -> Result<Value, u16> {
        let owned: Vec<(String, String)> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let line = line(name, &owned, text.map(str::as_bytes), |kernel| kernel == "6.1").map_err(|r| r.0)?;
        Ok(serde_json::from_slice(&line).unwrap())
    }

    #[test]
    fn questions_become_requests_of_the_protocol() {
        let resolve =
            asked("resolve", &[("spec", "f"), ("args", "a"), ("args", "b"), ("limit", "99999")], None);
        let expected =
            json!({"method": "resolve", "params": {"spec": "f", "args": ["a", "b"]}, "limit": 10000});
        assert_eq!(resolve.unwrap(), expected);
        let check = asked("check", &[("kernel", "*")], Some("kprobe:f {}")).unwrap();
        let expected =
            json!({"method": "check", "params": {"kernel": "*", "files": ["-"]}, "input": "kprobe:f {}"});
        assert_eq!(check, expected);
        assert_eq!(asked("find", &[("args", "true")], None).unwrap()["params"]["args"], true);
    }

    #[test]
    fn nothing_else_is_asked() {
        assert_eq!(asked("build", &[], None), Err(404));
        assert_eq!(asked("trace", &[("spec", "f")], None), Err(404));
        for (method, parameter) in [
            ("resolve", "db"),
            ("resolve", "live"),
            ("addr", "kallsyms"),
            ("lines", "source"),
            ("kernels", "kernel"),
        ] {
            assert_eq!(asked(method, &[(parameter, "/etc/passwd")], None), Err(400), "{method} {parameter}");
        }
        assert_eq!(asked("check", &[("files", "/etc/passwd")], Some("")), Err(400));
        assert_eq!(asked("diff", &[("before", "Cargo.toml"), ("after", "6.1")], None), Err(404));
        assert_eq!(asked("check", &[], None), Err(405));
        assert_eq!(asked("kernels", &[], Some("text")), Err(405));
        assert_eq!(asked("resolve", &[("spec", "f"), ("locals", "yes")], None), Err(400));
        assert_eq!(asked("resolve", &[("spec", "f"), ("limit", "-1")], None), Err(400));
    }
}
