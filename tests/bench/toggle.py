# SPDX-License-Identifier: Apache-2.0
"""Compares the time of a JVM's work while the agent reports with the time of the same work without it. The work is
slices of 10 ms that follow each other directly, because a shared machine keeps its speed no longer. Before every slice
the agent is started, and stopped again unless the slice runs with it, so that caches are used alike. The order is alone,
agent, alone, and again.

usage: toggle.py PID AGENT SECONDS IN OUT: prints two lines. The first is by how many % the agent's slices took longer
than the mean of their neighbours. For comparison the second is the same of the second neighbour against the first. The
form is "MEDIAN (QUARTILE..QUARTILE) +- 2 STANDARD ERRORS of NR". The JVM (tests/programs/Slices.java) has opened its
attach socket and runs with IN and OUT."""
import os
import socket
import statistics
import sys
import time

ROUNDS = 60  # about 10 ms
NONCE = "%032x" % os.getpid()


def main(pid, agent, seconds, to_jvm, from_jvm):
    jvm_in = open(to_jvm, "w", buffering=1)
    jvm_out = open(from_jvm)

    def tell(command):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"/tmp/.java_pid{pid}")
            options = f"v=1;cmd={command};nonce={NONCE};inline=1"
            s.sendall(b"\0".join(word.encode() for word in ("1", "load", agent, "true", options)) + b"\0")
            reply = s.makefile("rb").read()
        if b"return code: 0" not in reply:
            sys.exit(f"{command}: {reply}")

    def has_session():
        links = (f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd"))
        return any(NONCE in os.readlink(link) for link in links if os.path.islink(link))

    def a_slice(with_agent):
        tell("start")
        if not with_agent:
            tell("stop")
        jvm_in.write(f"{ROUNDS}\n")
        ns = int(jvm_out.readline())
        if with_agent:
            tell("stop")
        return ns

    tell("start")
    if not has_session():
        sys.exit("the agent has no session")
    for _ in range(500):  # until all is compiled with the debug information that the agent requests
        jvm_in.write(f"{ROUNDS}\n")
        jvm_out.readline()
    tell("stop")
    if has_session():
        sys.exit("the agent still has a session")

    agents, controls, end = [], [], time.monotonic() + seconds
    while time.monotonic() < end:
        before, with_agent, after = a_slice(False), a_slice(True), a_slice(False)
        agents.append(200.0 * with_agent / (before + after) - 100)
        controls.append(100.0 * after / before - 100)
    for percents in agents, controls:
        low, median, high = statistics.quantiles(percents, n=4)
        error = 1.2533 * (high - low) / 1.349 / len(percents) ** 0.5
        print(f"{median:.2f} ({low:.2f}..{high:.2f}) +- {2 * error:.2f} of {len(percents)}")


main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5])
