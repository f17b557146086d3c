// The program that uprobes.rs starts in the machine instead of init.c: it plants uprobes in itself. It reads /requests and
// tells as init.c does, of these:
//     u LINE               write LINE, of the event probeidx/e, to uprobe_events, and enable it: then the kernel looks at
//                          the instruction
//     v ACTION LINES       write LINES (tabs between them), enable them, call what is probed, and tell the trace
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>
#include "told.h"

#define TRACING "/sys/kernel/tracing/"
#define EVENTS TRACING "uprobe_events"

struct pair {
    const char *name;
    struct pair *next;
    short number;
};

static int calls = 1234;

__attribute__((noinline, noipa)) long probed(struct pair *first, long by) {
    static long sum = 77;
    calls++;
    sum += by;
    for (; first; first = first->next)
        sum += first->number;
    return sum + calls;
}

static void act(void) {
    struct pair second = {"the second", NULL, -8}, first = {"the first", &second, 5};
    probed(&first, 1000);
}

static _Noreturn void end(void) {
    reboot(RB_AUTOBOOT);
    for (;;)
        pause();
}

static _Noreturn void fail(const char *what) {
    printf("init: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    end();
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...) {
    char line[256];
    va_list values;
    va_start(values, format);
    give(line, vsnprintf(line, sizeof line, format, values));
    va_end(values);
}

// Appended; the error.
static int put(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_APPEND);
    int error = file < 0 || write(file, text, strlen(text)) < 0 ? errno : 0;
    close(file);
    return error;
}

static void forget_all(void) {
    int file = open(EVENTS, O_WRONLY | O_TRUNC);
    if (file < 0)
        fail("emptying " EVENTS);
    close(file);
}

static char *read_whole(const char *path) {
    static char bytes[1 << 20];
    size_t length = 0;
    ssize_t got;
    int file = open(path, O_RDONLY);
    if (file < 0)
        fail(path);
    while ((got = read(file, bytes + length, sizeof bytes - 1 - length)) > 0)
        length += got;
    close(file);
    bytes[length] = 0;
    return bytes;
}

static int plant(const char *line) {
    int error = put(EVENTS, line);
    if (!error)
        error = put(TRACING "events/probeidx/e/enable", "1");
    if (!error)
        error = put(TRACING "events/probeidx/e/enable", "0");
    forget_all();
    return error;
}

static void trace(unsigned number, char *lines) {
    char *line;
    int error = 0;
    while (!error && (line = strsep(&lines, "\t")))
        error = put(EVENTS, line);
    if (!error)
        error = put(TRACING "events/probeidx/enable", "1");
    if (!error) {
        act();
        put(TRACING "events/probeidx/enable", "0");
        char *text = read_whole(TRACING "trace");
        tell("t %u %zu\n", number, strlen(text));
        give(text, strlen(text));
    }
    tell("a %u %d\n", number, error);
    forget_all();
}

int main(void) {
    mount("none", "/proc", "proc", 0, NULL);
    mount("none", "/sys", "sysfs", 0, NULL);
    if (open_told() || mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL))
        fail("mount");
    char *requests = strdup(read_whole("/requests")), *line;
    unsigned number = 0;
    while ((line = strsep(&requests, "\n"))) {
        if (!strncmp(line, "u ", 2)) {
            int error = plant(line + 2);
            tell("a %u %d\n", number++, error);
        } else if (!strncmp(line, "v ", 2)) {
            trace(number++, strchr(line + 2, ' ') + 1);
        }
    }
    tell("end\n");
    end();
}
