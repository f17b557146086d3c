//! Links lead to files that are there, and to headings that they have; every page is in the book.
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

#[test]
fn every_link_leads_somewhere() {
    let root = probeidx_book::root();
    let mut wrong = vec![];
    let mut headings: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for page in pages(&root) {
        for link in read(&page).links {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, heading) =
                link.split_once('#').map_or((&*link, None), |(path, heading)| (path, Some(heading)));
            let target = match path {
                "" => page.clone(),
                path => plain(&page.parent().unwrap().join(path)),
            };
            let is_page = target.extension().is_some_and(|extension| extension == "md");
            let has_heading = |heading: &str| {
                headings
                    .entry(target.clone())
                    .or_insert_with(|| read(&target).headings)
                    .iter()
                    .any(|h| h == heading)
            };
            if !target.exists() || is_page && !heading.is_none_or(has_heading) {
                wrong.push(format!("{}: {link}", page.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(count > 50, "{count} links");
    assert!(wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn the_book_has_every_page_once() {
    let docs = probeidx_book::root().join("docs");
    let mut listed = read(&docs.join("SUMMARY.md")).links;
    listed.sort();
    let mut there: Vec<String> = pages(&docs)
        .iter()
        .map(|page| page.strip_prefix(&docs).unwrap().to_string_lossy().into_owned())
        .filter(|page| page != "SUMMARY.md")
        .collect();
    there.sort();
    assert_eq!(listed, there, "docs/SUMMARY.md, and the files in docs/");
}

/// The links and headings of a page.
struct Page {
    links: Vec<String>,
    /// As links name them.
    headings: Vec<String>,
}

fn read(path: &Path) -> Page {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut links, mut headings) = (vec![], vec![]);
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string())
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => headings.extend(heading.take().map(|text| anchor(&text))),
            Event::Text(text) | Event::Code(text) => {
                heading.iter_mut().for_each(|heading| heading.push_str(&text))
            }
            _ => {}
        }
    }
    Page { links, headings }
}

/// What GitHub and mdBook make of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The Markdown below a folder; of the repository, what people read there.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(pages(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(anchor("`vfs_read` on 6.1, by hand"), "vfs_read-on-61-by-hand");
    assert_eq!(anchor("Who may ask"), "who-may-ask");
}
