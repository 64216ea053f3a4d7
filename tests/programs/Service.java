// SPDX-License-Identifier: Apache-2.0
// A service under load: clients send requests over loopback sockets and wait for the answers. For
// each byte of input it prints these numbers and resets them:
// "sent N answered N p50 US p99 US max US heap KB", the heap after a collection.
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

public class Service {
	static final int CLIENTS = 3, KEPT = 1 << 20;
	static final AtomicLong sent = new AtomicLong(), answered = new AtomicLong();
	static final ConcurrentHashMap<Integer, String> store = new ConcurrentHashMap<>();
	static final int[] latencies = new int[KEPT];
	static int nrLatencies;
	static volatile boolean paused;

	static void serve(Socket s) throws Exception {
		DataInputStream in = new DataInputStream(s.getInputStream());
		DataOutputStream out = new DataOutputStream(s.getOutputStream());
		for (;;) {
			int key = in.readInt();
			store.put(key % 1000, "value-" + key + "-" + Integer.toHexString(key * 31));
			out.writeInt(store.get(key % 1000).hashCode());
			out.flush();
		}
	}

	static void ask(Socket s, int first) throws Exception {
		DataInputStream in = new DataInputStream(s.getInputStream());
		DataOutputStream out = new DataOutputStream(s.getOutputStream());
		for (int key = first;; key += CLIENTS) {
			while (paused)
				Thread.sleep(1);
			long start = System.nanoTime();
			sent.incrementAndGet();
			out.writeInt(key);
			out.flush();
			in.readInt();
			answered.incrementAndGet();
			int us = (int) ((System.nanoTime() - start) / 1000);
			synchronized (latencies) {
				if (nrLatencies < KEPT)
					latencies[nrLatencies++] = us;
			}
			Thread.sleep(1);
		}
	}

	interface Work {
		void run() throws Exception;
	}

	static void start(String name, Work work) {
		Thread t = new Thread(() -> {
			try {
				work.run();
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(1);
			}
		}, name);
		t.setDaemon(true);
		t.start();
	}

	static synchronized void report() throws Exception {
		paused = true;
		for (int i = 0; i < 5000 && sent.get() != answered.get(); i++)
			Thread.sleep(1);
		System.gc();
		long heap = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
		synchronized (latencies) {
			int[] sorted = Arrays.copyOf(latencies, Math.max(nrLatencies, 1));
			Arrays.sort(sorted);
			System.out.println("sent " + sent + " answered " + answered + " p50 " + sorted[sorted.length / 2]
				+ " p99 " + sorted[(int) (sorted.length * 0.99)] + " max " + sorted[sorted.length - 1]
				+ " heap " + heap / 1024);
			nrLatencies = 0;
		}
		sent.set(0);
		answered.set(0);
		paused = false;
	}

	public static void main(String[] args) throws Exception {
		ServerSocket listener = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
		for (int i = 0; i < CLIENTS; i++) {
			int first = i;
			Socket client = new Socket("127.0.0.1", listener.getLocalPort()), server = listener.accept();
			client.setTcpNoDelay(true);
			server.setTcpNoDelay(true);
			start("server-" + i, () -> serve(server));
			start("client-" + i, () -> ask(client, first));
		}
		System.out.println("ready");
		while (System.in.read() >= 0)
			report();
	}
}
