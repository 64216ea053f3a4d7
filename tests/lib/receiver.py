#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A receiver of pushed profiles: keeps every request as NUMBER.head and NUMBER.body in a folder.

usage: receiver.py FOLDER PORT [CERTIFICATE KEY]

The port, of the kernel's choice if PORT is 0, goes to FOLDER/port. FOLDER/mode says how requests are answered, anew for each one: ok (if it
is missing), a status, "429 SECONDS" with Retry-After, silent, or reject, as OTLP's partial success.
"""
import gzip
import http.server
import os
import ssl
import sys
import threading
import time

folder = sys.argv[1]
number = 0
lock = threading.Lock()


def mode():
    try:
        with open(f"{folder}/mode", encoding="utf-8") as f:
            return f.read().split()
    except FileNotFoundError:
        return ["ok"]


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def keep(self, body, how):
        global number
        with lock:
            number += 1
            name = f"{folder}/{number:04}"
        with open(f"{name}.head", "w", encoding="utf-8") as f:
            f.write(f"{self.path}\n{how}\n{self.headers}")
        with open(f"{name}.tmp", "wb") as f:
            f.write(body)
        os.rename(f"{name}.tmp", f"{name}.body")

    def answer(self, status, headers, body):
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        how = mode()
        self.keep(body, how[0])
        if how[0] == "silent":
            time.sleep(3600)
        elif how[0] == "reject":
            # partial_success { rejected_profiles: 1 error_message: "too many labels" }
            self.answer(200, {}, b"\n\x13\x08\x01\x12\x0ftoo many labels")
        elif how[0] == "ok":
            self.answer(200, {}, b"{}" if self.path == "/profiles/writeraw" else b"")
        else:
            after = {"Retry-After": how[1]} if len(how) > 1 else {}
            self.answer(int(how[0]), after, b"the receiver\nsays no")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Receiver)
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{folder}/port.tmp", "w", encoding="utf-8") as f:
    f.write(str(server.server_port))
os.rename(f"{folder}/port.tmp", f"{folder}/port")
server.serve_forever()
