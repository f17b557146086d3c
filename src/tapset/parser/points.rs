//! Probe points: components with dots, wildcards, braces, markers and conditions.
use std::sync::Arc;

use super::super::ast::{Component, Point};
use super::super::lexer::{Kind, Token};
use super::super::{Fault, Result, Spot};
use super::{MOST_COMPONENTS, MOST_POINTS, Parser, unexpected};

impl<'a> Parser<'a> {
    /// Points up to `{`, `}`, `=` or `+=`.
    pub(super) fn points(&mut self) -> Result<Vec<Point>> {
        let mut points = vec![];
        loop {
            let spot = self.spot()?;
            points.extend(self.alternatives()?);
            if points.len() > MOST_POINTS {
                return Err(too_many(spot));
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

    /// The points that one written point stands for: with braces, every combination, in order.
    fn alternatives(&mut self) -> Result<Vec<Point>> {
        let mut points: Vec<Point> = vec![];
        loop {
            let spot = self.spot()?;
            let suffixes = self.component()?;
            if points.iter().any(|p| p.optional || p.condition.is_some()) {
                return Err(Fault::new(spot, "`?`, `!` and conditions stand behind the last component"));
            }
            if points.is_empty() {
                points = suffixes;
            } else if points.len().saturating_mul(suffixes.len()) > MOST_POINTS {
                return Err(too_many(spot));
            } else {
                let combined = points.iter().flat_map(|start| {
                    suffixes.iter().map(|end| {
                        let components = start.components.iter().chain(&end.components).cloned().collect();
                        Point { components, ..end.clone() }
                    })
                });
                points = combined.collect();
            }
            if points.iter().any(|point| point.components.len() > MOST_COMPONENTS) {
                return Err(Fault::new(
                    spot,
                    format!("this point has more than {MOST_COMPONENTS} components"),
                ));
            }
            if !self.takes_operator(".")? {
                break;
            }
        }
        let spot = self.spot()?;
        let sufficient = self.takes_operator("!")?;
        if sufficient || self.takes_operator("?")? {
            for point in &mut points {
                if point.optional {
                    return Err(Fault::new(spot, "a second `?` or `!`"));
                }
                (point.optional, point.sufficient) = (true, sufficient);
            }
        }
        if self.takes(Kind::Keyword, "if")? {
            self.expect("(")?;
            let spot = self.spot()?;
            let condition = Arc::new(*self.expression()?);
            self.expect(")")?;
            for point in &mut points {
                if point.condition.is_some() {
                    return Err(Fault::new(spot, "a second condition"));
                }
                point.condition = Some(condition.clone());
            }
        }
        Ok(points)
    }

    /// A name, joined from adjacent pieces, with its argument; or points in braces.
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

fn too_many(spot: Spot) -> Box<Fault> {
    Fault::new(spot, format!("this probe stands for more than {MOST_POINTS} points"))
}
