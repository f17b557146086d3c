//! The pages in a real browser, over the indexes of real kernels: those of the folder `PROBEIDX_WEB`, else those that
//! tests/kernel left below the target folder. What is missing makes it say `skipped: …`. Pictures of all pages are left in
//! `web`, beside the indexes.
//!
//! The name of this program makes scripts/test compile it to be quick.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands, and say what it lacks"
)]
#[path = "../suite/support.rs"]
#[allow(dead_code, reason = "the other tests use more of it")]
mod support;

mod code;
mod driver;
mod heard_and_printed;
mod measured;

use driver::Browser;
use std::path::{Path, PathBuf};
use support::{HOSTILE, MARKUP, Program, RELEASE};
use tempfile::TempDir;

const ENTER: char = '\u{e007}';
const DOWN: char = '\u{e015}';
const TAB: char = '\u{e004}';
const UP: char = '\u{e013}';
const HOME: char = '\u{e011}';
const END: char = '\u{e010}';
const ESCAPE: char = '\u{e00c}';

/// The program over real kernels, a browser, and the kernel that most is asked of; or what is missing, said aloud.
struct Explored {
    program: Program,
    browser: Browser,
    kernel: String,
    count: usize,
    _own: TempDir,
}

impl Explored {
    fn new() -> Option<Self> {
        let browser = browser()?;
        let own = tempfile::tempdir().unwrap();
        let given = std::env::var_os("PROBEIDX_WEB").map(PathBuf::from);
        if given.is_none() {
            link(&target().join("index"), own.path());
        }
        let db = given.as_deref().unwrap_or(own.path());
        let program = Program::start(db);
        let kernels = program.get("/api/kernels").items();
        let names: Vec<String> = kernels.iter().map(|k| k["kernel"].as_str().unwrap().to_owned()).collect();
        let kernel =
            names.iter().find(|name| name.starts_with("6.1.") && name.contains("amd64")).or(names.last());
        let Some(kernel) = kernel.cloned() else {
            eprintln!("skipped: no index of this version in {}", target().join("index").display());
            return None;
        };
        Some(Self { program, browser, kernel, count: names.len(), _own: own })
    }

    fn open(&self, path: &str) {
        let path = path.replace("KERNEL", &self.kernel);
        self.browser.open(&format!("{}{path}", self.program.url.trim_end_matches('/')));
    }

    #[track_caller]
    fn has(&self, text: &str) {
        let text = serde_json::Value::from(text.replace("KERNEL", &self.kernel));
        self.browser.until(&format!("document.body.innerText.includes({text})"));
    }
}

/// Links the indexes of a folder into another one. One of another version is left from another program.
fn link(from: &Path, to: &Path) {
    for path in std::fs::read_dir(from).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if probeidx::query::Index::open(&path).is_ok_and(|index| index.view().is_ok()) {
            std::os::unix::fs::symlink(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn browser() -> Option<Browser> {
    Browser::start().map_err(|why| eprintln!("skipped: {why}")).ok()
}

fn target() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn pictures() -> PathBuf {
    let folder = target().join("web");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Each page, with what has to be on it. Numbers of lines differ between kernels; these names do not.
const PAGES: [(&str, &str, &[&str]); 19] = [
    ("home", "/", &["KERNEL", "All kernels are searched"]),
    ("found", "/?q=vfs_read", &["vfs_read", "fs/read_write.c", "function"]),
    (
        "function",
        "/function?kernel=KERNEL&spec=vfs_read",
        &["ssize_t vfs_read(struct file *file", "out-of-line", "kprobe_events", "file=%di:x64"],
    ),
    ("inlined", "/function?kernel=KERNEL&spec=do_open", &["into path_openat", "fs/namei.c"]),
    ("copies", "/function?kernel=KERNEL&spec=fdget", &["Copies by file and caller", "addresses"]),
    ("tracepoint", "/function?kernel=KERNEL&spec=sched:sched_switch", &["Fields of the event", "prev_comm"]),
    (
        "code",
        "/code?kernel=KERNEL&at=vfs_read%2B0x0",
        &["fs/read_write.c", "vfs_read+0x0", "struct file", "p:probeidx/vfs_read"],
    ),
    ("lines", "/lines?kernel=KERNEL&spec=vfs_read", &["fs/read_write.c", "readable: file"]),
    ("type", "/type?kernel=KERNEL&name=struct+file&member=f_pos", &["f_pos", "cache line", "loff_t"]),
    ("beside", "/type?kernel=KERNEL&name=struct+file&beside=KERNEL", &["f_pos", "0 members of"]),
    ("bits", "/type?kernel=KERNEL&name=struct+tcp_sock", &["bit-field", "inet_conn"]),
    ("address", "/address?at=vfs_read%2B0x10", &["vfs_read+0x10"]),
    ("diff", "/diff?before=KERNEL&after=KERNEL&pattern=vfs_*", &["compared: 0 changed"]),
    ("history", "/history?name=vfs_read", &["prototype", "ssize_t vfs_read"]),
    ("tapsets", "/tapsets?kernel=KERNEL&pattern=vfs.read", &["alias"]),
    ("tracepoints", "/tracepoints?kernel=KERNEL&pattern=sched:*", &["sched:sched_switch"]),
    ("find", "/find?kernel=KERNEL&pattern=vfs_re*", &["vfs_readlink"]),
    ("blacklist", "/blacklist?kernel=KERNEL", &["entry-text"]),
    ("kernel", "/kernel?kernel=KERNEL", &["placements", "Verdicts", "Sections"]),
];

#[test]
fn every_page_shows_what_the_index_has() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    let folder = pictures();
    for (name, path, wanted) in PAGES {
        explored.open(path);
        for text in wanted {
            explored.has(text);
        }
        browser.picture(&folder.join(format!("{name}.png")));
        for width in [1000, 2000] {
            browser.size(width, 1000);
            let over =
                browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(over, 0, "{name} is cut off at {width} pixels");
        }
        browser.size(1400, 1000);
        assert_eq!(browser.value("document.querySelectorAll('main h1').length"), 1, "{name}");
        assert_eq!(browser.value("document.querySelectorAll('[role=alert]').length"), 0, "{name}");
        assert_eq!(browser.complaints(), [""; 0], "{name}");
    }
    browser.scheme("dark");
    for (name, path, _) in PAGES.iter().filter(|page| ["copies", "code", "type", "history"].contains(&page.0))
    {
        explored.open(path);
        browser.picture(&folder.join(format!("{name}-dark.png")));
    }
}

#[test]
fn it_is_used_by_keyboard_alone_and_back_leads_back() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    explored.open("/kernel?kernel=KERNEL");
    browser.press("/vfs_re");
    let shown = "document.querySelectorAll('#results [role=option]').length > 3";
    browser.until(shown);
    browser.picture(&pictures().join("search.png"));
    browser.press(&DOWN.to_string());
    assert_eq!(
        browser.text("document.querySelector('#results [aria-selected] .name').textContent"),
        "vfs_read"
    );
    assert_eq!(
        browser.text("document.getElementById('q').getAttribute('aria-activedescendant')"),
        "result-0"
    );
    browser.press(&ENTER.to_string());
    browser.until("location.pathname === '/function'");
    // The kernel that one looks at is kept.
    assert!(browser.text("location.search").contains(&explored.kernel));
    explored.has("ssize_t vfs_read");
    browser.back();
    browser.until("location.pathname === '/kernel'");
    explored.has("Sections");
    browser.forward();
    explored.has("ssize_t vfs_read");
    // Enter alone takes the first that begins with what is typed, Escape closes the list.
    browser.press(&format!("/struct file{ENTER}"));
    browser.until("location.pathname === '/type'");
    explored.has("f_op");
    browser.press("/vfs_re");
    browser.until(shown);
    browser.press(&ESCAPE.to_string());
    assert_eq!(browser.value("document.getElementById('results').hidden"), true);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_definition_is_copied() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    let permissions = serde_json::json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.devtools("Browser.grantPermissions", &permissions);
    explored.open("/function?kernel=KERNEL&spec=vfs_read");
    let has_copied = |wanted: &str| {
        let text = serde_json::Value::from(wanted);
        let later = "new Promise((again) => setTimeout(again, 50))";
        let same = format!("navigator.clipboard.readText().then((text) => text === {text} || {later})");
        assert!((0..100).any(|_| browser.promised(&same) == true), "{wanted} is not copied");
    };
    // Each has what the one before it has not: so one sees when it has come.
    for (format, wanted) in [
        ("kprobe-events", "p:probeidx/vfs_read"),
        ("stap", "kernel.function("),
        ("bpftrace", "kprobe:vfs_read"),
        ("perf", "perf record"),
        ("c", ".symbol ="),
    ] {
        browser.value(&format!("document.querySelector('[data-format={format}]').click()"));
        browser
            .until(&format!("(document.querySelector('.copied')?.textContent ?? '').includes('{wanted}')"));
        let shown = browser.text("document.querySelector('.copied').textContent");
        has_copied(&shown);
    }
    browser.value("document.querySelector('dd button.copy').click()");
    has_copied(&browser.text("document.querySelector('dd button.copy').textContent"));
}

#[test]
fn pasted_logs_and_scripts_are_answered_with_links_and_marks() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    let paste = |text: &str| {
        let text = serde_json::Value::from(text);
        browser.value(&format!("(document.querySelector('textarea').value = {text})"));
        browser.value("document.querySelector('form.pasted').requestSubmit()");
    };
    explored.open("/log?kernel=KERNEL");
    paste("hello <b>you</b>\n RIP: 0010:vfs_read+0x10\n");
    browser.until("document.querySelectorAll('.log .frame a').length > 0");
    assert_eq!(browser.text("document.querySelector('.log .frame a').textContent"), "vfs_read");
    explored.has("hello <b>you</b>");
    browser.picture(&pictures().join("log.png"));
    explored.open("/script");
    paste("kprobe:vfs_read { @ = count(); }\nkprobe:vfs_reed { @ = count(); }\n");
    browser.until("document.querySelectorAll('.script mark').length === 1");
    assert_eq!(browser.text("document.querySelector('.script mark').textContent"), "kprobe:vfs_reed");
    assert_eq!(browser.value("document.querySelectorAll('main thead th').length"), explored.count + 1);
    browser.picture(&pictures().join("script.png"));
    // What a script looks like is chosen, until somebody chooses.
    let typed = |text: &str| {
        let text = serde_json::Value::from(text);
        browser.value(&format!("(() => {{ const area = document.querySelector('textarea'); area.value = {text}; area.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"));
    };
    typed("probe kernel.function(\"vfs_read\") { }");
    browser.until("document.querySelector('select[name=kind]').value === 'systemtap'");
    typed("kprobe:vfs_read { }");
    browser.until("document.querySelector('select[name=kind]').value === 'bpftrace'");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_is_not_there_is_said_with_the_way_on() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    for path in [
        "/function?kernel=KERNEL&spec=vfs_reed",
        "/function?kernel=9.9.9&spec=vfs_read",
        "/type?kernel=KERNEL&name=struct+no_such",
        "/history?name=no_such_function",
    ] {
        explored.open(path);
        let said = browser.text("document.querySelector('main [role=alert]')?.innerText ?? ''");
        assert!(said.contains("no"), "{path}: {said}");
    }
}

/// The address of a function's first placement.
fn address_of(program: &Program, function: &str) -> String {
    let answer = program.get(&format!("/api/find?patterns={function}&each=true"));
    answer.items().first().and_then(|item| item["address"].as_str()).unwrap_or_default().to_owned()
}

#[test]
fn names_that_are_markup_stay_text() {
    let Some(browser) = browser() else { return };
    let program = Program::start(HOSTILE.path());
    let encoded = |name: &str| -> String { name.bytes().map(|byte| format!("%{byte:02x}")).collect() };
    let [function, of_type] = MARKUP.map(encoded);
    let pages = [
        "/?q=document".to_owned(),
        format!("/?q={function}"),
        format!("/function?kernel={RELEASE}&spec={function}"),
        format!("/function?kernel={function}&spec={of_type}"),
        format!("/type?kernel={RELEASE}&name=struct+{of_type}"),
        format!("/type?kernel={RELEASE}&name={of_type}&beside={RELEASE}"),
        format!("/history?name={function}"),
        format!("/find?kernel={RELEASE}&pattern=*document*"),
        format!("/diff?before={RELEASE}&after={RELEASE}&pattern={function}"),
        format!("/lines?kernel={RELEASE}&spec={function}"),
        format!("/address?at={function}"),
        format!("/code?kernel={RELEASE}&at={function}"),
        format!("/code?kernel={RELEASE}&at={}", address_of(&program, &function)),
    ];
    for path in &pages {
        browser.open(&format!("{}{path}", program.url.trim_end_matches('/')));
        assert_eq!(
            browser.value("document.querySelectorAll('main img, main script, main iframe').length"),
            0,
            "{path}"
        );
        let title = browser.text("document.title");
        assert!(title != "1" && title != "2", "{path} ran");
    }
    browser.open(&format!("{}?q=document", program.url));
    let text = browser.text("document.querySelector('main').innerText");
    assert!(text.contains(MARKUP[0]) && text.contains(MARKUP[1]), "{text}");
    browser.press("/document");
    browser.until("document.querySelectorAll('#results [role=option]').length > 1");
    assert_eq!(browser.value("document.querySelectorAll('#results img, #results script').length"), 0);
    browser.open(&format!("{}?q=a%1b%5b31m%e2%80%aeb", program.url));
    let text = browser.text("document.querySelector('main h1').textContent");
    assert!(text.contains("a\\u{1b}[31m\\u{202e}b"), "{text}");
    // The policy is the second wall: nothing that a page writes as markup gets that far.
    let tried = browser.text("(() => { try { document.body.innerHTML = '<img src=x>'; return 'written'; } catch (e) { return e.name; } })()");
    assert_eq!(tried, "TypeError");
}
