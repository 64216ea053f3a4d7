// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;

/** The bundled sample: a small order service that parses, sorts, compresses and logs, forever. */
public final class Sample {
	static final class Order {
		final int id;
		final String customer;
		final double amount;

		Order(int id, String customer, double amount) {
			this.id = id;
			this.customer = customer;
			this.amount = amount;
		}
	}

	private static final Pattern LINE = Pattern.compile("order (\\d+) of (\\w+): ([0-9.]+) EUR");
	private static volatile Object sink;

	private static String receive(Random random, int id) {
		return "order " + id + " of customer" + random.nextInt(500) + ": " + random.nextInt(10000) / 100.0
				+ " EUR";
	}

	private static Order parse(String line) {
		Matcher m = LINE.matcher(line);
		if (!m.matches())
			throw new IllegalArgumentException(line);
		return new Order(Integer.parseInt(m.group(1)), m.group(2), Double.parseDouble(m.group(3)));
	}

	private static Map<String, Double> totals(List<Order> orders) {
		Map<String, Double> totals = new HashMap<>();
		for (Order o : orders)
			totals.merge(o.customer, o.amount, Double::sum);
		return totals;
	}

	private static List<String> best(Map<String, Double> totals) {
		return totals.entrySet().stream()
				.sorted(Collections.reverseOrder(Map.Entry.comparingByValue()))
				.limit(10)
				.map(e -> e.getKey() + "=" + Math.round(e.getValue()))
				.collect(Collectors.toList());
	}

	private static byte[] compress(List<String> lines) throws IOException {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		try (GZIPOutputStream gzip = new GZIPOutputStream(out)) {
			for (String line : lines)
				gzip.write(line.getBytes("UTF-8"));
		}
		return out.toByteArray();
	}

	/** An already deleted file: it disappears with the program, however that ends. */
	private static RandomAccessFile openLog() throws IOException {
		File file = File.createTempFile("sample", ".log");
		RandomAccessFile log = new RandomAccessFile(file, "rw");
		file.delete();
		return log;
	}

	private static void log(RandomAccessFile log, byte[] bytes) throws IOException {
		for (int i = 0; i < 64; i++) {
			log.seek(0);
			log.write(bytes);
		}
	}

	private static void serve(int seed) throws IOException {
		Random random = new Random(seed);
		RandomAccessFile log = openLog();
		for (;;) {
			List<String> lines = new ArrayList<>();
			for (int i = 0; i < 5000; i++)
				lines.add(receive(random, i));
			List<Order> orders = new ArrayList<>();
			for (String line : lines)
				orders.add(parse(line));
			sink = best(totals(orders));
			log(log, compress(lines));
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < 2; i++) {
			final int seed = i;
			Thread t = new Thread(() -> {
				try {
					serve(seed);
				} catch (IOException e) {
					throw new java.io.UncheckedIOException(e);
				}
			}, "orders-" + i);
			t.start();
		}
		System.out.println("ready");
	}
}
