// Addresses of symbols, for kernels before 5.x that print others in place of them (%p; lib/vsprintf.c, 4.15).
#include "init.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
    unsigned long at;
    char *name;
};

static struct symbol *symbols;
static size_t count;

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

static void read_symbols(void) {
    static struct buffer text;
    static size_t room;
    count = 0;
    if (!read_into(&text, "/proc/kallsyms"))
        fail("/proc/kallsyms");
    for (char *line = strtok(text.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        if (count == room && !(symbols = realloc(symbols, (room = room * 2 + (1 << 18)) * sizeof *symbols)))
            fail("memory");
        char *rest;
        symbols[count].at = strtoul(line, &rest, 16);
        if (strlen(rest) < 4)
            continue;
        symbols[count++].name = rest + 3;
        // Behind the name of a module's stands its module.
        rest[3 + strcspn(rest + 3, "\t ")] = 0;
    }
    qsort(symbols, count, sizeof *symbols, by_name);
}

// Of SYMBOL+0xOFFSET, that of `near` if several have the name and one is there; 0 if none has it.
unsigned long address_of(const char *text, unsigned long near) {
    char name[512];
    size_t length = strcspn(text, "+ ");
    if (length >= sizeof name)
        return 0;
    memcpy(name, text, length);
    name[length] = 0;
    unsigned long offset = text[length] == '+' ? strtoul(text + length + 1, NULL, 16) : 0;
    struct symbol asked = {0, name};
    for (int again = 0; again < 2; again++) {
        struct symbol *found = symbols ? bsearch(&asked, symbols, count, sizeof *symbols, by_name) : NULL;
        if (!found) {
            // Of a module that was not there.
            read_symbols();
            continue;
        }
        unsigned long at = found->at + offset;
        while (found > symbols && !strcmp(found[-1].name, name))
            found--;
        for (; found < symbols + count && !strcmp(found->name, name); found++)
            if (found->at + offset == near)
                at = near;
        return at;
    }
    return 0;
}
