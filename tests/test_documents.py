"""The documents say what is so: files, names and commands exist, and what a reader is told to type works."""

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from common import errors
from tests.sites import ROOT, Site

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "examples" / "README.md"])
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
FOLDERS = ["common", "accounts", "embeds", "registry", "storage_kv", "sessions_app", "bridges", "fixie_site", "tests"]
EVENTS_ARE_ENDLESS = 28  # curl's code for "time is up"

named = {path.relative_to(ROOT).as_posix(): path.read_text() for path in DOCUMENTS}
every_document = pytest.mark.parametrize("document", named)


def blocks(document: str, info: str) -> list[str]:
    """The code blocks that open with exactly this info string."""
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)


def prose(document: str) -> str:
    """The document without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", document, flags=re.MULTILINE | re.DOTALL)


def code_spans(document: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", prose(document)))


def modules() -> dict[str, list[ModuleType]]:
    """Every module of the house by the last part of its name; apps, too, stand for their models."""
    found = defaultdict(list)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if path.name == "__init__.py" and path.parent.name == "models":
                parts = parts[:-1]
            if "migrations" in parts or "commands" in parts or parts[-1].startswith(("test_", "conftest", "__")):
                continue
            if re.search(r"^(?:import|from) (?:fixieai|agentscope)", path.read_text(), re.MULTILINE):
                continue  # it runs in the environment of that package
            module = importlib.import_module(".".join(parts))
            found[parts[-1]].append(module)
            if parts[-1] == "models":
                found[parts[0]].append(module)
    return found


@every_document
def test_every_file_that_a_document_names_exists(document: str) -> None:
    tops = tuple(f"{path.name}/" for path in ROOT.iterdir() if path.is_dir())
    paths = {span for span in code_spans(named[document]) if span.startswith(tops) and re.fullmatch(r"[\w./-]+", span)}
    paths -= {"var/", "registry/transports/NAME.py", "sessions_app/llm/NAME.py"}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@every_document
def test_every_link_of_a_document_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", prose(named[document]))
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


def test_every_name_in_the_map_exists() -> None:
    known = modules()
    classes = {
        name: value
        for found in known.values()
        for module in found
        for name, value in inspect.getmembers(module, inspect.isclass)
    }
    names = [span.removesuffix("()") for span in code_spans(ARCHITECTURE) if re.fullmatch(r"\w+\.\w+", span)]
    missing = []
    for place, name in (span.split(".") for span in names):
        homes: list[Any] = [*known.get(place, []), *([classes[place]] if place in classes else [])]
        is_known = name in ("py", "md", "toml") or any(_has(home, name) for home in homes)
        if not is_known:
            missing.append(f"{place}.{name}")
    assert missing == []


def _has(home: Any, name: str) -> bool:
    return hasattr(home, name) or name in getattr(home, "__annotations__", {})


@every_document
def test_every_make_target_that_a_document_names_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = {span for span in code_spans(named[document]) if span.startswith("make ")}
    told |= set(re.findall(r"^(?:\w+=\S+ )*(make \w+)", named[document], re.MULTILINE))
    assert {command.split()[1] for command in told} <= targets


@every_document
def test_no_document_names_a_place_on_the_machine_it_was_written_on(document: str) -> None:
    home = str(ROOT.parent)
    assert home not in named[document]
    assert not re.search(r"(?<![\w.])/(?:tmp|root)/", named[document])


def test_every_recipe_is_named_for_what_it_adds() -> None:
    for path in (ROOT / "docs" / "recipes").iterdir():
        assert re.fullmatch(r"add-an?-[a-z-]+\.md", path.name)
        assert path.read_text().startswith("# Add a")


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_wire_lists_every_error_with_its_status() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.FixieError)]
    listed = set(re.findall(r"^\| `(\w+)` \| (\d{3}) \|", named["docs/wire.md"], re.MULTILINE))
    assert listed == {(kind.code, str(kind.http_status)) for kind in kinds}


def test_the_readme_names_only_settings_that_exist() -> None:
    listed = set(re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    table = README.partition("| setting |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([A-Z][A-Z_]+)`", table)) <= listed


def test_the_readmes_first_agent_is_the_one_that_the_examples_test() -> None:
    (program,) = blocks(README, "python file=shout.py")
    assert program in blocks(named["examples/README.md"], "python file=shout.py")


@pytest.fixture(scope="module")
def reader(site: Site, tmp_path_factory: Any) -> Iterator[dict[str, str]]:
    """The environment of somebody who has typed `make run`: a key, sample agents, a session."""
    from accounts.actions import create_api_key
    from accounts.models import User
    from registry.bootstrap import ensure_organization

    user = User.objects.create_user(f"reader-{os.getpid()}", "reader@example.com")
    ensure_organization(handle="fixie", name="Fixie", member=user)
    key = create_api_key(user=user, name="reading").token
    home = tmp_path_factory.mktemp("curl")
    (home / ".curlrc").write_text("silent\nshow-error\nfail-with-body\nmax-time = 10\n")
    words = ("-m", "examples.agents", "--port", "0", "--fixie", site.url, "--owner", "fixie", "--until-stdin-closes")
    with (
        subprocess.Popen([sys.executable, *words], cwd=ROOT, stdin=-1, stdout=-1, text=True) as agents,
        site.client(key) as http,
    ):
        assert agents.stdout is not None
        address = f"http://127.0.0.1:{agents.stdout.readline().split()[1]}"
        for handle in ("dice", "almanac"):
            agent = {"owner": "fixie", "handle": handle, "deployment_url": f"{address}/{handle}"}
            assert http.post("/api/agents", json=agent).status_code == 201
        session = http.post("/api/sessions", json={"agent": "fixie/almanac"}).json()["handle"]
        yield {**os.environ, "CURL_HOME": str(home), "FIXIE": site.url, "KEY": key, "SESSION": session}
        for handle in ("dice", "almanac"):
            http.delete(f"/api/agents/fixie/{handle}")
        agents.kill()


@pytest.mark.parametrize("command", blocks(README, "sh try"))
def test_the_readmes_calls_work_as_they_stand(reader: dict[str, str], command: str) -> None:
    is_endless = "/events" in command
    settings = "max-time = 1\n" if is_endless else ""
    curlrc = Path(reader["CURL_HOME"]) / ".curlrc"
    before = curlrc.read_text()
    curlrc.write_text(before + settings)
    try:
        run = subprocess.run(["sh", "-c", command], env=reader, capture_output=True, text=True, timeout=30)
    finally:
        curlrc.write_text(before)
    assert run.returncode == (EVENTS_ARE_ENDLESS if is_endless else 0), run.stdout + run.stderr
    if is_endless:
        assert "event: synced" in run.stdout
    else:
        assert all("error" not in json.loads(line) for line in run.stdout.splitlines())


def test_the_readmes_program_gets_an_answer_over_its_socket(reader: dict[str, str]) -> None:
    (program,) = blocks(README, "python try")
    run = subprocess.run([sys.executable, "-c", program], env=reader, capture_output=True, text=True, timeout=30)
    assert "Yes, 2028 is a leap year." in run.stdout, run.stderr
