"""Every text of pages and scripts is there in every language of the site."""

import gettext
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from babel.messages.pofile import read_po

ROOT = Path(__file__).parent.parent
LANGUAGES = ("de",)
DOMAINS = ("django", "djangojs")
# What is collected of the site itself; what installed packages say is in the second folder.
OWN, PACKAGES = "locale", "locale/packages"
CATALOGUES = [(language, domain) for language in LANGUAGES for domain in DOMAINS]
ALL_CATALOGUES = [(folder, *catalogue) for folder in (OWN, PACKAGES) for catalogue in CATALOGUES]
NAME = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")
TEXTS = ("*.py", "*.html", "*.txt", "*.js")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the site's own files, with the catalogues that `make messages` makes of them."""
    if shutil.which("xgettext") is None:
        pytest.skip("gettext is not installed")
    copy = tmp_path_factory.mktemp("site")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *TEXTS, "locale", "Makefile"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    (copy / ".venv").symlink_to(sys.prefix)
    make = ["make", "-o", ".venv/installed-dev", "messages"]
    subprocess.run(make, cwd=copy, check=True, capture_output=True)
    return copy


def catalogue(root: Path, language: str, domain: str, folder: str = OWN) -> Catalog:
    with (root / folder / language / "LC_MESSAGES" / f"{domain}.po").open("rb") as file:
        return read_po(file, locale=language)


def ids(messages: Iterable[Message]) -> set[tuple[object, object]]:
    return {(message.context, message.id) for message in messages if message.id}


def strings(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string)


@pytest.mark.parametrize(("language", "domain"), CATALOGUES)
def test_no_text_is_missing_and_none_is_left_over(collected: Path, language: str, domain: str) -> None:
    """Otherwise: `make messages`, then translate what is new."""
    assert ids(catalogue(ROOT, language, domain)) == ids(catalogue(collected, language, domain))


@pytest.mark.parametrize(("language", "domain"), CATALOGUES)
def test_what_packages_say_is_kept_when_texts_are_collected(collected: Path, language: str, domain: str) -> None:
    kept = catalogue(ROOT, language, domain, PACKAGES)
    assert ids(kept)
    assert ids(kept) == ids(catalogue(collected, language, domain, PACKAGES))


@pytest.mark.parametrize(("folder", "language", "domain"), ALL_CATALOGUES)
def test_every_text_is_translated_with_all_that_is_filled_in(folder: str, language: str, domain: str) -> None:
    for message in catalogue(ROOT, language, domain, folder):
        if not message.id:
            continue
        assert not message.fuzzy, message.id
        assert all(strings(message)), message.id
        originals = (message.id,) if isinstance(message.id, str) else message.id
        names = {name for original in originals for name in NAME.findall(original)}
        assert {name for string in strings(message) for name in NAME.findall(string)} == names, message.id


@pytest.mark.parametrize(("folder", "language", "domain"), ALL_CATALOGUES)
def test_what_is_compiled_is_what_is_written(folder: str, language: str, domain: str) -> None:
    with (ROOT / folder / language / "LC_MESSAGES" / f"{domain}.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in catalogue(ROOT, language, domain, folder):
        if isinstance(message.id, str) and message.id and not message.context:
            assert compiled.gettext(message.id) == message.string
