/* SPDX-License-Identifier: Apache-2.0 */
/* sysflame fleet: asks the nodes of a fleet over NATS. */
#pragma once

int fleet_main(int argc, char **argv);

/* Its subcommands. */
int fleet_init_main(int argc, char **argv);
int fleet_add_main(int argc, char **argv);
int fleet_revoke_main(int argc, char **argv);
int fleet_record_main(int argc, char **argv);
int fleet_diff_main(int argc, char **argv);
int fleet_top_main(int argc, char **argv);
int fleet_ls_main(int argc, char **argv);
int fleet_stop_main(int argc, char **argv);
int fleet_status_main(int argc, char **argv);
int fleet_audit_main(int argc, char **argv);
int fleet_policy_main(int argc, char **argv);
int fleet_serve_main(int argc, char **argv);
