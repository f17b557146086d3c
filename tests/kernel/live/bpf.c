// Attaches BPF programs as libbpf does: by the number that a function has in the kernel's BTF, and by its name.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "init.h"

#define BTF "/sys/kernel/btf/vmlinux"

// include/uapi/linux/btf.h: the header, and a record, whose kind says what follows it.
struct header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t length, types, types_length, strings, strings_length;
};
struct record {
    uint32_t name, info, size;
};

static size_t behind(const struct record *record) {
    static const uint8_t each[] = {[3] = 12, [4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12};
    static const uint8_t once[] = {[1] = 4, [3] = 12, [14] = 4, [17] = 4};
    unsigned kind = record->info >> 24 & 31, count = record->info & 0xffff;
    if (kind == 3)
        count = 0;
    size_t length = kind < sizeof once ? once[kind] : 0;
    return length + (kind < sizeof each ? each[kind] * (size_t)count : 0);
}

// The number of the first function of this name; 0 where there is none. libbpf too takes the first.
static unsigned function_of(const char *name) {
    static struct buffer btf;
    if (!btf.bytes && !read_into(&btf, BTF))
        return 0;
    const struct header *header = (const struct header *)btf.bytes;
    const char *types = btf.bytes + header->length + header->types;
    const char *strings = btf.bytes + header->length + header->strings;
    unsigned number = 1;
    for (size_t at = 0; at < header->types_length; number++) {
        const struct record *record = (const struct record *)(types + at);
        if ((record->info >> 24 & 31) == 12 && !strcmp(strings + record->name, name))
            return number;
        at += sizeof *record + behind(record);
    }
    return 0;
}

static int ask(int command, union bpf_attr *attributes) {
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

void attach(unsigned number, const char *name) {
    // Returns 0.
    static const struct bpf_insn program[] = {{.code = 0xb7}, {.code = 0x95}};
    unsigned function = function_of(name);
    union bpf_attr load = {0}, open = {0};
    struct rlimit files = {1 << 16, 1 << 16}, memory = {RLIM_INFINITY, RLIM_INFINITY};
    // Kernels before 5.11 count programs as locked memory.
    setrlimit(RLIMIT_NOFILE, &files), setrlimit(RLIMIT_MEMLOCK, &memory);
    load.prog_type = BPF_PROG_TYPE_TRACING;
    load.expected_attach_type = BPF_TRACE_FENTRY;
    load.attach_btf_id = function;
    load.insns = (uintptr_t)program;
    load.insn_cnt = sizeof program / sizeof *program;
    load.license = (uintptr_t) "GPL";
    int loaded = -1, error = function ? 0 : ESRCH;
    if (!error && (loaded = ask(BPF_PROG_LOAD, &load)) < 0)
        error = errno;
    open.raw_tracepoint.prog_fd = loaded;
    // It stays attached: 6.1 takes seconds to detach one, as it waits for all tasks.
    if (!error && ask(BPF_RAW_TRACEPOINT_OPEN, &open) < 0)
        error = errno;
    if (loaded >= 0)
        close(loaded);
    tell("a %u %d\n", number, error);
}

void probe_by_name(unsigned number, const char *name) {
    static struct buffer text;
    if (!read_into(&text, "/sys/bus/event_source/devices/kprobe/type"))
        fail("kprobe/type");
    struct perf_event_attr event = {.type = atoi(text.bytes), .size = sizeof event, .config1 = (uintptr_t)name};
    int opened = syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    int error = opened < 0 ? errno : 0;
    if (opened >= 0)
        close(opened);
    tell("a %u %d\n", number, error);
}
