// The only program of the machine in which trace.rs tries `probeidx trace`: it starts the program, does what it knows, ends
// the program, and tells what that printed and what is left in tracefs. It reads /requests and tells as init.c does, of these
// (tabs between the words):
//     s ACTION COUNT ARGUMENT...     trace with these arguments while ACTION is done so often by a process called actor;
//                                    @PID@ in an argument is its number. If ACTION is `itself`, the trace ends by itself
//     i SIGNAL ACTION COUNT ARG...   the same, and the trace is ended by this signal
//     p ACTION COUNT ARGUMENT...     the same; what the program prints is a pipe that is closed when the action is done, and it
//                                    ends by that
//     f ACTION COUNT ARGUMENT...     the same; what the program prints goes to a full disk
//     u ACTION COUNT ARGUMENT...     the same; the program is that of a user without rights
//     g ACTION COUNT ARGUMENT...     the same; the program is that of such a user, and was granted what it tells such users
//     e ACTION COUNT ARGUMENT...     the same; the kernel is not indexed
//     k COUNT ARGUMENT...            trace and kill the program by SIGKILL at a random moment, so often; after each a trace
//                                    that ends by itself is to find nothing left
//     c PATH                         print a file
// It tells of each request
//     n NUMBER NAME VALUE            what the action knows, and the code with which the program ended
//     t NUMBER LENGTH, and the bytes what the program printed
//     c stderr/NUMBER LENGTH         what it said
//     c left/NUMBER LENGTH           definitions, instances and probes that are there afterwards
//     a NUMBER 0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>
#include "../told.h"

#define TRACING "/sys/kernel/tracing/"
#define FILE_OF_ACTOR "/t/probed-file"
#define ARGUMENTS 32

static char told[(1 << 16) + 1];
static size_t told_length;

static void flush(void) {
    told[told_length] = 0;
    give(told, told_length);
    told_length = 0;
}

static void tell_bytes(const char *bytes, size_t length) {
    while (length > 0) {
        size_t room = sizeof told - 1 - told_length, part = room < length ? room : length;
        memcpy(told + told_length, bytes, part);
        told_length += part, bytes += part, length -= part;
        if (told_length == sizeof told - 1)
            flush();
    }
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    tell_bytes(line, length < (int)sizeof line ? length : (int)sizeof line - 1);
}

static _Noreturn void end(void) {
    flush();
    reboot(RB_AUTOBOOT);
    for (;;)
        pause();
}

// boot.rs shows the last lines of the console.
static _Noreturn void fail(const char *what) {
    printf("init: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    end();
}

struct buffer {
    char *bytes;
    size_t length, room;
};

// A whole file behind what is there, with a 0 behind it; nothing where there is none.
static void append(struct buffer *buffer, const char *path) {
    int file = open(path, O_RDONLY);
    ssize_t got = 0;
    do {
        buffer->length += got;
        if (buffer->room - buffer->length < 1 << 16) {
            buffer->room = buffer->room * 2 + (1 << 20);
            buffer->bytes = realloc(buffer->bytes, buffer->room);
            if (!buffer->bytes)
                fail("memory");
        }
        got = file < 0 ? 0 : read(file, buffer->bytes + buffer->length, buffer->room - buffer->length - 1);
    } while (got > 0 || (got < 0 && errno == EINTR && !(got = 0)));
    if (file >= 0)
        close(file);
    buffer->bytes[buffer->length] = 0;
}

static char *read_into(struct buffer *buffer, const char *path) {
    buffer->length = 0;
    append(buffer, path);
    return buffer->bytes;
}

// What is done. Each knows what passes the probes, and tells what only it knows.

static unsigned answering;

// Whether only the action is wanted: `guest act ACTION COUNT`, for a script.
static int is_alone;

static void known(const char *name, long value) {
    if (is_alone) {
        printf("known %s %ld\n", name, value);
        fflush(stdout);
        return;
    }
    tell("n %u %s %ld\n", answering, name, value);
}

static int probed(void) {
    int file = open(FILE_OF_ACTOR, O_RDWR);
    if (file < 0)
        fail(FILE_OF_ACTOR);
    return file;
}

// 1000, 1001, … bytes.
static void do_read(int count) {
    static char bytes[1 << 16];
    int file = probed();
    known("fd", file);
    for (int i = 0; i < count; i++)
        if (read(file, bytes, 1000 + i) != 1000 + i)
            fail("read");
    close(file);
}

// As do_read, in a cgroup into which the actor comes now: it is a little until that is seen.
static void do_join(int count) {
    struct timespec time = {4, 0};
    FILE *processes = fopen("/sys/fs/cgroup/joined/cgroup.procs", "w");
    if (!processes || fprintf(processes, "%d\n", getpid()) < 0 || fclose(processes))
        fail("cgroup.procs");
    nanosleep(&time, NULL);
    do_read(count);
}

static void do_write(int count) {
    static char bytes[1 << 16];
    int file = probed();
    for (int i = 0; i < count; i++)
        if (write(file, bytes, 2000 + i) != 2000 + i)
            fail("write");
    close(file);
}

// Names that are not there.
static void do_open(int count) {
    for (int i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/t/none-%d", i);
        if (syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) >= 0)
            fail(path);
    }
}

// Of the file that is there, with a flag.
static void do_open_direct(int count) {
    for (int i = 0; i < count; i++) {
        int flags = O_RDWR | (i % 2 ? O_APPEND : 0);
        int file = syscall(SYS_openat, AT_FDCWD, FILE_OF_ACTOR, flags, 0);
        if (file < 0 || write(file, "x", 1) != 1)
            fail(FILE_OF_ACTOR);
        close(file);
    }
}

static void do_getpid(int count) {
    for (int i = 0; i < count; i++)
        syscall(SYS_getppid);
}

static void do_seek(int count) {
    int file = probed();
    known("fd", file);
    for (int i = 0; i < count; i++)
        lseek(file, 5000 + i, SEEK_SET);
    close(file);
}

static void do_kill(int count) {
    for (int i = 0; i < count; i++)
        syscall(SYS_kill, getpid(), 0);
}

static void do_nice(int count) {
    for (int i = 0; i < count; i++)
        setpriority(PRIO_PROCESS, 0, i % 5 + 1);
}

static void do_mkdir(int count) {
    for (int i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/t/made-%d", i);
        syscall(SYS_mkdirat, AT_FDCWD, path, 0700 + i % 8);
        rmdir(path);
    }
}

// At one address, which conditions can name: one that the kernel chooses is below 0x7f0000000000
// in one start of sixty (x86-64: a terabyte at random, and 16 GiB that are left for the stack).
static void do_map(int count) {
    for (int i = 0; i < count; i++) {
        char *at = mmap((void *)0x600000000000, 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == MAP_FAILED)
            fail("mmap");
        at[0] = 1;
        munmap(at, 4096);
    }
}

static void do_sleep(int count) {
    for (int i = 0; i < count; i++) {
        struct timespec time = {0, 100000 + i};
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

// So many at a time: each is in the function until all others are.
static void do_together(int count) {
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            struct timespec time = {2, 0};
            syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static void do_name(int count) {
    for (int i = 0; i < count; i++) {
        prctl(PR_SET_NAME, "other");
        prctl(PR_SET_NAME, "actor");
    }
}

static void do_fork(int count) {
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i % 100);
        waitpid(child, NULL, 0);
    }
}

// Calls that look up a file by its number, each by a copy of its own of what is inlined for that: the number is that of the
// call, so that each copy is known by it.
static void do_numbers(int count) {
    struct statfs space;
    int file = probed();
    for (int number = 300; number < 316; number++)
        if (dup2(file, number) != number)
            fail("dup2");
    for (int i = 0; i < count; i++) {
        fchown(300, 0, 0);
        fchmod(301, 0600);
        ftruncate(302, 1 << 20);
        fsync(303);
        fallocate(304, 0, 0, 10);
        flock(305, LOCK_SH);
        ioctl(306, FIOCLEX);
        posix_fadvise(307, 0, 0, POSIX_FADV_NORMAL);
        readahead(308, 0, 10);
        fstatfs(309, &space);
        flistxattr(310, NULL, 0);
        fgetxattr(311, "user.none", NULL, 0);
        fsetxattr(312, "user.none", "", 0, 0);
        fremovexattr(313, "user.none");
        pread(314, &space, 1, 0);
        pwrite(315, &space, 1, 0);
    }
    for (int number = 300; number < 316; number++)
        close(number);
    close(file);
}

static void do_sysinfo(int count) {
    struct sysinfo info;
    for (int i = 0; i < count; i++)
        sysinfo(&info);
}

// All mounts, which are so many.
static void do_mounts(int count) {
    static char bytes[1 << 16];
    long lines = 0;
    for (int i = 0; i < count; i++) {
        int file = open("/proc/self/mounts", O_RDONLY);
        for (ssize_t got; (got = read(file, bytes, sizeof bytes)) > 0;)
            for (ssize_t at = 0; at < got; at++)
                lines += bytes[at] == '\n';
        close(file);
    }
    known("mounts", lines / count);
}

static void do_nothing(int count) {
    (void)count;
}

__attribute__((noinline, noipa)) long guest_function(long number, const char *text) {
    return number * 2 + text[0];
}

static void do_call(int count) {
    for (int i = 0; i < count; i++)
        guest_function(70000 + i, "called");
}

static const struct action {
    const char *name;
    void (*perform)(int count);
} actions[] = {
    {"read", do_read}, {"write", do_write}, {"open", do_open}, {"open-flags", do_open_direct}, {"getppid", do_getpid},
    {"seek", do_seek}, {"kill", do_kill}, {"nice", do_nice}, {"mkdir", do_mkdir}, {"map", do_map}, {"sleep", do_sleep},
    {"name", do_name}, {"fork", do_fork}, {"numbers", do_numbers}, {"call", do_call}, {"nothing", do_nothing},
    {"itself", do_nothing}, {"together", do_together}, {"join", do_join}, {"sysinfo", do_sysinfo},
    {"mounts", do_mounts},
};

static const struct action *action_of(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, name))
            return &actions[i];
    errno = 0;
    fail(name);
}

// A process that waits until it is told to act, and says when it is done. By a futex: no file is read or written for that,
// as files may be what is traced.
struct actor {
    pid_t pid;
    uint32_t *word;
};

enum { WAIT, GO, DONE, LEAVE };

static void wait_while(uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
        syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void set(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static struct actor start_actor(const struct action *action, int count) {
    uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED)
        fail("mmap");
    flush();
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        prctl(PR_SET_NAME, "actor");
        mlockall(MCL_CURRENT);
        wait_while(word, WAIT);
        if (*word == GO) {
            action->perform(count);
            flush();
            set(word, DONE);
            wait_while(word, DONE);
        }
        _exit(0);
    }
    // Its own cgroup, too.
    FILE *processes = fopen("/sys/fs/cgroup/traced/cgroup.procs", "w");
    if (processes) {
        fprintf(processes, "%d\n", pid);
        fclose(processes);
    }
    return (struct actor){pid, word};
}

static void act(struct actor actor) {
    set(actor.word, GO);
    wait_while(actor.word, GO);
}

static void end_actor(struct actor actor) {
    set(actor.word, LEAVE);
    waitpid(actor.pid, NULL, 0);
    munmap(actor.word, 4096);
}

// Where what the program prints goes, and who runs it.
enum { TO_FILE = 's', TO_PIPE = 'p', TO_FULL = 'f', BY_USER = 'u', BY_GRANTED = 'g', WITHOUT_INDEX = 'e' };

// The end that reads, of TO_PIPE.
static int reading = -1;

// What `setcap cap_dac_override,cap_syslog+ep` does to a copy of the program (`struct vfs_cap_data`, linux/capability.h).
static const char *granted(void) {
    const char *path = "/t/granted";
    const uint32_t rights[] = {0x02000001, 1 << 1, 0, 1 << (34 - 32), 0};
    int from = open("/probeidx", O_RDONLY), to = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
    for (ssize_t got; (got = sendfile(to, from, NULL, 1 << 20)) != 0;)
        if (got < 0)
            fail(path);
    close(from);
    close(to);
    if (chmod(path, 0755) || setxattr(path, "security.capability", rights, sizeof rights, 0))
        fail(path);
    return path;
}

static pid_t start_trace(char **arguments, int how) {
    int ends[2] = {-1, -1};
    if (how == TO_PIPE && pipe(ends))
        fail("pipe");
    // Before the program does: what the last one said is not what this one says.
    close(creat("/t/out", 0600));
    close(creat("/t/err", 0600));
    const char *program = how == BY_GRANTED ? granted() : "/probeidx";
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        int in = open("/dev/null", O_RDONLY);
        int out = how == TO_PIPE ? ends[1] : open(how == TO_FULL ? "/dev/full" : "/t/out", O_WRONLY);
        int err = open("/t/err", O_WRONLY);
        if (in >= 0)
            dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        setenv("PROBEIDX_DB", how == WITHOUT_INDEX ? "/t/db" : "/db", 1);
        close(ends[0]);
        if ((how == BY_USER || how == BY_GRANTED) && (setgid(1000) || setuid(1000)))
            _exit(126);
        execv(program, arguments);
        _exit(127);
    }
    reading = ends[0];
    close(ends[1]);
    return pid;
}

static void pause_for(long microseconds) {
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

// Whether the program said that all is planted; not if it ended before.
static int is_tracing(pid_t trace, int *status) {
    static struct buffer said;
    for (;;) {
        if (waitpid(trace, status, WNOHANG) == trace)
            return 0;
        if (strstr(read_into(&said, "/t/err"), "Ctrl-C ends it"))
            return 1;
        pause_for(20000);
    }
}

// The end of the program: what it returned, or 1000 and the signal that ended it.
static int wait_for(pid_t trace) {
    int status = 0;
    for (int tries = 0; waitpid(trace, &status, WNOHANG) == 0; tries++) {
        if (tries == 3000)
            kill(trace, SIGKILL);
        pause_for(20000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void tell_file(const char *name, const char *path) {
    static struct buffer text;
    read_into(&text, path);
    tell("c %s/%u %zu\n", name, answering, text.length);
    tell_bytes(text.bytes, text.length);
}

// What a trace must not leave: a line for each thing.
static void list_left(struct buffer *left) {
    DIR *instances = opendir(TRACING "instances");
    struct dirent *entry;
    append(left, TRACING "dynamic_events");
    append(left, "/sys/kernel/debug/kprobes/list");
    append(left, TRACING "set_event");
    append(left, TRACING "set_event_pid");
    while (instances && (entry = readdir(instances)))
        if (entry->d_name[0] != '.') {
            left->length += sprintf(left->bytes + left->length, "instance %s\n", entry->d_name);
            append(left, "");
        }
    if (instances)
        closedir(instances);
}

static void tell_left(void) {
    static struct buffer left;
    left.length = 0;
    list_left(&left);
    tell("c left/%u %zu\n", answering, left.length);
    tell_bytes(left.bytes, left.length);
}

static int split(char *text, char **words) {
    int count = 0;
    for (char *word; count < ARGUMENTS && (word = strsep(&text, "\t"));)
        words[count++] = word;
    words[count] = NULL;
    return count;
}

// Puts the number of the actor into the arguments of the program.
static void put_pid(char **arguments, pid_t pid) {
    for (; *arguments; arguments++) {
        char *at = strstr(*arguments, "@PID@"), *made;
        if (at && asprintf(&made, "%.*s%d%s", (int)(at - *arguments), *arguments, pid, at + 5) > 0)
            *arguments = made;
    }
}

static void session(char **words, int signal, int how) {
    const struct action *action = action_of(words[0]);
    int status = 0, code;
    // The words from the third on, with the names of program and command before them.
    char *arguments[ARGUMENTS + 3] = {"probeidx", "trace"};
    memcpy(arguments + 2, words + 2, (ARGUMENTS - 2) * sizeof *words);
    struct actor actor = start_actor(action, atoi(words[1]));
    put_pid(arguments, actor.pid);
    pid_t trace = start_trace(arguments, how);
    if (is_tracing(trace, &status)) {
        act(actor);
        if (how == TO_PIPE)
            close(reading);
        else if (how != TO_FULL && strcmp(words[0], "itself"))
            kill(trace, signal);
        code = wait_for(trace);
    } else {
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    end_actor(actor);
    known("pid", actor.pid);
    known("code", code);
    struct buffer out = {0};
    read_into(&out, "/t/out");
    tell("t %u %zu\n", answering, out.length);
    tell_bytes(out.bytes, out.length);
    free(out.bytes);
    tell_file("stderr", "/t/err");
    tell_left();
    tell("a %u 0\n", answering);
}

static long microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

// Until a trace has begun to plant, for a minute at most.
static void await_planted(void) {
    static struct buffer left;
    for (int tries = 0; tries < 60000; tries++) {
        left.length = 0;
        list_left(&left);
        if (left.length)
            return;
        pause_for(1000);
    }
}

static void kill_often(int count, char **words) {
    static struct buffer left;
    char *arguments[ARGUMENTS + 3] = {"probeidx", "trace"};
    char *next[] = {"probeidx", "trace", "vfs_fsync", "--duration", "1ms", NULL};
    memcpy(arguments + 2, words, (ARGUMENTS - 2) * sizeof *words);
    long whole = 0, span = 0, planted = 0, removed = 0, dirty = 0;
    int status;
    for (int i = -1; i < count; i++) {
        long start = microseconds(), first;
        pid_t trace = start_trace(arguments, TO_FILE);
        // Most of the time goes by before anything is planted: one in four is killed at any moment, the others after that.
        if (i >= 0 && i % 4 == 0) {
            pause_for(random() % whole);
        } else {
            await_planted();
            first = microseconds();
            if (i < 0) {
                // How long it takes, once.
                is_tracing(trace, &status);
                whole = microseconds() - start + 200000;
                span = microseconds() - first + 200000;
            } else {
                pause_for(random() % span);
            }
        }
        kill(trace, SIGKILL);
        waitpid(trace, &status, 0);
        left.length = 0;
        list_left(&left);
        planted += left.length > 0;
        trace = start_trace(next, TO_FILE);
        if (wait_for(trace) == 0)
            removed++;
        left.length = 0;
        list_left(&left);
        if (left.length > 0 && dirty++ == 0) {
            tell("c left/%u %zu\n", answering, left.length);
            tell_bytes(left.bytes, left.length);
        }
    }
    known("planted", planted);
    known("removed", removed);
    known("dirty", dirty);
    tell_file("stderr", "/t/err");
    tell("a %u 0\n", answering);
}

static void act_alone(const char *name, int count) {
    const struct action *action = action_of(name);
    is_alone = 1;
    mlockall(MCL_CURRENT);
    prctl(PR_SET_NAME, "actor");
    action->perform(count);
}

int main(int count, char **arguments) {
    if (count == 4 && !strcmp(arguments[1], "act")) {
        act_alone(arguments[2], atoi(arguments[3]));
        return 0;
    }
    static struct buffer requests;
    // As the program of which an index was built, which has that path.
    struct buffer self = {0};
    char *program = strtok(read_into(&self, "/program"), "\n");
    if (program && strcmp(arguments[0], program) && count > 0)
        execl(program, program, NULL);
    char *words[ARGUMENTS + 3], *line;
    mount("none", "/proc", "proc", 0, NULL);
    mount("none", "/sys", "sysfs", 0, NULL);
    if (open_told() || mount("none", "/sys/kernel/debug", "debugfs", 0, NULL) ||
        mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL))
        fail("mount");
    mkdir("/t", 0755);
    mkdir("/sys/fs/cgroup", 0755);
    mount("none", "/t", "tmpfs", 0, NULL);
    mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL);
    mkdir("/sys/fs/cgroup/traced", 0755);
    // A cgroup in which there is a process already.
    mkdir("/sys/fs/cgroup/joined", 0755);
    if (fork() == 0) {
        FILE *processes = fopen("/sys/fs/cgroup/joined/cgroup.procs", "w");
        if (processes && fprintf(processes, "%d\n", getpid()) > 0)
            fclose(processes);
        for (;;)
            pause();
    }
    mknod("/dev/null", S_IFCHR | 0666, 1 << 8 | 3);
    mknod("/dev/full", S_IFCHR | 0666, 1 << 8 | 7);
    int file = creat(FILE_OF_ACTOR, 0600);
    if (ftruncate(file, 1 << 20))
        fail(FILE_OF_ACTOR);
    close(file);
    char *next = read_into(&requests, "/requests");
    while ((line = strsep(&next, "\n"))) {
        char kind = line[0];
        if (!kind || kind == 't')
            continue;
        if (kind == 'c') {
            static struct buffer text;
            read_into(&text, line + 2);
            tell("c %s %zu\n", line + 2, text.length);
            tell_bytes(text.bytes, text.length);
            continue;
        }
        memset(words, 0, sizeof words);
        split(line + 2, words);
        if (kind == 'i')
            session(words + 1, atoi(words[0]), TO_FILE);
        else if (kind == 'k')
            kill_often(atoi(words[0]), words + 1);
        else
            session(words, SIGINT, kind);
        answering++;
        flush();
    }
    tell("end\n");
    end();
}
