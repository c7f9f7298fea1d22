"""What every sample agent has from `serving.py`: tokens, limits, errors, and how its process ends."""

import base64
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from examples.agents import SAMPLES
from examples.agents.__main__ import AGENTS

HANDLES = [sample.handle for sample in SAMPLES]
ROOT = Path(__file__).resolve().parents[2]


def unsigned(fixie: Any) -> str:
    _, claims, _ = fixie.token().split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"none","kid":"test"}').rstrip(b"=").decode()
    return f"{head}.{claims}."


BAD_TOKENS: dict[str, Callable[[Any], str]] = {
    "none at all": lambda _: "",
    "no JWT": lambda _: "a.b.c",
    "signed by a stranger": lambda fixie: fixie.token(key=Ed25519PrivateKey.generate()),
    "unsigned": unsigned,
    "tampered with": lambda fixie: fixie.token()[:-4] + "AAAA",
    "meant for another agent": lambda fixie: fixie.token("fixie/units"),
    "meant for another owner's": lambda fixie: fixie.token("ann/dice"),
    "meant for no agent": lambda fixie: fixie.token(None),
    "for another audience": lambda fixie: fixie.token(aud="fixie:api"),
    "expired": lambda fixie: fixie.token(exp=int(time.time()) - 1),
    "without an end": lambda fixie: fixie.token(exp=None),
}


def test_the_samples_are_the_agents_that_are_served() -> None:
    assert list(AGENTS) == HANDLES


@pytest.mark.parametrize("handle", HANDLES)
def test_a_good_token_reads_the_manifest(client: Any, handle: str) -> None:
    manifest = AGENTS[handle].manifest
    for path in (f"/{handle}", f"/{handle}/"):
        answer = client(handle).send("GET", path)
        assert answer.status == 200
        assert answer.document == manifest


@pytest.mark.parametrize("kind", BAD_TOKENS)
def test_a_bad_token_is_refused_for_the_manifest_and_for_funcs(client: Any, fixie: Any, kind: str) -> None:
    with client("dice", token=BAD_TOKENS[kind](fixie)) as caller:
        for answer in (caller.send("GET", "/dice/"), caller.call("/dice/roll", "8 3")):
            assert answer.status == 401
            assert answer.document["error"]["code"] == "unauthenticated"
            assert answer.text


def test_a_call_without_an_authorization_header_is_refused(all_agents: int, connect: Any) -> None:
    with connect(all_agents) as caller:
        assert caller.call("/almanac/", "Is 2028 a leap year?").status == 401


def test_every_other_agents_token_is_refused_too(client: Any, fixie: Any) -> None:
    for handle in HANDLES:
        other = fixie.token("fixie/dice" if handle != "dice" else "fixie/units")
        assert client(handle, token=other).send("GET", f"/{handle}/").status == 401


BAD_BODIES = {
    "not JSON": b"roll 3d8",
    "not UTF-8": b'{"message": {"text": "\xff"}}',
    "no message": b"{}",
    "a list": b"[1]",
    "a number as text": b'{"message": {"text": 3}}',
    "a text as message": b'{"message": "8 3"}',
    "nothing": b"",
    "nested without end": b"[" * 60_000,
}


@pytest.mark.parametrize("kind", BAD_BODIES)
def test_a_body_of_another_shape_is_refused_and_the_connection_goes_on(client: Any, kind: str) -> None:
    caller = client("dice")
    answer = caller.send("POST", "/dice/roll", BAD_BODIES[kind])
    assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_request")
    assert caller.call("/dice/roll", "8 3").status == 200


@pytest.mark.parametrize("path", ["/dice/cheat", "/dice/roll/twice", "/dice/", "/poker/roll", "/"])
def test_an_unknown_func_or_agent_is_not_found(client: Any, path: str) -> None:
    answer = client("dice").call(path, "8 3")
    assert (answer.status, answer.document["error"]["code"]) == (404, "not_found")


def test_a_func_is_not_read(client: Any) -> None:
    assert client("dice").send("GET", "/dice/roll").status == 405


@pytest.mark.parametrize("size", [65_537, 500_000])
def test_a_body_over_64_kib_is_refused_and_the_next_connection_works(client: Any, size: int) -> None:
    answer = client("textstats").send("POST", "/textstats/words", b"x" * size)
    assert (answer.status, answer.document["error"]["code"]) == (413, "payload_too_large")
    assert client("textstats").call("/textstats/words", "one two").text == "2 words"


def test_a_body_of_64_kib_is_taken(client: Any) -> None:
    text = "a" * (65_536 - len(json.dumps({"message": {"text": ""}})))
    assert client("textstats").call("/textstats/characters", text).text == f"{len(text)} characters"


@pytest.mark.parametrize("length", ["-1", "many", "9" * 5000, None])
def test_a_body_of_unknown_length_is_refused(all_agents: int, length: str | None) -> None:
    header = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    with socket.create_connection(("127.0.0.1", all_agents), timeout=10) as raw:
        raw.sendall(f"POST /dice/roll HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 411 ")


def test_a_hundred_calls_share_one_connection(client: Any) -> None:
    caller = client("calculator")
    assert [caller.call("/calculator/calc", f"{n} + 1").text for n in range(100)] == [str(n + 1) for n in range(100)]


def test_a_caller_who_leaves_in_the_middle_of_a_body_does_no_harm(all_agents: int, client: Any) -> None:
    with socket.create_connection(("127.0.0.1", all_agents), timeout=10) as raw:
        raw.sendall(b"POST /dice/roll HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert client("dice").call("/dice/roll", "8 3").status == 200


@pytest.mark.parametrize("handle", HANDLES)
def test_each_agent_runs_alone_and_ends_when_its_stdin_closes(
    run_agent: Any, connect: Any, fixie: Any, handle: str
) -> None:
    arguments = ("--port", "0", "--fixie", fixie.url, "--until-stdin-closes")
    with run_agent("-m", f"examples.agents.{handle}", *arguments) as (process, port):
        with connect(port, fixie.token("somebody/else")) as caller:
            assert caller.send("GET", "/").document == AGENTS[handle].manifest
        process.stdin.close()
        assert process.wait(timeout=5) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_agent_promptly_and_quietly(run_agent: Any, fixie: Any, sent: signal.Signals) -> None:
    with run_agent("-m", "examples.agents", "--port", "0", "--fixie", fixie.url) as (process, _):
        process.send_signal(sent)
        assert process.wait(timeout=2) == 0
        assert process.stdout.read() + process.stderr.read() == ""


@pytest.mark.parametrize(
    "arguments", [["--port", "{taken}"], ["--port", "70000"], ["--fixie", "ftp://x", "--port", "0"]]
)
def test_an_agent_that_cannot_start_says_why_in_one_line(all_agents: int, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "examples.agents.dice", *(a.format(taken=all_agents) for a in arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, cwd=ROOT, check=False)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("Cannot serve on 127.0.0.1:")


def test_while_the_key_set_is_out_of_reach_the_answer_is_unavailable(run_agent: Any, connect: Any, fixie: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    arguments = ("-m", "examples.agents.dice", "--port", "0", "--fixie", nowhere)
    with run_agent(*arguments) as (_, port), connect(port, fixie.token()) as caller:
        answer = caller.send("GET", "/")
    assert (answer.status, answer.document["error"]["code"]) == (503, "unavailable")
