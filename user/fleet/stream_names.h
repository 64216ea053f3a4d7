/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subjects of JetStream that nodes use. A leaf server does not pass on $JS.API and $KV. It passes
 * on names with the hub's domain, which the hub maps to the plain ones (nats-server 2.9.10,
 * server/jetstream_api.go, generateJSMappingTable). A node does not know to which kind of server it
 * is connected, and uses both names: the other one reaches nobody.
 */
#pragma once

#define STREAM_DOMAIN             "sysflame" /* of the hub that `fleet init` configures */
#define STREAM_FROM_LEAF(subject) "$JS." STREAM_DOMAIN ".API." subject

#define STREAM_SEEN       "$KV.SYSFLAME_NODES." /* with the node's name */
#define STREAM_GET_POLICY "DIRECT.GET.SYSFLAME_POLICY"
