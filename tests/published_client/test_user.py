"""`fixie user`: who I am."""

import subprocess

from tests.published_client.package import HOME
from tests.published_client.somebody import Somebody


def test_it_tells_who_i_am_and_what_i_have_used(ann: Somebody) -> None:
    shown = ann.fixie("user")
    assert (shown.code, shown.err) == (0, "")
    assert f"You are authenticated to {ann.site.url} as:" in shown.out
    lines = dict(line.split(": ", 1) for line in shown.out.splitlines()[1:])
    assert lines["username"] == ann.name
    assert lines["email"] == ann.user.email
    assert (lines["dailyQueryLimit"], lines["dailyUsedQueries"]) == ("1000", "0")


def test_without_a_key_it_says_how_to_get_one(ann: Somebody) -> None:
    shown = ann.fixie("user", FIXIE_API_KEY=None)
    assert shown.code == 11
    assert "Run 'fixie auth' to authenticate" in shown.out


def test_the_installed_program_is_the_one_that_all_these_tests_run(ann: Somebody) -> None:
    environment = {**ann.package.environment, "FIXIE_API_KEY": ann.key}
    shown = subprocess.run([HOME / "bin" / "fixie", "user"], env=environment, capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (0, ann.fixie("user").out)
