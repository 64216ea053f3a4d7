// SPDX-License-Identifier: Apache-2.0
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Iterator;
import java.util.stream.Stream;

// The classes of the JVM's own modules.
//
//	Modules copy FOLDER MODULE..   copies their files to FOLDER/MODULE and prints the names
//	Modules link FOLDER MODULE..   links these classes, which verifies them, and prints the number
public class Modules {
	// Packages whose methods sysflame does not record.
	static boolean isOfJvm(String name) {
		return name.startsWith("java/lang/") || name.startsWith("jdk/internal/") || name.startsWith("sun/");
	}

	static void copy(Path module, Path from, Path to) throws Exception {
		String name = module.relativize(from).toString();
		if (!name.endsWith(".class") || name.endsWith("-info.class") || isOfJvm(name))
			return;
		Path file = to.resolve(name);
		Files.createDirectories(file.getParent());
		Files.write(file, Files.readAllBytes(from));
		System.out.println(file);
	}

	static int link(Path module, Path file) {
		String name = module.relativize(file).toString();
		name = name.substring(0, name.length() - ".class".length()).replace('/', '.');
		try {
			Class.forName(name, false, ClassLoader.getSystemClassLoader()).getDeclaredMethods();
			return 1;
		} catch (VerifyError | ClassFormatError e) {
			System.out.println("bad " + name + " " + e);
		} catch (Throwable e) {
			System.out.println("not linked " + name + " " + e);
		}
		return 0;
	}

	public static void main(String[] args) throws Exception {
		int linked = 0;
		for (int i = 2; i < args.length; i++) {
			boolean isCopy = args[0].equals("copy");
			Path to = Paths.get(args[1], args[i]);
			Path from = isCopy ? FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules", args[i]) : to;
			try (Stream<Path> all = Files.walk(from)) {
				for (Iterator<Path> at = all.iterator(); at.hasNext();) {
					Path file = at.next();
					if (isCopy)
						copy(from, file, to);
					else if (file.toString().endsWith(".class") && !isOfJvm(from.relativize(file).toString()))
						linked += link(from, file);
				}
			}
		}
		if (linked > 0)
			System.out.println("linked " + linked);
	}
}
