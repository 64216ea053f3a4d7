// SPDX-License-Identifier: Apache-2.0
/* A span of another process: it has no name. */
package io.opentelemetry.api.trace;

public final class PropagatedSpan {
	private final Object spanContext;

	public PropagatedSpan(Object spanContext) {
		this.spanContext = spanContext;
	}
}
