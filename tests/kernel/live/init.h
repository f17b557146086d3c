// What the parts of init share.
#ifndef INIT_H
#define INIT_H
#include <stddef.h>

// A whole file with a 0 behind it. The next file of the same buffer takes its place.
struct buffer {
    char *bytes;
    size_t length, room;
};

// Null where there is no such file.
char *read_into(struct buffer *buffer, const char *path);
void put(const char *path, const char *text);

unsigned long address_of(const char *text, unsigned long near);

// A line of kprobe_events; the error.
int define(const char *line);
void forget_all(void);

__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);
void tell_bytes(const char *bytes, size_t length);
// To the console, and the end.
_Noreturn void fail(const char *what);

// Plants definitions (tabs between them) of the group probeidx, does what `action` names, and tells what was traced.
void trace(unsigned number, const char *action, char *definitions);

// Attaches a program to the entry of a function (fentry), and tells the error.
void attach(unsigned number, const char *name);
// Opens a kprobe of perf by the name of a function, as BPF's are, and tells the error.
void probe_by_name(unsigned number, const char *name);

#endif
