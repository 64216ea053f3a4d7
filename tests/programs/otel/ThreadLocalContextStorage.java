// SPDX-License-Identifier: Apache-2.0
/* The current context, in fields of the names and types that OpenTelemetry's Java API has. */
package io.opentelemetry.context;

import java.util.Arrays;

public enum ThreadLocalContextStorage {
	INSTANCE;

	private static final ThreadLocal<Object> THREAD_LOCAL_STORAGE = new ThreadLocal<>();

	/* Keys are objects that have a name; pairs of a key and its value are the context. */
	public static Object key(String name) {
		return new DefaultContextKey(name);
	}

	public static void attach(Object... entries) {
		THREAD_LOCAL_STORAGE.set(new ArrayBasedContext(Arrays.copyOf(entries, entries.length, Object[].class)));
	}

	public static void detach() {
		THREAD_LOCAL_STORAGE.set(null);
	}
}

final class DefaultContextKey {
	private final String name;

	DefaultContextKey(String name) {
		this.name = name;
	}
}

final class ArrayBasedContext {
	private final Object[] entries;

	ArrayBasedContext(Object[] entries) {
		this.entries = entries;
	}
}
