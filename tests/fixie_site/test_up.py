"""`manage.py up`, as `make run` calls it: whoever asks as soon as it says that it runs is answered."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.databases import another_database
from tests.sites import ROOT, SMALL_POOLS, free_port

QUESTIONS = {
    "roll three dice": r"[1-6] [1-6] [1-6]",
    "what is 15 % of 80": "12",
    "how far is 3 miles in km": r"3 miles = 4\.82803 kilometers",
}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a machine on which it was never started."""
    with another_database(migrated=False) as url:
        yield {
            **os.environ,
            **SMALL_POOLS,
            "DATABASE_URL": url,
            "VAR": str(tmp_path),
            "PORT": str(free_port()),
        }


@dataclass(frozen=True)
class Started:
    """The site that runs now, and all that it said before it said so."""

    url: str
    key: str
    said: str

    def ask(self, question: str, agent: str = "fixie/fixie") -> str:
        headers = {"Authorization": f"Bearer {self.key}"}
        body = {"message": {"text": question}}
        answer = httpx2.post(f"{self.url}/api/agents/{agent}", json=body, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["message"]["text"])


@contextmanager
def up(machine: dict[str, str], **settings: str) -> Iterator[Started]:
    command = [sys.executable, "manage.py", "up"]
    with subprocess.Popen(
        command, cwd=ROOT, env={**machine, **settings}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Press Ctrl-C"):
                    break
            said = "".join(lines)
            fields = dict(re.findall(r"^(Fixie is running:|API key) +(\S+)", said, re.MULTILINE))
            yield Started(fields["Fixie is running:"], fields["API key"], said)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=15) == 0
            assert process.stdout.read().endswith("Stopped.\n")
        finally:
            process.kill()


def test_questions_that_name_no_agent_are_answered_as_soon_as_it_runs_and_again_after_the_next_start(machine):
    for _ in range(2):
        with up(machine) as started:
            for question, answer in QUESTIONS.items():
                assert re.fullmatch(answer, started.ask(question))
            assert started.said.startswith("\nFixie is running:")


def test_where_nothing_can_be_embedded_it_runs_and_says_so(machine):
    nowhere = f"http://127.0.0.1:{free_port()}/v1"
    with up(machine, EMBEDDINGS_BASE_URL=nowhere, EMBEDDINGS_MODEL="m", LOG_LEVEL="ERROR") as started:
        told = started.said.splitlines()[0]
        assert re.fullmatch(r"The Router does not know \d agents yet; .* The embeddings server does not .*", told)
        assert re.fullmatch(QUESTIONS["roll three dice"], started.ask("roll three dice", "fixie/dice"))
