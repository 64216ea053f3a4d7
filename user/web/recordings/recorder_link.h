/* SPDX-License-Identifier: Apache-2.0 */
/* The channel to the recorder, and its reports on itself and the node. */
#pragma once

#include "base/vec.h"
#include "daemon/channel/reports.h"

/* A reading of all JVMs. */
struct reading {
	struct control_reading node; /* without its rows */
	VEC(struct control_reading_jvm) jvms;
};

/* Recorders that ended since the web process started. */
struct recorder_losses {
	u64 nr;
	u64 nr_by_helper[NR_CONTROL_HELPERS]; /* whose end caused the restart */
	u64 wall_ns;                          /* of the last one; 0: none */
	char why[256];                        /* a sentence */
};

struct recorder_link {
	int sock;      /* -1: no recorder runs */
	bool is_up;    /* its version is the same as ours, and its limits have arrived */
	bool is_other; /* its version is not ours */
	bool has_node;
	bool is_ending; /* the recorder has announced its end; losses.why has the reason */
	struct recorder_losses losses;
	u64 since_wall_ns; /* when is_up last changed */
	u64 heard_wall_ns, watched_wall_ns;
	u64 cpu_ns; /* CPU time that this recorder and earlier ones have reported */
	struct control_caps caps;
	struct control_node node;
	VEC(struct control_event) events;
	VEC(struct control_jvm) jvms, arriving;
	struct reading *reading, *arriving_reading; /* NULL: none is known */
	struct control_message *message;            /* room for the one that is handled */
};

void recorder_link_init(struct recorder_link *r);
void recorder_link_fini(struct recorder_link *r);

/* Takes the channel to a recorder that has just started. */
void recorder_link_attach(struct recorder_link *r, int sock);
void recorder_link_detach(struct recorder_link *r);

/* Counts the end of a recorder. Call recorder_link_detach afterwards. */
void recorder_link_count_loss(struct recorder_link *r);

/*
 * Receives one message. 0: it was about the node, and is taken. 1: r->message is for somebody else,
 * with the descriptor *fd or -1, which the caller closes. -EAGAIN: no message has arrived. After
 * another error the channel must be closed.
 */
int recorder_link_receive(struct recorder_link *r, int *fd);

/* Asks for readings, which go on for a while. Forgets one that is old. */
void recorder_link_watch(struct recorder_link *r);

/* -EPIPE if there is no recorder, -EAGAIN if it reads too slowly. */
int recorder_link_send(struct recorder_link *r, const struct control_message *m);
