// SPDX-License-Identifier: Apache-2.0
/* A span with the fields that matter of the one of OpenTelemetry's SDK, and more in front of them. */
package io.opentelemetry.sdk.trace;

public final class SdkSpan {
	private final Object spanLimits = null, parentSpanContext = null, spanProcessor = null, exceptionResolver = null;
	private final Object kind = null, clock = null, resource = null, scope = null, lock = new Object();
	private final long startEpochNanos = 1, endEpochNanos = 2;
	private final Object context;
	private String name;

	public SdkSpan(Object context, String name) {
		this.context = context;
		this.name = name;
	}
}
