# SPDX-License-Identifier: Apache-2.0
# Counts, sorts, matches and formats words, round after round.
$stdout.sync = true
random = Random.new(7)
text = Array.new(20_000) { "word#{random.rand(3000)}" }.join(' ')

def primes(limit)
  sieve = Array.new(limit + 1, true)
  (2..Math.sqrt(limit)).each do |i|
    next unless sieve[i]
    (i * i).step(limit, i) { |j| sieve[j] = false }
  end
  (2..limit).select { |i| sieve[i] }
end

loop do
  counts = Hash.new(0)
  text.scan(/\w+/) { |word| counts[word] += 1 }
  sorted = counts.sort_by { |word, nr| [-nr, word] }
  lines = sorted.map { |word, nr| format('%-12s %5d', word, nr) }
  lines.select { |line| line =~ /9\d* +[0-9]+$/ }.map(&:reverse).each_slice(10).to_a
  primes(100_000).sum
  puts 'round'
end
