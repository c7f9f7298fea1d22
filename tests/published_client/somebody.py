"""Somebody who uses the published client: their key, their home folder, what they type."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from django.test import Client

from tests.published_client.package import HOME, SECONDS, Command, Ended, Package, Place, Remote, Terminal
from tests.sessions_app.people import wait_until
from tests.sites import Site

# An address at which nothing listens.
NOWHERE = "http://127.0.0.1:10009/"

if TYPE_CHECKING:
    from accounts.models import User


@dataclass
class Somebody:
    user: "User"
    key: str
    home: Path
    package: Package
    site: Site
    http: httpx2.Client

    @property
    def name(self) -> str:
        return str(self.user.username)

    @cached_property
    def client(self) -> Remote:
        """A `fixieai.FixieClient` of theirs."""
        made: Remote = self.package.module.FixieClient(self.key)
        return made

    def fixie(self, *words: str, typed: str = "", folder: Path | None = None, **environment: str | None) -> Ended:
        """Types `fixie WORDS…`, then `typed`, and waits for the end. None takes a variable away."""
        return self.start(*words, typed=typed, folder=folder, **environment).ended()

    def start(self, *words: str, typed: str = "", folder: Path | None = None, **environment: str | None) -> Command:
        return Command(self.package, words, self._place(folder, environment), typed)

    def terminal(self, *words: str, **environment: str) -> Terminal:
        """Types `fixie WORDS…` on a terminal."""
        terminal = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        return Terminal(self.package, words, self._place(None, {**terminal, **environment}))

    def _place(self, folder: Path | None, changes: Mapping[str, str | None]) -> Place:
        own = {"HOME": str(self.home), "FIXIE_API_KEY": self.key, "COLUMNS": "250"}
        whole = {**self.package.environment, **own, **changes}
        return Place({name: value for name, value in whole.items() if value is not None}, folder or self.home)

    def own_package(self) -> Package:
        """The package in a process that has their key in its environment."""
        return Package(self.site.url, self.home, FIXIE_API_KEY=self.key)

    def browser(self, folder: Path) -> dict[str, str]:
        """The environment in which a command opens addresses by writing them into `folder`; see `opened`."""
        program = folder / "browser"
        program.write_text('#!/bin/sh\necho "$1" > "$0.opened"\n')
        program.chmod(0o755)
        # Without xdg-open, which would be asked first.
        return {"BROWSER": str(program), "PATH": str(HOME / "bin")}

    def opened(self, folder: Path) -> str:
        """The address that a command has opened."""
        file = folder / "browser.opened"
        wait_until(lambda: file.exists() and file.read_text().endswith("\n"), SECONDS)
        return file.read_text().strip()

    def signed_in(self) -> httpx2.Client:
        """A browser of theirs, signed in to the site."""
        django = Client()
        django.force_login(self.user, backend="django.contrib.auth.backends.ModelBackend")
        cookies = {name: morsel.value for name, morsel in django.cookies.items()}
        return httpx2.Client(base_url=self.site.url, cookies=cookies, timeout=30)

    def new_agent(self, handle: str, url: str | None = None, **fields: Any) -> str:
        """Registers an agent over REST; returns its id."""
        body = {"handle": handle, "name": "Shouter", "deployment_url": url, **fields}
        answer = self.http.post("/api/agents", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["agent_id"])
