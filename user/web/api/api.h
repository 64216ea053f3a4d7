/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of the table in routes.c, by resource, the JSON that streams send as well, and the
 * streams.
 */
#pragma once

#include "base/types.h"
#include "web/http/request.h"
#include "web/http/route.h"

/* All routes; the last entry has no method. In the order of docs/api.yaml. */
extern const struct route routes[];

/* api_login.c */
void api_login_page(struct request *q);
void api_login(struct request *q);
void api_logout(struct request *q);

/* api_static.c: files of the user interface */
void api_home(struct request *q);
void api_asset(struct request *q);
void api_shell(struct request *q);
void api_range_shell(struct request *q);
void reply_asset(struct request *q, const char *name);

/* api_node.c */
void api_health(struct request *q);
void api_node(struct request *q);
void api_events(struct request *q);
void api_jvms(struct request *q);
json_t *node_json(struct service *sv, enum role role);
json_t *jvms_json(const struct service *sv);

/* api_top.c */
void api_top(struct request *q);

/* api_sessions.c */
void api_sessions(struct request *q);
void api_start(struct request *q);
void api_stop(struct request *q);
void api_discard(struct request *q);
void api_preview(struct request *q);
json_t *sessions_json(const struct service *sv);

/* api_profiles.c */
void api_profiles(struct request *q);
void api_profile(struct request *q);
void api_profile_change(struct request *q);
void api_delete(struct request *q);
void api_restore(struct request *q);
void api_delete_all(struct request *q);
void api_restore_all(struct request *q);
void api_upload(struct request *q);
json_t *profiles_json(struct service *sv, const char *words, u64 offset, u64 limit);

/* api_pages.c: rendered profiles */
void api_page(struct request *q);
void api_download(struct request *q);
void api_range_page(struct request *q);

/* api_combine.c: profiles made of others */
void api_diff(struct request *q);
void api_range(struct request *q);

/* api_slices.c */
void api_slices(struct request *q);

/* api_fleet.c */
void api_fleet(struct request *q);
void api_fleet_nodes(struct request *q);
void api_fleet_services(struct request *q);
void api_fleet_start(struct request *q);
void api_fleet_stop(struct request *q);
void api_fleet_preview(struct request *q);
json_t *fleet_json(const struct service *sv); /* NULL: it asks none */

/* api_triggers.c */
void api_triggers(struct request *q);
void api_alertmanager(struct request *q);

/* api_admin.c */
void api_setting(struct request *q);
void api_set_setting(struct request *q);
void api_audit(struct request *q);

/* metrics.c */
void api_metrics(struct request *q);

/* pprof_pull.c */
void api_pprof(struct request *q);

/* sse.c: clients that get changes as server-sent events */
struct streams;

void api_stream(struct request *q);
struct streams *streams_new(void);

/* Ends every stream; then the server can be stopped. */
void streams_end(struct streams *all);
void streams_free(struct streams *all);

/* Sends the changes in sv->changed to all streams and clears them. Call it once a second. */
void streams_tick(struct service *sv);
