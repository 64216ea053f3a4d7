// SPDX-License-Identifier: Apache-2.0
/*
 * Requests as those of ThreadLocals.java, whose route is in the context of a library, or in a map.
 * The argument or -Dmode names where: slf4j and log4j (whose jars are then on the class path), otel,
 * maps, scoped, waits (without end). -Dvirtual=true, -Dchurn=true: as there. -Drare=N: each Nth context is of another class.
 */
import io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext;
import io.opentelemetry.api.trace.PropagatedSpan;
import io.opentelemetry.context.ThreadLocalContextStorage;
import io.opentelemetry.sdk.trace.SdkSpan;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class Contexts {
	interface Server {
		void serve(int number) throws Exception;
	}

	/* A ThreadLocal in a field of an object. */
	static class Holder {
		final ThreadLocal<Map<String, Object>> local = new ThreadLocal<>();
	}

	static final class Rare extends HashMap<String, Object> { }

	static final Holder HOLDER = new Holder();
	static final ThreadLocal<Map<String, Object>> CONCURRENT = new ThreadLocal<>();
	static final ThreadLocal<Map<String, Object>> TREE = new ThreadLocal<>();
	static final ThreadLocal<Object[]> PAIRS = new ThreadLocal<>();
	static final int RARE = Integer.getInteger("rare", 0);
	static Object SCOPED;
	static volatile byte[] garbage;

	static void mapOf(String name, int number) throws Exception {
		Class<?> c = Class.forName(name);
		Method put = c.getMethod("put", String.class, String.class);
		Method remove = c.getMethod("remove", String.class);
		for (int i = 0; i < 5; i++)
			put.invoke(null, "other" + i, "value");
		put.invoke(null, "route", "/routes/" + number);
		ThreadLocals.serve(number);
		put.invoke(null, "route", "");
		remove.invoke(null, "route");
	}

	static final Object SPAN = ThreadLocalContextStorage.key("opentelemetry-trace-span-key");
	static final Object ROOT = ThreadLocalContextStorage.key("opentelemetry-traces-local-root-span");
	static final Object BAGGAGE = ThreadLocalContextStorage.key("opentelemetry-baggage-key");

	static Object ids(int trace, int span) {
		return new AutoValue_ImmutableSpanContext(String.format("%032x", trace), String.format("%016x", span));
	}

	static void otel(int number) {
		SdkSpan root = new SdkSpan(ids(1 + number, 1), "/routes/" + number);
		SdkSpan inner = new SdkSpan(ids(1 + number, 2 + number), "inner");
		if (RARE != 0 && number % RARE == 0)
			ThreadLocalContextStorage.attach(SPAN, root, BAGGAGE, "baggage");
		else
			ThreadLocalContextStorage.attach(BAGGAGE, "baggage", ROOT, root, SPAN, inner);
		ThreadLocals.serve(number);
		ThreadLocalContextStorage.attach(SPAN, new PropagatedSpan(ids(0, 0)));
		ThreadLocalContextStorage.detach();
	}

	/* Keys with one hash code, of which HashMap makes a tree. */
	static String same(int i) {
		StringBuilder text = new StringBuilder();
		for (int bit = 0; bit < 5; bit++)
			text.append((i >> bit & 1) != 0 ? "Aa" : "BB");
		return text.toString();
	}

	static Map<String, Object> tree(int number) {
		Map<String, Object> tree = new HashMap<>(128);
		for (int i = 0; i < 12; i++)
			tree.put(same(i), i == 7 ? "/routes/" + number : "other");
		return tree;
	}

	static void maps(int number) {
		Map<String, Object> map = RARE != 0 && number % RARE == 0 ? new Rare() : new LinkedHashMap<>();
		Map<String, Object> concurrent = new ConcurrentHashMap<>();
		for (int i = 0; i < 40; i++)
			map.put("other" + i, i);
		map.put("the route", "/routes/" + number);
		concurrent.put("org.example.web.servlet.Mapping.bestPattern", "/routes/" + number);
		TREE.set(tree(number));
		PAIRS.set(new Object[] { 2, "other", "other", "the route", "/routes/" + number });
		CONCURRENT.set(concurrent);
		HOLDER.local.set(number % 2 == 0 ? Collections.synchronizedMap(map) : Collections.unmodifiableMap(map));
		ThreadLocals.serve(number);
		HOLDER.local.remove();
		CONCURRENT.remove();
		TREE.remove();
		PAIRS.remove();
	}

	static void scoped(int number) throws Exception {
		Class<?> c = Class.forName("java.lang.ScopedValue");
		Method where = c.getMethod("where", c, Object.class);
		Object carrier = where.invoke(null, SCOPED, "/routes/" + number);
		Object outer = where.invoke(null, c.getMethod("newInstance").invoke(null), "other");
		Method run = carrier.getClass().getMethod("run", Runnable.class);
		run.invoke(carrier, (Runnable) () -> {
			try {
				run.invoke(outer, (Runnable) () -> ThreadLocals.serve(number));
			} catch (ReflectiveOperationException e) {
				throw new IllegalStateException(e);
			}
		});
	}

	static final class Waits {
		static void routes() throws InterruptedException {
			Thread.sleep(Long.MAX_VALUE);
		}
	}

	static void waits(int number) throws Exception {
		Map<String, Object> map = new HashMap<>();
		map.put("the route", "/waits/" + number);
		HOLDER.local.set(map);
		Waits.routes();
	}

	static void pool(int first, Server server) {
		boolean churns = Boolean.getBoolean("churn");
		for (int number = first;; number = (number + 3) % 8) {
			try {
				server.serve(number);
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
			if (churns)
				garbage = new byte[10000 + number];
		}
	}

	public static void main(String[] args) throws Exception {
		String mode = args.length > 0 ? args[0] : System.getProperty("mode");
		if (mode.equals("scoped"))
			SCOPED = Class.forName("java.lang.ScopedValue").getMethod("newInstance").invoke(null);
		Server server = mode.equals("slf4j") ? n -> mapOf("org.slf4j.MDC", n)
			: mode.equals("log4j") ? n -> mapOf("org.apache.logging.log4j.ThreadContext", n)
			: mode.equals("otel") ? Contexts::otel
			: mode.equals("maps") ? Contexts::maps
			: mode.equals("waits") ? Contexts::waits
			: Contexts::scoped;
		for (int i = 0; i < 3; i++) {
			int first = i;
			ThreadLocals.start(Boolean.getBoolean("virtual"), () -> pool(first, server));
		}
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}
}
