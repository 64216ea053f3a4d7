// SPDX-License-Identifier: Apache-2.0
// A JVM that runs before() until its input ends, then executes a command in its own process.
// usage: Becomes LIBRARY COMMAND..
public class Becomes {
	static volatile long sum;

	static native void exec(String[] command);

	static void before() throws Exception {
		for (int i = 0; i < 3000000; i++)
			sum += i ^ sum << 1;
	}

	public static void main(String[] args) throws Exception {
		System.load(args[0]);
		System.out.println("ready");
		while (System.in.available() == 0)
			before();
		exec(java.util.Arrays.copyOfRange(args, 1, args.length));
	}
}
