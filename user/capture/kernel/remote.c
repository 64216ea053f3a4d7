/* SPDX-License-Identifier: Apache-2.0 */
/* Reads memory of other users' processes with a BPF program. */
#include "capture/kernel/remote.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi.h"
#include "base/alloc.h"
#include "capture/kernel/privilege.h"
#include "capture/kernel/programs.h"
#include "proc/mem.h"
#include "proc/rights.h"

struct remote {
	int program;
	struct remote_copy *copies; /* mapped: ABI_COPIES of them */
	struct node_programs *own;  /* NULL: use those of the recordings */
};

#define COPIES_BYTES (ABI_COPIES * sizeof(struct remote_copy))

_Static_assert(MEM_HELPER_REQUESTS <= ABI_COPIES, "a call of the helper is one of the program");
_Static_assert(sizeof(struct remote_copy) % 8 == 0, "elements of arrays lie 8 bytes apart");

bool remote_is_wanted(void)
{
	return !capability_has(CAP_SYS_PTRACE) && programs_can_read_remote();
}

static int run(const struct remote *r, struct process_id id, size_t nr)
{
	struct remote_args args = { .pid = id.pid, .nr = (u32)nr, .start_ns = id.start_ns };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));

	if (bpf_prog_test_run_opts(r->program, &opts))
		return -errno;
	return (int)opts.retval;
}

static int read_memory(struct process_id id, struct mem_request *requests, size_t nr, void *ctx)
{
	const struct remote *r = ctx;

	for (size_t i = 0; i < nr; i++) {
		r->copies[i].addr = requests[i].addr;
		r->copies[i].len = requests[i].len;
		r->copies[i].is_done = 0;
	}
	int err = run(r, id, nr);
	for (size_t i = 0; i < nr; i++) {
		requests[i].ok = !err && r->copies[i].is_done;
		if (requests[i].ok)
			memcpy(requests[i].buf, r->copies[i].bytes, requests[i].len);
	}
	return err;
}

int remote_open(const struct node_programs *node, struct remote **out)
{
	const struct remote_fds fds = node_programs_remote(node);
	void *copies = mmap(NULL, COPIES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds.copies, 0);
	if (copies == MAP_FAILED)
		return -errno;

	struct remote *r = xcalloc(1, sizeof(*r));
	*r = (struct remote){ fds.program, copies, NULL };
	mem_set_helper(read_memory, r);
	*out = r;
	return 0;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	mem_set_helper(NULL, NULL);
	munmap(r->copies, COPIES_BYTES);
	node_programs_free(r->own);
	free(r);
}

struct remote *remote_alone(void)
{
	const struct node_programs_options options = { .tables = { 2, 1, 1 },
						       .ring_bytes = 4096,
						       .remote_reads = true };
	struct remote *r = NULL;
	struct node_programs *node;

	if (!remote_is_wanted() || privilege_check() || node_programs_load(&options, &node))
		return NULL;
	if (remote_open(node, &r))
		node_programs_free(node);
	else
		r->own = node;
	return r;
}
