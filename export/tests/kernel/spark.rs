//! The job of spark/: on a cluster of two executors it reads each kernel once, although one of them is killed, and tells what it
//! could not read. Small kernels are compiled for it. Without Java or PySpark it says `skipped: …`.
use crate::support::{KERNELS, RELEASES, exported_of, files, small_kernel};
use crate::{pyspark, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first build ends its executor, as a machine does that goes down.
const PROGRAM: &str = r#"#!/bin/sh
case " $* " in
*" build "*)
    if mkdir MARK 2>/dev/null; then
        up=$$
        until tr '\0' ' ' </proc/$up/cmdline | grep -q CoarseGrainedExecutorBackend; do
            up=$(awk '/^PPid:/ { print $2 }' /proc/$up/status)
            [ "$up" -gt 1 ] || exit 1
        done
        kill -9 "$up"
        exit 1
    fi
    ;;
esac
exec "$(dirname "$0")/program" "$@"
"#;

#[test]
fn a_cluster_reads_each_kernel_once() {
    let exporter = Path::new(env!("CARGO_BIN_EXE_probeidx-export"));
    let program = exporter.with_file_name("probeidx");
    let python = match pyspark() {
        Ok(python) => python,
        Err(why) => return skip(why),
    };
    if !program.is_file() {
        return skip(&format!("no probeidx beside {}", exporter.display()));
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let archive = archive(here, &program, exporter);
    let vmlinux = |release: &str, level: &str| {
        let folder = here.join(release);
        fs::create_dir(&folder).unwrap();
        small_kernel::compile(&folder, release, level, &[])
    };
    let served = vmlinux("6.12.11+x-other", "-Os");
    let (server, build_id) = (serve(fs::read(&served).unwrap()), build_id(&program, &served, here));
    let damaged = vmlinux("6.1.2-test", "-O1");
    let whole = fs::read(&damaged).unwrap();
    fs::write(&damaged, &whole[..whole.len() / 2]).unwrap();
    let list = [
        KERNELS.path().join(format!("{}.pidx", RELEASES[0])),
        vmlinux("6.1.1-test", "-O2"),
        vmlinux("6.12.10+x-other", "-O1"),
        build_id.into(),
        damaged.clone(),
        here.join("absent.deb"),
    ];
    let lines = list.iter().map(|path| format!("{}\n", path.display())).collect::<String>();
    fs::write(here.join("list"), format!("# a kernel a line\n{lines}")).unwrap();

    let run = |code: i32, words: &[&str]| submit(&python, &archive, here, &server, code, words);
    let told = run(4, &[]);
    assert!(here.join("mark").is_dir(), "no executor was killed");
    assert_eq!((&told["done"], &told["failed"], &told["read_now"]), (&4.into(), &2.into(), &6.into()));
    let rows = rows(here);
    let states: Vec<&str> = rows.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["done", "done", "done", "done", "failed", "failed"]);
    assert!(
        rows[4]["reason"].as_str().is_some_and(|reason| reason.contains("vmlinux-6.1.2-test")),
        "{}",
        rows[4]
    );
    let absent = format!("{}: there is no such file", list[5].display());
    assert_eq!(rows[5]["reason"], absent);
    let kernels = kernels(here);
    assert_eq!(kernels.len(), 4, "{kernels:?}");
    for row in &rows[..4] {
        let made = made(here, row);
        let tables = here.join("tables");
        exported_of(&index(&made, row), &tables, &[]);
        assert!(contents(&made.join("tables")) == contents(&tables), "{row}");
    }
    assert_eq!(listed(&program, here), ["6.1.0-test", "6.1.1-test", "6.12.10+x-other", "6.12.11+x-other"]);

    // What is missing is done, and nothing else.
    fs::write(&damaged, &whole).unwrap();
    let told = run(4, &[]);
    assert_eq!((&told["done"], &told["failed"], &told["read_now"]), (&5.into(), &1.into(), &2.into()));
    let now = self::kernels(here);
    assert!(now.len() == 5 && kernels.iter().all(|(name, made)| now.get(name) == Some(made)), "{now:?}");
    assert_eq!(listed(&program, here).len(), 5);
    let unfinished = fs::read_dir(here.join("out/.unfinished")).unwrap().count();
    assert!(unfinished <= 1, "of the one that was killed");

    // In place of tables of each kernel, those of a line: as an export of all its kernels.
    let told = run(4, &["--compact"]);
    assert_eq!((&told["done"], &told["failed"]), (&5.into(), &1.into()));
    let rows = self::rows(here);
    assert!(!made(here, &rows[0]).join("tables").exists());
    let mut wanted = vec![];
    for line in ["6.1.", "6.12."] {
        let db = here.join(format!("db-{line}"));
        fs::create_dir(&db).unwrap();
        let of_line = |row: &&Value| row["kernel"].as_str().is_some_and(|kernel| kernel.starts_with(line));
        for row in rows.iter().filter(of_line) {
            let index = index(&made(here, row), row);
            fs::copy(&index, db.join(index.file_name().unwrap())).unwrap();
        }
        let tables = here.join("tables");
        exported_of(&db, &tables, &["--kernel", "*"]);
        wanted.push(contents(&tables));
    }
    let lines = fs::read_dir(here.join("out/tables")).unwrap();
    let lines: Vec<_> = lines.map(|line| contents(&line.unwrap().path())).collect();
    assert!(lines.len() == 2 && wanted.iter().all(|line| lines.contains(line)));
}

/// What was made of a kernel.
fn made(here: &Path, row: &Value) -> PathBuf {
    here.join("out/kernels").join(row["name"].as_str().unwrap())
}

fn index(made: &Path, row: &Value) -> PathBuf {
    made.join("index").join(format!("{}.pidx", row["kernel"].as_str().unwrap()))
}

/// The files of a folder, by their paths in it.
fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let within = |path: &PathBuf| path.strip_prefix(root).unwrap().to_owned();
    files(root).iter().map(|(path, bytes)| (within(path), bytes.clone())).collect()
}

/// What is shipped to executors.
fn archive(here: &Path, program: &Path, exporter: &Path) -> PathBuf {
    let tool = here.join("tool");
    fs::create_dir(&tool).unwrap();
    fs::copy(program, tool.join("program")).unwrap();
    fs::copy(exporter, tool.join("probeidx-export")).unwrap();
    let script = tool.join("probeidx");
    fs::write(&script, PROGRAM.replace("MARK", &here.join("mark").display().to_string())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let archive = here.join("tool.tar.gz");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&archive).arg("-C").arg(&tool).args(["probeidx", "program", "probeidx-export"]);
    assert!(tar.status().unwrap().success());
    archive
}

/// Runs the job, and returns what it says in one line.
fn submit(python: &Path, archive: &Path, here: &Path, server: &str, code: i32, words: &[&str]) -> Value {
    let found =
        Command::new(python).args(["-c", "import pyspark; print(pyspark.__path__[0])"]).output().unwrap();
    let home = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spark/fleet.py");
    let ran = Command::new(home.join("bin/spark-submit"))
        .args(["--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false", "--archives"])
        .arg(format!("{}#probeidx", archive.display()))
        .arg(job)
        .args([here.join("list"), here.join("out")])
        .arg("--no-tapset")
        .args(words)
        .envs([("PYSPARK_PYTHON", python), ("PYSPARK_DRIVER_PYTHON", python), ("SPARK_HOME", &home)])
        .envs([("SPARK_LOCAL_IP", "127.0.0.1"), ("DEBUGINFOD_URLS", server)])
        .current_dir(here)
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(ran.status.code(), Some(code), "{}", said.concat());
    let line = said[0].lines().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|_| panic!("{}", said.concat()))
}

fn rows(here: &Path) -> Vec<Value> {
    let text = fs::read_to_string(here.join("out/status.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The folders of kernels, with when each was made.
fn kernels(here: &Path) -> BTreeMap<String, std::time::SystemTime> {
    let all = fs::read_dir(here.join("out/kernels")).unwrap().map(Result::unwrap);
    all.map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().modified().unwrap())).collect()
}

fn listed(program: &Path, here: &Path) -> Vec<String> {
    let ran = Command::new(program).arg("--db").arg(here.join("out/fleet")).args(["fleet", "list"]).output();
    let said = String::from_utf8(ran.unwrap().stdout).unwrap();
    said.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

fn build_id(program: &Path, vmlinux: &Path, here: &Path) -> String {
    let index = |words: &[&str]| {
        let mut command = Command::new(program);
        let ran = command.arg("--db").arg(here.join("id")).args(words).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        ran.stdout
    };
    index(&["build", "--no-tapset", "--progress", "never", "-q", vmlinux.to_str().unwrap()]);
    let told: Value = serde_json::from_slice(&index(&["kernels", "--json"])).unwrap();
    told["build_id"].as_str().unwrap().to_owned()
}

/// A server that has one debug file, whatever is asked for. Returns its address.
fn serve(file: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for asked in listener.incoming() {
            let mut asked = asked.unwrap();
            let request = BufReader::new(asked.try_clone().unwrap()).lines().map_while(Result::ok);
            let last = request.take_while(|line| !line.is_empty()).count();
            assert!(last > 0);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", file.len());
            // Who asked may be killed before it has everything.
            let _ = asked.write_all(head.as_bytes()).and_then(|()| asked.write_all(&file));
        }
    });
    address
}
