// What init.c and register.c agree on.
#include <linux/types.h>

#define BATCH_MAX 500
#define REGISTER _IOWR('P', 1, struct batch)

struct request {
    __u64 address;
    __u64 landed;
    __s32 error;
    // 'p' kprobe, 'r' kretprobe, 'f' a site that ftrace can turn on.
    __s32 kind;
};

struct batch {
    __u64 count;
    struct request requests[BATCH_MAX];
};
