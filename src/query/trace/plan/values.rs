//! What is fetched at a place: the values with their fields, how each is shown, and what cannot be read.
use crate::error::Result;
use crate::query::spec::argument::{Argument, Source};
use crate::query::trace::Column;
use crate::query::trace::filter::{Condition, Field, Holds};
use crate::query::trace::shown::Shown;
use crate::query::value::{Role, ValueAt, arguments};
use probeidx_format::View;

/// What is fetched at the places of one spec.
pub(super) struct Fetched {
    /// What is printed, then what is only compared.
    pub(super) arguments: Vec<Argument>,
    /// How many are printed.
    pub(super) printed: usize,
    /// What the condition needs, by its text.
    pub(super) compared: Vec<String>,
    /// Whether the user named none, so that these are parameters and the value returned.
    pub(super) by_default: bool,
    /// `.maxactive(N)`
    pub(super) maxactive: Option<u64>,
}

/// The values of a place, with the fields that have them.
pub(super) struct Values<'f> {
    /// Those that are asked for and that are variables here.
    pub(super) all: Vec<ValueAt>,
    /// The fetch argument of each, `count=%dx:u64`, under the name of its field.
    fetches: Vec<Option<String>>,
    fetched: &'f Fetched,
}

impl<'f> Values<'f> {
    pub(super) fn new(values: &[ValueAt], fetched: &'f Fetched) -> Self {
        let is_compared = |v: &ValueAt| fetched.compared.contains(&v.name);
        let is_here = |v: &&ValueAt| v.is_asked && (!fetched.by_default || is_default(v) || is_compared(v));
        let all: Vec<ValueAt> = values.iter().filter(is_here).cloned().collect();
        let mut named = arguments(&all).into_iter();
        let fetches = all.iter().map(|v| v.fetch.as_ref().and_then(|_| named.next())).collect();
        Self { all, fetches, fetched }
    }

    fn each(&self) -> impl Iterator<Item = (&ValueAt, Option<&str>)> {
        self.all.iter().zip(self.fetches.iter().map(Option::as_deref))
    }

    /// Why the condition cannot be decided here.
    pub(super) fn uncompared(&self) -> Option<String> {
        let (v, _) =
            self.each().find(|(v, fetch)| fetch.is_none() && self.fetched.compared.contains(&v.name))?;
        Some(format!("{}, which the condition needs: {}", v.name, reason(v)))
    }

    pub(super) fn columns(&self, view: &View<'_>) -> Vec<Column> {
        let printed = self.each().filter(|(v, _)| self.fetched.is_printed(v));
        let column = |(v, fetch): (&ValueAt, Option<&str>)| {
            let (field, _) = fetch?.split_once('=')?;
            Some(Column {
                name: column_name(self.fetched, v),
                field: field.to_owned(),
                shown: shown(view, self.fetched, v, fetch?),
            })
        };
        printed.filter_map(column).collect()
    }

    pub(super) fn filter(&self, view: &View<'_>, condition: Option<&Condition>) -> Result<Option<String>> {
        let field = |argument: &Argument| {
            let fetched = self.fetched.arguments.iter().find(|a| is_same(a, argument))?;
            let (_, fetch) = self.each().find(|(v, _)| v.name == fetched.text)?;
            let (name, body) = fetch?.split_once('=')?;
            Some(Field { name: name.to_owned(), holds: Holds::of_fetch(body) })
        };
        condition.map(|condition| condition.filter(view, &field)).transpose()
    }

    pub(super) fn unreadable(&self) -> Vec<(String, String)> {
        let unread = self.each().filter(|(_, fetch)| fetch.is_none());
        unread.map(|(v, _)| (v.name.clone(), reason(v))).collect()
    }
}

impl Fetched {
    /// Whether a value is printed, and not only compared.
    fn is_printed(&self, value: &ValueAt) -> bool {
        self.arguments[..self.printed].iter().any(|a| a.text == value.name)
    }
}

/// Whether two arguments read the same, whatever they are called: `$return` and `$retval`.
pub(super) fn is_same(one: &Argument, other: &Argument) -> bool {
    let is_same_source = match (&one.source, &other.source) {
        (Source::Returned(one), Source::Returned(other)) => one.steps == other.steps,
        (one, other) => one == other,
    };
    is_same_source && one.cast == other.cast
}

/// Whether a value is printed if nothing is asked for.
pub(super) fn is_default(value: &ValueAt) -> bool {
    matches!(value.role, Role::Parameter | Role::Return)
}

/// Why a value cannot be read.
fn reason(value: &ValueAt) -> String {
    let why = value.location.as_deref().map_or(String::new(), |why| format!(", {why}"));
    format!("{}{why}", value.state.name())
}

/// A value as it is printed: by the name that the user gave, else as it was written, without its type.
fn column_name(fetched: &Fetched, value: &ValueAt) -> String {
    let Some(argument) = fetched.arguments.iter().find(|a| a.text == value.name) else {
        return value.name.clone();
    };
    if let Some(name) = &argument.name {
        return name.clone();
    }
    match (&argument.source, argument.text.rsplit_once(':')) {
        (Source::Returned(access), _) if access.steps.is_empty() => "$return".to_owned(),
        (_, Some((plain, _))) if argument.cast.is_some() => plain.to_owned(),
        _ => argument.text.clone(),
    }
}

/// How a value is shown: as its type, or as the type that the user gave.
fn shown(view: &View<'_>, fetched: &Fetched, value: &ValueAt, fetch: &str) -> Shown {
    let kind = fetch.rsplit_once(':').map_or("", |(_, kind)| kind);
    let is_cast = fetched.arguments.iter().any(|a| a.text == value.name && a.cast.is_some());
    let is_pointer = value.plan.as_ref().is_some_and(|plan| plan.is_pointer);
    match value.type_id {
        Some(_) if is_pointer && !is_cast => Shown::Address,
        Some(type_id) if !is_cast => match Shown::of_type(view, Some(type_id), value.role == Role::Return) {
            // A string was fetched of an array of characters.
            _ if kind == "string" => Shown::Text,
            shown => shown,
        },
        _ if fetch.ends_with("$comm") => Shown::Text,
        _ => Shown::of_cast(kind).unwrap_or(Shown::Hexadecimal),
    }
}

pub(super) fn shown_as(holds: Holds) -> Shown {
    match holds {
        Holds::Number { is_signed: true, .. } => Shown::Signed,
        Holds::Number { .. } | Holds::Array => Shown::Unsigned,
        Holds::Text => Shown::Text,
    }
}
