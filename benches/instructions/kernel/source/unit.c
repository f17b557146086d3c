/* A unit of the fixture, compiled many times over: -DUNIT=12; with -DMODULE as a module. What ends in its number is its own. */
#include "../../../../tests/fixtures/tracepoints/tracepoint.h"

#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
#define OWN(name) JOIN(name##_, UNIT)

struct node {
	struct node *next;
	int key : 7;
	union {
		long value;
		char text[8];
	};
};
struct list { struct list *next, *prev; };
struct OWN(device);
struct OWN(operations) {
	int (*open)(struct OWN(device) *, int flags);
	long (*ioctl)(struct OWN(device) *, unsigned command, void *argument);
};
struct OWN(device) {
	struct list siblings;
	const struct OWN(operations) *operations;
	struct node *nodes;
	char name[16];
	unsigned state : 3, users : 13;
	union {
		unsigned long bits;
		struct { unsigned low, high; };
	};
	enum OWN(mode) { JOIN(OFF_, UNIT), JOIN(ON_, UNIT) = 7 } mode;
};
extern volatile long sink;

static inline __attribute__((always_inline)) long inner(struct node *node, int by)
{
	sink += node->key;
	return node->value + by;
}
static inline __attribute__((always_inline)) long middle(struct node *node, int times)
{
	long sum = 0;

	for (int i = 0; i < times; i++) {
		long part = inner(node, i);

		sum += part;
	}
	return sum;
}
static __attribute__((noinline)) long OWN(log)(const char *format, ...)
{
	sink = format[0];
	return sink;
}
int OWN(device_open)(struct OWN(device) *device, int flags)
{
	struct node *node = device->nodes;
	int count = 0;

	while (node) {
		if (middle(node, flags) < 0)
			return -1;
		node = node->next;
		count++;
	}
	device->users += count;
	return count;
}
long OWN(device_ioctl)(struct OWN(device) *device, unsigned command, void *argument)
{
	switch (command) {
	case 1: return middle(device->nodes, command);
	case 2: return OWN(log)("command", command, argument);
	case 3: return inner(argument, device->mode);
	}
	device->bits ^= command;
	return OWN(device_open)(device, device->low);
}
static __attribute__((noinline)) int OWN(device_copy)(struct OWN(device) to, struct OWN(device) *from, long a, long b, long c)
{
	long room[3] = { a, b, c };

	__asm__ volatile("" : : "r"(room) : "memory");
	from->siblings = to.siblings;
	return OWN(device_open)(from, a + b);
}
void OWN(device_release)(struct OWN(device) *device)
{
	OWN(device_copy)(*device, device, sink, sink, sink);
	device->siblings.next->prev = device->siblings.prev;
}
const struct OWN(operations) OWN(table) = { OWN(device_open), OWN(device_ioctl) };

#ifdef MODULE
#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
static const char name[] SECTION(".modinfo") = "name=unit_" TEXT_OF(UNIT);
static const char vermagic[] SECTION(".modinfo") = "vermagic=6.1.0-gold SMP preempt mod_unload ";
struct module { char name[56]; } __this_module SECTION(".gnu.linkonce.this_module") = { "unit_" TEXT_OF(UNIT) };
#endif
