// SPDX-License-Identifier: Apache-2.0
// A JVM that starts /bin/true all the time, by fork and exec, in two threads that also work.
public class Spawns implements Runnable {
	static volatile long sum;

	static void work() {
		for (int i = 0; i < 300000; i++)
			sum += i ^ sum << 1;
	}

	public void run() {
		for (;;) {
			work();
			try {
				new ProcessBuilder("/bin/true").start().waitFor();
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		}
	}

	public static void main(String[] args) {
		System.setProperty("jdk.lang.Process.launchMechanism", "FORK");
		new Thread(new Spawns()).start();
		new Thread(new Spawns()).start();
		System.out.println("ready");
	}
}
