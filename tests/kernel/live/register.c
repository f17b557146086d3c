// Asks register_kprobe, register_kretprobe and ftrace themselves, which refuse less than kprobe_events does.
// /sys/kernel/debug/probeidx takes a struct batch by ioctl and fills in what became of each request.
#include <linux/debugfs.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "register.h"

static int no_handler(struct kprobe *probe, struct pt_regs *regs)
{
	return 0;
}

static int no_return_handler(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return 0;
}

#ifdef CONFIG_FUNCTION_TRACER
static void no_callback(void)
{
}

/* Never called, whatever it would be passed: that changed in 5.11. */
static struct ftrace_ops traced = { .func = (ftrace_func_t)no_callback };
#endif

/* Every check is done for a disabled probe too; only writing the breakpoint is left out. */
static int place(struct request *request, struct kretprobe *probe)
{
	probe->kp.addr = (kprobe_opcode_t *)request->address;
	probe->kp.flags = KPROBE_FLAG_DISABLED;
	switch (request->kind) {
	case 'p':
		probe->kp.pre_handler = no_handler;
		return register_kprobe(&probe->kp);
	case 'r':
		probe->handler = no_return_handler;
		probe->maxactive = 1;
		return register_kretprobe(probe);
#ifdef CONFIG_FUNCTION_TRACER
	case 'f':
		return ftrace_set_filter_ip(&traced, request->address, 0, 1);
#endif
	}
	return -EINVAL;
}

static void place_all(struct batch *batch, struct kretprobe *probes, struct kprobe **kprobes, struct kretprobe **rets)
{
	int i, kprobe_count = 0, ret_count = 0;

	for (i = 0; i < batch->count; i++) {
		struct request *request = &batch->requests[i];

		request->error = place(request, &probes[i]);
		request->landed = (unsigned long)probes[i].kp.addr;
		if (!request->error && request->kind == 'p')
			kprobes[kprobe_count++] = &probes[i].kp;
		if (!request->error && request->kind == 'r')
			rets[ret_count++] = &probes[i];
		cond_resched();
	}
	/* Together: each call waits for all processors once. */
	unregister_kprobes(kprobes, kprobe_count);
	unregister_kretprobes(rets, ret_count);
}

static long asked(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *theirs = (void __user *)argument;
	struct batch *batch = kvmalloc(sizeof(*batch), GFP_KERNEL);
	struct kretprobe *probes = kvcalloc(BATCH_MAX, sizeof(*probes), GFP_KERNEL);
	struct kprobe **kprobes = kvcalloc(BATCH_MAX, sizeof(*kprobes), GFP_KERNEL);
	struct kretprobe **rets = kvcalloc(BATCH_MAX, sizeof(*rets), GFP_KERNEL);
	long error = -ENOMEM;

	if (batch && probes && kprobes && rets) {
		error = -EINVAL;
		if (command == REGISTER && !copy_from_user(batch, theirs, sizeof(*batch)) && batch->count <= BATCH_MAX) {
			place_all(batch, probes, kprobes, rets);
			error = copy_to_user(theirs, batch, sizeof(*batch)) ? -EFAULT : 0;
		}
	}
	kvfree(rets);
	kvfree(kprobes);
	kvfree(probes);
	kvfree(batch);
	return error;
}

static const struct file_operations operations = { .owner = THIS_MODULE, .open = simple_open, .unlocked_ioctl = asked };

static struct dentry *entry;

static int __init start(void)
{
	entry = debugfs_create_file("probeidx", 0600, NULL, NULL, &operations);
	return PTR_ERR_OR_ZERO(entry);
}

static void __exit stop(void)
{
	debugfs_remove(entry);
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tries where probes can be placed");
