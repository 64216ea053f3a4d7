// SPDX-License-Identifier: GPL-2.0
/*
 * A module for the machine of the row `nmi`. While `on` is 1, a thread on each CPU sends NMIs to
 * the other CPUs, `hz` times a second. The handler raises one software event of perf,
 * emulation-faults, which nothing else raises there: what perf programs do then, they do inside an
 * NMI. `raised` counts.
 *
 * The facts are those of Linux 6.1: arch/x86/kernel/nmi.c, include/linux/perf_event.h.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perf_event.h>

#include <asm/apic.h>
#include <asm/nmi.h>

static int on, hz = 500;
static atomic_long_t nr_raised;
static struct task_struct *senders[NR_CPUS];
static void (*raise_event)(u32 id, u64 nr, struct pt_regs *regs, u64 addr);

module_param(on, int, 0644);
module_param(hz, int, 0644);

static int get_raised(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%ld\n", atomic_long_read(&nr_raised));
}

static const struct kernel_param_ops raised_ops = { .get = get_raised };
module_param_cb(raised, &raised_ops, NULL, 0444);

static int handle(unsigned int type, struct pt_regs *regs)
{
	if (!READ_ONCE(on))
		return NMI_DONE;
	if (!current->pid) /* the idle task is not sampled */
		return NMI_HANDLED;
	atomic_long_inc(&nr_raised);
	raise_event(PERF_COUNT_SW_EMULATION_FAULTS, 1, regs, 0);
	return NMI_HANDLED;
}

static int send(void *unused)
{
	while (!kthread_should_stop()) {
		usleep_range(500000 / hz, 1500000 / hz);
		if (READ_ONCE(on))
			apic->send_IPI_allbutself(NMI_VECTOR);
	}
	return 0;
}

/* The kernel does not export it, but finds it for a probe. */
static int find_raise(void)
{
	struct kprobe probe = { .symbol_name = "__perf_sw_event" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	raise_event = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static int __init begin(void)
{
	int cpu, err = find_raise();

	if (err)
		return err;
	err = register_nmi_handler(NMI_LOCAL, handle, 0, "sysflame-nmi");
	if (err)
		return err;
	for_each_online_cpu(cpu)
	{
		struct task_struct *sender = kthread_create(send, NULL, "nmi/%d", cpu);
		if (IS_ERR(sender))
			continue;
		kthread_bind(sender, cpu);
		wake_up_process(sender);
		senders[cpu] = sender;
	}
	return 0;
}

static void __exit end(void)
{
	int cpu;

	for_each_possible_cpu(cpu) if (senders[cpu]) kthread_stop(senders[cpu]);
	unregister_nmi_handler(NMI_LOCAL, "sysflame-nmi");
}

module_init(begin);
module_exit(end);
MODULE_DESCRIPTION("raises software events of perf inside NMIs");
MODULE_LICENSE("GPL");
