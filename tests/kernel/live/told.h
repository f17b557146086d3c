// Where what is told leaves the machine: boot.rs has qemu write it to a file.
#ifndef TOLD_H
#define TOLD_H
#include <stddef.h>

#if defined __x86_64__ || defined __i386__
#include <sys/io.h>

static int open_told(void) {
    return ioperm(0xe9, 1, 1);
}

// A text, and its length without the 0 behind it.
static void give(const char *text, size_t length) {
    outsb(0xe9, text, length);
}
#else
static int open_told(void) {
    return 0;
}

// SYS_WRITE0 of ARM's "Semihosting for AArch32 and AArch64".
static void give(const char *text, size_t length) {
    register long x0 __asm__("x0") = 4;
    register const char *x1 __asm__("x1") = text;
    (void)length;
    __asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
}
#endif

#endif
