"""The README's agents, as they stand there: each is run and behaves as the text says."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "examples" / "README.md").read_text()
PROGRAMS = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))
NODE = shutil.which("node") or "node"
FLAGS = ["--port", "{port}", "--fixie", "{fixie}", "--owner", "ann", "--until-stdin-closes"]
COMMANDS = {
    "shout.py": [sys.executable, "shout.py", *FLAGS],
    "shout_alone.py": [sys.executable, "shout_alone.py"],
    "shout.mjs": [NODE, "shout.mjs"],
}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


@pytest.fixture(scope="module", params=["shout.py", "shout_alone.py", pytest.param("shout.mjs", marks=needs_node)])
def shout(request: Any, fixie: Any, tmp_path_factory: Any) -> Iterator[tuple[str, int]]:
    """Each program's name and the port where it runs in a folder of its own."""
    folder = tmp_path_factory.mktemp("shout")
    (folder / request.param).write_text(PROGRAMS[request.param])
    shutil.copy(ROOT / "examples" / "agents" / "serving.py", folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [word.format(port=port, fixie=fixie.url) for word in COMMANDS[request.param]]
    environment = os.environ | {"PORT": str(port), "FIXIE_URL": fixie.url, "AGENT_ID": "ann/shout"}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as run:
        try:
            wait_for(port, run)
            yield request.param, port
        finally:
            run.kill()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        assert process.poll() is None
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("It never listened.")


def test_it_says_what_it_can_do(shout: tuple[str, int], connect: Any, fixie: Any) -> None:
    with connect(shout[1], fixie.token("ann/shout")) as caller:
        manifest = caller.send("GET", "/").document
    assert manifest["base_prompt"] == "I shout what people say."
    assert "Ask Func[shout]: hello" in manifest["few_shots"][0]


def test_it_shouts(shout: tuple[str, int], connect: Any, fixie: Any) -> None:
    with connect(shout[1], fixie.token("ann/shout")) as caller:
        assert caller.call("/shout", "good morning, Zoë").document == {"message": {"text": "GOOD MORNING, ZOË!"}}


@pytest.mark.parametrize("kind", ["none", "foreign", "expired", "audience"])
def test_it_takes_no_other_token(shout: tuple[str, int], connect: Any, fixie: Any, kind: str) -> None:
    token = {
        "none": "",
        "foreign": fixie.token("ann/shout", key=Ed25519PrivateKey.generate()),
        "expired": fixie.token("ann/shout", exp=int(time.time()) - 1),
        "audience": fixie.token("ann/shout", aud="fixie:api"),
    }[kind]
    for method, path in (("GET", "/"), ("POST", "/shout")):
        with connect(shout[1], token) as caller:
            answer = caller.send(method, path, b'{"message": {"text": "x"}}')
            assert (answer.status, answer.document["error"]["code"]) == (401, "unauthenticated")


def test_the_two_whole_ones_refuse_another_agents_token_and_what_is_no_call(
    shout: tuple[str, int], connect: Any, fixie: Any
) -> None:
    if shout[0] == "shout_alone.py":
        return  # the shortest one leaves this out
    with connect(shout[1], fixie.token("bob/shout")) as caller:
        assert caller.call("/shout", "x").status == 401
    with connect(shout[1], fixie.token("ann/shout")) as caller:
        assert caller.call("/whisper", "x").status == 404
        assert caller.call("/constructor", "x").status == 404
        assert caller.send("POST", "/shout", b"x").status == 400
    with connect(shout[1], fixie.token("ann/shout")) as caller:
        assert caller.send("POST", "/shout", b"x" * 100_000).status == 413
