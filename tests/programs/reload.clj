; SPDX-License-Identifier: Apache-2.0
; Loads Clojure's libraries again and again and prints maps, for ARG 1 seconds: many stacks, deep and of all tiers.
(require '[clojure.pprint :as pretty])

(def libraries '[clojure.set clojure.string clojure.walk clojure.zip clojure.data clojure.xml clojure.template
                 clojure.edn clojure.java.io clojure.reflect clojure.repl clojure.test clojure.stacktrace])

(def end (+ (System/currentTimeMillis) (* 1000 (Long/parseLong (first *command-line-args*)))))

(while (< (System/currentTimeMillis) end)
  (doseq [library libraries]
    (require library :reload))
  (with-out-str (pretty/pprint (into {} (for [i (range 200)] [i (range (mod i 17))])))))
