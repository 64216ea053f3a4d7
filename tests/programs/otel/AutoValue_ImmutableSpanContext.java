// SPDX-License-Identifier: Apache-2.0
/* The ids of a span, in fields of the names and types that OpenTelemetry's Java API has. */
package io.opentelemetry.api.internal;

public final class AutoValue_ImmutableSpanContext {
	private final String traceId, spanId;
	private final Object traceFlags = null, traceState = null;
	private final boolean remote = false, valid = true;

	public AutoValue_ImmutableSpanContext(String traceId, String spanId) {
		this.traceId = traceId;
		this.spanId = spanId;
	}
}
