//! Parses the C-like expression that reads from a variable: `((struct tcp_sock *)sk->sk)->snd_una`, `*pos`,
//! `&nd->path`, `vec@user[1].iov_base`.
use super::member_path::{Parser, Step};
use crate::error::Result;

/// A variable, and the steps that lead from it to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The variable; `retval` for the function's return value.
    pub root: String,
    /// The steps, in order; two `Steps` never follow one another.
    pub steps: Vec<AccessStep>,
}

/// One step of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessStep {
    /// Through members, pointers and elements.
    Steps(Vec<Step>),
    /// A cast to a pointer to this type.
    PointerTo(String),
    /// A pointer to user memory: that memory, and what is reached through it, is read as such.
    User,
    /// The address of the value.
    Address,
}

/// The deepest nesting of parentheses and casts.
const DEEPEST: u32 = 32;

/// Parses an expression. Also returns whether it starts at the function's return value.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::error::ErrorKind::Usage), with the column and what was expected there.
pub fn parse(text: &str) -> Result<(Access, bool)> {
    let mut parser = Parser { text, at: 0 };
    let found = unary(&mut parser, 0)?;
    parser.spaces();
    match parser.rest() {
        "" => Ok(found),
        _ => Err(parser.expected("'.', '->' or '['")),
    }
}

/// `*x`, `&x`, `(struct x *)x`, or a postfix expression.
fn unary(parser: &mut Parser<'_>, depth: u32) -> Result<(Access, bool)> {
    if depth > DEEPEST {
        return Err(parser.expected("an end of parentheses"));
    }
    let step = if parser.take("*") {
        AccessStep::Steps(vec![Step::Index(0)])
    } else if parser.take("&") {
        AccessStep::Address
    } else if let Some(target) = cast(parser) {
        AccessStep::PointerTo(target)
    } else {
        return postfix(parser, depth);
    };
    let (mut access, is_returned) = unary(parser, depth + 1)?;
    access.push(step);
    Ok((access, is_returned))
}

/// A name or a parenthesized expression, with the steps after it.
fn postfix(parser: &mut Parser<'_>, depth: u32) -> Result<(Access, bool)> {
    let (mut access, is_returned) = if parser.take("(") {
        let inside = unary(parser, depth + 1)?;
        if !parser.take(")") {
            return Err(parser.expected("')'"));
        }
        inside
    } else {
        let is_special = parser.take("$");
        let mut root = parser.word("a variable's name")?;
        // SystemTap's name of the return value, which no variable can have.
        if is_special && root == "return" {
            root = "retval".to_owned();
        }
        let is_returned = is_special && root == "retval";
        (Access { root, steps: vec![] }, is_returned)
    };
    loop {
        if parser.take("@user") {
            access.push(AccessStep::User);
            continue;
        }
        parser.spaces();
        if parser.rest().is_empty() || parser.rest().starts_with(')') {
            return Ok((access, is_returned));
        }
        let step = parser.step()?;
        access.push(AccessStep::Steps(vec![step]));
    }
}

/// Skips a cast, `(struct tcp_sock *)`, if there is one.
fn cast(parser: &mut Parser<'_>) -> Option<String> {
    let rest = parser.rest().trim_start();
    let (inside, after) = rest.strip_prefix('(')?.split_once(')')?;
    let target = inside.trim().strip_suffix('*')?.trim_end();
    if !target.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    parser.at = parser.text.len() - after.len();
    Some(target.to_owned())
}

impl Access {
    fn push(&mut self, step: AccessStep) {
        match (self.steps.last_mut(), step) {
            (Some(AccessStep::Steps(steps)), AccessStep::Steps(more)) => steps.extend(more),
            (_, step) => self.steps.push(step),
        }
    }

    /// The expression up to a step, as C writes it.
    pub fn up_to(&self, steps: usize) -> String {
        let mut text = self.root.clone();
        for step in &self.steps[..steps.min(self.steps.len())] {
            match step {
                AccessStep::Steps(steps) => steps.iter().for_each(|step| text += &step.to_string()),
                AccessStep::PointerTo(target) => text = format!("(({target} *){text})"),
                AccessStep::User => text.push_str("@user"),
                AccessStep::Address => text = format!("(&{text})"),
            }
        }
        text
    }

    /// The name of the last member, else of the variable.
    pub fn name(&self) -> &str {
        let steps = self.steps.iter().rev().filter_map(|step| match step {
            AccessStep::Steps(steps) => Some(steps),
            _ => None,
        });
        let last = steps.flat_map(|steps| steps.iter().rev()).find_map(|step| match step {
            Step::Member(name) | Step::Arrow(name) => Some(name.as_str()),
            Step::Index(_) => None,
        });
        last.unwrap_or(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_in_c() {
        for (text, as_read) in [
            ("sk", "sk"),
            ("$a -> b . c[2]", "a->b.c[2]"),
            ("*pos", "pos[0]"),
            ("*a->b", "a->b[0]"),
            ("(*a).b", "a[0].b"),
            ("**a", "a[0][0]"),
            ("&a->b", "(&a->b)"),
            ("(&a)->b", "(&a)->b"),
            ("((struct b *)a)->c", "((struct b *)a)->c"),
            ("((struct c *)a->b)->d", "((struct c *)a->b)->d"),
            ("((struct c*)((struct b *) $a)->x)->d[1]", "((struct c *)((struct b *)a)->x)->d[1]"),
            ("(struct b *)a->c", "((struct b *)a->c)"),
            ("*(u32 *)a", "((u32 *)a)[0]"),
            ("a@user[1].b", "a@user[1].b"),
            ("a->b@user->c", "a->b@user->c"),
        ] {
            let (access, is_returned) = parse(text).unwrap();
            assert_eq!((access.up_to(usize::MAX).as_str(), is_returned), (as_read, false), "{text}");
        }
        assert!(parse("(*$retval).x").unwrap().1 && !parse("retval").unwrap().1);
        assert_eq!(parse("$return->x").unwrap(), parse("$retval->x").unwrap());
        assert_eq!(parse("*((struct b *)a->c)->d[1]").unwrap().0.name(), "d");
        assert_eq!(parse("*a").unwrap().0.name(), "a");
    }

    #[test]
    fn what_is_no_way_has_a_column() {
        let deep = "(".repeat(100) + "a";
        for (text, said) in [
            ("", "column 1: expected a variable's name"),
            ("*", "column 2: expected a variable's name"),
            ("(a", "column 3: expected ')'"),
            ("a)", "column 2: expected '.', '->' or '['"),
            ("a@usr", "column 2: expected '.', '->' or '['"),
            ("((struct b)a)->c", "column 10: expected '.', '->' or '['"),
            ("((struct a *sk", "column 10: expected '.', '->' or '['"),
            (&deep, "column 34: expected an end of parentheses"),
        ] {
            assert_eq!(parse(text).unwrap_err().message(), said, "{text}");
        }
    }
}
