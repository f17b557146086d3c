//! The files of the pages, in the program. Their names have a hash of their content, so that a browser keeps them for ever
//! and a newer program's page never gets an older one's script.
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::OnceLock;

/// A file, in an order in which each comes after those that it names.
struct Source {
    name: &'static str,
    text: &'static str,
}

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        [$(Source { name: $name, text: include_str!(concat!("../assets/", $name)) }),*]
    };
}

const SOURCES: [Source; 16] = sources![
    "style.css",
    "icon.svg",
    "dom.js",
    "ask.js",
    "parts.js",
    "treemap.js",
    "search.js",
    "function.js",
    "ribbons.js",
    "code.js",
    "lines.js",
    "type.js",
    "kernels.js",
    "text.js",
    "lists.js",
    "app.js",
];

const PAGE: &str = include_str!("../assets/page.html");

/// A file as it is sent.
#[derive(Debug)]
pub struct Asset {
    /// `text/css; charset=utf-8`.
    pub kind: &'static str,
    /// As it is.
    pub plain: Vec<u8>,
    /// Compressed by gzip, once it is asked for.
    gzip: OnceLock<Vec<u8>>,
}

impl Asset {
    fn new(name: &str, text: &str) -> Self {
        let kind = match name.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("js") => "text/javascript; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        Self { kind, plain: text.as_bytes().to_vec(), gzip: OnceLock::new() }
    }

    /// Compressed by gzip. Cost: a millisecond, once.
    pub fn gzip(&self) -> &[u8] {
        self.gzip.get_or_init(|| {
            let mut gzip = GzEncoder::new(vec![], Compression::best());
            // Memory takes all of it.
            gzip.write_all(&self.plain).and_then(|()| gzip.finish()).unwrap_or_default()
        })
    }
}

/// The page and its files.
#[derive(Debug)]
pub struct Assets {
    /// What each page begins with.
    pub page: Asset,
    /// By the name with the hash.
    files: BTreeMap<String, Asset>,
}

impl Assets {
    /// Names them. Cost: a millisecond.
    pub fn new() -> Self {
        let mut names: Vec<(&str, String)> = vec![];
        let mut files = BTreeMap::new();
        let named = |text: &str, names: &[(&str, String)]| {
            // As a script imports a file, and as the page refers to it.
            names.iter().fold(text.to_owned(), |text, (name, hashed)| {
                text.replace(&format!("\"./{name}\""), &format!("\"./{hashed}\""))
                    .replace(&format!("\"/assets/{name}\""), &format!("\"/assets/{hashed}\""))
            })
        };
        for source in SOURCES {
            let text = named(source.text, &names);
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let (stem, extension) = source.name.split_once('.').unwrap_or((source.name, ""));
            let hashed = format!("{stem}.{:016x}.{extension}", hasher.finish());
            files.insert(hashed.clone(), Asset::new(source.name, &text));
            names.push((source.name, hashed));
        }
        Self { page: Asset::new("page.html", &named(PAGE, &names)), files }
    }

    /// The file of this name.
    pub fn file(&self, name: &str) -> Option<&Asset> {
        self.files.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_named_by_its_content_and_used() {
        let assets = Assets::new();
        let texts: Vec<String> = assets
            .files
            .values()
            .chain([&assets.page])
            .map(|asset| String::from_utf8(asset.plain.clone()).unwrap())
            .collect();
        for name in assets.files.keys() {
            assert!(texts.iter().any(|text| text.contains(name.as_str())), "{name} is not used");
        }
        for text in &texts {
            assert!(!text.contains("from \"./dom.js\""), "an import has no hash: {text}");
        }
    }

    #[test]
    fn pages_are_light_and_bring_nothing_from_elsewhere() {
        let assets = Assets::new();
        let all: Vec<&Asset> = assets.files.values().chain([&assets.page]).collect();
        assert!(all.iter().map(|asset| asset.plain.len()).sum::<usize>() < 400_000);
        for asset in all {
            let text = String::from_utf8_lossy(&asset.plain);
            for (at, _) in text.match_indices("://") {
                let rest = &text[at..];
                assert!(rest.starts_with("://www.w3.org/"), "{}", &rest[..rest.len().min(60)]);
            }
        }
    }

    #[test]
    fn scripts_make_no_markup_of_text() {
        for source in SOURCES.iter().filter(|source| source.name.ends_with(".js")) {
            for wrong in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
            {
                assert!(!source.text.contains(wrong), "{} has {wrong}", source.name);
            }
        }
        for inline in ["<style", "style=", "onclick", "<script>"] {
            assert!(!PAGE.contains(inline), "{inline}");
        }
    }
}
