// Known actions, and what probes say of them: each passes values that nothing else passes, so that a line of the trace
// with them can only be right. Values that are known here alone are told.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
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

// Much that has no value to be known by.
static void do_several(void) {
    struct pollfd polled = {.events = POLLIN};
    struct itimerval soon = {.it_value.tv_usec = 2000};
    struct timespec pause = {0, 5000000};
    struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
    char text[64], *pages;
    int pair[2], file, watched;
    do_write(), do_writev(), do_read(), do_seek(), do_open(), do_mkdir(), do_rename(), do_statx(), do_kill();
    do_name(), do_nice(), do_sleep(), do_bind(), do_option(), do_send(), do_map(), do_futex(), do_exit(), do_sync();
    file = probed();
    fcntl(file, F_SETLK, &lock);
    ftruncate(file, LENGTH - 5000);
    ftruncate(file, LENGTH);
    fchmod(file, 0644);
    fchown(file, 12, 13);
    fallocate(file, 0, 0, 10000);
    setxattr(PROBED, "trusted.probed", "value", 5, 0);
    removexattr(PROBED, "trusted.probed");
    link(PROBED, "/t/linked");
    symlink(PROBED, "/t/symbolic");
    readlink("/t/symbolic", text, sizeof text);
    close(open("/t/symbolic", O_RDONLY));
    unlink("/t/linked");
    unlink("/t/symbolic");
    watched = inotify_init1(0);
    inotify_add_watch(watched, "/t", IN_CREATE | IN_DELETE);
    close(creat("/t/watched", 0600));
    unlink("/t/watched");
    close(watched);
    watched = open("/t", O_RDONLY | O_DIRECTORY);
    syscall(SYS_getdents64, watched, text, sizeof text);
    close(watched);
    if (pipe(pair) == 0) {
        watched = epoll_create1(0);
        epoll_ctl(watched, EPOLL_CTL_ADD, pair[0], &(struct epoll_event){.events = EPOLLIN});
        polled.fd = pair[0];
        write(pair[1], text, 20);
        poll(&polled, 1, 10);
        epoll_wait(watched, &(struct epoll_event){0}, 1, 10);
        splice(pair[0], NULL, file, NULL, 10, 0);
        read(pair[0], text, 10);
        close(watched);
        close(pair[0]);
        close(pair[1]);
    }
    pages = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, 0x1000, PROT_READ);
    madvise(pages + 0x4000, 0x1000, MADV_DONTNEED);
    pages = mremap(pages, 0x10000, 0x20000, MREMAP_MAYMOVE);
    munmap(pages, 0x20000);
    close(memfd_create("probed", 0));
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &soon, NULL);
    nanosleep(&pause, NULL);
    sched_yield();
    mount("none", "/t/m", "tmpfs", 0, NULL);
    umount("/t/m");
    close(socket(AF_INET, SOCK_DGRAM, 0));
    close(socket(AF_INET, SOCK_STREAM, 0));
    getgroups(0, NULL);
    close(file);
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
    {"several", do_several},
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
    put(TRACING "buffer_size_kb", "8192");
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
        // Events come on one after the other: nothing is recorded until all are.
        put(TRACING "tracing_on", "0");
        put(TRACING "events/probeidx/enable", "1");
        put(TRACING "tracing_on", "1");
        perform(action);
        put(TRACING "tracing_on", "0");
        put(TRACING "events/probeidx/enable", "0");
        if (!read_into(&text, TRACING "trace"))
            fail(TRACING "trace");
        tell("t %u %zu\n", number, text.length);
        tell_bytes(text.bytes, text.length);
    }
    tell("a %u %d\n", number, error);
    forget_all();
}
