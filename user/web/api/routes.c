/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes. Part of web/api/api.h. */
#include "web/api/api.h"
#include "web/http/route.h"

#define ROUTE(of_method, of_path, of_role, of_body, handler, ...)                          \
	{                                                                                  \
		.method = of_method, .pattern = of_path, .role = of_role, .body = of_body, \
		.handle = handler, __VA_ARGS__                                             \
	}
#define GET(path, role, ...)  ROUTE("GET", path, role, BODY_NONE, __VA_ARGS__)
#define POST(path, body, ...) ROUTE("POST", path, ROLE_OPERATOR, body, __VA_ARGS__)
#define PULL(name)                                                                             \
	GET("debug/pprof/" name, ROLE_OPERATOR, api_pprof, .is_plain = true, .is_pprof = true, \
	    .is_change = true, .has_basic = true)

const struct route routes[] = {
	GET("", ROLE_VIEWER, api_home, .is_page = true),
	GET("login", ROLE_NONE, api_login_page, .is_page = true),
	ROUTE("POST", "login", ROLE_NONE, BODY_FORM, api_login, .is_page = true),
	ROUTE("POST", "logout", ROLE_VIEWER, BODY_FORM, api_logout, .is_page = true),
	GET("healthz", ROLE_NONE, api_health, .is_plain = true, .is_any_host = true),
	GET("metrics", ROLE_VIEWER, api_metrics, .is_plain = true, .has_basic = true),
	PULL("profile"),
	PULL("allocs"),
	PULL("block"),
	PULL("mutex"),

	GET("api/v1/node", ROLE_VIEWER, api_node),
	GET("api/v1/events", ROLE_VIEWER, api_events),
	GET("api/v1/jvms", ROLE_VIEWER, api_jvms),
	GET("api/v1/top", ROLE_VIEWER, api_top),
	GET("api/v1/stream", ROLE_VIEWER, api_stream, .is_stream = true),
	GET("api/v1/sessions", ROLE_VIEWER, api_sessions),
	POST("api/v1/sessions", BODY_JSON, api_start),
	POST("api/v1/sessions/ID/stop", BODY_NONE, api_stop),
	POST("api/v1/sessions/ID/discard", BODY_NONE, api_discard),
	GET("api/v1/sessions/ID/preview", ROLE_VIEWER, api_preview),
	GET("api/v1/profiles", ROLE_VIEWER, api_profiles),
	POST("api/v1/profiles", BODY_UPLOAD, api_upload),
	POST("api/v1/profiles/delete-all", BODY_NONE, api_delete_all),
	POST("api/v1/profiles/restore-all", BODY_JSON, api_restore_all),
	GET("api/v1/profiles/ID", ROLE_VIEWER, api_profile),
	POST("api/v1/profiles/ID", BODY_JSON, api_profile_change),
	POST("api/v1/profiles/ID/delete", BODY_NONE, api_delete),
	POST("api/v1/profiles/ID/restore", BODY_NONE, api_restore),
	POST("api/v1/diffs", BODY_JSON, api_diff),
	POST("api/v1/ranges", BODY_JSON, api_range),
	GET("api/v1/slices", ROLE_VIEWER, api_slices),
	GET("api/v1/triggers", ROLE_VIEWER, api_triggers),
	POST("api/v1/triggers/alertmanager", BODY_JSON, api_alertmanager),
	GET("api/v1/fleet", ROLE_VIEWER, api_fleet),
	GET("api/v1/fleet/nodes", ROLE_VIEWER, api_fleet_nodes),
	GET("api/v1/fleet/services", ROLE_VIEWER, api_fleet_services),
	POST("api/v1/fleet/requests", BODY_JSON, api_fleet_start),
	POST("api/v1/fleet/requests/ID/stop", BODY_NONE, api_fleet_stop),
	GET("api/v1/fleet/requests/ID/preview", ROLE_VIEWER, api_fleet_preview),
	GET("api/v1/settings/KEY", ROLE_VIEWER, api_setting),
	POST("api/v1/settings/KEY", BODY_JSON, api_set_setting),
	GET("api/v1/audit", ROLE_OPERATOR, api_audit),

	GET("p/ID", ROLE_VIEWER, api_shell, .is_page = true),
	GET("p/ID/page", ROLE_VIEWER, api_page, .is_page = true),
	GET("p/ID/download", ROLE_VIEWER, api_download),
	GET("s/FROM-TO", ROLE_VIEWER, api_range_shell, .is_page = true),
	GET("s/FROM-TO/page", ROLE_VIEWER, api_range_page, .is_page = true),
	GET("FILE", ROLE_NONE, api_asset),
	{ 0 },
};
