//! The page and its files.
use super::support::{INDEX, Program};

#[test]
fn each_page_has_the_policy_and_its_files_are_there() {
    let program = Program::start(INDEX.path());
    let page = program.get("/function?spec=submit");
    assert_eq!(page.status, 200);
    for wanted in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(page.head.contains(wanted), "{wanted} in {}", page.head);
    }
    assert!(!page.head.contains("unsafe-"), "{}", page.head);
    assert!(
        page.head.contains("X-Content-Type-Options: nosniff")
            && page.head.contains("Cache-Control: no-cache")
    );
    let mut names = page.text().split('"').filter(|part| part.starts_with("/assets/")).collect::<Vec<_>>();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let file = program.ask(&format!("GET {name}"), "Accept-Encoding: br, gzip;q=0.5\r\n", b"");
        assert_eq!(file.status, 200, "{name}");
        assert!(
            file.head.contains("immutable") && file.head.contains("Content-Encoding: gzip"),
            "{}",
            file.head
        );
        assert!(
            file.head.contains("Content-Security-Policy: default-src 'none'"),
            "a file can be opened as a page"
        );
        assert!(file.body.starts_with(&[0x1f, 0x8b]));
    }
}

#[test]
fn what_is_not_there_says_so() {
    let program = Program::start(INDEX.path());
    for path in [
        "/nothing",
        "/assets/app.js",
        "/assets/../../etc/passwd",
        "/api/",
        "/api/build",
        "/api/trace?spec=submit",
        "/favicon.ico",
    ] {
        assert_eq!(program.get(path).status, 404, "{path}");
    }
    let head = program.ask("HEAD /", "", b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
}
