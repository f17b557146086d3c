//! Finds arrays that change during iteration, statistics that are never filled (elaborate.cxx of SystemTap 4.8,
//! `semantic_pass_vars` and `semantic_pass_stats`), and names that are never assigned.
use std::collections::{HashMap, HashSet};

use super::super::Place;
use super::effects::Uses;
use super::finding::Trouble;
use super::program::Program;
use super::tree::{Base, FunctionId, Kind, Node, Sort, Statement, VariableId};

impl Program<'_> {
    /// Reports loops that change the array they iterate over, and statistics without values.
    pub(super) fn loops(&mut self) {
        let changes: Vec<HashSet<VariableId>> =
            self.functions.iter().map(|function| changed(&function.body)).collect();
        let mut faults = vec![];
        let mut check = |body: &Statement<'_>| {
            let mut walk = Walk { changes: &changes, over: vec![], faults: &mut faults };
            walk.statement(body);
        };
        self.handlers.iter().for_each(|handler| check(&handler.body));
        self.functions.iter().filter(|f| f.reached).for_each(|function| check(&function.body));
        for (place, id) in faults {
            let name = self.variables[id.0 as usize].name;
            self.fault(place, Trouble::Control, name, "it changes while `foreach` goes over it", vec![]);
        }
        self.unfilled();
    }

    /// Reports statistics that are never filled or read, and those with two kinds of histograms, for which the
    /// storage would be ambiguous.
    fn unfilled(&mut self) {
        let mut used = HashSet::new();
        let mut histograms: HashMap<VariableId, Option<[i64; 3]>> = HashMap::new();
        let mut faults = vec![];
        let mut note = |body: &Statement<'_>| {
            body.expressions(&mut |expression| {
                expression.each(&mut |node| match &node.kind {
                    Kind::Assign { operator: "<<<", sides } => used.extend(root(&sides[0])),
                    Kind::Statistic(of) => used.extend(root(of)),
                    Kind::Element { of: Base::Histogram(of, bounds), .. }
                    | Kind::Print { histogram: Some(Base::Histogram(of, bounds)), .. } => {
                        let Some(id) = root(of) else { return };
                        used.insert(id);
                        if histograms.insert(id, *bounds).is_some_and(|other| other != *bounds) {
                            faults.push((node.place, id));
                        }
                    }
                    _ => {}
                });
            });
        };
        self.handlers.iter().for_each(|handler| note(&handler.body));
        self.functions.iter().for_each(|function| note(&function.body));
        for (place, id) in faults {
            let name = self.variables[id.0 as usize].name;
            self.fault(place, Trouble::Type, name, "histograms of two kinds are wanted of it", vec![]);
        }
        let globals = self.variables.iter().enumerate().filter(|(_, v)| v.global.is_some());
        let unfilled: Vec<_> = globals
            .filter(|(id, v)| v.sort == Sort::Statistics && !used.contains(&VariableId(*id as u32)))
            .map(|(_, v)| (v.place, v.name))
            .collect();
        for (place, name) in unfilled {
            self.fault(
                place,
                Trouble::Type,
                name,
                "nothing adds to these statistics or asks for them",
                vec![],
            );
        }
    }

    /// Reports names in a script's handlers that are read but never assigned.
    pub(super) fn warn_of_unassigned(&mut self) {
        let uses = Uses::of(self);
        let mut faults: HashMap<VariableId, Vec<String>> = HashMap::new();
        for handler in &self.handlers {
            for id in &handler.found.locals {
                let variable = &self.variables[id.0 as usize];
                if !uses.read.contains(id)
                    || uses.written.contains(id)
                    || !self.words.is_script(variable.place.file)
                {
                    continue;
                }
                let others = handler.found.locals.iter().filter(|other| *other != id);
                let others = others.map(|other| self.variables[other.0 as usize].name);
                let globals = self.variables.iter().filter(|v| v.global.is_some()).map(|v| v.name);
                let instead = crate::nearest::nearest(variable.name, others.chain(globals), 3);
                faults.insert(*id, instead);
            }
        }
        let mut faults: Vec<_> = faults.into_iter().collect();
        faults.sort_unstable_by_key(|(id, _)| *id);
        for (id, instead) in faults {
            let (name, place) = (self.variables[id.0 as usize].name, self.variables[id.0 as usize].place);
            self.fault(place, Trouble::Unassigned, name, "nothing gives it a value", instead);
        }
    }
}

/// The elements and statistics that a body changes.
fn changed(body: &Statement<'_>) -> HashSet<VariableId> {
    let mut changed = HashSet::new();
    each_change(body, &mut |_, id| {
        changed.insert(id);
    });
    changed
}

fn each_change(body: &Statement<'_>, visit: &mut dyn FnMut(Place, VariableId)) {
    body.expressions(&mut |expression| {
        expression.each(&mut |node| change(node, visit));
    });
}

/// The changes made by one node.
fn change(node: &Node<'_>, visit: &mut dyn FnMut(Place, VariableId)) {
    let target = match &node.kind {
        Kind::Assign { operator, sides } if *operator == "<<<" || is_element(&sides[0]) => &sides[0],
        Kind::Step(target) if is_element(target) => target,
        _ => return,
    };
    if let Some(id) = root(target) {
        visit(node.place, id);
    }
}

fn is_element(node: &Node<'_>) -> bool {
    matches!(node.kind, Kind::Element { .. })
}

fn root(node: &Node<'_>) -> Option<VariableId> {
    match &node.kind {
        Kind::Variable(id) | Kind::Element { of: Base::Array(id, _), .. } => Some(*id),
        _ => None,
    }
}

struct Walk<'w> {
    changes: &'w [HashSet<VariableId>],
    /// The arrays being iterated over.
    over: Vec<VariableId>,
    faults: &'w mut Vec<(Place, VariableId)>,
}

impl Walk<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::Block(all) => all.iter().for_each(|one| self.statement(one)),
            Statement::Try { body, handler, .. } => {
                self.statement(body);
                self.statement(handler);
            }
            Statement::If { condition, then, otherwise } => {
                self.expression(condition);
                self.statement(then);
                self.statement(otherwise);
            }
            Statement::For(parts) => {
                parts
                    .before
                    .iter()
                    .chain([&parts.condition])
                    .chain(&parts.after)
                    .for_each(|e| self.expression(e));
                self.statement(&parts.body);
            }
            Statement::Foreach(parts) => {
                let before = self.over.len();
                if let Base::Array(id, _) = &parts.of {
                    self.over.push(*id);
                }
                self.statement(&parts.body);
                self.over.truncate(before);
            }
            Statement::Delete(node) if is_element(node) => {
                if let Some(id) = root(node).filter(|id| self.over.contains(id)) {
                    self.faults.push((node.place, id));
                }
            }
            _ => statement.expressions(&mut |e| self.expression(e)),
        }
    }

    fn expression(&mut self, expression: &Node<'_>) {
        if self.over.is_empty() {
            return;
        }
        expression.each(&mut |node| {
            if let Kind::Call { of, .. } = &node.kind {
                for FunctionId(id) in of {
                    let changed = &self.changes[*id as usize];
                    let hit = self.over.iter().find(|id| changed.contains(id));
                    self.faults.extend(hit.map(|id| (node.place, *id)));
                }
            }
            // Statistics may grow: only an assignment to an element changes the array.
            if !matches!(&node.kind, Kind::Assign { sides, .. } if !is_element(&sides[0])) {
                change(node, &mut |place, id| {
                    if self.over.contains(&id) {
                        self.faults.push((place, id));
                    }
                });
            }
        });
    }
}
