//! Macros: `@define name(parameters) %( body %)`, and their calls.
//!
//! A call is replaced by the tokens of the body. An argument is expanded where the body names it, with the parameters
//! in scope where it was written. The body of a library macro does not see the macros of the calling file; its
//! arguments do.
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lexer::{Comment, Kind, Lexer, Token};
use super::{Fault, Place, Result};

/// The deepest nesting of calls in bodies and arguments.
const DEEPEST: usize = 256;
/// The most tokens and calls that a file may expand to.
const MOST: usize = 500_000;

/// `@define name(parameters) %( … %)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Macro<'a> {
    /// The place of its `@define`.
    pub place: Place,
    /// The names of the parameters, in order.
    pub parameters: Vec<Cow<'a, str>>,
    #[serde(with = "super::stored::tree::sequence")]
    body: Arc<[Token<'a>]>,
}

impl Macro<'_> {
    /// The body as text, with a blank where there were any.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for token in &*self.body {
            text += if token.spaced && !text.is_empty() { " " } else { "" };
            text += &match token.kind {
                Kind::String => format!("\"{}\"", token.text.replace('"', "\\\"")),
                Kind::Embedded => format!("%{{{}%}}", token.text),
                _ => token.text.clone().into_owned(),
            };
        }
        text
    }
}

pub type Macros<'a> = HashMap<Cow<'a, str>, Arc<Macro<'a>>>;

/// The values of parameters in a body.
struct Bindings<'a> {
    of: Arc<Macro<'a>>,
    arguments: Vec<Arc<[Token<'a>]>>,
    /// The values of parameters in the arguments.
    outside: Option<Rc<Bindings<'a>>>,
}

/// A body or argument being read.
struct Reading<'a> {
    tokens: Arc<[Token<'a>]>,
    at: usize,
    bindings: Option<Rc<Bindings<'a>>>,
    /// Whether it is the body of a library macro.
    of_library: bool,
    called: Place,
}

/// The tokens of a file, with its macros defined and calls expanded.
pub struct Expander<'a> {
    lexer: Lexer<'a>,
    library: &'a Macros<'a>,
    /// The macros defined in the file itself.
    own: Macros<'a>,
    readings: Vec<Reading<'a>>,
    used: usize,
}

impl<'a> Expander<'a> {
    pub fn new(lexer: Lexer<'a>, library: &'a Macros<'a>) -> Self {
        Self { lexer, library, own: Macros::new(), readings: vec![], used: 0 }
    }

    /// The macros defined in the file, and its comments.
    pub fn into_parts(self) -> (Macros<'a>, Vec<Comment>) {
        (self.own, self.lexer.into_comments())
    }

    /// The end of what was read so far.
    pub fn place(&self) -> Place {
        self.lexer.place()
    }

    /// The next token as written in the current file or body; `None` at its end.
    fn written(&mut self) -> Result<Option<Token<'a>>> {
        self.used += 1;
        if self.used > MOST {
            let why = format!("this file has more than {MOST} tokens when its macros are expanded");
            return Err(Fault::new((self.place(), self.readings.first().map(|r| r.called)), why));
        }
        let Some(reading) = self.readings.last_mut() else { return Ok(self.lexer.next()) };
        let token = reading.tokens.get(reading.at).cloned();
        reading.at += 1;
        let called = self.readings.first().map(|r| r.called);
        Ok(token.map(|token| Token { called, ..token }))
    }

    /// Like [`Self::written`], but continues after the call at the end of a body.
    pub fn unexpanded(&mut self) -> Result<Option<Token<'a>>> {
        loop {
            let token = self.written()?;
            if token.is_some() || self.readings.pop().is_none() {
                return Ok(token);
            }
        }
    }

    /// The next token, with definitions processed and calls expanded.
    pub fn next(&mut self) -> Result<Option<Token<'a>>> {
        loop {
            let Some(token) = self.unexpanded()? else { return Ok(None) };
            let Some(name) = token.text.strip_prefix('@').filter(|_| token.kind == Kind::Operator) else {
                return Ok(Some(token));
            };
            if name == "define" {
                self.define(&token)?;
            } else if !self.call(&token, name)? {
                return Ok(Some(token));
            }
        }
    }

    fn define(&mut self, define: &Token<'a>) -> Result<()> {
        if !self.readings.is_empty() {
            return Err(fault(define, "`@define` cannot stand in the body of a macro"));
        }
        let name = self.expect(define, |t| t.kind == Kind::Identifier, "the name of a macro")?;
        if let Some(first) = self.own.get(&name.text) {
            let why = format!("the macro `@{}` is already defined in line {}", name.text, first.place.line);
            return Err(fault(&name, why));
        }
        if name.text == "define" {
            return Err(fault(&name, "`@define` cannot be defined"));
        }
        let mut parameters = vec![];
        let mut token = self.expect(define, |t| t.is_operator("%(") || t.is_operator("("), "`%(` or `(`")?;
        if token.is_operator("(") {
            while !token.is_operator(")") {
                let parameter =
                    self.expect(define, |t| t.kind == Kind::Identifier, "the name of a parameter")?;
                parameters.push(parameter.text);
                token = self.expect(define, |t| t.is_operator(",") || t.is_operator(")"), "`,` or `)`")?;
            }
            self.expect(define, |t| t.is_operator("%("), "`%(`")?;
        }
        let body = self.body(&name)?;
        let place = name.place;
        self.own.insert(name.text, Arc::new(Macro { place, parameters, body }));
        Ok(())
    }

    fn expect(
        &mut self,
        from: &Token<'a>,
        fits: impl Fn(&Token<'a>) -> bool,
        what: &str,
    ) -> Result<Token<'a>> {
        match self.written()? {
            Some(token) if fits(&token) => Ok(token),
            Some(token) => Err(fault(&token, format!("expected {what}, found {}", shown(&token)))),
            None => Err(fault(from, format!("expected {what} behind it, found the end of the file"))),
        }
    }

    /// The tokens up to the `%)` that ends a definition.
    fn body(&mut self, name: &Token<'a>) -> Result<Arc<[Token<'a>]>> {
        let (mut body, mut inside) = (vec![], 0);
        while let Some(token) = self.written()? {
            match (token.kind, &*token.text) {
                (Kind::Operator, "%(") => inside += 1,
                (Kind::Operator, "%)") if inside == 0 => return Ok(body.into()),
                (Kind::Operator, "%)") => inside -= 1,
                _ => {}
            }
            body.push(token);
        }
        Err(fault(name, format!("the body of the macro `@{}` is never closed by `%)`", name.text)))
    }

    /// Starts reading the expansion of a name, if it is a parameter or macro.
    fn call(&mut self, token: &Token<'a>, name: &str) -> Result<bool> {
        let (bindings, in_library) = match self.readings.last() {
            Some(reading) => (reading.bindings.clone(), reading.of_library),
            None => (None, false),
        };
        let called = token.called.unwrap_or(token.place);
        if let Some(inner) = &bindings
            && let Some(which) = inner.of.parameters.iter().position(|p| p == name)
        {
            let tokens = inner.arguments[which].clone();
            let bindings = inner.outside.clone();
            return self.begin(token, Reading { tokens, at: 0, bindings, of_library: false, called });
        }
        let own = self.own.get(name).filter(|_| !in_library);
        let (of, of_library) = match (own, self.library.get(name)) {
            (Some(own), _) => (own.clone(), false),
            (None, Some(shared)) => (shared.clone(), true),
            (None, None) => return Ok(false),
        };
        let mut outside = bindings.as_ref();
        while let Some(around) = outside {
            if Arc::ptr_eq(&around.of, &of) {
                return Err(fault(token, format!("the macro `@{name}` calls itself")));
            }
            outside = around.outside.as_ref();
        }
        let arguments = self.arguments(token, of.parameters.len())?;
        let tokens = of.body.clone();
        let bindings = Some(Rc::new(Bindings { of, arguments, outside: bindings }));
        self.begin(token, Reading { tokens, at: 0, bindings, of_library, called })
    }

    fn begin(&mut self, token: &Token<'a>, reading: Reading<'a>) -> Result<bool> {
        if self.readings.len() == DEEPEST {
            return Err(fault(token, format!("macros call each other more than {DEEPEST} deep")));
        }
        self.readings.push(reading);
        Ok(true)
    }

    /// The arguments of a call, without commas. A macro without parameters does not consume a `(` after it.
    fn arguments(&mut self, name: &Token<'a>, count: usize) -> Result<Vec<Arc<[Token<'a>]>>> {
        let mut arguments = Vec::with_capacity(count);
        if count == 0 {
            return Ok(arguments);
        }
        let takes =
            format!("the macro `{}` takes {count} argument{}", name.text, if count > 1 { "s" } else { "" });
        match self.written()? {
            Some(token) if token.is_operator("(") => {}
            _ => return Err(fault(name, format!("{takes}: expected `(` behind it"))),
        }
        let (mut argument, mut inside) = (vec![], 0);
        while let Some(token) = self.written()? {
            match (token.kind, &*token.text) {
                (Kind::Operator, "(" | "[") => inside += 1,
                (Kind::Operator, ")" | "]") if inside > 0 => inside -= 1,
                (Kind::Operator, end @ ("," | ")")) if inside == 0 => {
                    arguments.push(std::mem::take(&mut argument).into());
                    if (end == ")") != (arguments.len() == count) {
                        return Err(fault(
                            &token,
                            format!("{takes}, not {}", if end == ")" { "fewer" } else { "more" }),
                        ));
                    }
                    if end == ")" {
                        return Ok(arguments);
                    }
                    continue;
                }
                _ => {}
            }
            argument.push(token);
        }
        Err(fault(name, format!("the call of the macro `{}` is never closed by `)`", name.text)))
    }
}

/// The error at this token.
pub fn fault(token: &Token<'_>, message: impl Into<String>) -> Box<Fault> {
    Fault::new((token.place, token.called), message)
}

/// A token as named in messages.
pub fn shown(token: &Token<'_>) -> String {
    match token.kind {
        Kind::Junk => token.text.clone().into_owned(),
        Kind::Embedded => "embedded C".to_owned(),
        Kind::String => format!("the string {:?}", cut(&token.text)),
        _ => format!("`{}`", cut(&token.text)),
    }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}

/// The macros, no longer borrowing from the files.
pub fn owned(macros: Macros<'_>) -> impl Iterator<Item = (Cow<'static, str>, Arc<Macro<'static>>)> {
    let keep = |text: &str| Cow::Owned(text.to_owned());
    macros.into_iter().map(move |(name, of)| {
        let body = of.body.iter().map(|t| Token { text: keep(&t.text), ..*t }).collect();
        let parameters = of.parameters.iter().map(|p| keep(p)).collect();
        (keep(&name), Arc::new(Macro { place: of.place, parameters, body }))
    })
}
