// SPDX-License-Identifier: Apache-2.0
import java.io.File;

// A system class loader (-Djava.system.class.loader=SlowLoader) that waits for the file of the property `go`. Until
// then the VM has not started completely, but its attach listener can be reached.
public class SlowLoader extends ClassLoader {
	public SlowLoader(ClassLoader parent) throws InterruptedException {
		super(parent);
		System.out.println("waiting");
		while (!new File(System.getProperty("go")).exists())
			Thread.sleep(50);
	}
}
