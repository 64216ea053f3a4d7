// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.StringReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;

// Parses the same JSON in two ways: from a stream, and from a string that the stream was read into. For every line
// "ROUNDS" of standard input it prints the bytes that each way has allocated, by the JVM's count: "PLACE BYTES".
public class Json {
	static final com.sun.management.ThreadMXBean THREADS =
		(com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
	static Object sink;

	// Supports only the text below: objects, arrays, strings, integers.
	static final class Parser {
		final Reader in;
		int c;

		Parser(Reader in) throws IOException {
			this.in = in;
			c = in.read();
		}

		int next() throws IOException {
			int was = c;
			c = in.read();
			return was;
		}

		Object value() throws IOException {
			switch (c) {
			case '{': return object();
			case '[': return array();
			case '"': return string();
			default: return number();
			}
		}

		HashMap<String, Object> object() throws IOException {
			HashMap<String, Object> map = new HashMap<>();
			while (next() != '}') {
				String key = string();
				next();
				map.put(key, value());
			}
			return map;
		}

		ArrayList<Object> array() throws IOException {
			ArrayList<Object> list = new ArrayList<>();
			while (next() != ']')
				list.add(value());
			return list;
		}

		String string() throws IOException {
			StringBuilder text = new StringBuilder();
			next();
			while (c != '"')
				text.append((char) next());
			next();
			return text.toString();
		}

		Long number() throws IOException {
			long n = 0;
			while (c >= '0' && c <= '9')
				n = 10 * n + next() - '0';
			return n;
		}
	}

	static String text() {
		StringBuilder all = new StringBuilder("[");
		for (int i = 0; i < 60; i++)
			all.append(i > 0 ? "," : "").append("{\"name\":\"person number ").append(i)
				.append("\",\"age\":").append(1000 + i)
				.append(",\"address\":\"a street of some length, a town, a country\"}");
		return all.append("]").toString();
	}

	static String slurp(Reader in) throws IOException {
		StringBuilder all = new StringBuilder();
		char[] buffer = new char[4096];
		for (int n; (n = in.read(buffer)) > 0;)
			all.append(buffer, 0, n);
		return all.toString();
	}

	static void parseString(Reader in) throws IOException {
		sink = new Parser(new StringReader(slurp(in))).value();
	}

	static void parseStream(Reader in) throws IOException {
		sink = new Parser(in).value();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		long thread = Thread.currentThread().getId();
		String text = text();

		for (int i = 0; i < 2000; i++) {
			parseString(new StringReader(text));
			parseStream(new StringReader(text));
		}
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			long start = THREADS.getThreadAllocatedBytes(thread), string = 0, stream = 0;
			for (int i = Integer.parseInt(line); i > 0; i--) {
				parseString(new StringReader(text));
				long middle = THREADS.getThreadAllocatedBytes(thread);
				parseStream(new StringReader(text));
				long end = THREADS.getThreadAllocatedBytes(thread);
				string += middle - start;
				stream += end - middle;
				start = end;
			}
			System.out.println("parseString " + string + "\nparseStream " + stream + "\ndone");
		}
	}
}
