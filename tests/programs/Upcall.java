// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;

/**
 * C code that calls Java without JNI (java.lang.foreign, JDK 22 and later): qsort compares by a method
 * that computes. Uses reflection, because it is compiled for JDK 8.
 */
public final class Upcall {
	static volatile long sink;

	static int compare(long a, long b) {
		long x = sink;
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005L + (i ^ x >>> 29);
		sink = x;
		return Long.compare(a, b);
	}

	private static Class<?> type(String name) throws Exception {
		return Class.forName("java.lang.foreign." + name);
	}

	private static Object layout(String name) throws Exception {
		return type("ValueLayout").getField(name).get(null);
	}

	private static Object layouts(Object... all) throws Exception {
		Object array = Array.newInstance(type("MemoryLayout"), all.length);
		for (int i = 0; i < all.length; i++)
			Array.set(array, i, all[i]);
		return array;
	}

	public static void main(String[] args) throws Throwable {
		Object linker = type("Linker").getMethod("nativeLinker").invoke(null);
		Object arena = type("Arena").getMethod("global").invoke(null);
		Object options = Array.newInstance(type("Linker$Option"), 0);
		Object number = layout("JAVA_LONG"), address = layout("ADDRESS");
		Class<?> layoutType = type("MemoryLayout"), arrayType = layouts().getClass();
		Object compared = type("FunctionDescriptor").getMethod("of", layoutType, arrayType)
			.invoke(null, layout("JAVA_INT"), layouts(number, number));
		Object sorts = type("FunctionDescriptor").getMethod("ofVoid", arrayType)
			.invoke(null, layouts(address, number, number, address));
		MethodHandle compare = MethodHandles.lookup().findStatic(Upcall.class, "compare",
			MethodType.methodType(int.class, long.class, long.class));
		Object stub = type("Linker").getMethod("upcallStub", MethodHandle.class,
			type("FunctionDescriptor"), type("Arena"), options.getClass())
			.invoke(linker, compare, compared, arena, options);
		Object lookup = type("Linker").getMethod("defaultLookup").invoke(linker);
		Method find = type("SymbolLookup").getMethod("find", String.class);
		Object qsort = ((java.util.Optional<?>) find.invoke(lookup, "qsort")).get();
		MethodHandle sort = (MethodHandle) type("Linker").getMethod("downcallHandle",
			type("MemorySegment"), type("FunctionDescriptor"), options.getClass())
			.invoke(linker, qsort, sorts, options);
		Object four = type("SegmentAllocator").getMethod("allocate", long.class).invoke(arena, 32L);

		System.out.println("ready");
		for (;;)
			sort.invoke(four, 4L, 8L, stub);
	}
}
