/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of the types in a JFR recording. Readers take the order of fields from it, except
 * for async-profiler's converter, which expects the order of its own recordings and of the JDK's.
 * Part of export/writers/jfr_parts.h.
 */
#include <stdio.h>

#include "base/vec.h"
#include "export/interchange/external.h"
#include "export/interchange/jfr.h"
#include "export/writers/jfr_parts.h"
#include "export/writers/jfr_words.h"

/* How readers show a number. */
enum meaning {
	PLAIN,
	TIME,     /* ticks */
	DURATION, /* ticks */
	BYTES,
	ADDRESS,
	UNSIGNED,
};

struct field {
	const char *name, *label;
	enum jfr_type type;
	bool is_constant, is_array;
	enum meaning meaning;
};

#define FIELDS_MAX 8

/* Readers take two chunks with the same number for chunks of the same types. The JDK counts from 1.
 */
#define DESCRIPTION_ID 0x73797366

struct type {
	enum jfr_type id;
	const char *name, *label;
	bool is_simple; /* has one field and is shown as that */
	struct field fields[FIELDS_MAX];
};

#define PLAIN_FIELD(name, label, type)                 \
	{                                              \
		name, label, type, false, false, PLAIN \
	}
#define NUMBER_FIELD(name, label, meaning)                   \
	{                                                    \
		name, label, JFR_LONG, false, false, meaning \
	}
#define CONSTANT_FIELD(name, label, type)             \
	{                                             \
		name, label, type, true, false, PLAIN \
	}
#define START_FIELD              NUMBER_FIELD("startTime", "Start Time", TIME)
#define DURATION_FIELD           NUMBER_FIELD("duration", "Duration", DURATION)
#define THREAD_FIELD             CONSTANT_FIELD("eventThread", "Event Thread", JFR_THREAD)
#define SAMPLED_FIELD            CONSTANT_FIELD("sampledThread", "Thread", JFR_THREAD)
#define STACK_FIELD              CONSTANT_FIELD("stackTrace", "Stack Trace", JFR_STACK_TRACE)
#define STATE_FIELD              CONSTANT_FIELD("state", "Thread State", JFR_THREAD_STATE)
#define CLASS_FIELD(name, label) CONSTANT_FIELD(name, label, JFR_CLASS)

static const struct type types[] = {
	{ JFR_BOOLEAN, "boolean", NULL, false, { { 0 } } },
	{ JFR_INT, "int", NULL, false, { { 0 } } },
	{ JFR_LONG, "long", NULL, false, { { 0 } } },
	{ JFR_DOUBLE, "double", NULL, false, { { 0 } } },
	{ JFR_STRING, "java.lang.String", NULL, false, { { 0 } } },
	{ JFR_CLASS,
	  "java.lang.Class",
	  "Java Class",
	  false,
	  { CONSTANT_FIELD("classLoader", "Class Loader", JFR_CLASS_LOADER),
	    CONSTANT_FIELD("name", "Name", JFR_SYMBOL),
	    CONSTANT_FIELD("package", "Package", JFR_PACKAGE),
	    PLAIN_FIELD("modifiers", "Access Modifiers", JFR_INT),
	    PLAIN_FIELD(JFR_KIND_FIELD, "Kind of Frames", JFR_INT) } },
	{ JFR_THREAD,
	  "java.lang.Thread",
	  "Thread",
	  false,
	  { PLAIN_FIELD("osName", "OS Thread Name", JFR_STRING),
	    PLAIN_FIELD("osThreadId", "OS Thread Id", JFR_LONG),
	    PLAIN_FIELD("javaName", "Java Thread Name", JFR_STRING),
	    PLAIN_FIELD("javaThreadId", "Java Thread Id", JFR_LONG),
	    PLAIN_FIELD(JFR_PID_FIELD, "Process Id", JFR_LONG),
	    CONSTANT_FIELD(JFR_COMM_FIELD, "Process", JFR_SYMBOL) } },
	{ JFR_CLASS_LOADER,
	  "jdk.types.ClassLoader",
	  "Java Class Loader",
	  false,
	  { CONSTANT_FIELD("type", "Type", JFR_CLASS),
	    CONSTANT_FIELD("name", "Name", JFR_SYMBOL) } },
	{ JFR_FRAME_TYPE,
	  "jdk.types.FrameType",
	  "Frame type",
	  true,
	  { PLAIN_FIELD("description", "Description", JFR_STRING) } },
	{ JFR_THREAD_STATE,
	  "jdk.types.ThreadState",
	  "Java Thread State",
	  true,
	  { PLAIN_FIELD("name", "Name", JFR_STRING) } },
	{ JFR_STACK_TRACE,
	  "jdk.types.StackTrace",
	  "Stacktrace",
	  false,
	  { PLAIN_FIELD("truncated", "Truncated", JFR_BOOLEAN),
	    { "frames", "Stack Frames", JFR_STACK_FRAME, false, true, PLAIN } } },
	{ JFR_STACK_FRAME,
	  "jdk.types.StackFrame",
	  NULL,
	  false,
	  { CONSTANT_FIELD("method", "Java Method", JFR_METHOD),
	    PLAIN_FIELD("lineNumber", "Line Number", JFR_INT),
	    PLAIN_FIELD("bytecodeIndex", "Bytecode Index", JFR_INT),
	    CONSTANT_FIELD("type", "Frame Type", JFR_FRAME_TYPE) } },
	{ JFR_METHOD,
	  "jdk.types.Method",
	  "Java Method",
	  false,
	  { CONSTANT_FIELD("type", "Type", JFR_CLASS), CONSTANT_FIELD("name", "Name", JFR_SYMBOL),
	    CONSTANT_FIELD("descriptor", "Descriptor", JFR_SYMBOL),
	    PLAIN_FIELD("modifiers", "Access Modifiers", JFR_INT),
	    PLAIN_FIELD("hidden", "Hidden", JFR_BOOLEAN) } },
	{ JFR_PACKAGE,
	  "jdk.types.Package",
	  "Package",
	  false,
	  { CONSTANT_FIELD("name", "Name", JFR_SYMBOL) } },
	{ JFR_SYMBOL,
	  "jdk.types.Symbol",
	  "Symbol",
	  true,
	  { PLAIN_FIELD("string", "String", JFR_STRING) } },
	{ JFR_EXECUTION,
	  "jdk.ExecutionSample",
	  "Method Profiling Sample",
	  false,
	  { START_FIELD, SAMPLED_FIELD, STACK_FIELD, STATE_FIELD } },
	{ JFR_CPU_TIME,
	  "jdk.CPUTimeSample",
	  "CPU Time Method Sample",
	  false,
	  { START_FIELD, STACK_FIELD, THREAD_FIELD, PLAIN_FIELD("failed", "Failed", JFR_BOOLEAN),
	    NUMBER_FIELD("samplingPeriod", "CPU Time Sampling Period", DURATION),
	    PLAIN_FIELD("biased", "Biased", JFR_BOOLEAN) } },
	{ JFR_NATIVE,
	  "jdk.NativeMethodSample",
	  "Method Profiling Sample Native",
	  false,
	  { START_FIELD, SAMPLED_FIELD, STACK_FIELD, STATE_FIELD } },
	{ JFR_WALL,
	  "profiler.WallClockSample",
	  "Wall Clock Sample",
	  false,
	  { START_FIELD,
	    SAMPLED_FIELD,
	    STACK_FIELD,
	    STATE_FIELD,
	    { "samples", "Samples", JFR_INT, false, false, UNSIGNED },
	    NUMBER_FIELD("timeSpan", "Time Span", DURATION) } },
	{ JFR_ALLOCATION,
	  "jdk.ObjectAllocationSample",
	  "Object Allocation Sample",
	  false,
	  { START_FIELD, THREAD_FIELD, STACK_FIELD, CLASS_FIELD("objectClass", "Object Class"),
	    NUMBER_FIELD("weight", "Sample Weight", BYTES) } },
	{ JFR_LIVE,
	  "profiler.LiveObject",
	  "Live Object",
	  false,
	  { START_FIELD, THREAD_FIELD, STACK_FIELD, CLASS_FIELD("objectClass", "Object Class"),
	    NUMBER_FIELD("allocationSize", "Allocation Size", BYTES),
	    NUMBER_FIELD("allocationTime", "Allocation Time", TIME) } },
	{ JFR_MALLOC,
	  "profiler.Malloc",
	  "malloc",
	  false,
	  { START_FIELD, THREAD_FIELD, STACK_FIELD, NUMBER_FIELD("address", "Address", ADDRESS),
	    NUMBER_FIELD("size", "Size", BYTES) } },
	{ JFR_MONITOR,
	  "jdk.JavaMonitorEnter",
	  "Java Monitor Blocked",
	  false,
	  { START_FIELD, DURATION_FIELD, THREAD_FIELD, STACK_FIELD,
	    CLASS_FIELD("monitorClass", "Monitor Class"),
	    CONSTANT_FIELD("previousOwner", "Previous Monitor Owner", JFR_THREAD),
	    NUMBER_FIELD("address", "Monitor Address", ADDRESS) } },
	{ JFR_PARK,
	  "jdk.ThreadPark",
	  "Java Thread Park",
	  false,
	  { START_FIELD, DURATION_FIELD, THREAD_FIELD, STACK_FIELD,
	    CLASS_FIELD("parkedClass", "Class Parked On"),
	    NUMBER_FIELD("timeout", "Park Timeout", PLAIN),
	    NUMBER_FIELD("until", "Park Until", PLAIN),
	    NUMBER_FIELD("address", "Address of Object Parked", ADDRESS) } },
	{ JFR_NATIVE_LOCK,
	  "profiler.NativeLock",
	  "Native Lock Sample",
	  false,
	  { START_FIELD, DURATION_FIELD, THREAD_FIELD, STACK_FIELD,
	    NUMBER_FIELD("address", "Lock Address", ADDRESS) } },
	{ JFR_SAMPLE,
	  JFR_OWN_SAMPLE,
	  "Sample of Another Event",
	  false,
	  { START_FIELD, THREAD_FIELD, STACK_FIELD, PLAIN_FIELD("event", "Event", JFR_STRING),
	    PLAIN_FIELD("unit", "Unit", JFR_STRING), NUMBER_FIELD("weight", "Weight", UNSIGNED) } },
	{ JFR_NOTE,
	  JFR_OWN_NOTE,
	  "Note",
	  false,
	  { START_FIELD, PLAIN_FIELD("key", "Key", JFR_STRING),
	    PLAIN_FIELD("text", "Text", JFR_STRING), NUMBER_FIELD("value", "Value", UNSIGNED) } },
	{ JFR_PROFILE,
	  JFR_OWN_PROFILE,
	  "Profile",
	  false,
	  { START_FIELD, PLAIN_FIELD("title", "Title", JFR_STRING),
	    PLAIN_FIELD("host", "Host", JFR_STRING), PLAIN_FIELD("target", "Target", JFR_STRING),
	    PLAIN_FIELD("event", "First Event", JFR_STRING),
	    PLAIN_FIELD("rate", "Samples per Second and CPU", JFR_DOUBLE) } },
	{ JFR_LABEL, "jdk.jfr.Label", NULL, false, { PLAIN_FIELD("value", NULL, JFR_STRING) } },
	{ JFR_CATEGORY,
	  "jdk.jfr.Category",
	  NULL,
	  false,
	  { { "value", NULL, JFR_STRING, false, true, PLAIN } } },
	{ JFR_CONTENT_TYPE, "jdk.jfr.ContentType", "Content Type", false, { { 0 } } },
	{ JFR_TIMESTAMP,
	  "jdk.jfr.Timestamp",
	  "Timestamp",
	  false,
	  { PLAIN_FIELD("value", NULL, JFR_STRING) } },
	{ JFR_TIMESPAN,
	  "jdk.jfr.Timespan",
	  "Timespan",
	  false,
	  { PLAIN_FIELD("value", NULL, JFR_STRING) } },
	{ JFR_DATA_AMOUNT,
	  "jdk.jfr.DataAmount",
	  "Data Amount",
	  false,
	  { PLAIN_FIELD("value", NULL, JFR_STRING) } },
	{ JFR_ADDRESS, "jdk.jfr.MemoryAddress", "Memory Address", false, { { 0 } } },
	{ JFR_UNSIGNED, "jdk.jfr.Unsigned", "Unsigned Value", false, { { 0 } } },
};

/* The tree of elements, whose texts are numbered as they occur. */
struct description {
	struct texts texts;
	struct str tree;
};

static void add_text(struct description *d, const char *text)
{
	jfr_add_number(&d->tree, texts_add(&d->texts, text));
}

static void add_element(struct description *d, const char *tag, u32 nr_attributes)
{
	add_text(d, tag);
	jfr_add_number(&d->tree, nr_attributes);
}

static void add_attribute(struct description *d, const char *key, const char *value)
{
	add_text(d, key);
	add_text(d, value);
}

static void add_type_attribute(struct description *d, const char *key, enum jfr_type type)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)type);
	add_attribute(d, key, number);
}

static void add_nr_children(struct description *d, u32 nr)
{
	jfr_add_number(&d->tree, nr);
}

/* An annotation has no children. `value` may be NULL. */
static void add_annotation(struct description *d, enum jfr_type type, const char *key,
			   const char *value)
{
	add_element(d, "annotation", value ? 2 : 1);
	add_type_attribute(d, "class", type);
	if (value)
		add_attribute(d, key, value);
	add_nr_children(d, 0);
}

static void add_meaning(struct description *d, enum meaning meaning)
{
	if (meaning == TIME)
		add_annotation(d, JFR_TIMESTAMP, "value", "TICKS");
	else if (meaning == DURATION)
		add_annotation(d, JFR_TIMESPAN, "value", "TICKS");
	else if (meaning == BYTES)
		add_annotation(d, JFR_DATA_AMOUNT, "value", "BYTES");
	else if (meaning == ADDRESS)
		add_annotation(d, JFR_ADDRESS, NULL, NULL);
	else if (meaning == UNSIGNED)
		add_annotation(d, JFR_UNSIGNED, NULL, NULL);
}

static void add_field(struct description *d, const struct field *f)
{
	add_element(d, "field", 2 + f->is_constant + f->is_array);
	add_attribute(d, "name", f->name);
	add_type_attribute(d, "class", f->type);
	if (f->is_constant)
		add_attribute(d, "constantPool", "true");
	if (f->is_array)
		add_attribute(d, "dimension", "1");
	add_nr_children(d, (f->label != NULL) + (f->meaning != PLAIN));
	if (f->label)
		add_annotation(d, JFR_LABEL, "value", f->label);
	add_meaning(d, f->meaning);
}

/* The types that say how a number is shown. */
static bool is_content_type(enum jfr_type id)
{
	return id >= JFR_TIMESTAMP;
}

static const char *super_type(enum jfr_type id)
{
	return id > JFR_ANNOTATIONS ? "java.lang.annotation.Annotation"
	       : id > JFR_EVENTS    ? "jdk.jfr.Event"
				    : NULL;
}

static bool is_sample(enum jfr_type id)
{
	return id > JFR_EVENTS && id <= JFR_SAMPLE;
}

static void add_type(struct description *d, const struct type *t, bool has_labels)
{
	static const struct field labels = CONSTANT_FIELD(JFR_LABELS_FIELD, "Labels", JFR_SYMBOL);
	bool is_labelled = has_labels && is_sample(t->id);
	const char *super = super_type(t->id);
	bool is_event = t->id > JFR_EVENTS && t->id < JFR_ANNOTATIONS;
	u32 nr = 0;

	while (nr < FIELDS_MAX && t->fields[nr].name)
		nr++;
	add_element(d, "class", 2 + t->is_simple + (super != NULL));
	add_attribute(d, "name", t->name);
	add_type_attribute(d, "id", t->id);
	if (t->is_simple)
		add_attribute(d, "simpleType", "true");
	if (super)
		add_attribute(d, "superType", super);
	add_nr_children(d,
			(t->label != NULL) + is_content_type(t->id) + is_event + nr + is_labelled);
	if (t->label)
		add_annotation(d, JFR_LABEL, "value", t->label);
	if (is_content_type(t->id))
		add_annotation(d, JFR_CONTENT_TYPE, NULL, NULL);
	if (is_event)
		add_annotation(d, JFR_CATEGORY, "value-0", "sysflame");
	for (u32 i = 0; i < nr; i++)
		add_field(d, &t->fields[i]);
	if (is_labelled)
		add_field(d, &labels);
}

static void add_tree(struct description *d, bool has_labels)
{
	add_element(d, "root", 0);
	add_nr_children(d, 2);
	add_element(d, "metadata", 0);
	add_nr_children(d, ARRAY_SIZE(types));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		add_type(d, &types[i], has_labels);
	add_element(d, "region", 2);
	add_attribute(d, "locale", "en_US");
	add_attribute(d, "gmtOffset", "0");
	add_nr_children(d, 0);
}

void jfr_add_types(struct str *out, bool has_labels)
{
	struct description d = { 0 };
	auto_str struct str body = { 0 };

	texts_init(&d.texts);
	add_tree(&d, has_labels);
	jfr_add_number(&body, JFR_METADATA);
	jfr_add_number(&body, 0); /* start */
	jfr_add_number(&body, 0); /* duration */
	jfr_add_number(&body, DESCRIPTION_ID + has_labels);
	jfr_add_number(&body, d.texts.all.nr);
	vec_each(text, &d.texts.all)
		jfr_add_text(&body, *text);
	str_add_bytes(&body, d.tree.at, d.tree.len);
	jfr_add_event(out, &body);
	texts_fini(&d.texts);
	str_fini(&d.tree);
}
