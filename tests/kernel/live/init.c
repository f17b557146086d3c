// The only program of the machine that boot.rs starts: loads modules, places probes, tells what became of each.
//
// /modules: one module a line, in the order in which to load; its file is /m/NAME.ko.
// /requests, one a line:
//     text ADDRESS         where _stext is in vmlinux; all addresses are meant relative to it (KASLR)
//     d PLACE LINE         write LINE to kprobe_events; PLACE is where it ought to land
//     p|r|f PLACE          register_kprobe, register_kretprobe, ftrace_set_filter_ip there, through register.ko
//     v ACTION LINES       write LINES (tabs between them) to kprobe_events or dynamic_events, enable them, do ACTION of act.c
//     c PATH               print a file
// PLACE is an address, or MODULE SECTION OFFSET with commas between them; numbers are hexadecimal.
//
// What is told goes to the port 0xe9, where qemu's debug console writes it to a file: no driver, and nothing else
// writes there. On arm64 it goes to qemu by semihosting. One line each:
//     module NAME ERRNO
//     a NUMBER ERRNO [DIFFERENCE ADDRESS SYMBOL]     where it landed, and how far behind PLACE; else nowhere
//     n NUMBER NAME VALUE                            a value of which only the action knows
//     t NUMBER LENGTH, and the bytes                 what was traced
//     c PATH LENGTH, and the bytes
//     took WHAT MILLISECONDS
//     end
#define _GNU_SOURCE
// Of powerpc: __u64 is a long long, as elsewhere.
#define __SANE_USERSPACE_TYPES__
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "init.h"
#include "register.h"
#include "told.h"

#define EVENTS "/sys/kernel/tracing/kprobe_events"
// Of tracepoints (t) and events (e), which are for this file alone.
#define DYNAMIC "/sys/kernel/tracing/dynamic_events"
#define LIST "/sys/kernel/debug/kprobes/list"
// The kernel compares each new event with all that there are.
#define BATCH BATCH_MAX
#define ENDBR64 4

typedef unsigned long address;

struct define {
    unsigned number;
    address place;
    // PLACE, or behind the endbr64 there, to which the kernel moves a probe.
    address lands;
    char *line;
    int error;
};

struct probe {
    address at;
    const char *symbol;
};

// With room for a 0 behind it.
static char told[(1 << 16) + 1];
static size_t told_length;

static void flush(void) {
    told[told_length] = 0;
    give(told, told_length);
    told_length = 0;
}

void tell_bytes(const char *bytes, size_t length) {
    while (length > 0) {
        size_t room = sizeof told - 1 - told_length, part = room < length ? room : length;
        memcpy(told + told_length, bytes, part);
        told_length += part, bytes += part, length -= part;
        if (told_length == sizeof told - 1)
            flush();
    }
}

void tell(const char *format, ...) {
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
void fail(const char *what) {
    printf("init: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    end();
}

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

char *read_into(struct buffer *buffer, const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0)
        return NULL;
    buffer->length = 0;
    for (;;) {
        if (buffer->room - buffer->length < 1 << 16) {
            buffer->room = buffer->room * 2 + (1 << 20);
            buffer->bytes = realloc(buffer->bytes, buffer->room);
            if (!buffer->bytes)
                fail("memory");
        }
        ssize_t got = read(file, buffer->bytes + buffer->length, buffer->room - buffer->length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        buffer->length += got;
    }
    close(file);
    buffer->bytes[buffer->length] = 0;
    return buffer->bytes;
}

void put(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, text, strlen(text)) < 0)
        fail(path);
    close(file);
}

static int load(const char *path) {
    int file = open(path, O_RDONLY);
    int error = file < 0 || syscall(SYS_finit_module, file, "", 0) ? errno : 0;
    close(file);
    return error;
}

// How far the kernel stands from where it was linked.
static address slide;

static address live_text(void) {
    FILE *symbols = fopen("/proc/kallsyms", "r");
    char line[1024];
    address at;
    while (symbols && fgets(line, sizeof line, symbols))
        if (sscanf(line, "%lx %*c _stext\n", &at) == 1 && strstr(line, " _stext\n") && at) {
            fclose(symbols);
            return at;
        }
    fail("_stext in /proc/kallsyms");
    return 0;
}

// Where a section of a module stands; 0 if it does not. Asked for many times in a row for one section.
static address section(const char *module, const char *name) {
    static char last[256];
    static address at;
    char path[256], text[32] = "";
    snprintf(path, sizeof path, "/sys/module/%s/sections/%s", module, name);
    if (strcmp(path, last)) {
        strcpy(last, path);
        int file = open(path, O_RDONLY);
        at = file < 0 || read(file, text, sizeof text - 1) <= 0 ? 0 : strtoul(text, NULL, 16);
        close(file);
    }
    return at;
}

static address place(char *text) {
    char *name = strchr(text, ',');
    if (!name)
        return strtoul(text, NULL, 16) + slide;
    *name++ = 0;
    char *offset = strchr(name, ',');
    if (!offset)
        return 0;
    *offset++ = 0;
    address at = section(text, name);
    return at ? at + strtoul(offset, NULL, 16) : 0;
}

static int by_address(const void *a, const void *b) {
    address x = ((const struct probe *)a)->at, y = ((const struct probe *)b)->at;
    return x < y ? -1 : x > y;
}

// The probes there are, sorted. Valid until the next call. `near`: see address_of.
static struct probe *list(size_t *count, address near) {
    static struct buffer text;
    static struct probe probes[1 << 16];
    *count = 0;
    if (!read_into(&text, LIST))
        fail(LIST);
    char *line = strtok(text.bytes, "\n");
    for (; line && *count < sizeof probes / sizeof *probes; line = strtok(NULL, "\n")) {
        char *rest;
        address at = strtoul(line, &rest, 16);
        const char *symbol = rest + strspn(rest, " ");
        // ppc64le has one of its own there (`arch_init_kprobes`).
        if (strstr(symbol, "kretprobe_trampoline+0x0") || strstr(symbol, "arch_rethook_trampoline+0x0"))
            continue;
        // No address of a kernel, but what 4.15 prints for one; behind it `k  SYMBOL+0xOFFSET`.
        if (sizeof at == 8 && at >> 32 == 0 && strlen(symbol) > 3)
            at = address_of(symbol + 3, near);
        probes[*count].at = at;
        probes[(*count)++].symbol = symbol;
    }
    qsort(probes, *count, sizeof *probes, by_address);
    return probes;
}

static int events = -1, dynamic = -1;

int define(const char *line) {
    int is_dynamic = *line == 't' || *line == 'e';
    if (is_dynamic && dynamic < 0 && (dynamic = open(DYNAMIC, O_WRONLY | O_APPEND)) < 0)
        fail(DYNAMIC);
    return write(is_dynamic ? dynamic : events, line, strlen(line)) < 0 ? errno : 0;
}

void forget_all(void) {
    if (dynamic >= 0)
        close(open(DYNAMIC, O_WRONLY | O_TRUNC));
    int file = open(EVENTS, O_WRONLY | O_TRUNC);
    if (file < 0)
        fail("emptying " EVENTS);
    close(file);
}

static void tell_landed(const struct define *d, const struct probe *probe) {
    tell("a %u %d %ld %lx %s\n", d->number, d->error, (long)(probe->at - d->place), probe->at, probe->symbol);
}

// Nothing but its own definition can have put a probe there.
static void define_alone(const struct define *d) {
    size_t count;
    if (define(d->line))
        fail(d->line);
    struct probe *probes = list(&count, d->place);
    if (count == 0)
        tell("a %u 0\n", d->number);
    else
        tell_landed(d, probes);
    forget_all();
}

static const struct probe *first_at(const struct probe *probes, size_t count, address at) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (probes[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && probes[low].at == at ? probes + low : NULL;
}

static int by_landing(const void *a, const void *b) {
    const struct define *x = a, *y = b;
    return x->lands < y->lands ? -1 : x->lands > y->lands;
}

// As many probes must stand at a place as definitions for it were accepted. Where it is otherwise, each of these is
// defined again, alone.
static void define_batch(struct define *batch, size_t count) {
    size_t standing, alone = 0;
    for (size_t i = 0; i < count; i++)
        batch[i].error = define(batch[i].line);
    const struct probe *probes = list(&standing, 0);
    for (size_t i = 0; i < count; i++) {
        address at = batch[i].place, behind = at + ENDBR64;
        int is_moved = !first_at(probes, standing, at) && first_at(probes, standing, behind);
        batch[i].lands = is_moved ? behind : at;
    }
    qsort(batch, count, sizeof *batch, by_landing);
    for (size_t i = 0, next; i < count; i = next) {
        size_t accepted = 0, found = 0;
        for (next = i; next < count && batch[next].lands == batch[i].lands; next++)
            accepted += !batch[next].error;
        const struct probe *probe = first_at(probes, standing, batch[i].lands);
        while (probe && probe + found < probes + standing && probe[found].at == probe->at)
            found++;
        for (size_t j = i; j < next; j++) {
            if (batch[j].error)
                tell("a %u %d\n", batch[j].number, batch[j].error);
            else if (found == accepted)
                tell_landed(&batch[j], probe);
            else
                batch[alone++] = batch[j];
        }
    }
    forget_all();
    for (size_t i = 0; i < alone; i++)
        define_alone(&batch[i]);
}

static void register_batch(struct batch *batch, const unsigned *numbers) {
    static int device = -1;
    if (device < 0 && (device = open("/sys/kernel/debug/probeidx", O_RDWR)) < 0)
        fail("register.ko");
    if (ioctl(device, REGISTER, batch))
        fail("register.ko");
    for (unsigned i = 0; i < batch->count; i++) {
        struct request *r = &batch->requests[i];
        if (r->error)
            tell("a %u %d\n", numbers[i], -r->error);
        else
            tell("a %u 0 %lld %llx -\n", numbers[i], r->landed - r->address, r->landed);
    }
}

static void print(const char *path) {
    static struct buffer text;
    text.length = 0;
    // A kernel may have none: without ftrace, its list of functions.
    if (!read_into(&text, path) && errno != ENOENT)
        fail(path);
    tell("c %s %zu\n", path, text.length);
    tell_bytes(text.bytes, text.length);
}

static void work(void) {
    static struct define defines[BATCH];
    static struct batch registers;
    static unsigned numbers[BATCH];
    size_t defined = 0;
    unsigned number = 0;
    long defining = 0, registering = 0, since;
    struct buffer requests = {0};
    char *next = read_into(&requests, "/requests"), *line;
    if (!next)
        fail("/requests");
    do {
        line = strsep(&next, "\n");
        char kind = line ? *line : 0;
        if (defined && (kind != 'd' || defined == BATCH)) {
            since = now();
            define_batch(defines, defined);
            defined = 0;
            defining += now() - since;
        }
        if (registers.count && (!kind || !strchr("prf", kind) || registers.count == BATCH)) {
            since = now();
            register_batch(&registers, numbers);
            registers.count = 0;
            registering += now() - since;
        }
        if (kind == 't') {
            slide = live_text() - strtoul(line + strlen("text "), NULL, 16);
        } else if (kind == 'd') {
            char *at = line + 2, *text = strchr(at, ' ');
            *text++ = 0;
            defines[defined++] = (struct define){.number = number++, .place = place(at), .line = text};
        } else if (kind == 'v') {
            char *action = line + 2, *lines = strchr(action, ' ');
            *lines++ = 0;
            trace(number++, action, lines);
        } else if (kind == 'b') {
            attach(number++, line + 2);
        } else if (kind == 'k') {
            probe_by_name(number++, line + 2);
        } else if (kind == 'c') {
            print(line + 2);
        } else if (kind) {
            numbers[registers.count] = number++;
            registers.requests[registers.count++] = (struct request){.kind = kind, .address = place(line + 2)};
        }
    } while (line);
    tell("took defining %ld\ntook registering %ld\nend\n", defining, registering);
}

int main(void) {
    struct buffer modules = {0};
    mount("none", "/proc", "proc", 0, NULL);
    mount("none", "/sys", "sysfs", 0, NULL);
    if (open_told() || mount("none", "/sys/kernel/debug", "debugfs", 0, NULL) ||
        mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL))
        fail("mount");
    put("/proc/sys/kernel/kptr_restrict", "0");
    long since = now();
    char *next = read_into(&modules, "/modules"), *name;
    while ((name = strsep(&next, "\n")))
        if (*name) {
            char path[256];
            snprintf(path, sizeof path, "/m/%s.ko", name);
            tell("module %s %d\n", name, load(path));
        }
    tell("took loading %ld\n", now() - since);
    if ((events = open(EVENTS, O_WRONLY | O_APPEND)) < 0)
        fail(EVENTS);
    work();
    end();
}
