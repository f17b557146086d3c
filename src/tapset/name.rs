//! Patterns of names: `vm.*`, `syscall.**`.
use crate::error::Result;
use crate::pattern::Pattern;

/// A pattern of names, component by component: `*` matches within one, `**` across several.
#[derive(Clone, Debug)]
pub struct NamePattern {
    /// Each component, and whether it may match several.
    components: Vec<(Pattern, bool)>,
}

impl NamePattern {
    /// # Errors
    /// As for [`Pattern::new`].
    pub fn new(written: &str) -> Result<Self> {
        let component = |text: &str| {
            let several = text.contains("**");
            Ok((Pattern::new(&if several { text.replace("**", "*") } else { text.to_owned() })?, several))
        };
        Ok(Self { components: written.split('.').map(component).collect::<Result<_>>()? })
    }

    /// Whether it matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        fits(&self.components, name)
    }
    /// Whether it selects names with a leading `_`, which SystemTap's dump leaves out.
    pub fn asks_for_hidden(&self) -> bool {
        self.components.first().is_some_and(|(first, _)| first.literal_prefix().starts_with('_'))
    }
}

fn fits(components: &[(Pattern, bool)], name: &str) -> bool {
    let Some(((pattern, several), rest)) = components.split_first() else { return false };
    let mut ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    let here = |end: usize| {
        pattern.matches(&name.as_bytes()[..end])
            && match name.get(end + 1..) {
                Some(behind) => fits(rest, behind),
                None => rest.is_empty(),
            }
    };
    if *several { ends.any(here) } else { ends.next().is_some_and(here) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_is_for_one_component() {
        let cases = [
            ("vm.*", "vm.brk", true),
            ("vm.*", "vm.brk.return", false),
            ("vm.**", "vm.brk.return", true),
            ("**", "a", true),
            ("v**k", "vm.brk", true),
            ("**.return", "vm.brk.return", true),
            ("vm", "vm.brk", false),
            ("vm.brk.x", "vm.brk", false),
            ("v?.b[rx]k", "vm.brk", true),
        ];
        for (pattern, name, matches) in cases {
            assert_eq!(NamePattern::new(pattern).unwrap().matches(name), matches, "{pattern} {name}");
        }
        assert!(NamePattern::new("__vm.*").unwrap().asks_for_hidden());
        assert!(!NamePattern::new("*").unwrap().asks_for_hidden());
    }
}
