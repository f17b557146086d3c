//! What is fetched, and what is to come: one case for each kind of argument and of place.
use std::fmt::{self, Display, Formatter};

pub struct Case {
    /// What it is a case of.
    pub kind: &'static str,
    pub at: At,
    /// As the program takes them.
    pub arguments: &'static [&'static str],
    /// By hand, for 6.1 and 6.12, until the program writes them; `@SYMBOL: ` picks the copy in that function.
    pub until_then: [&'static str; 2],
    /// See act.c.
    pub action: &'static str,
    /// The fields of one event, in their order; `{NAME}` is a value that the action tells.
    pub expect: &'static str,
}

pub enum At {
    Function(&'static str),
    /// A function that had another name before.
    Renamed {
        spec: &'static str,
        before: &'static str,
    },
    /// The last place in a function before the copy of another, where no inlined function hides its local variables.
    Before {
        function: &'static str,
        inlined: &'static str,
    },
}

/// The same text for both kernels.
const fn both(text: &'static str) -> [&'static str; 2] {
    [text, text]
}

pub const CASES: &[Case] = &[
    Case {
        kind: "unsigned 64 bits, a name behind structs and pointers, a pointed-to number, a user's string, a pointer",
        at: At::Function("vfs_write"),
        arguments: &[
            "count",
            "name=file->f_path.dentry->d_name.name:string",
            "position=pos[0]",
            "text=buf@user:ustring",
            "buf",
        ],
        until_then: [
            "count=%dx:u64 name=+0(+40(+24(%di))):string position=+0(%cx):s64 text=+u0(%si):ustring buf=%si:x64",
            "count=%dx:u64 name=+0(+40(+72(%di))):string position=+0(%cx):s64 text=+u0(%si):ustring buf=%si:x64",
        ],
        action: "write",
        expect: r#"count=17 name="probed-file" position=1000 text="seventeen bytes!!" buf={text}"#,
    },
    Case {
        kind: "elements of an array of the user",
        at: At::Function("vfs_writev"),
        arguments: &[
            "vlen",
            "vec",
            "length=vec[1].iov_len@user",
            "base=vec[1].iov_base@user",
            "text=vec[1].iov_base@user:ustring",
        ],
        until_then: both(
            "vlen=%dx:u64 vec=%si:x64 length=+u24(%si):u64 base=+u16(%si):x64 text=+u0(+u16(%si)):ustring",
        ),
        action: "writev",
        expect: r#"vlen=2 vec={parts} length=12 base={second} text="second, long""#,
    },
    Case {
        kind: "unsigned 32 bits, a pointer, a function's address as a symbol",
        at: At::Function("vfs_read"),
        arguments: &["buf", "count", "flags=file->f_flags", "reader=file->f_op->read_iter:symbol"],
        until_then: [
            "buf=%si:x64 count=%dx:u64 flags=+64(%di):u32 reader=+32(+40(%di)):symbol",
            "buf=%si:x64 count=%dx:u64 flags=+48(%di):u32 reader=+40(+16(%di)):symbol",
        ],
        action: "read",
        expect: "buf={bytes} count=23 flags=0x8002 reader=shmem_file_read_iter+0x0",
    },
    Case {
        kind: "a return value",
        at: At::Function("vfs_read%return"),
        arguments: &["got=$retval"],
        until_then: both("got=$retval:s64"),
        action: "read",
        expect: "got=23",
    },
    Case {
        kind: "an inlined copy: negative 64 bits",
        at: At::Function("vfs_llseek"),
        arguments: &["offset", "whence", "name=file->f_path.dentry->d_name.name:string"],
        until_then: [
            "@ksys_lseek: offset=%r12:s64 whence=%bp:s32 name=+0(+40(+24(%r14))):string",
            "@ksys_lseek: offset=%r12:s64 whence=%bp:s32 name=+0(+40(+72(%di))):string",
        ],
        action: "seek",
        expect: r#"offset=-3 whence=2 name="probed-file""#,
    },
    Case {
        kind: "a return value of more than 32 bits",
        at: At::Function("ksys_lseek%return"),
        arguments: &["at=$retval"],
        until_then: both("at=$retval:s64"),
        action: "seek",
        expect: "at={at}",
    },
    Case {
        kind: "a negative number, a string of the user, members of a local of the caller",
        at: At::Function("do_sys_openat2"),
        arguments: &["dfd", "name=filename@user:ustring", "filename", "flags=how->flags", "mode=how->mode"],
        until_then: both(
            "dfd=%di:s32 name=+u0(%si):ustring filename=%si:x64 flags=+0(%dx):u64 mode=+8(%dx):u64",
        ),
        action: "open",
        expect: r#"dfd=-100 name="/t/made-file" filename={path} flags=0x80c1 mode=416"#,
    },
    Case {
        kind: "a return value that is a file descriptor",
        at: At::Function("do_sys_openat2%return"),
        arguments: &["file=$retval"],
        until_then: both("file=$retval:s64"),
        action: "open",
        expect: "file={file}",
    },
    Case {
        kind: "an inlined copy: members of three variables, two of them in memory of the frame",
        at: At::Function("vmlinux:do_open"),
        arguments: &[
            "flags=op->open_flag",
            "mode=op->mode",
            "name=nd->last.name:string",
            "how=file->f_flags",
        ],
        until_then: [
            "flags=+0(%r12):s32 mode=+4(%r12):u16 name=+0(+24(%r14)):string how=+64(%r15):u32",
            "flags=+0(%r12):s32 mode=+4(%r12):u16 name=+0(+24(%r14)):string how=+48(%r15):u32",
        ],
        action: "open",
        expect: r#"flags=0x80c1 mode=33184 name="made-file" how=0x80c1"#,
    },
    Case {
        kind: "an inlined copy: constants, and 16 bits of the saved registers",
        at: At::Function("do_sys_open"),
        arguments: &["dfd", "flags", "mode"],
        until_then: both(r"@__x64_sys_creat: dfd=\-100:s32 flags=\33345:s32 mode=+104(%di):u16"),
        action: "creat",
        expect: "dfd=-100 flags=33345 mode=388",
    },
    Case {
        kind: "unsigned 16 and 8 bits, anonymous members, an element of an array, an array as a string",
        at: At::Function("vfs_mkdir"),
        arguments: &[
            "mode",
            "name=dentry->d_name.name:string",
            "length=dentry->d_name.len",
            "fourth=dentry->d_iname[3]",
            "parent=dir->i_ino",
            "fs=dir->i_sb->s_id:string",
            "up=dentry->d_parent->d_name.name:string",
        ],
        until_then: [
            "mode=%cx:u16 name=+0(+40(%dx)):string length=+36(%dx):u32 fourth=+59(%dx):u8 parent=+64(%si):u64 \
             fs=+968(+40(%si)):string up=+0(+40(+24(%dx))):string",
            "mode=%cx:u16 name=+0(+40(%dx)):string length=+36(%dx):u32 fourth=+59(%dx):u8 parent=+64(%si):u64 \
             fs=+960(+40(%si)):string up=+0(+40(+24(%dx))):string",
        ],
        action: "mkdir",
        expect: r#"mode=489 name="probed-dir" length=10 fourth=98 parent={parent} fs="tmpfs" up="/""#,
    },
    Case {
        kind: "the name of a cache, whatever its variable is called",
        at: At::Renamed { spec: "kmem_cache_alloc_noprof", before: "kmem_cache_alloc" },
        arguments: &["name=s->name:string", "size=s->object_size"],
        until_then: both("name=+0(+96(%di)):string size=+28(%di):u32"),
        action: "mkdir",
        expect: r#"name="names_cache" size=4096"#,
    },
    Case {
        kind: "members of a struct that is passed by pointer",
        at: At::Function("vfs_rename"),
        arguments: &[
            "old=rd->old_dentry->d_name.name:string",
            "new=rd->new_dentry->d_name.name:string",
            "flags=rd->flags",
        ],
        until_then: both("old=+0(+40(+16(%di))):string new=+0(+40(+40(%di))):string flags=+56(%di):u32"),
        action: "rename",
        expect: r#"old="old-name" new="new-name" flags=1"#,
    },
    Case {
        kind: "a local variable in memory of the frame",
        at: At::Before { function: "filename_lookup", inlined: "audit_inode" },
        arguments: &["dfd=nd.dfd", "inode=nd.inode->i_ino", "name=nd.name->name:string"],
        until_then: both("dfd=+220(%sp):s32 inode=+64(+48(%sp)):u64 name=+0(+0(+200(%sp))):string"),
        action: "statx",
        expect: r#"dfd=-100 inode={inode} name="/t/probed-file""#,
    },
    Case {
        kind: "the registers of a system call",
        at: At::Function("__x64_sys_kill"),
        arguments: &["target=regs->di", "signal=regs->si"],
        until_then: both("target=+112(%di):u64 signal=+104(%di):u64"),
        action: "kill",
        expect: "target=0xffffffffffffcfc7 signal=10",
    },
    Case {
        kind: "a negative 32 bits, members of unions",
        at: At::Function("kill_something_info"),
        arguments: &["pid", "sig", "number=info->si_signo", "sender=info->_sifields._kill._pid"],
        until_then: both("pid=%dx:s32 sig=%di:s32 number=+0(%si):s32 sender=+16(%si):s32"),
        action: "kill",
        expect: "pid=-12345 sig=10 number=10 sender=1",
    },
    Case {
        kind: "an error that is returned",
        at: At::Function("kill_something_info%return"),
        arguments: &["error=$retval"],
        until_then: both("error=$retval:s32"),
        action: "kill",
        expect: "error=-3",
    },
    Case {
        kind: "an inlined copy in a loop: a constant of an enum",
        at: At::Function("group_send_sig_info"),
        arguments: &["sig", "type", "pid=p->pid"],
        until_then: [
            r"@__kill_pgrp_info: sig=%r13:s32 type=\2:u32 pid=+2416(%bx):s32",
            r"@__kill_pgrp_info: sig=%r12:s32 type=\2:u32 pid=+2432(%bx):s32",
        ],
        action: "kill-group",
        expect: "sig=23 type=2 pid=1",
    },
    Case {
        kind: "signed 8 bits, bool, bits of an int, an element of an array of structs",
        at: At::Function("__set_task_comm"),
        arguments: &[
            "old=tsk->comm:string",
            "first=buf[0]",
            "exec",
            "reset=tsk->sched_reset_on_fork",
            "execve=tsk->in_execve",
            "limit=tsk->signal->rlim[7].rlim_cur",
            "pid=tsk->pid",
        ],
        until_then: [
            "old=+2976(%di):string first=+0(%si):s8 exec=%dx:u8 reset=+2340(%di):b1@0/32 \
             execve=+2344(%di):b1@2/32 limit=+800(+3072(%di)):u64 pid=+2416(%di):s32",
            "old=+2976(%di):string first=+0(%si):s8 exec=%dx:u8 reset=+2356(%di):b1@0/32 \
             execve=+2360(%di):b1@3/32 limit=+792(+3072(%di)):u64 pid=+2432(%di):s32",
        ],
        action: "name",
        expect: r#"old="name-before" first=-23 exec=0 reset=1 execve=0 limit=777 pid=1"#,
    },
    Case {
        kind: "an inlined copy: a string in an array of the frame",
        at: At::Function("set_task_comm"),
        arguments: &["text=from:string"],
        until_then: both("@comm_write: text=+0(%sp):string"),
        action: "name-by-file",
        expect: r#"text="by-file""#,
    },
    Case {
        kind: "casts of a negative number",
        at: At::Function("set_one_prio"),
        arguments: &["niceval", "error", "low=niceval:u8", "half=niceval:s16", "hex=niceval:x32"],
        until_then: both("niceval=%si:s32 error=%dx:s32 low=%si:u8 half=%si:s16 hex=%si:x32"),
        action: "nice",
        expect: "niceval=-5 error=-3 low=251 half=-5 hex=0xfffffffb",
    },
    Case {
        kind: "an enum, a typedef of signed 64 bits",
        at: At::Function("hrtimer_nanosleep"),
        arguments: &["rqtp", "mode", "clockid"],
        until_then: both("rqtp=%di:s64 mode=%si:u32 clockid=%dx:s32"),
        action: "sleep",
        expect: "rqtp=1234567 mode=1 clockid=7",
    },
    Case {
        kind: "bits of a byte, 16 bits signed and unsigned, an enum, a flexible array as a string",
        at: At::Function("unix_bind"),
        arguments: &[
            "addr_len",
            "family=uaddr->sa_family",
            "path=uaddr->sa_data:string",
            "type=sock->type",
            "state=sock->state",
            "locks=sock->sk->sk_userlocks",
            "reuse=sock->sk->__sk_common.skc_reuse",
            "port=sock->sk->__sk_common.skc_reuseport",
        ],
        until_then: [
            "addr_len=%dx:s32 family=+0(%si):u16 path=+2(%si):string type=+4(%di):s16 state=+0(%di):u32 \
             locks=+512(+24(%di)):b4@4/8 reuse=+19(+24(%di)):b4@0/8 port=+19(+24(%di)):b1@4/8",
            "addr_len=%dx:s32 family=+0(%si):u16 path=+2(%si):string type=+4(%di):s16 state=+0(%di):u32 \
             locks=+243(+24(%di)):u8 reuse=+19(+24(%di)):b4@0/8 port=+19(+24(%di)):b1@4/8",
        ],
        action: "bind",
        expect: r#"addr_len=21 family=1 path="/t/probed-socket" type=5 state=1 locks=2 reuse=1 port=0"#,
    },
    Case {
        kind: "a length, a member of a message",
        at: At::Function("unix_seqpacket_sendmsg"),
        arguments: &["len", "flags=msg->msg_flags"],
        until_then: both("len=%dx:u64 flags=+68(%si):u32"),
        action: "send",
        expect: "len=11 flags=0x40",
    },
    Case {
        kind: "the sixth argument up to 6.5, then the seventh, on the stack",
        at: At::Function("do_mmap"),
        arguments: &["len", "prot", "flags", "pgoff", "name=file->f_path.dentry->d_name.name:string"],
        until_then: [
            "len=%dx:u64 prot=%cx:u64 flags=%r8:u64 pgoff=%r9:u64 name=+0(+40(+24(%di))):string",
            "len=%dx:u64 prot=%cx:u64 flags=%r8:u64 pgoff=+8(%sp):u64 name=+0(+40(+72(%di))):string",
        ],
        action: "map",
        expect: r#"len=0x5000 prot=1 flags=2 pgoff=3 name="probed-file""#,
    },
    Case {
        kind: "an address that is returned",
        at: At::Function("do_mmap%return"),
        arguments: &["at=$retval"],
        until_then: both("at=$retval:u64"),
        action: "map",
        expect: "at={at}",
    },
    Case {
        kind: "the seventh argument, on the stack",
        at: At::Function("do_futex"),
        arguments: &["uaddr", "op", "val", "val3"],
        until_then: both("uaddr=%di:x64 op=%si:s32 val=%dx:u32 val3=+8(%sp):u32"),
        action: "futex",
        expect: "uaddr={word} op=10 val=77 val3=0xbeef0001",
    },
    Case {
        kind: "unsigned 32 and 64 bits, all of them used",
        at: At::Function("security_file_ioctl"),
        arguments: &["cmd", "arg"],
        until_then: both("cmd=%si:u32 arg=%dx:u64"),
        action: "ioctl",
        expect: "cmd=0xdeadbeef arg=0x1122334455667788",
    },
    Case {
        kind: "what a child exits with",
        at: At::Function("do_exit"),
        arguments: &["code"],
        until_then: both("code=%di:s64"),
        action: "exit",
        expect: "code=10752",
    },
    Case {
        kind: "a process id that is returned",
        at: At::Function("kernel_clone%return"),
        arguments: &["child=$retval"],
        until_then: both("child=$retval:s32"),
        action: "exit",
        expect: "child={child}",
    },
    Case {
        kind: "an inlined copy: constants of up to 63 bits",
        at: At::Function("vfs_fsync_range"),
        arguments: &["datasync", "start", "end", "name=file->f_path.dentry->d_name.name:string"],
        until_then: [
            r"@__x64_sys_fdatasync: datasync=\1:s32 start=\0:s64 end=\9223372036854775807:s64 name=+0(+40(+24(%r12))):string",
            r"@vfs_fsync_range: datasync=%cx:s32 start=%si:s64 end=%dx:s64 name=+0(+40(+72(%di))):string",
        ],
        action: "sync",
        expect: r#"datasync=1 start=0 end=9223372036854775807 name="probed-file""#,
    },
    Case {
        kind: "a module: members of types of the kernel",
        at: At::Function("overlay:ovl_fill_super"),
        arguments: &["name=sb->s_type->name:string"],
        until_then: both("name=+0(+0(+40(%di))):string"),
        action: "overlay",
        expect: r#"name="overlay""#,
    },
    Case {
        kind: "a module: 16 bits, a name",
        at: At::Function("overlay:ovl_mkdir"),
        arguments: &["name=dentry->d_name.name:string", "mode"],
        until_then: both("name=+0(+40(%dx)):string mode=%cx:u16"),
        action: "overlay",
        expect: r#"name="layered" mode=453"#,
    },
    Case {
        kind: "a module: a string",
        at: At::Function("overlay:ovl_symlink"),
        arguments: &["text=link:string"],
        until_then: both("text=+0(%cx):string"),
        action: "overlay",
        expect: r#"text="text-of-link""#,
    },
    Case {
        kind: "a module: a static function",
        at: At::Function("overlay:ovl_create_object"),
        arguments: &["mode", "rdev", "link"],
        until_then: both("mode=%si:s32 rdev=%dx:u32 link=%cx:x64"),
        action: "overlay",
        expect: "mode=16837 rdev=0 link=0",
    },
];

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let spec = match &self.at {
            At::Function(spec) | At::Renamed { spec, .. } => *spec,
            At::Before { function, .. } => *function,
        };
        write!(f, "{} ({spec} {})", self.kind, self.arguments.join(" "))
    }
}
