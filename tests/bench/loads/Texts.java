// SPDX-License-Identifier: Apache-2.0
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

// Indexes texts of invented words and searches them, round after round.
public class Texts {
	static final int TEXTS = 2000, WORDS = 120, VOCABULARY = 20000;

	static String word(Random random) {
		int n = (int) Math.min(VOCABULARY, Math.abs(random.nextGaussian()) * VOCABULARY / 3);

		return Integer.toString(n + 1000, 36) + "ing";
	}

	static void index(IndexWriter writer, Random random) throws Exception {
		StringBuilder text = new StringBuilder();

		for (int i = 0; i < TEXTS; i++) {
			text.setLength(0);
			for (int j = 0; j < WORDS; j++)
				text.append(word(random)).append(' ');
			Document document = new Document();
			document.add(new TextField("text", text.toString(), Field.Store.YES));
			writer.addDocument(document);
		}
		writer.commit();
	}

	static void search(IndexSearcher searcher, Random random) throws Exception {
		for (int i = 0; i < 1000; i++) {
			BooleanQuery.Builder both = new BooleanQuery.Builder();
			both.add(new TermQuery(new Term("text", word(random))), BooleanClause.Occur.SHOULD);
			both.add(new TermQuery(new Term("text", word(random))), BooleanClause.Occur.SHOULD);
			searcher.search(both.build(), 10);
			if (i % 10 == 0)
				searcher.search(new PrefixQuery(new Term("text", word(random).substring(0, 2))), 10);
			if (i % 50 == 0)
				searcher.search(new FuzzyQuery(new Term("text", word(random))), 10);
		}
	}

	public static void main(String[] args) throws Exception {
		for (int round = 0;; round++) {
			Random random = new Random(7);
			ByteBuffersDirectory directory = new ByteBuffersDirectory();
			try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
				index(writer, random);
			}
			try (DirectoryReader reader = DirectoryReader.open(directory)) {
				search(new IndexSearcher(reader), random);
			}
			System.out.println("round " + round);
		}
	}
}
