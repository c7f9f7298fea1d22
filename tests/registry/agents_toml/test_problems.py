"""What `manage.py import_agents` says of a file that is not right, and that it changes nothing then."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.registry.agents_toml.conftest import Workshop

GOOD = '[[agents]]\nid = "my-agent"\ncommand = "./my-agent"\n'
RULE = '[[routing.rules]]\npreferred_agents = ["my-agent"]\n'
HANDLE = "(1 to 50 letters, digits, - and _, starting with a letter or a digit)"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("[[agents]]", ["1: command is missing", "1: id is missing"], id="nothing said"),
        pytest.param(GOOD + "comand = 1\n[server]", ["4: unknown key comand", "5: unknown key server"], id="unknown"),
        pytest.param(GOOD + "[agents.rate_limit]\nper_hour = 1", ["5: unknown key rate_limit.per_hour"], id="inner"),
        pytest.param(GOOD + 'type = "http"', ["4: type must be 'cli'"], id="type"),
        pytest.param(
            GOOD + 'name = 1\npriority = "high"\nenabled = 1\nargs = "-v"\nenv = []\nrate_limit = 60',
            [
                "4: name must be a text",
                "5: priority must be a whole number",
                "6: enabled must be true or false",
                "7: args must be a list",
                "8: env must be a table",
                "9: rate_limit must be a table",
            ],
            id="kinds",
        ),
        pytest.param(
            GOOD + 'args = [\n"a",\n# 2\n2]\nenv = { A = "a",  B = 2 }\ncapabilities = ["x", ""]\nqueries = [" "]',
            [
                "7: entry 2 of args must be a text",
                "8: env.B must be a text",
                "9: capabilities may not be empty texts",
                "10: queries may not be empty texts",
            ],
            id="entries",
        ),
        pytest.param(
            GOOD + "rate_limit = { requests_per_minute = -1, requests_per_day = 3000000000 }\npriority = 3000000000",
            [
                "4: rate_limit.requests_per_day must be at most 2147483647",
                "4: rate_limit.requests_per_minute must be at least 0",
                "5: priority must be a number from -2147483647 to 2147483647",
            ],
            id="numbers",
        ),
        pytest.param(
            GOOD + f'name = "{"n" * 201}"\ncapabilities = ["{"c" * 101}"]\ndescription = "a\\u0000b"',
            [
                "4: name may be at most 200 characters long",
                "5: capabilities may be at most 100 characters long",
                "6: description holds a NUL character, which cannot be stored",
            ],
            id="texts",
        ),
        pytest.param(
            GOOD + 'processes = 0\ncall_seconds = inf\nmemory_mb = 1.5\n[agents.env]\n"A=B" = "x"',
            [
                "4: processes must be a whole number from 1 to 64",
                "5: call_seconds must be a number from 0.1 to 86400",
                "6: memory_mb must be a whole number",
                "7: env cannot have the name 'A=B'",
            ],
            id="program",
        ),
        pytest.param(
            GOOD.replace("my-agent", "my agent!", 1),
            [f"2: id 'my agent!' cannot be an agent's handle {HANDLE}; my-agent could be"],
            id="handle",
        ),
        pytest.param(
            GOOD.replace("my-agent", "\\u0000", 1),
            [f"2: id '\\x00' cannot be an agent's handle {HANDLE}"],
            id="no handle",
        ),
        pytest.param(
            GOOD + GOOD + '[[agents]]\nid = "my-agent"',
            [
                "5: id 'my-agent' is that of the agent at line 2, too",
                "7: command is missing",
                "8: id 'my-agent' is that of the agent at line 2, too",
            ],
            id="same id",
        ),
        pytest.param("agents = 1\nrouting = []", ["1: agents must be a list", "2: routing must be a table"], id="top"),
        pytest.param(
            "agents = [\n1]\nrouting.rules = 2",
            ["2: entry 1 of agents must be a table", "3: routing.rules must be a list"],
            id="no tables",
        ),
        pytest.param(
            GOOD + '[[routing.rules]]\nkeywords = ["a", "", 3]\ntask_type = 4\nagents = []',
            [
                "4: preferred_agents is missing",
                "5: a keyword may not be empty: it would be in every query",
                "5: entry 3 of keywords must be a text",
                "6: task_type must be a text",
                "7: unknown key agents",
            ],
            id="rule",
        ),
        pytest.param(
            GOOD
            + f'[[routing.rules]]\nkeywords = ["{"k" * 101}"]\ntask_type = "{"t" * 101}"\n'
            + 'preferred_agents = ["a b"]\npriority = 3000000000',
            [
                "5: a keyword may be at most 100 characters long",
                "6: task_type may be at most 100 characters long",
                "7: 'a b' names no agent: its id, or owner/handle",
                "8: priority must be at most 2147483647",
            ],
            id="rule's texts",
        ),
        pytest.param(
            GOOD + '[[routing.rules]]\npreferred_agents = [\n"my-agent",\n"nowhere",\n"fixie/nothing-such"\n]',
            [
                "7: there is no agent nowhere, neither in this file nor on the site",
                "8: there is no agent fixie/nothing-such, neither in this file nor on the site",
            ],
            id="unknown agents",
        ),
        pytest.param(GOOD + RULE.replace('"]', '",\n"my-agent"]'), ["6: my-agent is named twice"], id="agent twice"),
        pytest.param(
            GOOD + RULE + 'keywords = ["A", "b"]\n' + RULE + 'keywords = ["B", "a"]',
            ["7: the rule at line 4 has the same task type and keywords"],
            id="rule twice",
        ),
        pytest.param(
            '[[agents]]\nid = "wrong"\n' + RULE.replace("my-agent", "wrong"), ["1: command is missing"], id="no echo"
        ),
        pytest.param(
            '[[agents]]\nid = 3\ncommand = "./nothing-such"\ncwd = "nowhere"\nenabled = 1\n'
            + '[[routing.rules]]\npriority = "high"\npreferred_agents = ["nowhere"]\n'
            + "[[routing.rules]]\nkeywords = [1]\npreferred_agents = []\n[[routing.rules]]\npreferred_agents = []",
            [
                "2: id must be a text",
                "3: there is no program {folder}/nothing-such on this machine",
                "4: there is no folder {folder}/nowhere",
                "5: enabled must be true or false",
                "7: priority must be a whole number",
                "8: there is no agent nowhere, neither in this file nor on the site",
                "10: entry 1 of keywords must be a text",
            ],
            id="what is right is looked at, too",
        ),
        pytest.param('[[agents]]\nid = "a\n', ["2: this is not TOML: Illegal character '\\n'"], id="syntax"),
        pytest.param('[[agents]]\nid = """a\n\n', ["3: this is not TOML: Unterminated string"], id="end"),
        pytest.param("id = 1\nid = 2", ["2: this is not TOML: Cannot overwrite a value"], id="key twice"),
        pytest.param("x = " + "[" * 5000, ["1: lists or tables are nested too deeply"], id="deep"),
    ],
)
def test_every_problem_is_told_with_its_line(workshop: Workshop, text: str, problems: list[str]) -> None:
    before = workshop.rows()
    told = workshop.load(text)
    assert told.problems == [problem.replace("{folder}", str(workshop.folder)) for problem in problems]
    many = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    assert told.error == f"{many}, nothing was changed."
    assert told.out == []
    assert workshop.rows() == before


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("./nothing", "there is no program {folder}/nothing on this machine"),
        ("./nothing -v", "there is no program {folder}/nothing -v on this machine; arguments go into args"),
        (
            "nothing-such",
            "there is no program nothing-such in /usr/local/bin:/usr/bin:/bin; "
            "write ./ ahead of one that is beside this file",
        ),
        (
            "sh -c x",
            "there is no program sh -c x in /usr/local/bin:/usr/bin:/bin; "
            "write ./ ahead of one that is beside this file; arguments go into args",
        ),
        ("./agents.toml", "{folder}/agents.toml cannot be executed; chmod +x {folder}/agents.toml helps"),
        ("./folder", "there is no program {folder}/folder on this machine"),
        ("", "command is empty: say which program to run"),
        ("x\\u0000", "command holds a character that cannot be stored"),
        (f"./{'x' * 2000}", "command may be at most 2000 characters long"),
    ],
)
def test_a_program_that_cannot_be_run_is_a_problem(workshop: Workshop, command: str, problem: str) -> None:
    (workshop.folder / "folder").mkdir()
    told = workshop.load(GOOD.replace("./my-agent", command))
    assert told.problems == [f"3: {problem.format(folder=workshop.folder)}"]


@pytest.mark.parametrize(
    ("cwd", "problem"),
    [
        ("nowhere", "there is no folder {folder}/nowhere"),
        ("my-agent", "there is no folder {folder}/my-agent"),
        ("a\\u0000b", "cwd holds a character that cannot be stored"),
    ],
)
def test_a_folder_to_run_in_that_is_not_there_is_a_problem(workshop: Workshop, cwd: str, problem: str) -> None:
    told = workshop.load(GOOD + f'cwd = "{cwd}"')
    assert told.problems == [f"4: {problem.format(folder=workshop.folder)}"]


def test_an_agent_that_is_no_program_is_not_taken_over(workshop: Workshop, echo: str) -> None:
    told = workshop.load(GOOD.replace("my-agent", "echo", 1), owner="fixie")
    assert told.problems == [f"2: {echo} is there already and is no program (internal): choose another id"]


def test_problems_of_the_site_and_of_the_file_are_told_together(workshop: Workshop) -> None:
    told = workshop.load(GOOD + "enabled = 3\n" + RULE.replace("my-agent", "nowhere"))
    assert [problem.partition(":")[0] for problem in told.problems] == ["4", "6"]


def test_a_file_in_another_encoding_is_told_with_its_line(workshop: Workshop) -> None:
    workshop.file.write_bytes(b'[[agents]]\nname = "caf\xe9"')
    assert workshop.run("import_agents", str(workshop.file), by=workshop.admin).problems == ["2: this is not UTF-8"]


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem(workshop: Workshop) -> None:
    told = workshop.load("\ufeff" + (GOOD + "x = 1").replace("\n", "\r\n"))
    assert told.problems == ["4: unknown key x"]


anything = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
named = st.sampled_from(["id", "command", "args", "env", "rate_limit", "priority", "keywords", "preferred_agents"])
rows = st.lists(st.dictionaries(named, anything, max_size=4) | anything, max_size=3)


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    from registry.agents_toml.problems import FileRefused
    from registry.agents_toml.reading import read_file

    with suppress(FileRefused):
        assert read_file(content, Path("/")).agents == {}


@settings(deadline=None)
@given(rows, rows)
def test_whatever_is_in_the_tables_is_read_or_told(agents: list[Any], rules: list[Any]) -> None:
    from registry.agents_toml.reading import read_file
    from registry.agents_toml.writing import value

    text = f"agents = {value(agents)}\nrouting.rules = {value(rules)}"
    file = read_file(text.encode(), Path("/"))
    assert len(file.agents) + len(file.rules) == len(agents) + len(rules) or file.problems
    assert {problem.line for problem in file.problems} <= {1, 2}
