; SPDX-License-Identifier: Apache-2.0
; Parses a file of JSON, ARG 1, which is read into a string each time: how a profile of allocations shows that the
; string costs about as much as what is made of it. For every line "ROUNDS" it does so many; printed is what each half
; allocated by the JVM's own counter: "PLACE BYTES".
(require '[cheshire.core :as json])
(import 'java.lang.management.ManagementFactory)

(def ^com.sun.management.ThreadMXBean threads (ManagementFactory/getThreadMXBean))

(defn allocated []
  (.getThreadAllocatedBytes threads (.getId (Thread/currentThread))))

(defn read-all [file]
  (slurp file))

(defn parse-all [text]
  (json/parse-string text))

(defn rounds [file n]
  (loop [i 0 reading 0 parsing 0]
    (if (< i n)
      (let [start (allocated)
            text (read-all file)
            middle (allocated)]
        (parse-all text)
        (recur (inc i) (+ reading (- middle start)) (+ parsing (- (allocated) middle))))
      (do (println "read-all" reading)
          (println "parse-all" parsing)
          (println "done")
          (flush)))))

(println "ready")
(flush)
(doseq [line (line-seq (java.io.BufferedReader. *in*))]
  (rounds (first *command-line-args*) (Long/parseLong line)))
