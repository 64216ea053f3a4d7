;; SPDX-License-Identifier: Apache-2.0
;; Counts, sorts, matches and formats words, round after round.
(require '[clojure.string :as string])

(def text
  (let [random (java.util.Random. 7)]
    (string/join " " (repeatedly 20000 #(str "word" (.nextInt random 3000))))))

(defn primes [limit]
  (loop [found [] candidates (range 2 limit)]
    (if-let [p (first candidates)]
      (if (> (* p p) limit)
        (into found candidates)
        (recur (conj found p) (doall (remove #(zero? (rem % p)) (rest candidates)))))
      found)))

(loop []
  (let [counts (frequencies (string/split text #" "))
        sorted (sort-by (juxt (comp - val) key) counts)
        lines (map (fn [[word nr]] (format "%-12s %5d" word nr)) sorted)]
    (doall (partition-all 10 (map string/reverse (filter #(re-find #"9\d* +\d+$" %) lines))))
    (reduce + (primes 5000))
    (println "round")
    (recur)))
