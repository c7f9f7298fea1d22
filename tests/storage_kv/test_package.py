"""The published package's own `UserStorage`, unmodified, in its own environment."""

import json
import subprocess

import pytest

from tests.published_client.package import HOME
from tests.storage_kv.memories import Memory

SCRIPT = """
import json, sys
from fixieai.agents.token import VerifiedTokenClaims
from fixieai.agents.user_storage import UserStorage

url, agent, token = sys.argv[1:]
storage = UserStorage(VerifiedTokenClaims(agent, False, token), url)
values = {
    "one": 1, "float": 2.4, "true": True, "bytes": bytes(range(256)), "text": "käse 🧀 \\ud800", "none": None,
    "tree": {"key1": {"key2": ["value1", True, b"binary2", None, 4.3]}}, "a/b c": [], "a/": "", "é": {},
}
seen = {}
for key, value in values.items():
    assert key not in storage
    storage[key] = value
    assert key in storage and storage[key] == value, key
assert len(storage) == len(values)
seen["keys"] = list(storage)
seen["missing"] = storage.get("missing", "default")
for call in (lambda: storage["missing"], lambda: storage.pop("missing"), lambda: storage.__delitem__("missing")):
    try:
        call()
    except KeyError as error:
        seen.setdefault("errors", []).append(str(error))
storage.update(one=2)
assert storage.pop("one") == 2
storage.clear()
seen["left"] = len(storage)
print(json.dumps(seen))
"""


@pytest.mark.skipif(not (HOME / "installed").exists(), reason="`make test` installs the published client.")
def test_the_package_keeps_what_it_can_keep_and_finds_it_again(storage: Memory) -> None:
    url = f"{storage.http.base_url}".rstrip("/") + "/api/userstorage"
    command = [HOME / "bin" / "python", "-c", SCRIPT, url, storage.agent, storage.token]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    keys = ["a/", "a/b c", "bytes", "float", "none", "one", "text", "tree", "true", "é"]
    assert seen["keys"] == keys
    assert seen["missing"] == "default"
    assert len(seen["errors"]) == 3
    assert seen["left"] == 0
    assert storage.usage() == (0, 0)
