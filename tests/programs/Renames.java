/* SPDX-License-Identifier: Apache-2.0 */
/** One thread, which renames itself for each task: "order 1 of customer" to "order 3 of customer". */
public class Renames {
	static volatile long sum;

	static void work(long until) {
		long s = sum;

		while (System.nanoTime() < until)
			s += s >>> 3 ^ 31;
		sum = s;
	}

	public static void main(String[] args) {
		System.out.println("ready");
		for (;;)
			for (int task = 1; task <= 3; task++) {
				Thread.currentThread().setName("order " + task + " of customer");
				work(System.nanoTime() + 20_000_000);
			}
	}
}
