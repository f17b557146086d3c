//! YAML documents as trees, with places. Aliases stand for nothing, so that a document cannot grow.
use super::{Place, error};
use crate::error::Result;
use saphyr_parser::{Event, Marker, Parser, ScanError};

/// The deepest nesting, and the most nodes of a file.
const DEEPEST: usize = 64;
const MOST: usize = 1 << 20;

/// A node of a document.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(String),
    Sequence(Vec<Node>),
    /// Keys and values by turns.
    Mapping(Vec<Node>),
    /// An alias.
    Alias,
}

impl Node {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Value::Mapping(all) = &self.value else { return None };
        all.chunks_exact(2).find(|pair| pair[0].text() == Some(key)).map(|pair| &pair[1])
    }

    /// The elements of the sequence that is the value of a key.
    pub fn items(&self, key: &str) -> impl Iterator<Item = &Self> {
        let items = match self.get(key).map(|node| &node.value) {
            Some(Value::Sequence(items)) => &items[..],
            _ => &[],
        };
        items.iter()
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value of a key is true.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Self::text).is_some_and(|text| matches!(text, "true" | "True" | "TRUE"))
    }
}

/// Reads the documents of a file.
///
/// # Errors
/// [`Syntax`](crate::ErrorKind::Syntax), with line and column.
pub(super) fn read(text: &str) -> Result<Vec<Node>> {
    let (mut documents, mut open): (Vec<Node>, Vec<Node>) = (vec![], vec![]);
    let mut count = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(failed)?;
        let place = place(&span.start);
        count += 1;
        if count > MOST {
            return Err(error(place, format!("more than {MOST} values")));
        }
        let done = match event {
            Event::Scalar(text, ..) => Value::Scalar(text.into_owned()),
            Event::Alias(_) => Value::Alias,
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= DEEPEST {
                    return Err(error(place, format!("nested more than {DEEPEST} deep")));
                }
                let value = match event {
                    Event::SequenceStart(..) => Value::Sequence(vec![]),
                    _ => Value::Mapping(vec![]),
                };
                open.push(Node { place, value });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(node) => {
                    add(node, &mut open, &mut documents);
                    continue;
                }
                None => continue,
            },
            _ => continue,
        };
        add(Node { place, value: done }, &mut open, &mut documents);
    }
    Ok(documents)
}

/// Adds a node to what is open, or to the documents.
fn add(node: Node, open: &mut [Node], documents: &mut Vec<Node>) {
    match open.last_mut().map(|outer| &mut outer.value) {
        Some(Value::Sequence(all) | Value::Mapping(all)) => all.push(node),
        _ => documents.push(node),
    }
}

fn place(marker: &Marker) -> Place {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Place { line: number(marker.line()), column: number(marker.col()).saturating_add(1) }
}

fn failed(failure: ScanError) -> crate::error::Error {
    error(place(failure.marker()), format!("no YAML: {}", failure.info()))
}
