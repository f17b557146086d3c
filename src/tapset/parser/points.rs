//! Probe points: components with dots, wildcards, braces, markers and conditions.
use std::sync::Arc;

use super::super::Result;
use super::super::ast::{Component, Point};
use super::super::lexer::{Kind, Token};
use super::super::macros::fault;
use super::{MOST_POINTS, Parser, unexpected};

impl<'a> Parser<'a> {
    /// Points up to `{`, `}`, `=` or `+=`.
    pub(super) fn points(&mut self) -> Result<Vec<Point>> {
        let mut points = vec![];
        loop {
            let at = self.peek()?.cloned();
            points.extend(self.alternatives()?);
            if points.len() > MOST_POINTS {
                return Err(too_many(at));
            }
            if self.takes_operator(",")? {
                continue;
            }
            let ends = |t: &Token<'_>| t.kind == Kind::Operator && matches!(&*t.text, "{" | "}" | "=" | "+=");
            match self.peek()?.is_some_and(ends) {
                true => return Ok(points),
                false => return self.unexpected("`,`, `{`, `}`, `=` or `+=`"),
            }
        }
    }

    /// What one written point stands for: with braces it is every combination, in order.
    fn alternatives(&mut self) -> Result<Vec<Point>> {
        let mut points: Vec<Point> = vec![];
        loop {
            let at = self.peek()?.cloned();
            let suffixes = self.component()?;
            if points.iter().any(|p| p.optional || p.condition.is_some()) {
                let token = at.ok_or_else(|| too_many(None))?;
                return Err(fault(&token, "`?`, `!` and conditions stand behind the last component"));
            }
            if points.is_empty() {
                points = suffixes;
            } else if points.len().saturating_mul(suffixes.len()) > MOST_POINTS {
                return Err(too_many(at));
            } else {
                let combined = points.iter().flat_map(|start| {
                    suffixes.iter().map(|end| {
                        let components = start.components.iter().chain(&end.components).cloned().collect();
                        Point { components, ..end.clone() }
                    })
                });
                points = combined.collect();
            }
            if !self.takes_operator(".")? {
                break;
            }
        }
        let at = self.peek()?.cloned();
        let sufficient = self.takes_operator("!")?;
        if sufficient || self.takes_operator("?")? {
            for point in &mut points {
                if let Some(token) = at.as_ref().filter(|_| point.optional) {
                    return Err(fault(token, "a second `?` or `!`"));
                }
                (point.optional, point.sufficient) = (true, sufficient);
            }
        }
        if self.takes(Kind::Keyword, "if")? {
            self.expect("(")?;
            let at = self.peek()?.cloned();
            let condition = Arc::new(*self.expression()?);
            self.expect(")")?;
            for point in &mut points {
                if let Some(token) = at.as_ref().filter(|_| point.condition.is_some()) {
                    return Err(fault(token, "a second condition"));
                }
                point.condition = Some(condition.clone());
            }
        }
        Ok(points)
    }

    /// A name, glued from pieces without blanks between, with its argument; or points in braces.
    fn component(&mut self) -> Result<Vec<Point>> {
        let what = "a name, `*` or `{`";
        if self.at_operator("{")? {
            self.deeper()?;
            self.expect("{")?;
            let points = self.points()?;
            self.expect("}")?;
            self.depth -= 1;
            return Ok(points);
        }
        let first = self.next(what)?;
        if !is_piece(&first) {
            return Err(unexpected(&first, what));
        }
        let (place, mut name) = (first.place, first.text.into_owned());
        while self.peek()?.is_some_and(|piece| is_piece(piece) && !piece.spaced) {
            name += &self.next(what)?.text;
        }
        let argument = match self.takes_operator("(")? {
            true => {
                let literal = self.literal()?;
                self.expect(")")?;
                Some(literal)
            }
            false => None,
        };
        let components = vec![Component { name, argument, place }];
        Ok(vec![Point { components, optional: false, sufficient: false, condition: None }])
    }
}

fn is_piece(token: &Token<'_>) -> bool {
    matches!(token.kind, Kind::Identifier | Kind::Keyword) || token.is_operator("*")
}

fn too_many(at: Option<Token<'_>>) -> Box<super::Fault> {
    let why = format!("this probe stands for more than {MOST_POINTS} points");
    match at {
        Some(token) => fault(&token, why),
        None => super::Fault::new(super::Place::default(), None, why),
    }
}
