//! What stands on what can be read, in both schemes: WCAG 2.2, success criteria 1.4.3 and 1.4.11.
use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../assets/style.css");

/// The colours of a scheme by name; dark has those of light that it does not change.
fn schemes() -> [BTreeMap<&'static str, &'static str>; 2] {
    let of = |text: &'static str| {
        let block = text.split(":root {").nth(1).unwrap().split('}').next().unwrap();
        block.split(';').filter_map(|declared| {
            let (name, value) = declared.trim().strip_prefix("--")?.split_once(": ")?;
            value.starts_with('#').then_some((name, value))
        })
    };
    let light: BTreeMap<_, _> = of(STYLE).collect();
    let dark = STYLE.split("@media (prefers-color-scheme: dark)").nth(1).unwrap();
    let dark = light.clone().into_iter().chain(of(dark)).collect();
    [light, dark]
}

/// The relative luminance of `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn contrast_is_computed_as_the_standard_does() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.001);
    assert!((contrast("#777777", "#ffffff") - 4.478).abs() < 0.001);
}

#[test]
fn text_and_signs_stand_out_in_both_schemes() {
    // Text on a ground, then lines and signs, which need less.
    let text: [(&str, &[&str]); 7] = [
        (
            "text",
            &[
                "back",
                "page",
                "soft",
                "mark",
                "even",
                "odd",
                "unnamed",
                "bits",
                "hole",
                "unknown",
                "ok-fill",
                "some-fill",
                "no-fill",
            ],
        ),
        ("dim", &["back", "page", "soft", "mark"]),
        ("accent", &["back", "page", "soft", "mark"]),
        ("ok", &["back", "page", "soft", "mark"]),
        ("some", &["back", "page", "soft", "mark"]),
        ("no", &["back", "page", "soft", "mark"]),
        ("back", &["text"]),
    ];
    let signs: [(&str, &[&str]); 1] = [("dim", &["even", "odd", "unnamed", "bits", "unknown"])];
    let mut short = vec![];
    for (name, scheme) in ["light", "dark"].iter().zip(schemes()) {
        assert!(scheme.len() >= 20, "{scheme:?}");
        for (least, pairs) in [(4.5, &text[..]), (3.0, &signs[..])] {
            for (front, grounds) in pairs {
                for ground in *grounds {
                    let found = contrast(scheme[front], scheme[ground]);
                    if found < least {
                        short.push(format!("{name}: {front} on {ground}: {found:.2}, not {least}"));
                    }
                }
            }
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
}
