"""The seed's agent, from its file to its answer: the command as people type it, the site as it runs."""

import io
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.sessions_app.people import Person
from tests.sites import ROOT

EXAMPLE = ROOT / "examples" / "stdio" / "agents.toml"


def manage(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py`, started elsewhere than where the file is."""
    command = [sys.executable, str(ROOT / "manage.py"), *args]
    return subprocess.run(
        command, cwd="/", env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def imported(echo: str) -> Iterator[subprocess.CompletedProcess[str]]:
    """`manage.py import_agents examples/stdio/agents.toml`, on a site where somebody is an administrator."""
    from accounts.models import User
    from registry.actions import delete_agent
    from registry.bootstrap import ensure_front_agent
    from registry.models import Agent, RoutingRule

    ensure_front_agent()
    User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")
    RoutingRule.objects.all().delete()  # of tests that are over
    yield manage("import_agents", str(EXAMPLE))
    RoutingRule.objects.all().delete()
    delete_agent(agent=Agent.objects.get(owner__handle="fixie", handle="my-agent"))


def answer(asker: Person, session: str, text: str) -> str:
    """What comes back when this is asked in a session, as the browser does it."""
    asker.post(session, text)
    last = asker.settled(session)[-1]
    assert last["kind"] == "response"
    return str(last["text"])


def test_the_command_says_what_it_made(imported: subprocess.CompletedProcess[str]) -> None:
    assert (imported.returncode, imported.stderr) == (0, "")
    assert imported.stdout == (
        "+ agent fixie/my-agent: ./processed.py\n"
        "+ rule custom-task: custom → fixie/my-agent\n"
        "+ rule any query: custom → fixie/my-agent\n"
    )


def test_the_agent_answers_by_its_name(imported: Any, asker: Person) -> None:
    asked = asker.ask("fixie/my-agent", "Do custom work")
    assert asked.json()["message"]["text"] == "Processed: Do custom work"
    assert answer(asker, asker.new_session("fixie/my-agent"), "And this?") == "Processed: And this?"
    assert answer(asker, asker.new_session(None), "@my-agent And this?") == "Processed: And this?"


def test_the_agent_answers_by_a_rule(imported: Any, asker: Person) -> None:
    text = "Please do some custom work"
    assert answer(asker, asker.new_session(None), text) == f"Processed: {text}"
    assert asker.ask("None", text).json()["message"]["text"] == f"Processed: {text}"
    route = asker.http.post("/api/route", json={"text": "Something custom", "task_type": "custom-task"}).json()
    assert (route["rule"], route["candidates"][0]["agent"]) == ("custom-task: custom", "fixie/my-agent")


def test_the_agent_shows_what_the_file_says_of_it(imported: Any, asker: Person) -> None:
    shown = asker.http.get("/api/agents/fixie/my-agent").json()
    assert (shown["name"], shown["capabilities"], shown["enabled"]) == ("My Custom Agent", ["custom-task"], True)
    assert (shown["limits"]["minute"]["limit"], shown["limits"]["day"]["limit"]) == (60, 2000)
    assert (shown["revision"]["deployment"], shown["revision"]["url"]) == ("command", None)


def test_a_file_with_problems_ends_the_command_with_one(tmp_path: Path) -> None:
    wrong = tmp_path / "agents.toml"
    wrong.write_text('[[agents]]\nid = "my agent"\ntype = "http"\n')
    told = manage("import_agents", str(wrong))
    assert (told.returncode, told.stdout) == (1, "")
    lines = told.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines[:-1]] == [f"{wrong}:1", f"{wrong}:2", f"{wrong}:3"]
    assert lines[-1] == "CommandError: 3 problems, nothing was changed."


def test_the_seeds_agent_answers_as_the_seed_says() -> None:
    asked = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_task","arguments":{"prompt":"test"}}}'
    )
    told = subprocess.run(
        [shutil.which("python3") or sys.executable, str(EXAMPLE.parent / "processed.py")],
        input=asked + "\n", capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    assert told.stdout == '{"jsonrpc": "2.0", "id": 1, "result": "Processed: test"}\n'


def test_the_example_is_imported_once_and_its_export_changes_nothing(imported: Any, tmp_path: Path) -> None:
    written = tmp_path / "agents.toml"
    call_command("export_agents", str(written))
    assert str(EXAMPLE.parent / "processed.py") in written.read_text()
    for file in (EXAMPLE, written):
        out = io.StringIO()
        call_command("import_agents", str(file), stdout=out)
        assert out.getvalue() == "Nothing to change.\n"
