//! A machine with a kernel and no debug information of it, and elfutils' debuginfod, which has it: what is fetched gives the
//! answers that the files give. The connection is cut once on the way.
use crate::installed::{self, kernel, needed, scratch};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// elfutils' server over some folders.
struct Debuginfod {
    process: Child,
    port: u16,
}

impl Drop for Debuginfod {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Debuginfod {
    /// Its database and what it says (`log`) lie in `here`.
    fn start(folders: &[&Path], here: &Path) -> Result<Self, String> {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(|e| e.to_string())?.port();
        let mut c = Command::new("debuginfod");
        c.env_remove("DEBUGINFOD_URLS").args(["-F", "-v", "-t", "0", "-p", &port.to_string(), "-d"]);
        let log = File::create(here.join("log")).map_err(|e| e.to_string())?;
        let process = c.arg(here.join("db.sqlite")).args(folders).stdout(Stdio::null()).stderr(log).spawn();
        Ok(Self { process: process.map_err(|e| format!("cannot run debuginfod: {e}"))?, port })
    }

    /// Waits until it has a build id.
    fn knows(&self, id: &str) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(300) {
            let mut line = String::new();
            let asked = answer(self.port, &format!("/buildid/{id}/debuginfo"))
                .and_then(|mut a| a.read_line(&mut line));
            if asked.is_ok() && line.contains(" 200 ") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Err(format!("debuginfod did not find {id} in five minutes"))
    }
}

/// What a server says to a request.
fn answer(port: u16, path: &str) -> std::io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    Ok(BufReader::new(stream))
}

/// Stands before the server: cuts the first file after a third, and knows ranges, which elfutils' server does not (seen on
/// 0.188). Tells where each began that it passed on, and leaves out what the server refused for the moment.
fn cutting(server: u16) -> (String, Arc<Mutex<Vec<u64>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let starts = Arc::new(Mutex::new(vec![]));
    let passed = starts.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let passed = passed.clone();
            std::thread::spawn(move || pass(stream, server, &passed));
        }
    });
    (url, starts)
}

fn pass(stream: TcpStream, server: u16, passed: &Mutex<Vec<u64>>) -> Option<()> {
    let asked = head(&mut BufReader::new(&stream));
    let from: u64 = field(&asked, "range")
        .map_or(0, |range| range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap());
    let mut answer = answer(server, asked.split(' ').nth(1)?).ok()?;
    let said = head(&mut answer);
    let status = said.lines().next()?.split_once(' ')?.1;
    let mut stream = &stream;
    if !status.starts_with("200 ") {
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok()?;
        return None;
    }
    let is_first = {
        let mut passed = passed.lock().unwrap();
        passed.push(from);
        passed.len() == 1
    };
    let whole: u64 = field(&said, "content-length")?.parse().ok()?;
    let version = field(&said, "last-modified").unwrap_or_default();
    let status = if from > 0 {
        format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{whole}", whole - 1)
    } else {
        status.to_owned()
    };
    let length = whole.checked_sub(from)?;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nLast-Modified: {version}\r\nConnection: close\r\n\r\n")
        .ok()?;
    std::io::copy(&mut answer.by_ref().take(from), &mut std::io::sink()).ok()?;
    let sent = if is_first { whole / 3 } else { length };
    std::io::copy(&mut answer.take(sent), &mut stream).ok()?;
    Some(())
}

/// The lines up to the empty one.
fn head(from: &mut impl BufRead) -> String {
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") && from.read_line(&mut text).is_ok_and(|got| got > 0) {}
    text
}

fn field(head: &str, name: &str) -> Option<String> {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned()).next()
}

fn probeidx(db: &Path, arguments: &[&str], more: impl FnOnce(&mut Command)) -> Output {
    let mut c = Command::new(installed::program());
    c.env_remove("DEBUGINFOD_URLS").arg("--db").arg(db).args(arguments);
    more(&mut c);
    c.output().unwrap()
}

fn build_id(object: &Path) -> String {
    let out = Command::new("readelf").arg("-n").arg(object).output().expect("readelf can be run");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).unwrap().to_owned()
}

#[test]
fn what_is_fetched_answers_as_the_files_do() {
    const MODULE: &str = "kernel/fs/overlayfs/overlay.ko";
    let Some(kernel) = needed(kernel()) else { return };
    let here = scratch("debuginfod");
    let _ = std::fs::remove_dir_all(&here);
    let root = here.join("root");
    let copy = |from: &Path, to: &str| {
        let to = root.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    let release = &kernel.release;
    copy(&kernel.image, &format!("boot/vmlinuz-{release}"));
    copy(format!("/boot/config-{release}").as_ref(), &format!("boot/config-{release}"));
    copy(&kernel.modules.join(MODULE), &format!("lib/modules/{release}/{MODULE}"));
    let debug_module = kernel.debug_modules.join(MODULE);
    let folders = [kernel.vmlinux.parent().unwrap(), debug_module.parent().unwrap()];
    let Some(server) = needed(Debuginfod::start(&folders, &here)) else { return };
    for object in [&kernel.vmlinux, &debug_module] {
        let Some(()) = needed(server.knows(&build_id(object))) else { return };
    }
    let (url, starts) = cutting(server.port);
    let [fetched, given] = ["fetched", "given"].map(|name| here.join(name));
    let built = probeidx(&fetched, &["build", "--no-tapset", "--debuginfod", "all", "--sysroot"], |c| {
        c.arg(&root).env("DEBUGINFOD_URLS", &url).env("DEBUGINFOD_CACHE_PATH", here.join("cache"));
        c.env("DEBUGINFOD_RETRY_LIMIT", "50");
    });
    let log = std::fs::read_to_string(here.join("log")).unwrap();
    let said = format!("{}\nThe server: {log}", String::from_utf8_lossy(&built.stderr));
    assert!(built.status.success(), "{said}");
    assert!(said.contains(&format!("fetched vmlinux of {release}, ")) && said.contains(&url), "{said}");
    assert!(said.contains("fetched 1 of 1 modules, "), "{said}");
    let starts = starts.lock().unwrap().clone();
    assert!(
        starts.len() == 3 && starts[0] == 0 && starts[1] > 1 << 20 && starts[2] == 0,
        "{starts:?}: {said}"
    );
    let found =
        std::fs::metadata(here.join("cache").join(build_id(&kernel.vmlinux)).join("debuginfo")).unwrap();
    assert_eq!(found.len(), kernel.vmlinux.metadata().unwrap().len(), "no byte twice");

    let built = probeidx(&given, &["build", "--no-tapset"], |c| {
        c.args([&kernel.vmlinux, &debug_module]);
    });
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for asked in [
        &["find", "kernel.function(\"*\")", "--args"][..],
        &["find", "module(\"overlay\").function(\"*\")", "--each", "--args"],
        &["resolve", "ovl_open", "--json", "--locals"],
        &["resolve", "do_open@fs/namei.c", "--json"],
        &["blacklist", "--all"],
    ] {
        let [one, other] = [&fetched, &given].map(|db| probeidx(db, asked, |_| {}));
        assert!(one.status.success() && !one.stdout.is_empty(), "{}", String::from_utf8_lossy(&one.stderr));
        assert!(one.stdout == other.stdout, "{asked:?}");
    }
    drop(server);
    std::fs::remove_dir_all(&here).unwrap();
}
