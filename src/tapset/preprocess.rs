//! Conditionals: `%( CONDITION %? THEN %: ELSE %)`, on tokens, nested to any depth.
use super::condition;
use super::lexer::{Comment, Token};
use super::macros::{Expander, Macros, fault, shown};
use super::{Place, Result, Target};

/// The part of a conditional being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Then { kept: bool },
    Else { kept: bool },
}

/// The tokens of a file that apply to a target.
pub struct Preprocessor<'a> {
    macros: Expander<'a>,
    target: &'a Target<'a>,
    /// The open conditionals, with the tokens that opened them.
    open: Vec<(Token<'a>, Part)>,
}

impl<'a> Preprocessor<'a> {
    pub fn new(macros: Expander<'a>, target: &'a Target<'a>) -> Self {
        Self { macros, target, open: vec![] }
    }

    /// The macros defined in the file, and its comments.
    pub fn into_parts(self) -> (Macros<'a>, Vec<Comment>) {
        self.macros.into_parts()
    }

    /// The end of what was read so far.
    pub fn place(&self) -> Place {
        self.macros.place()
    }

    pub fn next(&mut self) -> Result<Option<Token<'a>>> {
        loop {
            let part = self.open.last().map(|(_, part)| *part);
            let skipped = matches!(part, Some(Part::Then { kept: false } | Part::Else { kept: false }));
            let token = if skipped { self.skip()? } else { self.macros.next()? };
            let Some(token) = token else {
                let Some((opened, _)) = self.open.pop() else { return Ok(None) };
                return Err(fault(&opened, "this conditional is never closed by `%)`"));
            };
            match (&*token.text, part) {
                _ if !token.is_operator(&token.text) => return Ok(Some(token)),
                ("%?", _) | ("%:" | "%)", None) => {
                    return Err(fault(&token, format!("`{}` without a `%(` before it", token.text)));
                }
                ("%:", Some(Part::Else { .. })) => {
                    return Err(fault(&token, "a second `%:` in one conditional"));
                }
                ("%:", Some(Part::Then { kept })) => {
                    self.open.last_mut().expect("a part is of an open conditional").1 =
                        Part::Else { kept: !kept };
                }
                ("%)", Some(_)) => _ = self.open.pop(),
                ("%(", _) => {
                    let kept = self.condition(&token)?;
                    self.open.push((token, Part::Then { kept }));
                }
                _ => return Ok(Some(token)),
            }
        }
    }

    /// `L op R`, combined by `&&`, which binds tighter, and `||`, up to `%?`.
    fn condition(&mut self, opened: &Token<'a>) -> Result<bool> {
        let (mut any, mut all) = (false, true);
        loop {
            let (left, operator, right) = (self.macros.next()?, self.macros.next()?, self.macros.next()?);
            let (Some(left), Some(operator), Some(right)) = (left, operator, right) else {
                return Err(fault(opened, "a condition is to follow `%(`"));
            };
            all &= condition::holds(self.target, &left, &operator, &right)?;
            let token = self.macros.next()?;
            let Some(token) = token else { return Err(fault(opened, "`%?` is to follow this condition")) };
            if token.is_operator("&&") {
                continue;
            }
            any |= all;
            all = true;
            if token.is_operator("%?") {
                return Ok(any);
            }
            if !token.is_operator("||") {
                return Err(fault(&token, format!("expected `%?`, `&&` or `||`, found {}", shown(&token))));
            }
        }
    }

    /// Skips an unselected part, looking only for nested conditionals. Returns the token that ends it.
    fn skip(&mut self) -> Result<Option<Token<'a>>> {
        let mut inside = 0;
        while let Some(token) = self.macros.unexpanded()? {
            match &*token.text {
                _ if !token.is_operator(&token.text) => {}
                "%(" => inside += 1,
                "%)" if inside > 0 => inside -= 1,
                "%)" | "%:" | "%?" if inside == 0 => return Ok(Some(token)),
                _ => {}
            }
        }
        Ok(None)
    }
}
