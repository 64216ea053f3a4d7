// SPDX-License-Identifier: Apache-2.0
// Counts, sorts, matches and formats words, round after round.
def random = new Random(7)
def text = (0..<20000).collect { "word${random.nextInt(3000)}" }.join(' ')

def fibonacci(n) {
	n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)
}

while (true) {
	def counts = [:].withDefault { 0 }
	text.split(' ').each { counts[it] += 1 }
	def sorted = counts.sort { a, b -> b.value <=> a.value ?: a.key <=> b.key }
	def lines = sorted.collect { word, nr -> String.format('%-12s %5d', word, nr) }
	lines.findAll { it =~ /9\d* +\d+$/ }.collect { it.reverse() }.collate(10)
	fibonacci(20)
	println 'round'
}
