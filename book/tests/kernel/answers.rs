//! Answers of a whole kernel are as their schemas say.
use super::validated::Schemas;
use super::{INDEXES, RELEASE, is_there, program, say};
use std::io::Write;
use std::process::{Command, Stdio};

/// The answers of questions that have many, and of those that have few of a kind.
const ASKED: [(&str, &[&str]); 27] = [
    ("placement", &["find", "vfs_*", "tcp_*", "--locals"]),
    ("placement", &["find", "__*_skb*"]),
    ("placement", &["find", "nfs:*"]),
    ("placement", &["find", "do_*%return"]),
    ("placement", &["find", "kernel.trace(\"*\")"]),
    ("placement", &["find", "vm.*", "syscall.*", "timer.*"]),
    ("placement", &["resolve", "vfs_read", "count", "file->f_path.dentry->d_name.name:string", "$nosuch"]),
    ("placement", &["resolve", "fdget", "fd"]),
    ("placement", &["resolve", "vfs_read@fs/read_write.c:*"]),
    ("placement", &["lines", "fs/read_write.c"]),
    ("resolve-defined", &["resolve", "fdget", "--defined", "$fd"]),
    ("callers", &["callers", "kfree"]),
    ("callers", &["callers", "fdget"]),
    (
        "addr",
        &[
            "addr",
            "vfs_read+0x7c",
            "ovl_open+0x4f/0xd0 [overlay]",
            "0xffffffff8134cccc",
            "0x10",
            "nosuch+0x1",
        ],
    ),
    ("type", &["type", "struct task_struct"]),
    ("type", &["type", "struct sk_buff", "--users"]),
    ("type", &["type", "task_struct->mm->pgd"]),
    ("type", &["type", "enum pid_type"]),
    ("type", &["type", "gfp_t"]),
    ("bpf", &["bpf", "all"]),
    ("blacklist", &["blacklist", "--all"]),
    ("tapset", &["tapset", "vm.*"]),
    ("tapset", &["tapset", "--functions"]),
    ("tapset", &["tapset", "--macros"]),
    ("check-tapset", &["check", "--tapset"]),
    ("stats", &["stats", "--btf"]),
    ("verify", &["verify"]),
];

#[test]
fn answers_of_a_whole_kernel_are_as_their_schemas_say() {
    if !is_there() {
        return;
    }
    let mut schemas = Schemas::all();
    for (schema, words) in ASKED {
        let printed = ask(&mut schemas, words, "");
        assert!(!printed.is_empty(), "{words:?}");
        schemas.hold(schema, &printed);
    }
    let list = "vfs_read\ndo_open\nfentry:fdget\nkprobe/vfs_nosuch\nsched:sched_switch\nkernel.function(\"tcp_*\")\n";
    let printed = ask(&mut schemas, &["check", "-"], list);
    schemas.hold("check", &printed);
    for name in [
        "vfs_read",
        "fdget",
        "struct file.f_mode",
        "struct sk_buff",
        "sched_switch",
        "vm.pagefault",
        "fs/read_write.c:467",
    ] {
        let printed = ask(&mut schemas, &["history", name], "");
        schemas.hold("history", &printed);
    }
    say(&format!("held against their schemas: {:?}", schemas.counted));
    // With a second kernel there is more to compare.
    let others = super::real_kernels::kernels();
    if let Some((_, other)) =
        others.iter().find(|(_, release)| release != RELEASE && release.ends_with("amd64"))
    {
        let printed = ask(&mut schemas, &["diff", RELEASE, other, "*read*"], "");
        schemas.hold("diff", &printed);
        for name in ["blk_account_io_start", "struct task_struct", "sched_switch"] {
            let printed = ask(&mut schemas, &["history", name, "--kernel", "*"], "");
            schemas.hold("history", &printed);
        }
        say(&format!("and of {other}: {:?}", schemas.counted));
    }
}

/// What is printed; what is said of failures is held against its schema.
fn ask(schemas: &mut Schemas, words: &[&str], input: &str) -> String {
    let mut command = Command::new(program());
    command.args(["--json", "--db"]).arg(&*INDEXES);
    if !words.contains(&"--kernel") && words[0] != "diff" {
        command.args(["--kernel", RELEASE]);
    }
    let mut child = command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    said.lines().filter(|line| line.starts_with('{')).for_each(|line| schemas.hold("error", line));
    String::from_utf8(ran.stdout).unwrap()
}
