/* SPDX-License-Identifier: Apache-2.0 */
/* The main class of a JVM. */
#pragma once

#include "jvm/process/words.h"

#define MAIN_CLASS_COMMAND_MAX 400 /* bytes of a command that are worth reading */

/*
 * "com.acme.Shop", "shop.app/com.acme.Shop", or the name of a jar or source file without its
 * folder; NULL if it is unknown. Clean UTF-8; the caller frees it.
 *
 * `command` is the property sun.java.command as the JVM keeps it: "" if no launcher has set it,
 * NULL if the JVM cannot be asked (yet). If it is "" or NULL, the command line is used, provided
 * that the program is `java`. The class of a daemon that jsvc runs is known from its command line
 * only.
 */
char *main_class(const char *command, const struct words *w);
