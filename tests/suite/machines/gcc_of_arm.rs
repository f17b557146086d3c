//! Location lists of GCC for 32-bit ARM are wrong in ARM code: what they say of the frame is held against the location that the variable
//! has in the whole function, which is right (seen with 12; the code stores the members there).
use crate::support::fixture::{Tree, skipped};
use crate::support::tables::index;
use std::process::Command;

/// `inner` gets the address of `kept`, and a list says where that is. The line that names a function is asked for its `kept`.
const TEXT: &str = "
const char linux_banner[] __attribute__((used)) = \"Linux version 6.1.0-arm (build@host) (gcc) #1 SMP\";
typedef __builtin_va_list va_list;
struct info { int no, err, code, pid, uid; int pad[5]; };
#define APART __attribute__((noinline, used))
APART int send(int no, struct info *info, int more) { __asm__ volatile(\"\" ::: \"memory\"); return no + info->uid + more; }
APART int get(void) { __asm__ volatile(\"\"); return 1; }
static inline __attribute__((always_inline)) int inner(int no, struct info *info, int pid) {
    if (pid > 0) return send(no, info, pid);
    return send(no + 1, info, 7) + send(2, info, 3);
}
APART int outer(int pid, int no) {
    struct info kept = {0};
    kept.no = no;
    kept.pid = get();
    kept.uid = get(); // outer
    return inner(no, &kept, pid);
}
APART int variadic(int pid, ...) {
    struct info kept = {0};
    va_list all;
    __builtin_va_start(all, pid);
    kept.no = __builtin_va_arg(all, int);
    kept.pid = get();
    kept.uid = get(); // variadic
    return inner(kept.no, &kept, pid);
}
void *memset(void *to, int byte, unsigned length) { for (char *at = to; length--;) *at++ = byte; return to; }
int _start(int n) { return outer(n, n) + variadic(n, n, n); }
";

fn line_of(function: &str) -> usize {
    let is_it = |line: &str| line.ends_with(&format!("// {function}"));
    TEXT.lines().position(is_it).map(|at| at + 1).unwrap()
}

/// What reads the first member of `kept` in a function, and what reads it through `info` in the copy of `inner` there.
fn read(flags: &[&str], function: &str) -> Option<(Option<String>, Option<String>)> {
    let tree = Tree::empty();
    let source = tree.file("frames.c", TEXT.as_bytes());
    let mut gcc = Command::new("arm-linux-gnueabihf-gcc");
    gcc.args(["-g", "-O2", "-ffreestanding", "-fno-pic", "-nostdlib", "-static", "-Wl,-Ttext=0xc0008000"])
        .args(flags);
    gcc.arg(source).arg("-o").arg(tree.path().join("vmlinux-6.1.0-arm"));
    if !gcc.output().is_ok_and(|out| out.status.success()) {
        skipped("arm-linux-gnueabihf-gcc does not compile here");
        return None;
    }
    let kernel = index(tree);
    let ask = |point: &str, value: &str| {
        let found = kernel.json(&["resolve", point, value]);
        let here = found.iter().find(|place| place.to_string().contains(&format!("\"{function}\"")));
        here.and_then(|place| {
            place["vars"][0]["fetch"].as_str()?.split_once('=').map(|(_, read)| read.to_owned())
        })
    };
    let kept = ask(&format!("{function}@frames.c:{}", line_of(function)), "kept.no");
    Some((kept, ask("inner", "info->no")))
}

#[test]
fn what_is_in_the_frame_is_where_the_code_has_it() {
    for flags in [&["-marm"][..], &["-mthumb"], &["-marm", "-fno-omit-frame-pointer"]] {
        let Some((kept, through)) = read(flags, "outer") else { return };
        assert!(kept.is_some() && kept == through, "{flags:?}: {kept:?} {through:?}");
    }
}

/// How far the list is off depends on the registers that are saved.
#[test]
fn beside_saved_arguments_nothing_is_told() {
    let Some((kept, through)) = read(&["-marm"], "variadic") else { return };
    assert!(kept.is_some() && through.is_none(), "{kept:?} {through:?}");
}
