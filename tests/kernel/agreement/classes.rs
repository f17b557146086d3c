//! The known ways in which we and SystemTap differ; the table in the module above says why.
use super::listing::{Difference, Listing, parts};

/// A class of differences.
pub struct Class {
    pub name: &'static str,
    /// Whether a difference is of this class, seen from our list and from theirs.
    pub holds: fn(&Difference<'_>, &Listing<'_>, &Listing<'_>) -> bool,
}

/// All of them; a difference is counted in the first that holds.
pub const CLASSES: [Class; 1] = [Class { name: "second label", holds: second_label }];

/// They list another name for the same line of the same assembly; perhaps one that was not asked for, in place of ours.
fn second_label(difference: &Difference<'_>, ours: &Listing<'_>, theirs: &Listing<'_>) -> bool {
    let (Difference::OnlyOurs(point) | Difference::OnlyTheirs(point)) = difference else { return false };
    let Some((before, name, Some(place))) = parts(point) else { return false };
    let is_other = |other: &&str| parts(other).is_some_and(|(_, n, p)| n != name && p == Some(place));
    // What is asked for is told by the first letters of names.
    let is_asked = |point: &str| {
        let letter = parts(point).and_then(|(_, name, _)| name.chars().next());
        letter.is_some_and(|letter| ours.starting(&format!("{before}{letter}")).next().is_some())
    };
    place.rsplit_once(':').is_some_and(|(file, _)| file.ends_with(".S"))
        && match difference {
            Difference::OnlyOurs(_) => {
                theirs.starting(before).filter(is_other).any(|other| ours.has(other) || !is_asked(other))
            }
            _ => !is_asked(point) && ours.starting(before).any(|other| is_other(&other)),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class of each difference.
    fn classes(ours: &str, theirs: &str) -> Vec<Option<&'static str>> {
        let (ours, theirs) = (Listing::new(ours), Listing::new(theirs));
        let differences = super::super::listing::compare(&ours, &theirs);
        let class = |d| CLASSES.iter().find(|c| (c.holds)(d, &ours, &theirs)).map(|c| c.name);
        differences.iter().map(class).collect()
    }
    fn points(texts: &[&str]) -> String {
        texts.iter().map(|t| format!("kernel.function(\"{t}\")\n")).collect()
    }

    #[test]
    fn each_class_holds_for_its_own_only() {
        let f = "f@a.c:1";
        assert_eq!(classes(&points(&[f]), &points(&[f, "f.isra.0"])), [None]);
        assert_eq!(classes("", &points(&["f"])), [None]);
        assert_eq!(classes(&points(&["f"]), ""), [None]);
        assert_eq!(classes(&points(&[f, "f"]), &points(&[f])), [None]);
        assert_eq!(classes(&points(&[f]), ""), [None]);
        assert_eq!(classes("", &points(&[f])), [None]);
        let (a, b) = ("memcpy@x.S:3", "__memcpy@x.S:3");
        assert_eq!(classes(&points(&[a, b]), &points(&[b])), [Some("second label")]);
        assert_eq!(classes(&points(&[a]), &points(&["mem@x.S:3"])), [None, None]);
        // Only names that start with an underscore were asked for.
        assert_eq!(classes(&points(&[b]), &points(&[a])), [Some("second label"); 2]);
        assert_eq!(classes(&points(&[b]), &points(&["memcpy@x.S:4"])), [None, None]);
        assert_eq!(classes(&(points(&[f]).trim_end().to_owned() + " $x:int"), &points(&[f])), [None]);
    }
}
