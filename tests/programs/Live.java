// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

// Keeps a known share of its allocations. For every line "ROUNDS" of standard input it does that many rounds and
// prints for each place the allocated and the reachable bytes: "PLACE BYTES REACHABLE".
public class Live {
	static final class Node {
		long a, b;
		Node next;
	}

	static final int ARRAY = 3000, ARRAY_BYTES = 3016, NODE_BYTES = 32, ARRAYS = 100, NODES = 6000;
	static List<Object> list = new ArrayList<>();
	static Node head;
	static Object sink;

	static void keep() {
		for (int i = 0; i < ARRAYS; i++)
			list.add(new byte[ARRAY]);
	}

	static void drop() {
		for (int i = 0; i < 3 * ARRAYS; i++)
			sink = new byte[ARRAY];
		sink = null;
	}

	// One in three stays.
	static void third() {
		for (int i = 0; i < NODES; i++) {
			Node n = new Node();
			sink = n;
			if (i % 3 != 0)
				continue;
			n.next = head;
			head = n;
		}
		sink = null;
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		for (int i = 0; i < 200; i++) {
			keep();
			drop();
			third();
			list.clear();
			head = null;
		}
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			long rounds = Integer.parseInt(line);
			for (long i = 0; i < rounds; i++) {
				keep();
				drop();
				third();
			}
			System.out.println("keep " + rounds * ARRAYS * ARRAY_BYTES + " " + rounds * ARRAYS * ARRAY_BYTES);
			System.out.println("drop " + rounds * 3 * ARRAYS * ARRAY_BYTES + " 0");
			System.out.println("third " + rounds * NODES * NODE_BYTES + " " + rounds * NODES / 3 * NODE_BYTES);
			System.out.println("done");
		}
	}
}
