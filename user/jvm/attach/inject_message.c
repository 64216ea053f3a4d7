/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and results of attaches as messages. Part of jvm/attach/inject.h. */
#include "jvm/attach/inject.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

struct order_wire {
	u32 version;
	u32 command, way;
	u8 may_warn, may_signal, may_have_no_vm, refs, collect;
	s32 pid;
	u64 number, start_ns, program_ns, alloc_interval, lock_min_ns, dependencies;
	char nonce[WIRE_NONCE_LEN + 1];
	char loaded_path[DELIVERY_PATH_MAX];
	char methods[WIRE_METHODS_MAX];
};

struct number_wire {
	u32 version;
	u64 number;
};

struct result_wire {
	u32 version;
	u32 outcome;
	u8 was_signalled, has_warned, has_vm, is_lasting, drops_code, takes_no_command;
	s32 left_pid;
	s64 clock_off_ns;
	u64 libjvm;
	char loaded_path[DELIVERY_PATH_MAX];
	char reason[sizeof(((struct inject_result *)0)->reason)];
};

_Static_assert(sizeof(struct order_wire) <= WORKER_TEXT_MAX, "an order fits into a message");
_Static_assert(sizeof(struct result_wire) <= WORKER_TEXT_MAX, "a result fits into a message");

static void put(struct worker_message *m, u32 kind, const void *wire, size_t len)
{
	*m = (struct worker_message){ .kind = kind, .len = (u32)len };
	memcpy(m->text, wire, len);
}

/* Every message begins with its version. */
static int take_wire(const struct worker_message *m, void *wire, size_t len)
{
	u32 version;

	if (m->len != len)
		return -EPROTO;
	memcpy(&version, m->text, sizeof(version));
	memcpy(wire, m->text, len);
	return version == INJECT_VERSION ? 0 : -EPROTO;
}

static bool has_end(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

static bool is_nonce(const char *nonce)
{
	return has_end(nonce, WIRE_NONCE_LEN + 1) &&
	       strspn(nonce, "0123456789abcdef") == WIRE_NONCE_LEN;
}

/* The JVM is told to load this path: only our agent's files are allowed. */
static bool is_agent(const char *path, const char *agent_path)
{
	return !*path || !strcmp(path, agent_path) || delivery_is_path(path);
}

void inject_order_encode(const struct inject_order *order, u64 number, struct worker_message *m)
{
	struct order_wire w = {
		.version = INJECT_VERSION,
		.command = order->command,
		.way = order->way,
		.may_warn = order->may_warn,
		.may_signal = order->may_signal,
		.may_have_no_vm = order->may_have_no_vm,
		.refs = order->hooks.refs,
		.collect = order->hooks.collect,
		.pid = order->id.pid,
		.number = number,
		.start_ns = order->id.start_ns,
		.program_ns = order->program_ns,
		.alloc_interval = order->hooks.alloc_interval,
		.lock_min_ns = order->hooks.lock_min_ns,
		.dependencies = order->dependencies,
	};

	memcpy(w.nonce, order->nonce, sizeof(w.nonce));
	memcpy(w.loaded_path, order->loaded_path, sizeof(w.loaded_path));
	memcpy(w.methods, order->hooks.methods, sizeof(w.methods));
	put(m, INJECT_ORDER, &w, sizeof(w));
}

int inject_order_decode(const struct worker_message *m, const char *agent_path, u64 *number,
			struct inject_order *out)
{
	struct order_wire w;

	if (take_wire(m, &w, sizeof(w)) || w.command > INJECT_CLEAN || w.way > DELIVERY_COPY ||
	    w.pid <= 0 || !is_nonce(w.nonce) || !has_end(w.loaded_path, sizeof(w.loaded_path)) ||
	    !is_agent(w.loaded_path, agent_path) || !has_end(w.methods, sizeof(w.methods)))
		return -EPROTO;
	*out = (struct inject_order){
		.command = (enum inject_command)w.command,
		.id = { w.pid, w.start_ns },
		.program_ns = w.program_ns,
		.agent_path = agent_path,
		.may_warn = w.may_warn != 0,
		.may_signal = w.may_signal != 0,
		.may_have_no_vm = w.may_have_no_vm != 0,
		.way = (enum delivery_way)w.way,
		.hooks = { .alloc_interval = w.alloc_interval,
			   .refs = w.refs != 0,
			   .collect = w.collect != 0,
			   .lock_min_ns = w.lock_min_ns },
		.dependencies = w.dependencies,
	};
	memcpy(out->nonce, w.nonce, sizeof(w.nonce));
	memcpy(out->loaded_path, w.loaded_path, sizeof(w.loaded_path));
	memcpy(out->hooks.methods, w.methods, sizeof(w.methods));
	*number = w.number;
	return 0;
}

void inject_number_encode(enum inject_message_kind kind, u64 number, struct worker_message *m)
{
	const struct number_wire w = { INJECT_VERSION, number };

	put(m, kind, &w, sizeof(w));
}

int inject_number_decode(const struct worker_message *m, u64 *number)
{
	struct number_wire w;
	int err = take_wire(m, &w, sizeof(w));

	if (!err)
		*number = w.number;
	return err;
}

void inject_result_encode(const struct inject_result *result, struct worker_message *m)
{
	struct result_wire w = {
		.version = INJECT_VERSION,
		.outcome = result->outcome,
		.was_signalled = result->was_signalled,
		.has_warned = result->has_warned,
		.has_vm = result->has_vm,
		.is_lasting = result->is_lasting,
		.drops_code = result->drops_code,
		.takes_no_command = result->takes_no_command,
		.clock_off_ns = result->clock_off_ns,
		.libjvm = result->libjvm,
		.left_pid = result->left_pid,
	};

	memcpy(w.loaded_path, result->loaded_path, sizeof(w.loaded_path));
	memcpy(w.reason, result->reason, sizeof(w.reason));
	put(m, INJECT_RESULT, &w, sizeof(w));
}

int inject_result_decode(const struct worker_message *m, struct inject_result *out)
{
	auto_str struct str reason = { 0 };
	struct result_wire w;

	if (take_wire(m, &w, sizeof(w)) || w.outcome <= INJECT_RUNNING ||
	    w.outcome > INJECT_REFUSED || w.left_pid < 0 ||
	    !has_end(w.loaded_path, sizeof(w.loaded_path)) || !has_end(w.reason, sizeof(w.reason)))
		return -EPROTO;
	*out = (struct inject_result){
		.outcome = (enum inject_outcome)w.outcome,
		.was_signalled = w.was_signalled != 0,
		.has_warned = w.has_warned != 0,
		.has_vm = w.has_vm != 0,
		.is_lasting = w.is_lasting != 0,
		.clock_off_ns = w.clock_off_ns,
		.drops_code = w.drops_code != 0,
		.takes_no_command = w.takes_no_command != 0,
		.libjvm = w.libjvm,
		.left_pid = w.left_pid,
		.ring_fd = -1,
	};
	memcpy(out->loaded_path, w.loaded_path, sizeof(w.loaded_path));
	utf8_clean(&reason, w.reason, sizeof(out->reason) - 1);
	if (reason.len)
		memcpy(out->reason, reason.at, reason.len + 1);
	return 0;
}
