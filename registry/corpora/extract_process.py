"""The process that extracts: takes jobs on stdin until its end, answers on stdout. Trusts no document to end.

Started by `registry.corpora.extraction` as `python -m registry.corpora.extract_process MEMORY`, without the site's
environment. Its formats are those of `registry.corpora.extracted`.
"""

import contextlib
import json
import logging
import os
import resource
import sys
from typing import Any, BinaryIO

from registry.corpora import readers
from registry.corpora.extracted import ANSWER_HEAD, JOB_HEAD, Unreadable

# Libraries keep a little of every document: start afresh now and then.
MAX_JOBS = 200
NICENESS = 10


def main() -> None:
    jobs = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Nothing but answers gets to the site, whatever a library prints.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    logging.disable()
    _limit(int(sys.argv[1]))
    for number in range(1, MAX_JOBS + 1):
        job = _next_job(jobs)
        if job is None or _answer(answers, *job, is_last=number == MAX_JOBS):
            return


def _limit(memory: int) -> None:
    os.nice(NICENESS)
    with contextlib.suppress(ValueError, OSError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _next_job(jobs: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    head = jobs.read(JOB_HEAD.size)
    if len(head) < JOB_HEAD.size:
        return None  # The site has gone.
    header_size, size = JOB_HEAD.unpack(head)
    header, content = jobs.read(header_size), jobs.read(size)
    return (json.loads(header), content) if len(content) == size else None


def _answer(answers: BinaryIO, header: dict[str, Any], content: bytes, *, is_last: bool) -> bool:
    """Does a job; returns whether it was the last one, after which the process ends."""
    _limit_time(header.pop("seconds"))
    try:
        answer = readers.read(content, **header).as_dict()
    except Unreadable as error:
        answer = {"unreadable": error.reason}
    except MemoryError:
        answer, is_last = {"unreadable": "Reading it takes more memory than one document may."}, True
    except ImportError:
        raise  # an installation that lacks something is no fault of the document
    except Exception as error:  # libraries raise what they like at documents that are not what they seem
        answer = {"unreadable": f"It is damaged, or not what it says it is ({type(error).__name__})."}
    data = json.dumps({**answer, "last": is_last}).encode()
    answers.write(ANSWER_HEAD.pack(len(data)) + data)
    answers.flush()
    return is_last


def _limit_time(seconds: int) -> None:
    """Lets this process have so much more computing time; SIGXCPU ends it after that."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, most))


if __name__ == "__main__":
    main()
