//! What is fetched, and what is to come of it: one case for each kind of argument and of place.
use std::fmt::{self, Display, Formatter};

pub struct Case {
    /// What it is a case of.
    pub kind: &'static str,
    pub at: At,
    /// As the program takes them.
    pub arguments: &'static [&'static str],
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

/// On kernels that keep at the entry what was passed, for the return.
pub const OF_RETURNS: &[Case] = &[
    Case {
        kind: "what was passed and what is returned: a number, a name behind pointers, a user's string",
        at: At::Function("vfs_write%return"),
        arguments: &[
            "$retval",
            "count",
            "name=file->f_path.dentry->d_name.name:string",
            "text=buf@user:ustring",
            "position=*pos",
        ],
        action: "write",
        expect: r#"retval=17 count=17 name="probed-file" text="seventeen bytes!!" position=1017"#,
    },
    Case {
        kind: "the name of a file",
        at: At::Function("vfs_read%return"),
        arguments: &["file:%pD", "got=$retval"],
        action: "read",
        expect: r#"file="probed-file" got=23"#,
    },
];

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
        action: "writev",
        expect: r#"vlen=2 vec={parts} length=12 base={second} text="second, long""#,
    },
    Case {
        kind: "unsigned 32 bits, a pointer, a function's address as a symbol",
        at: At::Function("vfs_read"),
        arguments: &["buf", "count", "flags=file->f_flags", "reader=file->f_op->read_iter:symbol"],
        action: "read",
        expect: "buf={bytes} count=23 flags=0x8002 reader=shmem_file_read_iter+0x0",
    },
    Case {
        kind: "a return value",
        at: At::Function("vfs_read%return"),
        arguments: &["got=$retval"],
        action: "read",
        expect: "got=23",
    },
    Case {
        kind: "a member behind a returned pointer, names that the program gives",
        at: At::Function("do_filp_open%return"),
        arguments: &[
            "$retval->f_path.dentry->d_name.name:string",
            "$retval->f_flags",
            "ino=$retval->f_inode->i_ino",
        ],
        action: "read",
        expect: r#"name="probed-file" f_flags=0x8002 ino={inode}"#,
    },
    Case {
        kind: "an array, a register, the name of the task",
        at: At::Function("vfs_mkdir"),
        arguments: &["letters=dentry->d_iname:x8[4]", "mode=%cx:u16", "task=$comm"],
        action: "mkdir",
        expect: r#"letters={0x70,0x72,0x6f,0x62} mode=489 task="init""#,
    },
    Case {
        kind: "an inlined copy: negative 64 bits",
        at: At::Function("vfs_llseek"),
        arguments: &["offset", "whence", "name=file->f_path.dentry->d_name.name:string"],
        action: "seek",
        expect: r#"offset=-3 whence=2 name="probed-file""#,
    },
    Case {
        kind: "a return value of more than 32 bits",
        at: At::Function("ksys_lseek%return"),
        arguments: &["at=$retval"],
        action: "seek",
        expect: "at={at}",
    },
    Case {
        kind: "a negative number, a string of the user, members of a local of the caller",
        at: At::Function("do_sys_openat2"),
        arguments: &["dfd", "name=filename@user:ustring", "filename", "flags=how->flags", "mode=how->mode"],
        action: "open",
        expect: r#"dfd=-100 name="/t/made-file" filename={path} flags=0x80c1 mode=416"#,
    },
    Case {
        kind: "a return value that is a file descriptor",
        at: At::Function("do_sys_openat2%return"),
        arguments: &["file=$retval"],
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
        action: "open",
        expect: r#"flags=0x80c1 mode=33184 name="made-file" how=0x80c1"#,
    },
    Case {
        kind: "an inlined copy: constants, and 16 bits of the saved registers",
        at: At::Function("do_sys_open"),
        arguments: &["dfd", "flags", "mode"],
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
        action: "mkdir",
        expect: r#"mode=489 name="probed-dir" length=10 fourth=98 parent={parent} fs="tmpfs" up="/""#,
    },
    Case {
        kind: "the name of a cache, whatever its variable is called",
        at: At::Renamed { spec: "kmem_cache_alloc_noprof", before: "kmem_cache_alloc" },
        arguments: &["name=s->name:string"],
        action: "mkdir",
        expect: r#"name="names_cache""#,
    },
    Case {
        kind: "members of a struct that is passed by pointer",
        at: At::Function("vfs_rename"),
        arguments: &[
            "old=rd->old_dentry->d_name.name:string",
            "new=rd->new_dentry->d_name.name:string",
            "flags=rd->flags",
        ],
        action: "rename",
        expect: r#"old="old-name" new="new-name" flags=1"#,
    },
    Case {
        kind: "a local variable in memory of the frame",
        at: At::Before { function: "filename_lookup", inlined: "audit_inode" },
        arguments: &["dfd=nd.dfd", "inode=nd.inode->i_ino", "name=nd.name->name:string"],
        action: "statx",
        expect: r#"dfd=-100 inode={inode} name="/t/probed-file""#,
    },
    Case {
        kind: "the registers of a system call",
        at: At::Function("__x64_sys_kill"),
        arguments: &["target=regs->di", "signal=regs->si"],
        action: "kill",
        expect: "target=0xffffffffffffcfc7 signal=10",
    },
    Case {
        kind: "a negative 32 bits, members of unions",
        at: At::Function("kill_something_info"),
        arguments: &["pid", "sig", "number=info->si_signo", "sender=info->_sifields._kill._pid"],
        action: "kill",
        expect: "pid=-12345 sig=10 number=10 sender=1",
    },
    Case {
        kind: "an error that is returned",
        at: At::Function("kill_something_info%return"),
        arguments: &["error=$retval"],
        action: "kill",
        expect: "error=-3",
    },
    Case {
        kind: "an inlined copy in a loop: a constant of an enum",
        at: At::Function("group_send_sig_info"),
        arguments: &["sig", "type", "pid=p->pid"],
        action: "kill-group",
        expect: "sig=23 type=2 pid=1",
    },
    Case {
        kind: "signed 8 bits, bool, bits of an int, an element of an array of structs",
        at: At::Function("__set_task_comm"),
        arguments: &[
            "old=tsk->comm:string",
            "first=buf[0]:s8",
            "exec",
            "reset=tsk->sched_reset_on_fork",
            "execve=tsk->in_execve",
            "limit=tsk->signal->rlim[7].rlim_cur",
            "pid=tsk->pid",
        ],
        action: "name",
        expect: r#"old="name-before" first=-23 exec=0 reset=1 execve=0 limit=777 pid=1"#,
    },
    Case {
        kind: "an inlined copy: a string in an array of the frame",
        at: At::Function("set_task_comm"),
        arguments: &["text=from:string"],
        action: "name-by-file",
        expect: r#"text="by-file""#,
    },
    Case {
        kind: "casts of a negative number",
        at: At::Function("set_one_prio"),
        arguments: &["niceval", "error", "low=niceval:u8", "half=niceval:s16", "hex=niceval:x32"],
        action: "nice",
        expect: "niceval=-5 error=-3 low=251 half=-5 hex=0xfffffffb",
    },
    Case {
        kind: "an enum, a typedef of signed 64 bits",
        at: At::Function("hrtimer_nanosleep"),
        arguments: &["rqtp", "mode", "clockid"],
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
        action: "bind",
        expect: r#"addr_len=21 family=1 path="/t/probed-socket" type=5 state=1 locks=2 reuse=1 port=0"#,
    },
    Case {
        kind: "a struct in two registers: a pointer, a bit of one, a number that a user's pointer leads to",
        at: At::Function("sk_setsockopt"),
        arguments: &[
            "optname",
            "value=optval.user",
            "number=*(int *)optval.user@user",
            "is_kernel=optval.is_kernel",
            "optlen",
        ],
        action: "option",
        expect: "optname=2 value={one} number=1 is_kernel=0 optlen=4",
    },
    Case {
        kind: "a length, a member of a message",
        at: At::Function("unix_seqpacket_sendmsg"),
        arguments: &["len", "flags=msg->msg_flags"],
        action: "send",
        expect: "len=11 flags=0x40",
    },
    Case {
        kind: "the sixth argument up to 6.5, then the seventh, on the stack",
        at: At::Function("do_mmap"),
        arguments: &["len", "prot", "flags", "pgoff", "name=file->f_path.dentry->d_name.name:string"],
        action: "map",
        expect: r#"len=0x5000 prot=1 flags=2 pgoff=3 name="probed-file""#,
    },
    Case {
        kind: "an address that is returned",
        at: At::Function("do_mmap%return"),
        arguments: &["at=$retval"],
        action: "map",
        expect: "at={at}",
    },
    Case {
        kind: "the seventh argument, on the stack",
        at: At::Function("do_futex"),
        arguments: &["uaddr", "op", "val", "val3"],
        action: "futex",
        expect: "uaddr={word} op=10 val=77 val3=0xbeef0001",
    },
    Case {
        kind: "unsigned 32 and 64 bits, all of them used",
        at: At::Function("security_file_ioctl"),
        arguments: &["cmd", "arg"],
        action: "ioctl",
        expect: "cmd=0xdeadbeef arg=0x1122334455667788",
    },
    Case {
        kind: "what a child exits with",
        at: At::Function("do_exit"),
        arguments: &["code"],
        action: "exit",
        expect: "code=10752",
    },
    Case {
        kind: "a process id that is returned",
        at: At::Function("kernel_clone%return"),
        arguments: &["child=$retval"],
        action: "exit",
        expect: "child={child}",
    },
    Case {
        kind: "an inlined copy: constants, a name",
        at: At::Function("vfs_fsync_range"),
        arguments: &["datasync", "start", "name=file->f_path.dentry->d_name.name:string"],
        action: "sync",
        expect: r#"datasync=1 start=0 name="probed-file""#,
    },
    Case {
        kind: "a module: members of types of the kernel",
        at: At::Function("overlay:ovl_fill_super"),
        arguments: &["name=sb->s_type->name:string"],
        action: "overlay",
        expect: r#"name="overlay""#,
    },
    Case {
        kind: "a module: 16 bits, a name",
        at: At::Function("overlay:ovl_mkdir"),
        arguments: &["name=dentry->d_name.name:string", "mode"],
        action: "overlay",
        expect: r#"name="layered" mode=453"#,
    },
    Case {
        kind: "a module: a string",
        at: At::Function("overlay:ovl_symlink"),
        arguments: &["text=link:string"],
        action: "overlay",
        expect: r#"text="text-of-link""#,
    },
    Case {
        kind: "a module: members of its own types",
        at: At::Function("overlay:ovl_create_real"),
        arguments: &["upper=ofs->config.upperdir:string", "link=attr->link:string", "mode=attr->mode"],
        action: "overlay",
        expect: r#"upper="/t/u" link="text-of-link" mode=0xa000"#,
    },
    Case {
        kind: "a module: a static function",
        at: At::Function("overlay:ovl_create_object"),
        arguments: &["mode", "rdev", "link"],
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
