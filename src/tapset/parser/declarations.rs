//! Probes, aliases, functions and globals.
use super::super::ast::{
    Alias, AliasBody, Embedded, Function, FunctionBody, Global, Parameter, Point, Probe, Script, Signature,
    Type,
};
use super::super::lexer::{Comment, Kind, Token};
use super::super::macros::fault;
use super::super::{Fault, Place, Result};
use super::{Parser, unexpected};

impl<'a> Parser<'a> {
    /// All declarations of a file.
    pub(super) fn declarations(&mut self) -> Result<Script> {
        let mut script = Script::default();
        while let Some(token) = self.peek()? {
            let (kind, text) = (token.kind, token.text.clone());
            match (kind, &*text) {
                (Kind::Keyword, "probe") => self.probe(&mut script)?,
                (Kind::Keyword, "function") => {
                    self.expect_keyword("function")?;
                    self.function(&mut script, false)?;
                }
                (Kind::Keyword, "global") => {
                    self.expect_keyword("global")?;
                    self.globals(&mut script, false)?;
                }
                (Kind::Keyword, "private") => {
                    self.expect_keyword("private")?;
                    if self.takes(Kind::Keyword, "function")? {
                        self.function(&mut script, true)?;
                    } else {
                        self.takes(Kind::Keyword, "global")?;
                        self.globals(&mut script, true)?;
                    }
                }
                (Kind::Embedded, _) => script.embedded.push(self.embedded()?),
                _ => return self.unexpected("`probe`, `function`, `global`, `private` or `%{`"),
            }
        }
        Ok(script)
    }

    pub(super) fn embedded(&mut self) -> Result<Embedded> {
        let token = self.next("`%{`")?;
        if token.kind != Kind::Embedded {
            return Err(unexpected(&token, "`%{`"));
        }
        self.require_privilege(&token, "embedded C")?;
        Ok(Embedded { place: token.place, code: token.text.into_owned() })
    }

    pub(super) fn require_privilege(&self, token: &Token<'a>, what: &str) -> Result<()> {
        match self.privileged {
            true => Ok(()),
            false => Err(fault(token, format!("{what} is for `stap -g` alone"))),
        }
    }

    fn probe(&mut self, script: &mut Script) -> Result<()> {
        let place = self.expect_keyword("probe")?.place;
        self.in_function = false;
        let (mut names, mut appended) = (vec![], false);
        let points = loop {
            let mut points = self.points()?;
            let token = self.next("`{`")?;
            match &*token.text {
                _ if token.kind != Kind::Operator => return Err(unexpected(&token, "`{`")),
                "{" => {
                    self.ahead = Some(token);
                    break points;
                }
                "=" | "+=" if points.len() == 1 => {
                    appended |= token.text == "+=";
                    names.extend(points.pop().map(|point| named(point, &token)).transpose()?);
                }
                _ => return Err(unexpected(&token, "`{`")),
            }
        };
        let body = self.block()?;
        if names.is_empty() {
            script.probes.push(Probe { points, body, place });
            return Ok(());
        }
        let (prologue, epilogue) = match self.at_operator(",")? {
            true if appended => return self.unexpected("no second body: that of `+=` is the epilogue"),
            true => {
                self.expect(",")?;
                (Some(body), Some(self.block()?))
            }
            false if appended => (None, Some(body)),
            false => (Some(body), None),
        };
        let body = AliasBody { prologue, epilogue, place, comment: None };
        script.aliases.push(Alias { names, points, body: body.into() });
        Ok(())
    }

    fn function(&mut self, script: &mut Script, private: bool) -> Result<()> {
        self.in_function = true;
        let name = self.next("the name of a function")?;
        let named_as_type = name.kind == Kind::Keyword && matches!(&*name.text, "string" | "long");
        if name.kind != Kind::Identifier && !named_as_type {
            return Err(unexpected(&name, "the name of a function"));
        }
        let result = self.declared_type()?;
        let parameters = self.parameters()?;
        let priority = match self.takes_operator(":")? {
            true => {
                let spot = self.spot()?;
                let priority = self.number()?;
                if priority < 1 {
                    return Err(Fault::new(spot, "the priority of a function is at least 1"));
                }
                Some(priority)
            }
            false => None,
        };
        let body = match self.at_kind(Kind::Embedded)? {
            true => FunctionBody::Embedded(self.embedded()?),
            false => FunctionBody::Statement(self.block()?),
        };
        let (place, name) = (name.place, name.text.into_owned());
        let signature = Signature { parameters: parameters.iter().map(|p| p.declared).collect(), result };
        script.functions.push(Function {
            name,
            private,
            parameters,
            result,
            priority,
            signature,
            body,
            place,
            comment: None,
        });
        Ok(())
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = vec![];
        self.expect("(")?;
        // The list may also end after a comma.
        while !self.takes_operator(")")? {
            let name = self.identifier("the name of a parameter")?;
            if parameters.iter().any(|p| p.name == name.text) {
                return Err(fault(&name, format!("a second parameter `{}`", name.text)));
            }
            let declared = self.declared_type()?;
            parameters.push(Parameter { place: name.place, name: name.text.into_owned(), declared });
            if !self.more(")")? {
                break;
            }
        }
        Ok(parameters)
    }

    /// `: long`, `: string`, or nothing.
    fn declared_type(&mut self) -> Result<Type> {
        if !self.takes_operator(":")? {
            return Ok(Type::Unknown);
        }
        if self.takes(Kind::Keyword, "string")? {
            return Ok(Type::String);
        }
        if self.takes(Kind::Keyword, "long")? {
            return Ok(Type::Long);
        }
        self.unexpected("`string` or `long`")
    }

    fn globals(&mut self, script: &mut Script, private: bool) -> Result<()> {
        loop {
            let name = self.identifier("the name of a global")?;
            if script.globals.iter().any(|g| g.name == name.text) {
                return Err(fault(&name, format!("a second global `{}`", name.text)));
            }
            let wraps = self.takes_operator("%")?;
            let size = match self.takes_operator("[")? {
                true => {
                    let spot = self.spot()?;
                    let size = self.number()?;
                    let fits = u32::try_from(size).ok().filter(|&s| s > 0 && s <= i32::MAX as u32);
                    if fits.is_none() {
                        return Err(Fault::new(spot, "the size of an array is from 1 to 2147483647"));
                    }
                    self.expect("]")?;
                    fits
                }
                false => None,
            };
            let value = match self.takes_operator("=")? {
                true if size.is_some() => {
                    return Err(fault(&name, "an array cannot have a value from the start"));
                }
                true => Some(self.literal()?),
                false => None,
            };
            let place = name.place;
            script.globals.push(Global { name: name.text.into_owned(), private, wraps, size, value, place });
            if self.takes_operator(";")? || !self.takes_operator(",")? {
                return Ok(());
            }
        }
    }
}

/// A point used as the name of an alias.
fn named(point: Point, token: &Token<'_>) -> Result<Point> {
    match point.optional {
        true => Err(fault(token, "the name of an alias cannot be optional")),
        false => Ok(point),
    }
}

/// Attaches each comment to the declaration it names; of several, the last one before the declaration.
pub(super) fn document(script: &mut Script, comments: Vec<Comment>) {
    if comments.is_empty() {
        return;
    }
    let find = |name: &str, place: Place| {
        let named = || comments.iter().filter(|c| c.name == name);
        let found = named().rfind(|c| c.line <= place.line).or_else(|| named().next());
        found.map(|c| c.text.clone())
    };
    for function in &mut script.functions {
        function.comment = find(&function.name, function.place);
    }
    for alias in &mut script.aliases {
        alias.body.comment = alias.names.first().and_then(|name| find(&name.name(), alias.body.place));
    }
}
