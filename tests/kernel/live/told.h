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
#elif defined(__s390x__) || defined(__powerpc64__)
#include <fcntl.h>
#include <sys/mount.h>
#include <termios.h>
#include <unistd.h>

// A port of virtio's serial device, which is none of a terminal; or the second terminal of the hypervisor.
#ifdef __s390x__
#define TOLD "/dev/vport0p1"
#else
#define TOLD "/dev/hvc1"
#endif

static int told_device = -1;

static int open_told(void) {
    struct termios raw;
    if (mount("none", "/dev", "devtmpfs", 0, NULL))
        return -1;
    // Devices of channels come up beside the start of the kernel: up to ten seconds are waited for this one.
    for (int tries = 0; (told_device = open(TOLD, O_WRONLY | O_NOCTTY)) < 0; tries++) {
        if (tries == 1000)
            return -1;
        usleep(10000);
    }
    if (tcgetattr(told_device, &raw) == 0) {
        cfmakeraw(&raw);
        tcsetattr(told_device, TCSANOW, &raw);
    }
    return 0;
}

static void give(const char *text, size_t length) {
    while (length > 0) {
        ssize_t given = write(told_device, text, length);
        if (given <= 0)
            break;
        text += given, length -= given;
    }
    tcdrain(told_device);
}
#else
static int open_told(void) {
    return 0;
}

// SYS_WRITE0 of ARM's "Semihosting for AArch32 and AArch64", which RISC-V has too ("RISC-V Semihosting").
#ifdef __aarch64__
static void give(const char *text, size_t length) {
    register long x0 __asm__("x0") = 4;
    register const char *x1 __asm__("x1") = text;
    (void)length;
    __asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
}
#elif defined __arm__
static void give(const char *text, size_t length) {
    register long r0 __asm__("r0") = 4;
    register const char *r1 __asm__("r1") = text;
    (void)length;
    // The number in Thumb code, which Debian's compiler makes.
    __asm__ volatile("svc #0xab" : "+r"(r0) : "r"(r1) : "memory");
}
#else
static void give(const char *text, size_t length) {
    register long a0 __asm__("a0") = 4;
    register const char *a1 __asm__("a1") = text;
    (void)length;
    // The three have four bytes each, and lie in one page.
    __asm__ volatile(".option push; .option norvc; .balign 16; slli x0, x0, 0x1f; ebreak; srai x0, x0, 7; .option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
}
#endif
#endif

#endif
