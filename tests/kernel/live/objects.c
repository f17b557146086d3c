// The program of a machine that loads BPF objects, in place of init.c: libbpf and the kernel have the last word.
//
// Each program is loaded and attached alone, its object opened anew, as a tool that has turned off all others does.
//
// /modules: one module a line, in the order in which to load; its file is /m/NAME.ko.
// /requests, one a line:
//     o PATH               a BPF object, or any file that carries some: ELF of machine 247 (EM_BPF)
//
// What is told, one line each:
//     module NAME ERRNO
//     p NUMBER PROGRAM STAGE ERRNO LENGTH, and the bytes: what libbpf and the verifier said. STAGE is ok, open (PROGRAM is then
//                          `-`), load or attach
//     a NUMBER 0           all programs of a request are told
//     end
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "told.h"

// What libbpf said since the last program: its end, which has the reason.
#define ROOM (1 << 20)
#define TOLD 3000
static char said[ROOM];
static size_t length;

static void tell(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    give(line, written < (int)sizeof line ? (size_t)written : sizeof line - 1);
}

static _Noreturn void end(void) {
    sync();
    reboot(RB_AUTOBOOT);
    for (;;)
        pause();
}

static _Noreturn void fail(const char *what) {
    dprintf(2, "objects: %s: %s\n", what, strerror(errno));
    end();
}

static int listen_to(enum libbpf_print_level level, const char *format, va_list arguments) {
    if (level != LIBBPF_WARN)
        return 0;
    // The verifier's log is one message, with its reason at its end: it is cut at its start.
    char *message = NULL;
    int written = vasprintf(&message, format, arguments);
    if (written < 0)
        return 0;
    size_t from = written > ROOM / 2 ? written - ROOM / 2 : 0, size = written - from;
    if (length + size > ROOM) {
        memmove(said, said + ROOM / 2, length - ROOM / 2);
        length -= ROOM / 2;
    }
    memcpy(said + length, message + from, size);
    length += size;
    free(message);
    return 0;
}

static char *read_whole(const char *path, size_t *size) {
    size_t room = 1 << 16;
    char *bytes = malloc(room);
    ssize_t got;
    int file = open(path, O_RDONLY);
    *size = 0;
    if (file < 0)
        fail(path);
    while ((got = read(file, bytes + *size, room - 1 - *size)) > 0)
        if ((*size += got) == room - 1)
            bytes = realloc(bytes, room *= 2);
    close(file);
    bytes[*size] = 0;
    return bytes;
}

static void answer(unsigned number, const char *program, const char *stage, int error) {
    size_t from = length > TOLD ? length - TOLD : 0;
    tell("p %u %s %s %d %zu\n", number, program, stage, error, length - from);
    give(said + from, length - from);
    length = 0;
}

// Tools set sizes before they load: maps that have none get some.
#define ENTRIES 4096
#define FRAMES 127

static bool wants_entries(enum bpf_map_type type) {
    switch (type) {
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_ARRAY:
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_PERCPU_ARRAY:
    case BPF_MAP_TYPE_STACK_TRACE:
    case BPF_MAP_TYPE_LRU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH:
    case BPF_MAP_TYPE_LPM_TRIE:
    case BPF_MAP_TYPE_QUEUE:
    case BPF_MAP_TYPE_STACK:
    case BPF_MAP_TYPE_RINGBUF:
        return true;
    default:
        // Others have none, or libbpf says how many.
        return false;
    }
}

static void size_maps(struct bpf_object *object) {
    struct bpf_map *map;
    bpf_object__for_each_map(map, object) {
        enum bpf_map_type type = bpf_map__type(map);
        if (type == BPF_MAP_TYPE_STACK_TRACE && !bpf_map__value_size(map))
            bpf_map__set_value_size(map, FRAMES * sizeof(__u64));
        if (!bpf_map__max_entries(map) && wants_entries(type))
            bpf_map__set_max_entries(map, ENTRIES);
    }
}

static struct bpf_object *opened(const char *bytes, size_t size) {
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "proved");
    return bpf_object__open_mem(bytes, size, &options);
}

// The program by its position, loaded and attached.
static void prove(unsigned number, const char *bytes, size_t size, unsigned position) {
    struct bpf_object *object = opened(bytes, size);
    struct bpf_program *program, *own = NULL;
    unsigned at = 0;
    bpf_object__for_each_program(program, object) {
        bpf_program__set_autoload(program, at == position);
        if (at++ == position)
            own = program;
    }
    size_maps(object);
    const char *name = bpf_program__name(own);
    int error = bpf_object__load(object);
    if (error) {
        answer(number, name, "load", -error);
    } else {
        struct bpf_link *link = bpf_program__attach(own);
        if (link)
            answer(number, name, "ok", 0);
        else
            answer(number, name, "attach", errno);
        bpf_link__destroy(link);
    }
    bpf_object__close(object);
}

static void prove_object(unsigned number, const char *bytes, size_t size) {
    struct bpf_object *object = opened(bytes, size);
    if (!object) {
        answer(number, "-", "open", errno);
        return;
    }
    struct bpf_program *program;
    unsigned count = 0;
    bpf_object__for_each_program(program, object) count++;
    bpf_object__close(object);
    length = 0;
    for (unsigned i = 0; i < count; i++)
        prove(number, bytes, size, i);
}

// An object ends with its section headers or before the next one; libelf does not mind what is behind it.
static void prove_file(unsigned number, const char *path) {
    size_t size;
    char *bytes = read_whole(path, &size);
    for (size_t at = 0; at + sizeof(Elf64_Ehdr) <= size; at++) {
        if (bytes[at] != ELFMAG0 || memcmp(bytes + at, ELFMAG, SELFMAG))
            continue;
        Elf64_Ehdr header;
        memcpy(&header, bytes + at, sizeof header);
        if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_BPF || header.e_type != ET_REL)
            continue;
        // libelf wants an object at an address that its headers are aligned to.
        char *copy = malloc(size - at);
        memcpy(copy, bytes + at, size - at);
        prove_object(number, copy, size - at);
        free(copy);
    }
    free(bytes);
}

static int load(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error = file < 0 || syscall(SYS_finit_module, file, "", 0) ? errno : 0;
    if (file >= 0)
        close(file);
    return error;
}

int main(void) {
    size_t size;
    mount("none", "/proc", "proc", 0, NULL);
    mount("none", "/sys", "sysfs", 0, NULL);
    if (open_told() || mount("none", "/sys/kernel/debug", "debugfs", 0, NULL) ||
        mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL) || mount("none", "/sys/fs/bpf", "bpf", 0, NULL))
        fail("mount");
    // Up to 5.10 maps are charged to it.
    setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    libbpf_set_print(listen_to);
    char *next = read_whole("/modules", &size), *line;
    while ((line = strsep(&next, "\n")))
        if (*line) {
            char path[256];
            snprintf(path, sizeof path, "/m/%s.ko", line);
            tell("module %s %d\n", line, load(path));
        }
    unsigned number = 0;
    next = read_whole("/requests", &size);
    while ((line = strsep(&next, "\n")))
        if (!strncmp(line, "o ", 2)) {
            prove_file(number, line + 2);
            tell("a %u 0\n", number++);
        }
    tell("end\n");
    end();
}
