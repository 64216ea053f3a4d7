// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;

// Requests a page again and again: URL CLIENTS.
public class Clients {
	static void ask(String url) {
		byte[] buffer = new byte[65536];

		while (true)
			try {
				HttpURLConnection c = (HttpURLConnection) URI.create(url).toURL().openConnection();
				try (InputStream in = c.getInputStream()) {
					while (in.read(buffer) > 0)
						;
				}
			} catch (Exception e) {
				System.err.println(e);
				System.exit(1);
			}
	}

	public static void main(String[] args) {
		for (int i = 0; i < Integer.parseInt(args[1]); i++)
			new Thread(() -> ask(args[0])).start();
	}
}
