// The only program of a machine in which tools run: for each request of boot.rs it runs a script and tells what it printed.
//
// /requests, one a line:
//     text ADDRESS         of no use here
//     x SCRIPT             run by the shell of busybox
// What is told, as by init.c:
//     t NUMBER LENGTH, and the bytes                 what the script printed
//     a NUMBER STATUS                                how it ended
//     end
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "told.h"

static void tell(const char *text) {
    give(text, strlen(text));
}

static _Noreturn void end(void) {
    reboot(RB_AUTOBOOT);
    for (;;)
        pause();
}

static void run(unsigned number, const char *script) {
    static char printed[64 << 20];
    size_t length = 0;
    int ends[2], status = 0;
    char line[64];
    if (pipe(ends))
        end();
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_RDONLY), 0);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/busybox", "sh", script, NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], printed + length, sizeof printed - length)) > 0;)
        length += got;
    close(ends[0]);
    waitpid(child, &status, 0);
    snprintf(line, sizeof line, "t %u %zu\n", number, length);
    tell(line);
    give(printed, length);
    snprintf(line, sizeof line, "a %u %d\n", number, WIFEXITED(status) ? WEXITSTATUS(status) : 255);
    tell(line);
}

int main(void) {
    static char requests[1 << 16];
    const char *folders[] = {"/tmp", "/bin", "/dev"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0755);
    mount("none", "/dev", "devtmpfs", 0, NULL);
    mount("none", "/proc", "proc", 0, NULL);
    // bpftrace 0.24 compiles into files of it.
    if (symlink("/proc/self/fd", "/dev/fd"))
        end();
    mount("none", "/sys", "sysfs", 0, NULL);
    mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
    mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
    if (open_told())
        end();
    setenv("PATH", "/bin:/usr/bin", 1);
    setenv("HOME", "/tmp", 1);
    if (chdir("/tmp"))
        end();
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/busybox", "busybox", "--install", "-s", "/bin", NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    int file = open("/requests", O_RDONLY);
    if (file < 0 || read(file, requests, sizeof requests - 1) < 0)
        end();
    unsigned number = 0;
    for (char *next = requests, *line; (line = strsep(&next, "\n"));)
        if (*line == 'x')
            run(number++, line + 2);
    tell("end\n");
    end();
}
