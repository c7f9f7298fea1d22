"""`fixie auth`: signing in with the browser, and keeping the key."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import yaml

from tests.published_client.package import Command
from tests.published_client.somebody import Somebody


def test_who_allows_it_in_the_browser_is_signed_in_from_then_on(ann: Somebody, tmp_path: Path) -> None:
    command = started(ann, tmp_path)
    answered = sent(ann, tmp_path, allow=True)
    assert answered.status_code == 200
    shown = command.ended()
    assert shown.code == 0, shown.err
    assert "Your browser has been opened to visit:" in shown.out
    assert f"Success! You're authenticated as {ann.name}." in shown.out
    config = yaml.safe_load((ann.home / ".config/fixie/config.yaml").read_text())
    assert config["environment_auth_tokens"][0]["url"] == ann.site.url
    assert f"username: {ann.name}" in ann.fixie("user", FIXIE_API_KEY=None).out
    again = ann.fixie("auth", FIXIE_API_KEY=None)
    assert again.out == f"Already authenticated as {ann.name}. Set --force to force re-authentication.\n"


def test_force_signs_in_again_and_takes_the_newer_key(ann: Somebody, bob: Somebody, tmp_path: Path) -> None:
    config = ann.home / ".config/fixie/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(yaml.safe_dump({"fixie_api_key": ann.key}))
    command = started(ann, tmp_path, "--force")
    sent(bob, tmp_path, allow=True)
    assert f"You're authenticated as {bob.name}." in command.ended().out


def test_who_refuses_it_is_not_signed_in(ann: Somebody, tmp_path: Path) -> None:
    command = started(ann, tmp_path)
    sent(ann, tmp_path, allow=False)
    shown = command.ended()
    assert shown.code == 1
    assert "access_denied" in shown.err
    assert not (ann.home / ".config/fixie/config.yaml").exists()


def started(ann: Somebody, folder: Path, *words: str) -> Command:
    command = ann.start("auth", *words, FIXIE_API_KEY=None, **ann.browser(folder))
    command.until("Your browser has been opened")
    return command


def sent(person: Somebody, folder: Path, *, allow: bool) -> httpx2.Response:
    """Signed in as `person`, answers the page that the command has opened, and goes where it leads."""
    url = person.opened(folder)
    asked = parse_qs(urlsplit(url).query)
    assert asked["scope"] == ["api-access"]
    with person.signed_in() as browser:
        page = browser.get(url)
        assert page.status_code == 200, page.text
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)"[^>]*?value="([^"]*)"', page.text))
        if allow:
            fields["allow"] = "Authorize"
        answered = browser.post(url, data=fields, headers={"Referer": url})
    assert answered.status_code == 302, answered.text
    return httpx2.get(answered.headers["location"])
