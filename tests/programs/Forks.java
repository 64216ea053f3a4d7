// SPDX-License-Identifier: Apache-2.0
// A JVM that forks without exec, as some native libraries do. It forks for each byte of input. The
// child starts a thread "in-the-fork". Once it has ended, the parent starts one "in-the-parent" and
// prints "child STATUS".
// usage: Forks LIBRARY
public class Forks {
	static native int fork();
	static native void exit();
	static native int await(int pid);

	static void start(String name) throws InterruptedException {
		Thread t = new Thread(() -> { }, name);
		t.start();
		t.join();
	}

	public static void main(String[] args) throws Exception {
		System.load(args[0]);
		start("warm");
		System.out.println("ready");
		while (System.in.read() >= 0) {
			int pid = fork();
			if (pid == 0) {
				start("in-the-fork");
				exit();
			}
			int status = await(pid);
			start("in-the-parent");
			System.out.println("child " + status);
		}
	}
}
