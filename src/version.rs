//! Versions, as two numbers.

/// Version and patch level: (6, 12).
pub type Version = (u32, u32);

/// The version at the start of a text: 6.1 for the release `6.1.0-56-cloud-amd64`.
pub fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
