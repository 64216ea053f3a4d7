#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a Pyroscope server: takes pushes, and merges what it is asked for.

usage: pyroscope.py FOLDER PORT [CERTIFICATE KEY]

Each line of FOLDER/series is a profile without a push, "TIME_MS LABEL=VALUE .. STACK:NANOSECONDS ..", with frames
joined by ";". Queries are decoded with tests/lib/schema/querier.proto; a field that it lacks is refused. They go to
FOLDER/queries, a line each, with their headers in FOLDER/heads. The port goes to FOLDER/port. FOLDER/mode says how
profiles are answered: ok (if it is missing), html, json, silent, drip (a byte a second), endless, wrong, count
(another unit), text (stacks), or a status.
"""
import collections
import gzip
import http.server
import os
import re
import ssl
import struct
import subprocess
import sys
import threading
import time

folder = sys.argv[1]
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema")
METHODS = {"LabelValues": "LabelValuesRequest", "SelectSeries": "SelectSeriesRequest",
           "SelectMergeProfile": "SelectMergeProfileRequest"}
pushed = []  # (time_ms, labels, {stack: {type: value}}); a stack is a tuple of (name, file, mapping), leaf first
lock = threading.Lock()


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    out, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {tag & 7}")
        out[tag >> 3].append(value)
    return out


def numbers(values):
    out = []
    for value in values:
        at = 0
        while isinstance(value, bytes) and at < len(value):
            number, at = read_varint(value, at)
            out.append(number)
        if isinstance(value, int):
            out.append(value)
    return out


def first(message, number, default=0):
    return message[number][0] if message[number] else default


def read_pprof(data):
    top = fields(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    texts = [t.decode() for t in top[6]]
    types = [f"{texts[first(fields(t), 1)]}:{texts[first(fields(t), 2)]}" for t in top[1]]
    functions = {first(f, 1): (texts[first(f, 2)], texts[first(f, 4)]) for f in map(fields, top[5])}
    mappings = {first(m, 1): texts[first(m, 5)] for m in map(fields, top[3])}
    places = {}
    for place in map(fields, top[4]):
        lines = [functions[first(fields(line), 1)] for line in place[4]]
        places[first(place, 1)] = [(name, file, mappings.get(first(place, 2), "")) for name, file in lines]
    period = fields(first(top, 11, b""))
    suffix = f"{texts[first(period, 1)]}:{texts[first(period, 2)]}"
    stacks = collections.defaultdict(collections.Counter)
    for sample in map(fields, top[2]):
        stack = tuple(frame for place in numbers(sample[1]) for frame in places[place])
        for kind, value in zip(types, numbers(sample[2])):
            stacks[stack][f"{kind}:{suffix}"] += value
    return first(top, 9) // 1000000, stacks


def write_pprof(stacks, kind, unit):
    texts, frames = {"": 0}, {}
    functions, places, mappings, body = b"", b"", {}, b""
    number = lambda text: texts.setdefault(text, len(texts))
    out = field(1, field(1, number(kind)) + field(2, number(unit)))
    for stack, value in stacks.items():
        for name, file, mapping in stack:
            if (name, file, mapping) in frames:
                continue
            new = frames[name, file, mapping] = len(frames) + 1
            functions += field(5, field(1, new) + field(2, number(name)) + field(3, number(name)) + field(4, number(file)))
            where = field(2, mappings.setdefault(mapping, len(mappings) + 1)) if mapping else b""
            places += field(4, field(1, new) + where + field(4, field(1, new)))
        ids = b"".join(varint(frames[frame]) for frame in stack)
        body += field(2, field(1, ids) + field(2, varint(value)))
    for mapping, new in mappings.items():
        body += field(3, field(1, new) + field(5, number(mapping)) + field(7, 1))
    out += body + places + functions
    out += field(11, field(1, number("cpu")) + field(2, number("nanoseconds"))) + field(12, 10101010)
    # Texts stand behind what refers to them; field 6 in the order of its numbers.
    return out + b"".join(field(6, text) for text in texts)


def take_push(data):
    for series in fields(data)[1]:
        series = fields(series)
        labels = {first(p, 1).decode(): first(p, 2, b"").decode() for p in map(fields, series[1])}
        for raw in series[2]:
            at_ms, stacks = read_pprof(first(fields(raw), 1))
            named = {s: {f"{labels['__name__']}:{k}": v for k, v in values.items()} for s, values in stacks.items()}
            with lock:
                pushed.append((at_ms, labels, named))


def all_profiles():
    yield from list(pushed)
    try:
        lines = open(f"{folder}/series", encoding="utf-8").read().split("\n")
    except FileNotFoundError:
        return
    for line in filter(None, lines):
        at_ms, *words = line.split("\t")
        labels = dict(w.split("=", 1) for w in words if "=" in w and ":" not in w)
        stacks = {}
        for word in (w for w in words if ":" in w):
            names, value = word.rsplit(":", 1)
            stack = tuple((n, "", "") for n in reversed(names.split(";")))
            stacks[stack] = {"process_cpu:cpu:nanoseconds:cpu:nanoseconds": int(value)}
        yield int(at_ms), labels, stacks


def decode(message, data):
    run = subprocess.run(["protoc", f"-I{SCHEMA}", f"--decode=querier.v1.{message}", "querier.proto"], input=data,
                         capture_output=True, check=False)
    if run.returncode:
        raise ValueError(run.stderr.decode())
    out = {}
    for line in run.stdout.decode("latin-1").split("\n"):
        if not line:
            continue
        key, value = line.split(": ", 1)
        if key.isdigit() or key in out:
            raise ValueError(f"{message}: {line}")
        if value[0] == '"':
            value = value[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1").decode()
        out[key] = value
    return out


def matchers(selector):
    if not re.fullmatch(r'\{((\w+(=|!=)"(\\.|[^"\\])*")(,(?=\w))?)*\}', selector):
        raise ValueError(f"selector {selector}")
    return [(k, op, re.sub(r"\\(.)", r"\1", v)) for k, op, v, _ in re.findall(r'(\w+)(=|!=)"((\\.|[^"\\])*)"', selector)]


def chosen(query, selector):
    terms = matchers(selector)
    for at_ms, labels, stacks in all_profiles():
        if int(query["start"]) <= at_ms < int(query["end"]) and all((labels.get(k, "") == v) == (op == "=") for k, op, v in terms):
            yield at_ms, labels, stacks


def values_of(query):
    return b"".join(field(1, v) for v in sorted({labels[query["name"]] for _, labels, _ in chosen(query, query["matchers"]) if query["name"] in labels}))


def series_of(query):
    sums = collections.Counter()
    step = int(float(query["step"]) * 1000)
    for at_ms, _, stacks in chosen(query, query["label_selector"]):
        sums[at_ms - at_ms % step] += sum(values.get(query["profile_typeID"], 0) for values in stacks.values())
    points = b"".join(field(2, field(1, float(v)) + field(2, at)) for at, v in sorted(sums.items()))
    return field(1, points) if points else b""


def profile_of(query, unit=None):
    merged = collections.Counter()
    wanted = query["profile_typeID"]
    for _, _, stacks in chosen(query, query["label_selector"]):
        for stack, values in stacks.items():
            if wanted in values:
                merged[stack] += values[wanted]
    return write_pprof(merged, wanted.split(":")[1], unit or wanted.split(":")[2]) if merged else b""


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="application/proto"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def trickle(self, pause, chunk):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(chunk)
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            self.close_connection = True

    def merged(self, query, how):
        if how == "html":
            self.answer(200, b"<html><script>alert(1)</script> 1\n</html> 2\n", "text/html")
        elif how == "text":
            self.answer(200, b"main;work 5\nmain;rest 7\n", "text/plain")
        elif how == "json":
            self.answer(200, b'{"flamegraph": {"names": ["total"]}}', "application/json")
        elif how == "silent":
            time.sleep(3600)
        elif how in ("drip", "endless"):
            self.trickle(*((1, b"\n") if how == "drip" else (0, b"\n\x04\x08\x01\x10\x02" * 10000)))
        elif how == "wrong":
            self.answer(200, field(2, b"\xff\xff\xff") + field(99, "x") + b"\x07")
        elif how == "count":
            self.answer(200, profile_of(query, "bytes"))
        elif how == "ok":
            self.answer(200, profile_of(query))
        else:
            self.answer(int(how), b'{"code":"unavailable","message":"<b>no</b> such\\nthing"}', "application/json")

    def do_POST(self):
        data, method = self.rfile.read(int(self.headers["Content-Length"])), self.path.split("/")[-1]
        if self.path.endswith("/push.v1.PusherService/Push"):
            take_push(data)
            self.answer(200, b"")
            return
        try:
            if self.headers["Content-Type"] != "application/proto" or "/querier.v1.QuerierService/" not in self.path:
                raise ValueError(f"{self.path} {self.headers['Content-Type']}")
            query = decode(METHODS[method], data)
        except (ValueError, KeyError) as e:
            self.answer(400, str(e).encode())
            return
        with lock, open(f"{folder}/queries", "a", encoding="utf-8") as f:
            f.write(f"{method} {sorted(query.items())}\n")
        with lock, open(f"{folder}/heads", "a", encoding="utf-8") as f:
            f.write(str(self.headers))
        how = open(f"{folder}/mode", encoding="utf-8").read().strip() if os.path.exists(f"{folder}/mode") else "ok"
        if method == "LabelValues":
            self.answer(200, values_of(query))
        elif method == "SelectSeries":
            self.answer(200, series_of(query))
        else:
            self.merged(query, how)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Server)
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{folder}/port.tmp", "w", encoding="utf-8") as f:
    f.write(str(server.server_port))
os.rename(f"{folder}/port.tmp", f"{folder}/port")
server.serve_forever()
