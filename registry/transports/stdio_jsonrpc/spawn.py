"""Runs one program and ends all that comes of it, however it tries to stay.

Started by `process` as a script (`python -I -S spawn.py DESCRIPTOR`), so that it imports nothing of the site. The
descriptor is a socket to the site. From there comes one line of JSON: what to run. Back go lines of JSON:
`{"started": PID}` or `{"failed": STAGE, "errno": N}`, then `{"ended": STATUS}` (as `Popen.returncode`). When the site
closes its end, or dies, the program is asked to end, and after `grace` seconds everything that descends from it is
killed; at once where the program ends by itself. This process ends last, so that its end is the end of all.
"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

# Where the socket is, once it is moved there.
CONTROL = 3
ASK_MAX = 16 * 1024 * 1024
# Linux: a process without its parent becomes a child of this one; and a signal when this one dies.
PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG = 36, 1
# What forks and exits over and over must not get ahead: so many seconds are all for killing. Then there is a pause
# between two rounds, twice as long each time, for death may take a while.
HASTE, ROUND, ROUND_MAX = 1.0, 0.005, 0.5
MEGABYTE = 1024 * 1024


def main() -> None:
    _take_control(int(sys.argv[1]))
    job = json.loads(_first_line())
    born, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Whoever wants this process to end means the program.
    signal.signal(signal.SIGTERM, lambda *_: None)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    program = _start(job)
    if program is None:
        return
    _leave_pipes()
    _say({"started": program})
    status = _wait(program, born)
    if status is None:
        _signal_group(program, signal.SIGTERM)
        status = _wait(program, born, seconds=job["grace"])
    if status is not None:
        _say({"ended": status})
    _end_all(program)


def _take_control(descriptor: int) -> None:
    if descriptor != CONTROL:
        os.dup2(descriptor, CONTROL)
        os.close(descriptor)
    os.set_inheritable(CONTROL, False)  # the program has no business with it


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(CONTROL, 65536)
        if not piece or len(line) > ASK_MAX:
            sys.exit(1)  # the site has gone already
        line += piece
    return line


def _say(word: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the site may have gone
        os.write(CONTROL, json.dumps(word).encode() + b"\n")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(job: dict[str, Any]) -> int | None:
    """The id of the program's process, once it runs; None where it cannot, which the site is told."""
    failed, fail = os.pipe()  # not inherited: it closes when the program runs
    child = os.fork()
    if child == 0:
        _become(job, fail)
    os.close(fail)
    problem = os.read(failed, 4096)
    os.close(failed)
    if problem:
        os.waitpid(child, 0)
        _say(json.loads(problem))
        return None
    return child


def _become(job: dict[str, Any], fail: int) -> None:
    """Turns this process, just forked, into the program. Never returns."""
    stage = "limits"
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _limit(job)
        stage = "cwd"
        os.chdir(job["cwd"])
        stage = "command"
        os.execvpe(job["command"], [job["command"], *job["args"]], job["env"])  # noqa: S606  no shell
    except OSError as error:
        os.write(fail, json.dumps({"failed": stage, "errno": error.errno or errno.EIO}).encode())
    except BaseException:
        os.write(fail, json.dumps({"failed": stage, "errno": errno.EINVAL}).encode())
    finally:
        os._exit(127)


def _limit(job: dict[str, Any]) -> None:
    memory, files = job["memory_mb"] * MEGABYTE, job["open_files"]
    # Memory that it writes to: some runtimes reserve addresses by the terabyte and never use them. macOS knows no
    # such limit.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = files if most == resource.RLIM_INFINITY else min(files, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _leave_pipes() -> None:
    """Lets the program alone hold the pipes: their ends are to tell of its end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _wait(program: int, born: int, *, seconds: float | None = None) -> int | None:
    """The program's status when it has ended; None when the site has gone, or after so many seconds."""
    until = None if seconds is None else time.monotonic() + seconds
    poll = select.poll()
    poll.register(born, select.POLLIN)
    if until is None:
        poll.register(CONTROL, select.POLLIN)
    while True:
        if (status := _reap(program)) is not None:
            return status
        left = None if until is None else max(0.0, until - time.monotonic())
        ready = {descriptor for descriptor, _ in poll.poll(None if left is None else left * 1000)}
        if CONTROL in ready or (left is not None and not ready):
            return _reap(program)
        if born in ready:
            os.read(born, 4096)


def _reap(program: int) -> int | None:
    """Lets go of the dead; the status of the program where it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            if dead[0] == program:
                status = os.waitstatus_to_exitcode(dead[1])
    return status


def _signal_group(program: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, number)


def _end_all(program: int) -> None:
    """Kills until nothing is left: the children of the dead come here, and are killed in the next round."""
    pause, haste_ends = ROUND, time.monotonic() + HASTE
    _signal_group(program, signal.SIGKILL)
    while True:
        for find in (_own_children, _children):
            for child in find():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            if not _has_children():
                return
        if time.monotonic() > haste_ends:
            time.sleep(pause)
            pause = min(2 * pause, ROUND_MAX)


def _has_children() -> bool:
    """Lets go of the dead; whether anybody is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _own_children() -> list[int]:
    """Those that have come here already, which is known faster than all that descend; nobody where it is not told."""
    task = os.getpid()  # there is but one thread
    try:
        with open(f"/proc/self/task/{task}/children", "rb") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def _children() -> list[int]:
    """All that descend from this process; where there is no /proc, nobody."""
    parents: dict[int, int] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208  pathlib is slow to import
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                # The name in brackets may hold anything; the state and the parent follow it.
                parents[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
    found: list[int] = []
    generation = {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found += generation
    return found


if __name__ == "__main__":
    main()
