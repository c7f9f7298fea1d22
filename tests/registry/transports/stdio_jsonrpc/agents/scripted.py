#!/usr/bin/env python3
"""An agent that answers as badly as it is told: by its first argument, or else by what stands in the file `does`.

Where the file `does` names behaviours (a line each), each call takes the next one, and the last one stays.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OUT = sys.stdout.buffer
# The methods of requests and notifications, as far as somebody noted them.
HEARD: list[str] = []


def say(document: object) -> None:
    OUT.write(json.dumps(document).encode() + b"\n")
    OUT.flush()


def answer(request: dict, result: object, **more: object) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result, **more})


def raw(text: bytes) -> None:
    OUT.write(text)
    OUT.flush()


def arguments(request: dict) -> dict:
    return dict(request["params"]["arguments"])


def echo(request: dict, _: str) -> None:
    said = arguments(request)
    answer(request, {"text": said["prompt"], "embeds": said["context"].get("embeds", {})})


def document(request: dict, text: str) -> None:
    """Answers with the rest of the document that it is given."""
    say({"jsonrpc": "2.0", "id": request["id"], **json.loads(text)})


def line(request: dict, text: str) -> None:
    raw(text.replace("ID", str(request["id"])).encode("latin-1") + b"\n")


def fail(request: dict, text: str) -> None:
    error = {"code": -32602, "message": text, "data": {"x": 1}}
    say({"jsonrpc": "2.0", "id": request["id"], "error": error})


def hang(request: dict, _: str) -> None:
    time.sleep(60)


def never_flush(request: dict, _: str) -> None:
    OUT.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": "late"}).encode() + b"\n")
    time.sleep(60)


def read_to_the_end(request: dict, _: str) -> None:
    sys.stdin.read()


def die(request: dict, how: str) -> None:
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
    os._exit(int(how or 0))


def die_in_mid_line(request: dict, _: str) -> None:
    raw(b'{"jsonrpc": "2.0", "id": %d, "resu' % request["id"])
    os._exit(1)


def no_line_break(request: dict, _: str) -> None:
    raw(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": "whole"}).encode())
    os._exit(0)


def answer_and_exit(request: dict, status: str) -> None:
    answer(request, "done")
    os._exit(int(status or 0))


def answer_and_talk(request: dict, text: str) -> None:
    answer(request, "done")
    raw(text.encode() + b"\n")


def close_stdout(request: dict, _: str) -> None:
    os.close(1)
    time.sleep(60)


def endless_line(request: dict, _: str) -> None:
    while True:
        raw(b"x" * 65536)


def endless_progress(request: dict, _: str) -> None:
    while True:
        raw(b'{"jsonrpc": "2.0", "method": "progress", "params": {"percent": 1}}\n' * 1000)


def endless_blank_lines(request: dict, _: str) -> None:
    while True:
        raw(b"\n" * 65536)


def flood_stderr(request: dict, megabytes: str) -> None:
    piece = b"z" * 1023 + b"\n"
    for _ in range(int(megabytes) * 1024):
        sys.stderr.buffer.write(piece)
    sys.stderr.buffer.write(b"the last line\n")
    sys.stderr.buffer.flush()
    answer(request, "flooded")


def log(request: dict, text: str) -> None:
    """Writes a text, in which `\\xff` stands for that byte."""
    sys.stderr.buffer.write(text.encode().decode("unicode_escape").encode("latin-1") + b"\n")
    sys.stderr.buffer.flush()
    answer(request, "logged")


def child(*, session: bool = False) -> int:
    """Starts a process that ignores SIGTERM and sleeps; with `session`, in a session of its own."""
    ignoring = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    started = subprocess.Popen([sys.executable, "-c", ignoring], start_new_session=session, stdout=subprocess.PIPE)
    started.stdout.readline()
    return started.pid


def fork(request: dict, then: str) -> None:
    """Starts processes of every kind, of which one has lost its parent; then does the next thing."""
    Path("children").write_text(f"{child()} {child(session=True)}")
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Path("orphan").write_text(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    while not Path("orphan").exists():
        time.sleep(0.01)
    do(request, then or "echo")


def chain(request: dict, _: str) -> None:
    """Leaves a process that forks and exits, over and over, and writes down when it was last there."""
    if os.fork() == 0:
        os.setsid()
        for hop in range(1_000_000):
            if os.fork():
                os._exit(0)
            if hop % 20 == 0:
                Path("beat").write_text(str(time.time()))
        os._exit(0)
    while not Path("beat").exists():
        time.sleep(0.01)
    echo(request, "")


def ignore_sigterm(request: dict, then: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    do(request, then or "hang")


def progress(request: dict, text: str) -> None:
    for percent in range(0, 101, 25):
        say({"jsonrpc": "2.0", "method": "progress", "params": {"task_id": "t", "percent": percent, "text": text}})
    answer(request, "finished")


def count(request: dict, _: str) -> None:
    """Counts its calls in the context."""
    before = arguments(request)["context"].get("count", 0)
    answer(request, f"call {before + 1}", context={"count": before + 1})


def lack_id(request: dict, _: str) -> None:
    """Answers as the seed's `handle_with_context`, whose answer is all that is printed."""
    before = arguments(request)["context"].get("count", 0)
    say({"result": f"call {before + 1}", "context": {"count": before + 1}})


def insist(request: dict, error: str) -> None:
    """Answers with this error who has not introduced himself, as a server of the Model Context Protocol does."""
    HEARD.append(request["method"])
    if request["method"] == "initialize":
        answer(request, {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {}})
    elif request["method"] == "tools/call" and "notifications/initialized" in HEARD:
        answer(request, HEARD)
    elif request["method"] == "tools/call":
        say({"jsonrpc": "2.0", "id": request["id"], "error": json.loads(error)})


def tell(request: dict, what: str) -> None:
    """What it finds where it runs."""
    found = {
        "pid": os.getpid(),
        "cwd": str(Path.cwd()),
        "env": dict(os.environ),
        "files": sorted(int(file.name) for file in Path("/proc/self/fd").iterdir())[:-1],
        "request": request,
        "args": sys.argv[2:],
    }
    answer(request, found[what])


def slowly(request: dict, seconds: str) -> None:
    time.sleep(float(seconds))
    echo(request, "")


def allocate(request: dict, megabytes: str) -> None:
    held = bytearray(int(megabytes) * 1024 * 1024)
    answer(request, f"{len(held)} bytes")


def open_files(request: dict, number: str) -> None:
    held = [open("/dev/null") for _ in range(int(number))]  # noqa: PTH123, SIM115
    answer(request, f"{len(held)} files")


def do(request: dict, what: str) -> None:
    name, _, rest = what.partition(" ")
    globals()[name](request, rest)


def next_behaviour() -> str:
    if len(sys.argv) > 1 and sys.argv[1]:
        return sys.argv[1]
    file = Path("does")
    first, *rest = file.read_text().splitlines() if file.exists() else ["echo"]
    if rest:
        file.write_text("\n".join(rest))
    return first


def main() -> None:
    for request in sys.stdin:
        do(json.loads(request), next_behaviour())


if __name__ == "__main__":
    main()
