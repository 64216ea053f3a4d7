# SPDX-License-Identifier: Apache-2.0
"""Compares where two profilers report a JVM's CPU time, for tests/bench/servers.

usage: selves.py stacks OURS.. -- THEIRS..   "BLOB_PERCENT GAP_POINTS SIGMAS DRIFT_SIGMAS NAME" of collapsed
                                             stacks with the marks of the format annotated
       selves.py duration FILE.pb.gz         the profile's duration in seconds
"""
import gzip
import math
import re
import sys
from collections import Counter

# Names of HotSpot's CodeBlobs that do not identify the running code.
BLOB = re.compile(r"StubRoutines|vtable chunks|\w*Blob\b|(I2C/C2I |AOT )?adapters|MethodHandles? ?[Aa]dapter|Interpreter$")
JAVA = re.compile(r"_\[[01ij]\]$")


def place_of(leaf):
    """Java methods by name; the two profilers name other code differently."""
    if leaf.endswith("_[k]"):
        return "(kernel)"
    if not JAVA.search(leaf):
        return "(native or stub)"
    name = JAVA.sub("", leaf).replace("/", ".")
    return re.sub(r"0x[0-9a-f]+|\d+", "#", name)


def read(paths):
    """Samples by place for each file, and the number of samples whose leaf has a blob's name."""
    selves, blobs = [], 0
    for path in paths:
        here = Counter()
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                stack, _, count = line.rpartition(" ")
                leaf = stack.rpartition(";")[2]
                here[place_of(leaf)] += int(count)
                if not JAVA.search(leaf) and BLOB.search(leaf):
                    blobs += int(count)
        selves.append(here)
    return selves, blobs


def largest_gap(a, b):
    """(points, sigmas, place) of the largest difference of a share."""
    nr_a, nr_b = sum(a.values()), sum(b.values())
    worst = (0.0, 0.0, "-")
    if not nr_a or not nr_b:
        return worst
    for place in a.keys() | b.keys():
        gap = abs(a[place] / nr_a - b[place] / nr_b)
        share = (a[place] + b[place]) / (nr_a + nr_b)
        sigma = math.sqrt(share * (1 - share) * (1 / nr_a + 1 / nr_b))
        if 100 * gap > worst[0]:
            worst = (100 * gap, gap / sigma if sigma else 0.0, place)
    return worst


def total(selves):
    return sum(selves, Counter())


def stacks(ours, theirs):
    a, blobs = read(ours)
    b, _ = read(theirs)
    points, sigmas, place = largest_gap(total(a), total(b))
    half = len(a) // 2
    drift = largest_gap(total(a[:half]), total(a[half:]))[1] if half else 0.0
    nr = sum(total(a).values())
    print(f"{100 * blobs / nr if nr else 0:.3f} {points:.2f} {sigmas:.1f} {drift:.1f} {place}")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def duration(path):
    """Field 10 of pprof's Profile, duration_nanos."""
    data = gzip.open(path).read()
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 2:
            size, at = varint(data, at)
            at += size
            continue
        value, at = varint(data, at)
        if key >> 3 == 10:
            print(f"{value / 1e9:.4f}")
            return
    sys.exit(f"{path}: no duration")


if sys.argv[1] == "duration":
    duration(sys.argv[2])
else:
    split = sys.argv.index("--")
    stacks(sys.argv[2:split], sys.argv[split + 1:])
