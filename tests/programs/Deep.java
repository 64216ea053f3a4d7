// SPDX-License-Identifier: Apache-2.0
// Threads that call two methods in turn down to a depth, with work on the way: Deep THREADS DEPTH.
// Prints "ready" first.
public class Deep {
	static int work(int value, int rounds) {
		for (int i = 0; i < rounds; i++)
			value = value * 1103515245 + 12345;
		return value;
	}

	static int even(int value, int depth) {
		value = work(value, 3000);
		if (depth > 0)
			value = odd(value, depth - 1);
		return work(value, 3000);
	}

	static int odd(int value, int depth) {
		value = work(value, 2000);
		if (depth > 0)
			value = even(value, depth - 1);
		return work(value, 2000);
	}

	static volatile int last;

	static void run(int depth) {
		for (;;)
			last = even(last, depth);
	}

	public static void main(String[] args) {
		int depth = Integer.parseInt(args[1]);
		System.out.println("ready");
		for (int i = 1; i < Integer.parseInt(args[0]); i++)
			new Thread(() -> run(depth), "deep-" + i).start();
		run(depth);
	}
}
