"""Runs in the published client's own environment: calls its methods and starts its commands, as JSON lines ask.

To import the package takes a second, to fork a process that has done it a few milliseconds: a command is the
package's own entry point in a process of its own, with its own arguments, environment, folder and terminal.
"""

import base64
import datetime
import inspect
import io
import json
import os
import signal
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import fixieai
from fixieai.cli import cli

running = set()
PLAIN = (type(None), bool, int, float, str)


class Objects:
    """What calls returned and JSON cannot carry, by number; 0 is the package itself."""

    def __init__(self):
        self._known = [fixieai]

    def encoded(self, value):
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, dict):
            return {key: self.encoded(each) for key, each in value.items()}
        if isinstance(value, (list, tuple, types.GeneratorType)):
            return [self.encoded(each) for each in value]
        if isinstance(value, datetime.datetime):
            return {"$time": value.isoformat()}
        if inspect.isroutine(value) or inspect.isclass(value):
            return {"$method": value.__name__}
        self._known.append(value)
        return {"$object": len(self._known) - 1}

    def decoded(self, value):
        if isinstance(value, dict) and "$bytes" in value:
            return io.BytesIO(base64.b64decode(value["$bytes"]))
        return value

    def get(self, of, name):
        return self.encoded(getattr(self._known[of], name))

    def call(self, of, name, args, named):
        arguments = [self.decoded(arg) for arg in args]
        options = {key: self.decoded(value) for key, value in named.items()}
        # The generator of a stream is read here, so that what it raises is raised by this call.
        return self.encoded(getattr(self._known[of], name)(*arguments, **options))


def start(words, environment, folder, files):
    """Starts `fixie WORDS…` on files for its standard input, output and error; returns its process id."""
    child = os.fork()
    if not child:
        become(words, environment, folder, files)
    running.add(child)
    return child


def become(words, environment, folder, files):
    os.setsid()  # a group of its own, whose terminal is the first that it opens
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which tests in the background ignore
    for number, name in enumerate(files):
        os.dup2(os.open(name, os.O_RDWR | os.O_APPEND), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, "rww"[number], buffering=1) for number in range(3))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["fixie", *words]
    code = 1
    try:
        cli.fixie()
    except SystemExit as end:  # as click always ends
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)  # to take the whole package apart, as sys.exit does, takes half a second


def exit_code(process):
    """That of a command that has ended, else None."""
    ended, status = os.waitpid(process, os.WNOHANG)
    running.discard(ended)
    return os.waitstatus_to_exitcode(status) if ended else None


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the package prints is no answer
    objects = Objects()
    doing: dict[str, Callable[..., Any]] = {"get": objects.get, "call": objects.call, "start": start, "wait": exit_code}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": doing[request.pop("do")](**request)}
        except Exception as error:
            answer = {"error": [type(error).__name__, str(error)]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    for process in running:  # of tests that failed
        os.killpg(process, signal.SIGKILL)


main()
