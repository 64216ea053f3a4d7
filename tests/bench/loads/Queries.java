// SPDX-License-Identifier: Apache-2.0
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

// Clients of a database, each with its own tables: URL CLIENTS.
public class Queries {
	static final int ROWS = 5000, GROUPS = 100;

	static void fill(Connection c, String table) throws SQLException {
		try (Statement s = c.createStatement()) {
			s.execute("create table " + table + "(id int primary key, grp int, name varchar(60), amount double)");
			s.execute("create index i" + table + " on " + table + "(grp)");
		}
		try (PreparedStatement p = c.prepareStatement("insert into " + table + " values (?, ?, ?, ?)")) {
			for (int i = 0; i < ROWS; i++) {
				p.setInt(1, i);
				p.setInt(2, i % GROUPS);
				p.setString(3, "name " + i * 7919 % ROWS);
				p.setDouble(4, i / 7.0);
				p.execute();
			}
		}
	}

	static void read(PreparedStatement p) throws SQLException {
		try (ResultSet r = p.executeQuery()) {
			while (r.next())
				r.getObject(1);
		}
	}

	static void client(String url, int number) throws SQLException {
		String table = "t" + number;
		Random random = new Random(number);

		try (Connection c = DriverManager.getConnection(url)) {
			fill(c, table);
			PreparedStatement sum = c.prepareStatement("select grp, sum(amount) from " + table +
								   " group by grp order by 2 desc");
			PreparedStatement like = c.prepareStatement("select upper(name) from " + table +
								    " where name like ? order by name");
			PreparedStatement join = c.prepareStatement("select count(*) from " + table + " a join " + table +
								    " b on a.grp = b.grp where a.id < ?");
			PreparedStatement update = c.prepareStatement("update " + table + " set amount = ? where id = ?");
			while (true) {
				read(sum);
				like.setString(1, "%" + random.nextInt(100) + "%");
				read(like);
				join.setInt(1, random.nextInt(200));
				read(join);
				for (int i = 0; i < 50; i++) {
					update.setDouble(1, random.nextDouble());
					update.setInt(2, random.nextInt(ROWS));
					update.execute();
				}
			}
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < Integer.parseInt(args[1]); i++) {
			int number = i;
			new Thread(() -> {
				try {
					client(args[0], number);
				} catch (SQLException e) {
					System.err.println(e);
					System.exit(1);
				}
			}).start();
		}
	}
}
