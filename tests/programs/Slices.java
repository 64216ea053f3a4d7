// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.StringReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Always the same work, measured in slices of some ms. For each line "ROUNDS" of standard input it parses
 * JSON that often and prints the CPU time that its thread took for it, in ns.
 */
public class Slices {
	static void work(String text, int rounds) throws Exception {
		for (int i = 0; i < rounds; i++)
			Json.parseStream(new StringReader(text));
	}

	public static void main(String[] args) throws Exception {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		String text = Json.text();

		work(text, 4000);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			int rounds = Integer.parseInt(line);
			work(text, rounds / 8 + 1); // other threads have filled the caches meanwhile
			long start = threads.getCurrentThreadCpuTime();
			work(text, rounds);
			System.out.println(threads.getCurrentThreadCpuTime() - start);
		}
	}
}
