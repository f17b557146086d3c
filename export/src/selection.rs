//! The kernels of an export, and the partitions that they are in.
#[cfg(feature = "program")]
use probeidx::Result;
#[cfg(feature = "program")]
use probeidx::cli::config::Config;
use probeidx::query::Index;
use probeidx::query::index::kernel_description::KernelDescription;
use std::sync::Arc;

/// A kernel of the export.
pub struct Chosen {
    /// Its index.
    pub index: Arc<Index>,
    /// What it is.
    pub description: KernelDescription,
    /// The name by which `--kernel` finds it.
    pub label: String,
    /// The upstream line as its tag begins: `v6.1`.
    pub line: Option<String>,
    /// The number of its partition.
    pub partition: usize,
}

/// The kernels that are asked, in their order, and the folders of their partitions.
///
/// # Errors
/// Those of choosing and opening indexes.
#[cfg(feature = "program")]
pub fn chosen(config: &Config) -> Result<(Vec<Chosen>, Vec<String>)> {
    Ok(of(config.described_of(config.indexes()?)?))
}

/// These kernels, which are in their order, and the folders of their partitions.
pub fn of(described: Vec<(KernelDescription, Arc<Index>)>) -> (Vec<Chosen>, Vec<String>) {
    let mut partitions: Vec<String> = vec![];
    let mut chosen = vec![];
    for (description, index) in described {
        let release = description.release();
        let line = Some(release.line()).filter(|line| !line.is_empty()).map(|line| format!("v{line}"));
        let folder = folder(line.as_deref().unwrap_or_default(), release.flavour);
        let known = partitions.iter().position(|partition| *partition == folder);
        let partition = known.unwrap_or(partitions.len());
        if known.is_none() {
            partitions.push(folder);
        }
        // The name of the file is what finds it in its folder, and no other there has it.
        let label = match index.path().extension().is_some_and(|extension| extension == "pidx") {
            true => index.path().file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            false => description.id.release.clone(),
        };
        chosen.push(Chosen { index, description, label, line, partition });
    }
    (chosen, partitions)
}

/// The folder of a partition, as Hive names it.
pub fn folder(line: &str, flavour: &str) -> String {
    format!("kernel_line={}/flavour={}", value(line), value(flavour))
}

/// A value in a path. The name for no value is Hive's own, which engines read as null.
fn value(text: &str) -> String {
    if text.is_empty() {
        return "__HIVE_DEFAULT_PARTITION__".to_owned();
    }
    let mut written = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' => written.push(byte.into()),
            // Two dots alone would be a folder.
            b'.' if !text.trim_matches('.').is_empty() => written.push('.'),
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_paths() {
        assert_eq!(folder("v6.1", "cloud-amd64"), "kernel_line=v6.1/flavour=cloud-amd64");
        assert_eq!(folder("v5.14", "x86_64+debug"), "kernel_line=v5.14/flavour=x86_64%2Bdebug");
        assert_eq!(folder("", ".."), "kernel_line=__HIVE_DEFAULT_PARTITION__/flavour=%2E%2E");
        assert_eq!(value("a/b=c%"), "a%2Fb%3Dc%25");
    }
}
