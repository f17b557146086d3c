//! The regular expressions of scripts: those of POSIX, extended (stapregex-parse.cxx of SystemTap 4.8).
//!
//! Only whether SystemTap compiles one is of interest, not what it matches.
use std::fmt;

/// Why SystemTap does not compile a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It ends within something.
    Ends,
    /// Something else is expected.
    Expected(&'static str),
    /// A repetition of nothing, or of an anchor: `*a`, `^+`.
    Repeats(char),
    /// A group that begins with `(?` and this, instead of `(?:`.
    Group(char),
    /// A class that is not closed: `[a-z`.
    Unclosed,
    /// A class without this name: `[[:letters:]]`.
    Class(String),
    /// A range from a later character to an earlier one: `z-a`.
    Inverted(char, char),
    /// Too many repetitions.
    Many(String),
    /// A backslash with wrong digits behind it.
    Escape,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ends => f.write_str("the regular expression ends too early"),
            Self::Expected(what) => write!(f, "the regular expression needs {what}"),
            Self::Repeats(operator) => write!(f, "`{operator}` of the regular expression repeats nothing"),
            Self::Group(next) => write!(f, "`(?{next}` begins no group of a regular expression"),
            Self::Unclosed => f.write_str("a `[` of the regular expression is not closed"),
            Self::Class(name) => write!(f, "there is no class [:{name}:] of characters"),
            Self::Inverted(from, to) => {
                write!(f, "the range {from}-{to} of the regular expression is inverted")
            }
            Self::Many(number) => {
                write!(f, "a regular expression repeats nothing {number} times: 12344 is the most")
            }
            Self::Escape => {
                f.write_str("the digits after a backslash are three octal or, after x, two hexadecimal ones")
            }
        }
    }
}

/// Whether SystemTap compiles a regular expression, given as a script has it between the quotes. What follows an unmatched `)` it
/// does not read.
///
/// # Errors
/// What is wrong.
pub fn check(regex: &str) -> Result<(), Wrong> {
    let mut reader = Reader { all: unescaped(regex)?, at: 0, depth: 0 };
    reader.alternatives()
}

/// The least number of repetitions that is too many (`MAX_DFA_REPETITIONS`).
const TOO_MANY: u32 = 12_345;

/// The names of classes (`named_char_class`).
const CLASSES: [&str; 15] = [
    "alpha", "alnum", "blank", "cntrl", "d", "digit", "xdigit", "graph", "l", "lower", "print", "punct", "s",
    "space", "u",
];

/// The most groups within each other.
const DEEPEST: usize = 500;

/// The characters after the escapes of C.
fn unescaped(regex: &str) -> Result<Vec<char>, Wrong> {
    let mut found = vec![];
    let mut rest = regex;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        if next != '\\' {
            found.push(next);
            continue;
        }
        let code = |digits: Option<&str>, radix| {
            let number = u32::from_str_radix(digits?, radix).ok();
            number.and_then(char::from_u32)
        };
        let (escaped, length) = match rest.chars().next().ok_or(Wrong::Ends)? {
            'x' => (code(rest.get(1..3), 16).ok_or(Wrong::Escape)?, 3),
            '0'..='3' => (code(rest.get(..3), 8).ok_or(Wrong::Escape)?, 3),
            '4'..='7' => return Err(Wrong::Escape),
            plain => (plain, plain.len_utf8()),
        };
        found.push(escaped);
        rest = &rest[length..];
    }
    Ok(found)
}

/// What is left of a regular expression.
struct Reader {
    all: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.all.get(self.at).copied()
    }
    fn next(&mut self) -> Result<char, Wrong> {
        let next = self.peek().ok_or(Wrong::Ends)?;
        self.at += 1;
        Ok(next)
    }
    fn skip(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn alternatives(&mut self) -> Result<(), Wrong> {
        loop {
            while self.peek().is_some_and(|next| !matches!(next, '|' | ')')) {
                self.factor()?;
            }
            if !self.skip('|') {
                return Ok(());
            }
        }
    }

    /// One character, class, group or anchor, and how often it is repeated.
    fn factor(&mut self) -> Result<(), Wrong> {
        let first = self.next()?;
        match first {
            '*' | '+' | '?' | '{' => return Err(Wrong::Repeats(first)),
            '[' => self.class()?,
            '(' => self.group()?,
            '\\' => drop(self.next()?),
            _ => {}
        }
        while let Some(operator) = self.peek().filter(|next| matches!(next, '*' | '+' | '?' | '{')) {
            if matches!(first, '^' | '$') {
                return Err(Wrong::Repeats(operator));
            }
            self.at += 1;
            if operator == '{' {
                self.times()?;
            }
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), Wrong> {
        if self.skip('?') && !self.skip(':') {
            return Err(self.peek().map_or(Wrong::Ends, Wrong::Group));
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Wrong::Expected("fewer groups within each other"));
        }
        self.alternatives()?;
        self.depth -= 1;
        if self.skip(')') { Ok(()) } else { Err(Wrong::Expected("a `)`")) }
    }

    /// `{2}`, `{2,}`, `{2,5}` after the brace.
    fn times(&mut self) -> Result<(), Wrong> {
        self.number()?;
        match self.next()? {
            '}' => Ok(()),
            ',' if self.skip('}') => Ok(()),
            ',' => {
                self.number()?;
                if self.skip('}') { Ok(()) } else { Err(Wrong::Expected("a `}`")) }
            }
            _ => Err(Wrong::Expected("`,` or `}` after a number of repetitions")),
        }
    }

    fn number(&mut self) -> Result<(), Wrong> {
        let digits: String = self.all[self.at..].iter().take_while(|next| next.is_ascii_digit()).collect();
        self.at += digits.len();
        match digits.parse::<u32>() {
            _ if digits.is_empty() => Err(Wrong::Expected("a number of repetitions after `{`")),
            Ok(times) if times < TOO_MANY => Ok(()),
            _ => Err(Wrong::Many(digits)),
        }
    }

    /// `[a-z]` after the bracket; one that comes first is of the class.
    fn class(&mut self) -> Result<(), Wrong> {
        self.skip('^');
        loop {
            self.range()?;
            match self.peek() {
                None => return Err(Wrong::Unclosed),
                Some(']') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => {}
            }
        }
    }

    /// A character, a range of them or a named class, within a class.
    fn range(&mut self) -> Result<(), Wrong> {
        let mut from = self.next().map_err(|_| Wrong::Unclosed)?;
        if from == '[' && self.skip(':') {
            let rest = &self.all[self.at..];
            let end = rest.windows(2).position(|two| two == [':', ']']).ok_or(Wrong::Unclosed)?;
            let name: String = rest[..end].iter().collect();
            self.at += end + 2;
            return if CLASSES.contains(&&*name) { Ok(()) } else { Err(Wrong::Class(name)) };
        }
        if from == '\\' {
            from = self.next().map_err(|_| Wrong::Unclosed)?;
        }
        let ends = |next: Option<&char>| next.is_none_or(|next| *next == ']');
        if self.peek() != Some('-') || ends(self.all.get(self.at + 1)) {
            return Ok(());
        }
        let to = self.all[self.at + 1];
        self.at += 2;
        if to < from { Err(Wrong::Inverted(from, to)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `stap -p2` of 4.8 says of each.
    #[test]
    fn what_systemtap_compiles_is_right() {
        for right in [
            "",
            "a|",
            "()",
            "a**",
            "a+?",
            "ab)",
            "a{3,1}",
            "a{3}",
            "a{3,}",
            "[a-z]",
            "[]a]",
            "[^]a]",
            "[a-]",
            "[[:alpha:]_]",
            "[[a]",
            "(?:a|b)c",
            "^a$",
            "a.b",
            "a\\.b",
            "\\x41",
            "\\101",
            "x]",
            "x}",
        ] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        let wrong = [
            ("a[b-d}+", Wrong::Unclosed),
            ("a(b", Wrong::Expected("a `)`")),
            ("*b", Wrong::Repeats('*')),
            ("^*a", Wrong::Repeats('*')),
            ("a|+", Wrong::Repeats('+')),
            ("a{3", Wrong::Ends),
            ("a{x}", Wrong::Expected("a number of repetitions after `{`")),
            ("a{99999}", Wrong::Many("99999".to_owned())),
            ("a\\\\", Wrong::Ends),
            ("a\\", Wrong::Ends),
            ("[[:foo:]]", Wrong::Class("foo".to_owned())),
            ("[z-a]", Wrong::Inverted('z', 'a')),
            ("[]", Wrong::Unclosed),
            ("(?=a)", Wrong::Group('=')),
            ("\\x4", Wrong::Escape),
            ("\\777", Wrong::Escape),
        ];
        for (regex, why) in wrong {
            assert_eq!(check(regex), Err(why), "{regex}");
        }
        assert!(check(&"(".repeat(1_000_000)).is_err());
    }
}
