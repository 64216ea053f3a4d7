// SPDX-License-Identifier: Apache-2.0
// Maps its own libjvm.so read-only, like a profiler in the process that reads its symbols, and then
// works like Split.
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

public class MapsLibjvm {
	static final List<MappedByteBuffer> kept = new ArrayList<>();

	static String libjvm() throws IOException {
		for (String line : Files.readAllLines(Paths.get("/proc/self/maps")))
			if (line.endsWith("/libjvm.so"))
				return line.substring(line.indexOf('/'));
		throw new IOException("no libjvm.so is mapped");
	}

	public static void main(String[] args) throws Exception {
		Path libjvm = Paths.get(libjvm());
		try (FileChannel file = FileChannel.open(libjvm)) {
			for (int i = 0; i < 3; i++)
				kept.add(file.map(FileChannel.MapMode.READ_ONLY, 0, file.size()));
		}
		Split.main(args);
	}
}
