/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of daemon/channel/protocol.h from the recorder to the web process. */
#pragma once

#include "base/types.h"

#define CONTROL_JVMS_MAX     64 /* in one message */
#define CONTROL_EXCLUDED_MAX 16
#define CONTROL_SERVICES     256          /* in one slice; the last one, "other", has the rest */
#define CONTROL_PART_MAX     (256u << 20) /* bytes of a memory file */

struct control_hello {
	u32 version; /* CONTROL_VERSION */
};

/* The limits of /etc/sysflame/recorder.conf. */
struct control_caps {
	u32 max_hz, max_duration_s, max_recordings;
	u32 nr_cpus;
	char kernel[64];
};

/* An event or a pattern of names that this node knows. */
struct control_event {
	char name[128], unit[32], help[256];
	char why_not[256]; /* why it cannot be recorded here; "" if it can */
};

#define CONTROL_CACHES_MAX 32

/* A cache of the recorder. */
struct control_cache {
	char name[24]; /* of lower-case letters and '_' */
	u64 nr;        /* entries */
	u64 bytes, budget_bytes;
};

/* A process that blocked a recorder. It is neither read nor attached to, until it ends. */
struct control_excluded {
	s32 pid;
	char comm[64];
};

/* About the recorder itself, every second. */
struct control_node {
	/* own CPU time since the previous report, BPF included, in millionths of one CPU */
	u64 cpu_ppm;
	u64 memory_bytes;                /* resident now */
	u64 heap_bytes, heap_free_bytes; /* allocated; free, but not given back to the kernel */
	u32 continuous_hz;               /* 0: off */
	u64 continuous_since_wall_ns;
	/* why the rate differs from the requested one; "" if it does not */
	char continuous_why[256];
	u32 nr_caches;
	struct control_cache caches[CONTROL_CACHES_MAX];
	u32 nr_excluded;
	struct control_excluded excluded[CONTROL_EXCLUDED_MAX];
};

struct control_jvm {
	s32 pid;
	u32 uid;
	u64 started; /* start time in clock ticks, as in /proc/PID/stat */
	u64 cpu_ppm; /* of one CPU */
	char service[128], main[192], jdk[32], container[72], container_name[128];
};

/* All JVMs of the node, in one or several messages, whenever they change and every 5 s. */
struct control_jvms {
	u32 first; /* this begins a new list */
	u32 last;  /* and this ends it */
	u32 nr;
	struct control_jvm at[CONTROL_JVMS_MAX];
};

enum control_state_kind {
	CONTROL_BEGINS, /* agents attach */
	CONTROL_RUNS,
	CONTROL_ENDS, /* the last names arrive */
	NR_CONTROL_STATES,
};

/* Progress of a recording, every second. */
struct control_state {
	u32 id, state;
	u64 elapsed_ns, samples, lost, truncated;
	u32 jvms, jvms_refused;
	char event[128]; /* event, source and rate: "cpu-clock, 99 Hz" */
	/* why JVMs have no agent: "java-17: why; what to do. java-19: .."; "" if none */
	char refusals[512];
};

/* A part of a recording's profile; with the memory file as descriptor. */
struct control_part {
	u32 id;
	u64 begin_wall_ns, end_wall_ns;
	u64 bytes;
	u64 samples, lost, missed; /* missed: lost samples for which no BPF program ran */
};

/* The last message about a recording. Its profile is complete now. */
struct control_ended {
	u32 id;
	u32 is_cut;     /* the recording ended early: `why` has the reason */
	s32 err;        /* 0, or a negative errno: the recording could not start, or failed */
	char why[1024]; /* the sentences for `err`, and warnings; "" if there are none */
};

/* The helper processes without which a recorder cannot continue. */
enum control_helper {
	CONTROL_HELPER_ZYGOTE,
	CONTROL_HELPER_MEMORY,
	CONTROL_HELPER_ATTACH,
	NR_CONTROL_HELPERS
};

/* A JVM was ended by a signal that means a fault: SIGSEGV, SIGBUS, SIGILL or SIGABRT. */
struct control_crashed {
	s32 pid;
	u32 signal;
	char service[128], container[72], container_name[128];
	char pod[128], pod_uid[40], namespace[128];
};

/* The recorder ends once its last parts are sent, and another one will start. */
struct control_restart {
	u32 helper;    /* enum control_helper: the one that has ended */
	char why[256]; /* a sentence */
};

#define CONTROL_SLICE_EVENTS 4

/* The use of a service in a slice. */
struct control_service {
	char name[120];
	u64 values[CONTROL_SLICE_EVENTS]; /* by event of the slice, in its unit */
};

/*
 * A slice of continuous profiling; with a record of docs/slices-format.md as descriptor. Slices
 * arrive in the order of time.
 */
struct control_slice {
	u64 begin_wall_ns, end_wall_ns;
	u64 bytes, samples, lost, missed;
	u32 begins_book; /* the record begins a book: reading it needs no earlier record */
	u32 nr_events;
	char events[CONTROL_SLICE_EVENTS][16]; /* "cpu", "alloc", .. */
	u32 nr;
	struct control_service services[CONTROL_SERVICES];
};

/* Readings of JVMs, while somebody watches them. */
#define CONTROL_READING_JVMS    20         /* in one message */
#define CONTROL_READING_METHODS 10         /* of a JVM, the hottest ones */
#define CONTROL_UNKNOWN         UINT64_MAX /* of any number of a reading */

struct control_method {
	char name[160];
	u32 is_java;
	u64 self, total; /* samples */
};

/* Rates are in millionths of a CPU, or in bytes per second. */
struct control_reading_jvm {
	s32 pid;
	/* threads ended between the readings: some of their bytes are missing */
	u32 alloc_is_least;
	u64 start_ns; /* of the process, CLOCK_BOOTTIME */
	char name[192], container[128], jdk[32], collector[32];
	char gap[128]; /* why the JVM's memory is not read; "" if it is read */
	u64 cpu_ppm, gc_ppm, jit_ppm, alloc_rate;
	u64 allocated_bytes, partial_threads; /* since the readings began */
	u64 heap_used, heap_committed, collections;
	u32 nr_threads; /* 0: unknown */
	u32 threads[4]; /* running, native, blocked, waiting */
	u32 virtual[4]; /* virtual threads: all, running, waiting, pinned; 0 if unknown */
	u64 samples;    /* of the last seconds */
	u32 nr_methods;
	struct control_method methods[CONTROL_READING_METHODS];
};

/* One reading of all JVMs, in one or several messages. */
struct control_reading {
	u32 first; /* this begins a new reading */
	u32 last;  /* and this ends it */
	u32 nr_cpus, load_milli[3];
	u64 wall_ns, passed_ns; /* since the previous reading; 0: this is the first one */
	u64 busy_ppm, stolen_ppm, other_ppm, own_ppm;
	u32 nr;
	struct control_reading_jvm at[CONTROL_READING_JVMS];
};
