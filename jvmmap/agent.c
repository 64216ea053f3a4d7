/* SPDX-License-Identifier: Apache-2.0 */
/* The agent loaded into JVMs. */
#include <jvmti.h>

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	return 0;
}
