/* A shared library of few bytes. */
struct list {
    int value;
    struct list *next;
};

int total = 7;

__attribute__((noinline)) int sum(struct list *first, int by) {
    int s = 0;
    for (; first; first = first->next)
        s += first->value * by + total;
    return s;
}
