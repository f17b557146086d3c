//! Tapset aliases on the command line: what is asked of the tapset that the index of a kernel holds.
use crate::error::Result;
use crate::query::derive::{Deriver, Listing};
use crate::query::listing::Lines;
use crate::query::spec::{self, Presence, Spec};
use crate::tapset::Definitions;
use crate::tapset::ast::{Component, Point};
use crate::tapset::handler::Words;
use probeidx_format::View;
use std::rc::Rc;

/// The aliases among the specs, as the language has them.
pub fn asked(specs: &[Spec]) -> Vec<Point> {
    let point = |spec: &Spec| match &spec.point {
        spec::Point::Alias(components) => Some(point(components, spec.presence)),
        _ => None,
    };
    specs.iter().filter_map(point).collect()
}

fn point(components: &[Component], presence: Presence) -> Point {
    Point {
        components: components.to_vec(),
        optional: presence != Presence::Required,
        sufficient: presence == Presence::Sufficient,
        condition: None,
    }
}

/// Appends the lines of the points, with locals and variables if they are wanted.
pub fn list(
    view: View<'_>,
    definitions: &Definitions<'_>,
    points: &[Point],
    with_variables: bool,
    lines: &mut Lines,
) -> Result<()> {
    let words = with_variables
        .then(|| Words::new(definitions, Rc::new(crate::query::derive::here::everywhere(view))));
    let mut listing = Listing::new(view, words);
    let mut deriver = Deriver::new(view, definitions);
    for point in points {
        deriver.derive(point, &mut |derived| {
            listing.add(&derived);
            Ok(())
        })?;
    }
    listing.put(lines);
    Ok(())
}

/// TEMPORARY until B.
pub fn with_definitions<T>(view: &View<'_>, f: impl FnOnce(&Definitions<'_>) -> Result<T>) -> Result<T> {
    use crate::tapset::{Library, Target};
    let release = String::from_utf8_lossy(view.release()).into_owned();
    let config = std::fs::read_to_string(format!("/boot/config-{release}")).unwrap_or_default();
    let config: std::collections::HashMap<String, String> =
        config.lines().filter_map(|l| l.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    let lookup = |name: &str| config.get(name).cloned();
    let target = Target::new("x86_64", &release, &lookup);
    let library = Library::load(&["/usr/share/systemtap/tapset".into()], &target);
    f(&Definitions::new(&library))
}
