/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to values of ThreadLocals. */
#include "jvm/labels/label_path.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/types.h"

/* '#' ends the class's name, '|' separates names, a space separates paths. */
#define OTEL_STORAGE    "io.opentelemetry.context.ThreadLocalContextStorage#THREAD_LOCAL_STORAGE"
#define OTEL_AGENT      "io.opentelemetry.javaagent.shaded."
#define OTEL_BOTH(rest) OTEL_STORAGE ".entries" rest " " OTEL_AGENT OTEL_STORAGE ".entries" rest
#define OTEL_SPAN       "[opentelemetry-trace-span-key]"
#define OTEL_ROOT       "[opentelemetry-traces-local-root-span|opentelemetry-trace-span-key]"

#define MDC_SLF4J                                                                \
	"org.slf4j.MDC#mdcAdapter|MDC_ADAPTER"                                   \
	".copyOnThreadLocal|readWriteThreadLocalMap|threadLocalUnmodifiableMap|" \
	"inheritableThreadLocalMap"
#define MDC_LOG4J "org.apache.logging.log4j.ThreadContext#contextMap.localMap|localState"

static const struct thread_local_spec otel[] = {
	{ .name = "operation", .path = OTEL_BOTH(OTEL_ROOT ".name"), .is_preset = true },
	{ .name = "trace_id",
	  .path = OTEL_BOTH(OTEL_SPAN ".context|spanContext.traceId"),
	  .role = VALUE_IS_TRACE,
	  .is_preset = true },
	{ .name = "span_id",
	  .path = OTEL_BOTH(OTEL_SPAN ".context|spanContext.spanId"),
	  .role = VALUE_IS_SPAN,
	  .is_preset = true },
};

/* Names of Java may have letters beyond ASCII. */
static bool has_only(const char *text, size_t len, const char *others)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((u8)text[i]) && !((u8)text[i] & 0x80) && !strchr(others, text[i]))
			return false;
	return len;
}

static int add_part(struct label_path *out, char *text, size_t len, bool is_key)
{
	bool is_right = is_key ? len && !memchr(text, '[', len) : has_only(text, len, "_$|");

	if (!is_right || out->nr_parts == PATH_PARTS)
		return -EINVAL;
	out->parts[out->nr_parts++] = (struct path_part){ text, is_key };
	return 0;
}

int label_path_parse(const char *text, size_t len, struct label_path *out)
{
	char *at = out->text, end = '.';
	u32 before_key = 0;

	*out = (struct label_path){ 0 };
	if (!len || len >= sizeof(out->text))
		return -EINVAL;
	memcpy(out->text, text, len);
	while (end) {
		bool is_key = end == '[';
		size_t bytes = strcspn(at, is_key ? "]" : ".[#");
		if (is_key && at[bytes] != ']')
			return -EINVAL;
		end = at[bytes];
		at[bytes] = '\0';
		if (add_part(out, at, bytes, is_key))
			return -EINVAL;
		before_key += !is_key && before_key + 1 == out->nr_parts;
		out->most = end == '#' ? out->nr_parts : out->most;
		at += bytes + 1;
		if (is_key) {
			end = *at;
			if (end && end != '.' && end != '[')
				return -EINVAL;
			at += end != '\0';
		}
	}
	out->least = out->most ?: 1;
	out->most = out->most ?: before_key - 1;
	return out->most && before_key > out->most ? 0 : -EINVAL;
}

int label_path_of(const struct thread_local_spec *spec, u32 i, struct label_path *out)
{
	const char *at = spec->path;

	/* a key of a user may have spaces; presets have none but between paths */
	if (!spec->is_preset)
		return i ? -EINVAL : label_path_parse(at, strlen(at), out);
	for (; i && *at; i--) {
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	return label_path_parse(at, strcspn(at, " "), out);
}

bool path_name_next(const char **rest, char *out, size_t size)
{
	size_t len = strcspn(*rest, "|");

	if (!**rest)
		return false;
	snprintf(out, size, "%.*s", (int)len, *rest);
	*rest += len + ((*rest)[len] == '|');
	return true;
}

static bool is_key_text(const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < len; i++)
		if ((u8)key[i] < 0x20 || (u8)key[i] >= 0x7f || strchr("[]|", key[i]))
			return false;
	return len && len <= JAVA_KEY_BYTES;
}

static int parse_mdc(const char *key, struct thread_local_spec *out)
{
	/* a space separates the paths of a preset */
	if (!is_key_text(key) || strchr(key, ' '))
		return -EINVAL;
	out->is_preset = true;
	snprintf(out->path, sizeof(out->path), "%s[%s] %s[%s]", MDC_SLF4J, key, MDC_LOG4J, key);
	return 0;
}

static int parse_one(const char *text, struct thread_local_spec *out)
{
	bool is_short = !strncmp(text, "mdc:", 4);
	const char *sign = is_short ? NULL : strchr(text, '=');
	size_t name = sign ? (size_t)(sign - text) : strlen(text + 4);
	const char *path = sign ? sign + 1 : text;
	struct label_path parsed;

	if ((!sign && !is_short) || name >= sizeof(out->name) ||
	    strlen(path) >= sizeof(out->path) || !has_only(is_short ? text + 4 : text, name, "_-."))
		return -EINVAL;
	memcpy(out->name, is_short ? text + 4 : text, name);
	if (!strncmp(path, "mdc:", 4))
		return parse_mdc(path + 4, out);
	if (strpbrk(path, "|#") || label_path_parse(path, strlen(path), &parsed))
		return -EINVAL;
	for (u32 i = 0; i < parsed.nr_parts; i++)
		if (parsed.parts[i].is_key && !is_key_text(parsed.parts[i].text))
			return -EINVAL;
	copy_text(out->path, sizeof(out->path), path);
	return 0;
}

int thread_local_parse(const char *text, struct thread_local_spec out[THREAD_LOCAL_SPECS], u32 *nr,
		       struct str *why)
{
	*nr = 0;
	if (!strcmp(text, "otel")) {
		memcpy(out, otel, sizeof(otel));
		*nr = ARRAY_SIZE(otel);
		return 0;
	}
	*out = (struct thread_local_spec){ 0 };
	if (parse_one(text, out)) {
		str_add(why, "takes NAME=CLASS.FIELD[.field..], as in "
			     "route=com.acme.Request.CURRENT.route, or otel, or mdc:KEY");
		return -EINVAL;
	}
	*nr = 1;
	return 0;
}

int thread_locals_add(const char *text, bool with_traces, struct thread_local_spec *list, u32 *nr,
		      struct str *why)
{
	struct thread_local_spec specs[THREAD_LOCAL_SPECS];
	u32 nr_specs;
	int err = thread_local_parse(text, specs, &nr_specs, why);

	for (u32 i = 0; !err && i < nr_specs; i++) {
		if (specs[i].role != VALUE_IS_LABEL && !with_traces)
			continue;
		for (u32 k = 0; k < *nr; k++)
			if (!strcmp(list[k].name, specs[i].name))
				str_addf(why, "there is a label %s already", specs[i].name);
		if (!why->len && *nr == JAVA_LABELS)
			str_addf(why, "takes at most %d labels", JAVA_LABELS);
		if (why->len)
			return -EINVAL;
		list[(*nr)++] = specs[i];
	}
	return err;
}
