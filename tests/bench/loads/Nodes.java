// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

// Clients of ZooKeeper, each with its own nodes: HOST:PORT CLIENTS.
public class Nodes {
	static final int NODES = 200;

	static void client(String address, int number) throws Exception {
		CountDownLatch connected = new CountDownLatch(1);
		ZooKeeper zk = new ZooKeeper(address, 30000, event -> {
			if (event.getState() == Watcher.Event.KeeperState.SyncConnected)
				connected.countDown();
		});
		connected.await();
		String root = "/client" + number;
		zk.create(root, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
		for (int i = 0; i < NODES; i++)
			zk.create(root + "/" + i, new byte[100], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
		for (int i = 0;; i++) {
			String node = root + "/" + i % NODES;
			zk.setData(node, new byte[i % 1000], -1);
			for (int j = 0; j < 8; j++)
				zk.getData(root + "/" + (i + j) % NODES, false, null);
			if (i % 10 == 0)
				zk.getChildren(root, false);
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < Integer.parseInt(args[1]); i++) {
			int number = i;
			new Thread(() -> {
				try {
					client(args[0], number);
				} catch (Exception e) {
					System.err.println(e);
					System.exit(1);
				}
			}).start();
		}
	}
}
