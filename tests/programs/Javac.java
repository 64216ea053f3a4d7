// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** Compiles its arguments, Java sources, forever: real code with mixed stacks of about 30 frames. */
public final class Javac {
	public static void main(String[] sources) throws Exception {
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		Path out = Files.createTempDirectory("javac");
		List<String> args = new ArrayList<>(Arrays.asList("-nowarn", "-proc:none", "-d", out.toString()));

		args.addAll(Arrays.asList(sources));
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			for (java.io.File file : out.toFile().listFiles())
				file.delete();
			out.toFile().delete();
		}));
		System.out.println("ready");
		while (true)
			javac.run(null, null, new ByteArrayOutputStream(), args.toArray(new String[0]));
	}
}
