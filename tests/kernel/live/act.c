// Known actions, and what probes say of them: each passes values that nothing else passes, so that a line of the trace
// with them can only be right. Values that are known here alone are told.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "init.h"

#define TRACING "/sys/kernel/tracing/"
#define PROBED "/t/probed-file"
#define LENGTH 5000000000

// Calls that arm64 has not, by those that it has.
#ifndef SYS_open
#define SYS_open SYS_openat, AT_FDCWD
#define SYS_mkdir SYS_mkdirat, AT_FDCWD
#endif

static unsigned answering;

static void known(const char *name, long value) {
    tell("n %u %s %ld\n", answering, name, value);
}

static void known_address(const char *name, const void *value) {
    tell("n %u %s %#lx\n", answering, name, (unsigned long)value);
}

// The file that actions work on, at a place that they know.
static int probed(void) {
    int file = open(PROBED, O_RDWR);
    if (file < 0 || lseek(file, 1000, SEEK_SET) != 1000)
        fail(PROBED);
    return file;
}

static void do_write(void) {
    static char text[] = "seventeen bytes!!";
    int file = probed();
    known("written", write(file, text, 17));
    known_address("text", text);
    close(file);
}

static void do_writev(void) {
    struct iovec parts[] = {{"first", 5}, {"second, long", 12}};
    int file = probed();
    known("written", writev(file, parts, 2));
    known_address("parts", parts);
    known_address("second", parts[1].iov_base);
    close(file);
}

static void do_read(void) {
    char bytes[32];
    struct stat found;
    int file = probed();
    known("got", read(file, bytes, 23));
    fstat(file, &found);
    known("inode", found.st_ino);
    known_address("bytes", bytes);
    close(file);
}

static void do_seek(void) {
    int file = probed();
    known("at", lseek(file, -3, SEEK_END));
    close(file);
}

static void do_open(void) {
    static const char path[] = "/t/made-file";
    int file = syscall(SYS_open, path, O_WRONLY | O_CREAT | O_EXCL, 0640);
    known("file", file);
    known_address("path", path);
    close(file);
    unlink(path);
}

static void do_creat(void) {
#ifdef SYS_creat
    int file = syscall(SYS_creat, "/t/made-file", 0604);
#else
    int file = creat("/t/made-file", 0604);
#endif
    known("file", file);
    close(file);
    unlink("/t/made-file");
}

static void do_mkdir(void) {
    struct stat parent;
    stat("/t", &parent);
    syscall(SYS_mkdir, "/t/probed-dir", 0751);
    known("parent", parent.st_ino);
    rmdir("/t/probed-dir");
}

static void do_rename(void) {
    close(creat("/t/old-name", 0600));
    known("error", renameat2(AT_FDCWD, "/t/old-name", AT_FDCWD, "/t/new-name", RENAME_NOREPLACE));
    unlink("/t/new-name");
}

static void do_statx(void) {
    struct statx found;
    known("error", statx(AT_FDCWD, PROBED, 0, STATX_INO, &found));
    known("inode", found.stx_ino);
}

static void do_kill(void) {
    syscall(SYS_kill, -12345L, SIGUSR1);
}

static void do_kill_group(void) {
    setsid();
    kill(0, SIGURG);
}

static void do_name(void) {
    struct sched_param none = {0};
    struct rlimit limit = {777, 1000};
    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
    setrlimit(RLIMIT_NOFILE, &limit);
    prctl(PR_SET_NAME, "name-before");
    prctl(PR_SET_NAME, "\xe9-probed");
    prctl(PR_SET_NAME, "init");
}

// Copied to the stack of the kernel before it is used.
static void do_name_by_file(void) {
    put("/proc/self/comm", "by-file");
    prctl(PR_SET_NAME, "init");
}

static void do_nice(void) {
    setpriority(PRIO_PROCESS, 0, -5);
    setpriority(PRIO_PROCESS, 0, 0);
}

static void do_sleep(void) {
    struct timespec time = {0, 1234567};
    syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &time, NULL);
}

static void do_bind(void) {
    struct sockaddr_un address = {AF_UNIX, "/t/probed-socket"};
    int one = 1, size = 5000, file = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(file, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    known("error", bind(file, (struct sockaddr *)&address, 21));
    close(file);
    unlink(address.sun_path);
}

static void do_option(void) {
    static int one = 1;
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    known_address("one", &one);
    close(file);
}

static void do_send(void) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
    known("sent", send(pair[0], "eleven byte", 11, MSG_DONTWAIT));
    close(pair[0]);
    close(pair[1]);
}

static void do_map(void) {
    int file = probed();
    void *at = mmap(NULL, 0x5000, PROT_READ, MAP_PRIVATE, file, 0x3000);
    known_address("at", at);
    munmap(at, 0x5000);
    close(file);
}

static void do_futex(void) {
    static uint32_t word;
    syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 77, NULL, NULL, 0xbeef0001);
    known_address("word", &word);
}

static void do_ioctl(void) {
    int file = probed();
    ioctl(file, 0xdeadbeef, 0x1122334455667788);
    close(file);
}

static void do_exit(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(42);
    waitpid(child, &status, 0);
    known("child", child);
    known("status", status);
}

static void do_sync(void) {
    int file = probed();
    fdatasync(file);
    close(file);
}

static void do_overlay(void) {
    static const char layers[] = "lowerdir=/t/l,upperdir=/t/u,workdir=/t/w";
    known("error", mount("layers", "/t/m", "overlay", 0, layers) ? errno : 0);
    mkdir("/t/m/layered", 0705);
    symlink("text-of-link", "/t/m/link");
    rmdir("/t/m/layered");
    unlink("/t/m/link");
    umount("/t/m");
}

static const struct action {
    const char *name;
    void (*perform)(void);
} actions[] = {
    {"write", do_write}, {"writev", do_writev}, {"read", do_read}, {"seek", do_seek}, {"open", do_open},
    {"creat", do_creat}, {"mkdir", do_mkdir}, {"rename", do_rename}, {"statx", do_statx}, {"kill", do_kill},
    {"kill-group", do_kill_group}, {"name", do_name}, {"name-by-file", do_name_by_file}, {"nice", do_nice},
    {"sleep", do_sleep}, {"bind", do_bind}, {"option", do_option},
    {"send", do_send}, {"map", do_map}, {"futex", do_futex},
    {"ioctl", do_ioctl}, {"exit", do_exit}, {"sync", do_sync}, {"overlay", do_overlay},
};

static void prepare(void) {
    static const char *const folders[] = {"/t/l", "/t/u", "/t/w", "/t/m"};
    umask(0);
    mkdir("/t", 0755);
    if (mount("none", "/t", "tmpfs", 0, NULL))
        fail("/t");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0755);
    int file = creat(PROBED, 0600);
    if (ftruncate(file, LENGTH))
        fail(PROBED);
    close(file);
    // What is read in memory of ours must be there.
    mlockall(MCL_CURRENT | MCL_FUTURE);
    // Nothing but what init and its children do.
    put(TRACING "set_event_pid", "1");
    put(TRACING "options/event-fork", "1");
    put(TRACING "options/context-info", "0");
}

static void perform(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, name)) {
            actions[i].perform();
            return;
        }
    errno = 0;
    fail(name);
}

void trace(unsigned number, const char *action, char *definitions) {
    static struct buffer text;
    static int is_prepared;
    char *line;
    if (!is_prepared++)
        prepare();
    answering = number;
    int error = 0;
    while (!error && (line = strsep(&definitions, "\t")))
        error = define(line);
    if (!error) {
        // To open it so is to empty it.
        close(open(TRACING "trace", O_WRONLY | O_TRUNC));
        put(TRACING "events/probeidx/enable", "1");
        perform(action);
        put(TRACING "events/probeidx/enable", "0");
        if (!read_into(&text, TRACING "trace"))
            fail(TRACING "trace");
        tell("t %u %zu\n", number, text.length);
        tell_bytes(text.bytes, text.length);
    }
    tell("a %u %d\n", number, error);
    forget_all();
}
