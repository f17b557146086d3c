//! Which functions take programs that may sleep (`check_attach_btf_id`, kernel/bpf/verifier.c).
//!
//! Measured: a sleepable program was loaded for each hook, on booted kernels of Debian for x86-64: 5.10.0-43 takes one at
//! `bprm_committed_creds` alone, 6.1.0-56 and 7.3.4+deb13 at those of the lists.
use super::super::outcome::{Finding, State};
use super::{Attacher, Trampoline};
use probeidx_format::record::FunctionRecord;

const OLDEST: (u32, u32) = (5, 10);
const MIDDLE: (u32, u32) = (6, 1);
const NEWEST: (u32, u32) = (7, 3);

/// `sleepable_lsm_hooks` (kernel/bpf/bpf_lsm.c) of 6.1.
#[rustfmt::skip]
const HOOKS: [&[u8]; 70] = [
    b"bpf", b"bpf_map", b"bpf_map_alloc_security", b"bpf_map_free_security", b"bpf_prog", b"bprm_check_security",
    b"bprm_committed_creds", b"bprm_committing_creds", b"bprm_creds_for_exec", b"bprm_creds_from_file", b"capget", b"capset",
    b"cred_prepare", b"current_getsecid_subj", b"file_ioctl", b"file_lock", b"file_open", b"file_receive",
    b"inet_conn_established", b"inode_create", b"inode_free_security", b"inode_getattr", b"inode_getxattr", b"inode_mknod",
    b"inode_post_setxattr", b"inode_readlink", b"inode_rename", b"inode_rmdir", b"inode_setattr", b"inode_setxattr",
    b"inode_symlink", b"inode_unlink", b"kernel_module_request", b"kernel_read_file", b"kernfs_init_security", b"key_free",
    b"mmap_file", b"netlink_send", b"path_notify", b"release_secctx", b"sb_alloc_security", b"sb_eat_lsm_opts",
    b"sb_kern_mount", b"sb_mount", b"sb_remount", b"sb_set_mnt_opts", b"sb_show_options", b"sb_statfs", b"sb_umount",
    b"settime", b"socket_accept", b"socket_bind", b"socket_connect", b"socket_create", b"socket_getpeername",
    b"socket_getpeersec_dgram", b"socket_getsockname", b"socket_getsockopt", b"socket_listen", b"socket_post_create",
    b"socket_recvmsg", b"socket_sendmsg", b"socket_shutdown", b"socket_socketpair", b"syslog", b"task_alloc",
    b"task_getsecid_obj", b"task_prctl", b"task_setscheduler", b"userns_create",
];
/// Of 7.3, and not of 6.1.
#[rustfmt::skip]
const LATER_HOOKS: [&[u8]; 21] = [
    b"bdev_alloc_security", b"bdev_setintegrity", b"bpf_map_create", b"bpf_map_free", b"bpf_prog_load",
    b"bpf_token_capable", b"bpf_token_cmd", b"bpf_token_create", b"bpf_token_free", b"file_post_open",
    b"inode_post_removexattr", b"inode_removexattr", b"path_chmod", b"path_chown", b"path_link", b"path_mkdir",
    b"path_rename", b"path_rmdir", b"path_symlink", b"path_truncate", b"path_unlink",
];
/// Of 6.1, and not of 7.3.
const EARLIER_HOOKS: [&[u8]; 1] = [b"inet_conn_established"];
/// `btf_non_sleepable_error_inject`: they may be made to fail, and are called where nothing sleeps.
const NOT_SLEEPING: [&[u8]; 4] =
    [b"__add_to_page_cache_locked", b"__filemap_add_folio", b"should_fail_alloc_page", b"should_failslab"];

impl Attacher<'_> {
    /// Whether a function or hook takes programs that sleep.
    pub fn sleepable(&self, name: &[u8], kind: Trampoline) -> Option<Finding> {
        let takes = match kind {
            Trampoline::Hook => hook(name, self.line),
            Trampoline::Function | Trampoline::Modifying => self.function(name),
        };
        let text = String::from_utf8_lossy(name);
        match takes {
            Some(true) => None,
            Some(false) => {
                let why = "programs that sleep cannot be attached there";
                let instead = "attach without .s, and do not call helpers that sleep".to_owned();
                Some(Finding::new(State::Trampoline, text, why).errno("EINVAL").instead([instead]))
            }
            None => {
                let why = "whether programs that sleep can be attached there is not known of this release";
                Some(Finding::new(State::Undecided, text, why))
            }
        }
    }

    /// Functions that may be made to fail; and system calls, on 7.3 and not on 6.1.
    fn function(&self, name: &[u8]) -> Option<bool> {
        if self.has_flag(name, FunctionRecord::MAY_FAIL) {
            return Some(!NOT_SLEEPING.contains(&name));
        }
        match is_system_call(name) {
            true => takes_system_calls(self.line),
            // A kfunc says for itself whether it sleeps.
            false => (!self.has_flag(name, FunctionRecord::KFUNC)).then_some(false),
        }
    }
}

/// Whether the result of a system call can be modified and sleepable programs be attached to it: measured with
/// `__x64_sys_openat` and others, not on 6.1 and 6.12, on 7.2 and 7.3. `None` in between.
pub(super) fn takes_system_calls(line: Option<(u32, u32)>) -> Option<bool> {
    match line? {
        line if line <= (6, 12) => Some(false),
        line if line >= (7, 2) => Some(true),
        _ => None,
    }
}

/// Whether it is the function of a system call.
pub(super) fn is_system_call(name: &[u8]) -> bool {
    [&b"__x64_sys_"[..], b"__arm64_sys_", b"__s390x_sys_", b"__riscv_sys_"]
        .iter()
        .any(|p| name.starts_with(p))
}

fn hook(name: &[u8], line: Option<(u32, u32)>) -> Option<bool> {
    let (in_middle, in_newest) = (
        HOOKS.contains(&name),
        LATER_HOOKS.contains(&name) || HOOKS.contains(&name) && !EARLIER_HOOKS.contains(&name),
    );
    match line? {
        line if line <= OLDEST => Some(name == b"bprm_committed_creds"),
        line if line > NEWEST => in_newest.then_some(true),
        NEWEST => Some(in_newest),
        MIDDLE => Some(in_middle),
        line if line > MIDDLE && in_middle == in_newest => Some(in_middle),
        _ => None,
    }
}
