/* SPDX-License-Identifier: Apache-2.0 */
/* The sign of life of a recorder. */
#include "daemon/channel/pulse.h"

#include <sys/mman.h>

#include "base/time.h"

struct pulse *pulse_new(void)
{
	struct pulse *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	pulse_beat(p);
	return p;
}

void pulse_free(struct pulse *p)
{
	if (p)
		munmap(p, sizeof(*p));
}

void pulse_beat(struct pulse *p)
{
	__atomic_store_n(&p->beat_ns, time_mono_ns(), __ATOMIC_RELAXED);
}

u64 pulse_beat_ns(const struct pulse *p)
{
	return __atomic_load_n(&p->beat_ns, __ATOMIC_RELAXED);
}

bool pulse_has_beaten(const struct pulse *p, u64 since_ns)
{
	return pulse_beat_ns(p) > since_ns;
}

u64 pulse_silent_ns(const struct pulse *p)
{
	u64 beat_ns = pulse_beat_ns(p), now_ns = time_mono_ns();

	return now_ns > beat_ns ? now_ns - beat_ns : 0;
}

s32 pulse_target(const struct pulse *p)
{
	return __atomic_load_n(&p->target, __ATOMIC_RELAXED);
}
