// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.function.Function;

// Calls methods of all shapes and checks their results. Every line of standard input gives the number of rounds.
// Prints the number of calls of each: "METHOD CALLS".
public class Calls {
	static final HashMap<String, Integer> called = new HashMap<>();
	static int bad;

	interface Shape {
		default int area(int a) {
			return a * a;
		}
	}

	static final class Square implements Shape {
		final int side;
		final String name;

		Square(int side) {
			this(side, side > 2 ? new StringBuilder("large").append(side).toString() : "small");
		}

		Square(int side, String name) {
			this.side = side;
			this.name = name;
		}

		synchronized long both(long a, double b) {
			return a + (long) b + area(side) + name.length();
		}
	}

	// The first instruction is the target of a jump.
	static int countdown(int n) {
		while (n > 0)
			n -= 3;
		return n;
	}

	static String choose(int n) {
		switch (n) {
		case 0: return "none";
		case 1: return "one";
		case 2: return "two";
		case 1000: return "many";
		default: return n < 0 ? "negative" : "some";
		}
	}

	static int caught(Object o) {
		try {
			return ((Integer) o) + 1;
		} catch (ClassCastException e) {
			return -1;
		} finally {
			bad += o == null ? 1 : 0;
		}
	}

	static int recurse(int n) {
		return n == 0 ? 0 : 1 + recurse(n - 1);
	}

	static int overloaded(int n) {
		return n;
	}

	static int overloaded(String s) {
		return s.length();
	}

	static Function<Integer, Integer> lambda(int n) {
		return k -> k + n;
	}

	static void check(String method, int calls, boolean right) {
		called.merge(method, calls, Integer::sum);
		if (!right)
			bad++;
	}

	static void round(int i) {
		Square s = new Square(i % 5);
		check("Calls$Square.<init>", 2, s.side == i % 5);
		check("Calls$Square.both", 1, s.both(7, 2.5) == 9 + s.side * s.side + s.name.length());
		check("Calls$Shape.area", 1, true);
		check("Calls.countdown", 1, countdown(9) == 0);
		check("Calls.choose", 3, choose(1).equals("one") && choose(1000).equals("many") && choose(-5).equals("negative"));
		check("Calls.caught", 2, caught(4) == 5 && caught("x") == -1);
		check("Calls.recurse", 5, recurse(4) == 4);
		check("Calls.overloaded", 2, overloaded(3) == 3 && overloaded("four") == 4);
		check("Calls.lambda", 1, lambda(2).apply(3) == 5);
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		for (int i = 0; i < 30000; i++)
			round(i);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			called.clear();
			for (int i = Integer.parseInt(line); i > 0; i--)
				round(i);
			called.forEach((method, calls) -> System.out.println(method + " " + calls));
			System.out.println("bad " + bad + "\ndone");
		}
	}
}
