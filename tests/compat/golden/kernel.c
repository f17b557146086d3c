/* A kernel of few bytes that fills every section of an index but those of user objects. */
#include "../../fixtures/tracepoints/tracepoint.h"

const char linux_banner[] __attribute__((used)) = "Linux version 6.1.0-gold (build@host) (gcc) #1 SMP";

struct node {
    struct node *next;
    int key : 7;
    union {
        long value;
        char text[8];
    };
};
enum color { RED, BLUE = -3 };
volatile long sink;

CLASS(visit, "gold", FIELD(int, key, 1), ARRAY(char, text, 8, 0))
TRACEPOINT(visit, struct node *node)
EVENT(visit, visit)
/* What reads _ftrace_events. */
void trace_event_init(void) {
    sink--;
}

static inline __attribute__((always_inline)) long inner(struct node *n, enum color color) {
    sink += n->key;
    return n->value + color;
}
long walk(struct node *first, int count) {
    long sum = 0;
again:
    sum += inner(first, BLUE);
    __asm__ volatile("1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
                     ".pushsection __jump_table, \"aw\"\n.balign 8\n.long 1b - ., 1b - .\n.quad 0\n.popsection");
    first = first->next;
    if (first && count-- > 0)
        goto again;
    return sum;
}
__attribute__((noinline)) static long twice(struct node *n) {
    char room[24];
    __asm__ volatile("" : : "r"(room) : "memory");
    return inner(n, RED) * 2;
}
long no_probe(struct node *n) {
    return twice(n) + 1;
}
static void *listed SECTION("_kprobe_blacklist") = no_probe;
