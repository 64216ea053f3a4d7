/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a JVM for people. */
#pragma once

/*
 * "tomcat - Bootstrap": the service and the main class or jar, without its package or folder. The
 * service is the first of these that is known: OTEL_SERVICE_NAME, service.name in
 * OTEL_RESOURCE_ATTRIBUTES, the container's name (NULL or "" if unknown), the product that the main
 * class belongs to. Without a service it is the main class or jar alone, with the last part of its
 * package if it says little: "shop.Main". NULL if nothing is known. Caller frees. `main` is
 * main_class(), `service` that of the environment; each may be NULL.
 */
char *jvm_name(const char *main, const char *service, const char *container);
