"""`python -m benchmarks [PART …]`: measures, prints one table, and fails where a bound does not hold."""

import argparse
import gc
import importlib
import os
import resource
import signal
import sys
import time

from benchmarks import database, report

PARTS = {
    "turns": "echo turns against a bare view",
    "storage": "User Storage against a bare view",
    "sockets": "memory of 2,000 idle sockets",
    "streaming": "tokens on their way to the socket",
    "opening": "a long session against a short one",
    "embeds": "20 MB up and down, and signed URLs",
    "pages": "the chat in a browser: until it can be used, and memory of a long session",
    "graphql": "agentById over GraphQL against a bare view",
    "protocols": "the Agent API, and programs as agents, against our own echo turn",
    "searching": "one user's 100,000 messages among 300,000 of others",
    "search": "the nearest of 100,000 sample queries against an exact product",
    "router": "the right agents for the queries of BANKING77",
}
# Two descriptors a socket would be plenty; many systems begin with 1,024 for a process.
DESCRIPTORS = 8192


def main() -> int:
    options = _options()
    # Stopped by SIGTERM, it cleans up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _raise_descriptors()
    try:
        return _run(options.parts, quick=options.quick, as_json=options.json)
    except KeyboardInterrupt:
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parts = ", ".join(f"{name} ({what})" for name, what in PARTS.items())
    # Not `choices`: with them argparse refuses a default that is a list.
    parser.add_argument(
        "parts", nargs="*", metavar="PART", type=_part, default=list(PARTS), help=f"{parts}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="a glance: shorter rounds, fewer tokens, more noise")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args()


def _part(name: str) -> str:
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"there is no {name}, only {', '.join(PARTS)}")
    return name


def _raise_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))


def _run(parts: list[str], *, quick: bool, as_json: bool) -> int:
    rows: list[report.Row] = []
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    with database.database():
        machine = f"{machine}; {database.described()}"
        _say(machine)
        for part in parts:
            rows += _measured(part, quick=quick)
    print(report.document(rows, machine=machine, quick=quick) if as_json else f"\n{report.table(rows)}")
    return 1 if any(row.holds is False for row in rows) else 0


def _measured(part: str, *, quick: bool) -> list[report.Row]:
    # What a part imports is set up by Django, and settings exist only now.
    module = importlib.import_module(f"benchmarks.{part}")
    # The client's own collections of garbage are not the site's.
    gc.collect()
    gc.freeze()
    _say(f"{part}: {PARTS[part]} …", end=" ")
    began = time.monotonic()
    rows: list[report.Row] = module.measure(quick=quick)
    _say(f"{time.monotonic() - began:.0f} s")
    return rows


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
