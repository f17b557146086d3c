//! The blocks of a Python program that run only if the kernel has something.
use super::Asked;
use super::strings::Strings;

/// What asks a kernel (`BPF`, src/python/bcc/__init__.py of bcc 0.31).
const ASKS: [&str; 8] = [
    "get_kprobe_functions",
    "ksymname",
    "tracepoint_exists",
    "support_kfunc",
    "support_lsm",
    "support_raw_tracepoint",
    "kernel_struct_has_field",
    "get_tracepoints",
];

/// The blocks, by the positions where lines in them start.
pub(super) struct Blocks {
    /// The start of a line, and the innermost chain of branches around it that asks the kernel.
    lines: Vec<(usize, Option<usize>)>,
    chains: Vec<Chain>,
    /// The starts of lines of C where `#if` begins or ends, with how deep they are nested from there.
    conditions: Vec<(usize, u32)>,
}

/// `if`, `elif` and `else`, or `try`.
struct Chain {
    indent: usize,
    asks: bool,
    branches: Vec<Branch>,
}

/// What a branch does.
#[derive(Clone, Copy, Default)]
struct Branch {
    attaches: bool,
    ends: bool,
}

impl Blocks {
    /// Finds them by the indents of lines.
    pub fn of(text: &str, strings: &Strings) -> Self {
        let (mut chains, mut open): (Vec<Chain>, Vec<usize>) = (vec![], vec![]);
        let mut answers: Vec<&str> = vec![];
        let mut lines: Vec<(usize, Vec<usize>)> = vec![];
        let (mut conditions, mut depth) = (vec![], 0_u32);
        for (number, start) in strings.lines().iter().enumerate() {
            let end = strings.lines().get(number + 1).copied().unwrap_or(text.len());
            let line = text.get(*start..end).unwrap_or_default();
            let code = line.trim();
            if strings.is_text(*start) {
                let directive = code.strip_prefix('#').map_or("", str::trim_start);
                depth = match directive {
                    begins if begins.starts_with("if") => depth.saturating_add(1),
                    ends if ends.starts_with("endif") => depth.saturating_sub(1),
                    _ => continue,
                };
                conditions.push((*start, depth));
                continue;
            }
            if depth > 0 {
                depth = 0;
                conditions.push((*start, 0));
            }
            if code.is_empty() || code.starts_with('#') {
                continue;
            }
            let indent = line.len() - line.trim_start().len();
            let word =
                code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            let goes_on = matches!(word, "elif" | "else" | "except" | "finally");
            while let Some(last) = open.last()
                && (chains[*last].indent > indent || (chains[*last].indent == indent && !goes_on))
            {
                open.pop();
            }
            let asks = word == "try"
                || ASKS.iter().any(|ask| code.contains(ask))
                || answers.iter().any(|name| super::words(code).any(|(_, word)| word == *name));
            match word {
                "if" | "try" => {
                    open.push(chains.len());
                    chains.push(Chain { indent, asks, branches: vec![Branch::default()] });
                }
                "elif" | "else" if !open.is_empty() => {
                    if let Some(chain) = open.last().map(|last| &mut chains[*last]) {
                        chain.asks |= asks;
                        chain.branches.push(Branch::default());
                    }
                }
                // A variable with the answer. More of them than this are none.
                _ if asks && answers.len() < 64 => {
                    answers.extend(
                        code.split_once('=').map(|(name, _)| name.trim()).filter(|name| is_word(name)),
                    );
                }
                _ => {}
            }
            for chain in &open {
                if let Some(branch) = chains[*chain].branches.last_mut() {
                    branch.attaches |= code.contains("attach_");
                    branch.ends |= code.contains("exit(") || word == "raise";
                }
            }
            lines.push((*start, open.clone()));
        }
        let asking = |open: &Vec<usize>| open.iter().rev().copied().find(|chain| chains[*chain].asks);
        let lines = lines.iter().map(|(start, open)| (*start, asking(open))).collect();
        Self { lines, chains, conditions }
    }

    /// Whether what stands at a position of the C code is compiled only under conditions.
    pub fn is_conditional(&self, at: usize) -> bool {
        let next = self.conditions.partition_point(|(start, _)| *start <= at);
        next.checked_sub(1).is_some_and(|last| self.conditions[last].1 > 0)
    }

    /// Whether what stands at a position runs only if the kernel has something.
    pub fn asked(&self, at: usize) -> Asked {
        let line = self.lines.partition_point(|(start, _)| *start <= at);
        let chain = line.checked_sub(1).and_then(|line| self.lines[line].1);
        match chain {
            None => Asked::No,
            Some(chain) if !self.chains[chain].is_choice() => Asked::Optional,
            Some(chain) => Asked::OneOf(u32::try_from(chain).unwrap_or(u32::MAX)),
        }
    }
}

impl Chain {
    /// Whether it is a choice of what is attached: the tool does not go on without any.
    fn is_choice(&self) -> bool {
        let goes_on = |branch: &Branch| !branch.attaches && !branch.ends;
        let attaching = self.branches.iter().filter(|branch| branch.attaches).count();
        self.branches.len() > 1 && attaching > 0 && !self.branches.iter().any(goes_on)
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
