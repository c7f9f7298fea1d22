"""German in full: what installed packages and the admin say is German too, and all of it says "Sie"."""

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from babel.messages.pofile import read_po
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.utils.functional import Promise
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy, ngettext, override, pgettext
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog
from websockets.asyncio.client import connect

from accounts.models import User
from common.db import run_db
from common.errors import InvalidRequest
from sessions_app.models import Session
from tests.sites import Site
from tests.test_languages import PACKAGES, ROOT, catalogue, ids, strings

# Whose pages, forms, messages and e-mails people of this site meet, and which folders of theirs they do not.
MET = {
    "allauth": ("headless", "idp", "mfa", "usersessions", "providers", "locale"),
    "unfold": ("constance", "forms", "guardian", "import_export", "inlines", "simple_history"),
    "oauth2_provider": (),
    "django/contrib/admin": ("locale", "vendor"),
    "django/contrib/auth": ("locale",),
}
# Of this only what is listed in `locale/packages` is met.
HARDLY_MET = "oauth2_provider"
SAME_IN_GERMAN = {"Administration", "Code", "Filter", "System", "%(class_name)s %(instance)s"}
DU = re.compile(
    r"\b(?i:du|dich|dir(?!=)|dein\w*|euch|euer|eure\w*)\b|"
    r"\b(?:[Gg]ib|[Ll]ass|[Kk]licke?|[Ww]ähle|[Bb]itte (?:habe|folge|melde|kontaktiere|bestätige|verwende|versuche))\b"
)
APPS = ("accounts", "embeds", "registry", "storage_kv", "sessions_app")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Catalog]:
    """All texts of the packages in MET, by domain; each with the package it is of."""
    if shutil.which("xgettext") is None:
        pytest.skip("gettext is not installed")
    copy = tmp_path_factory.mktemp("packages")
    (copy / "locale").mkdir()
    for package, left_out in MET.items():
        spec = find_spec(package.replace("/", "."))
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).parent
        shutil.copytree(source, copy / package, ignore=shutil.ignore_patterns(*left_out))
    return {domain: _collected(copy, domain) for domain in ("django", "djangojs")}


def _collected(folder: Path, domain: str) -> Catalog:
    # -P: one of the copies is called django.
    make = ["-P", "-m", "django", "makemessages", "-d", domain, "-l", "de", "--add-location", "file", "-v", "0"]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": ""}
    subprocess.run([sys.executable, *make], cwd=folder, env=environment, check=True, capture_output=True)
    with (folder / "locale/de/LC_MESSAGES" / f"{domain}.po").open("rb") as file:
        return read_po(file, locale="de")


def in_german(message: Message) -> str:
    with override("de"):
        if not isinstance(message.id, str):
            return ngettext(*message.id, 2)
        return pgettext(message.context, message.id) if message.context else translated(message.id)


def met(messages: Catalog) -> Iterator[Message]:
    """Those that somebody on this site meets."""
    for message in messages:
        if message.id and not all(path.startswith(HARDLY_MET) for path, _ in message.locations):
            yield message


def test_what_packages_say_is_german(said: dict[str, Catalog]) -> None:
    """Otherwise: a sentence for `locale/packages/de/LC_MESSAGES/django.po`, compiled by `make messages`."""
    english = [
        message.id
        for message in met(said["django"])
        if message.id not in SAME_IN_GERMAN and in_german(message) in (message.id, message.id[1:2])
    ]
    assert english == []


def test_what_packages_say_says_sie(said: dict[str, Catalog]) -> None:
    texts = [in_german(message) for message in met(said["django"])]
    assert [text for text in texts if DU.search(text)] == []


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_own_texts_say_sie(domain: str) -> None:
    texts = [text for message in catalogue(ROOT, "de", domain) if message.id for text in strings(message)]
    assert [text for text in texts if DU.search(text)] == []


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_nothing_is_kept_that_no_package_says_any_more(said: dict[str, Catalog], domain: str) -> None:
    assert ids(catalogue(ROOT, "de", domain, PACKAGES)) - ids(said[domain]) == set()


def test_what_scripts_of_the_admin_say_is_german(said: dict[str, Catalog]) -> None:
    paths = JavaScriptCatalog().get_paths(["django.contrib.admin"])
    catalog = JavaScriptCatalog()
    catalog.translation = DjangoTranslation("de", domain="djangojs", localedirs=paths)
    there = catalog.get_catalog()
    single = (message for message in said["djangojs"] if message.id and isinstance(message.id, str))
    keys = (f"{message.context}\x04{message.id}" if message.context else message.id for message in single)
    assert [key for key in keys if key not in there] == []


def shown_by_the_admin() -> Iterator[tuple[type[Model], str]]:
    """Our models and fields that the admin's lists and forms show."""
    for model, pages in admin.site._registry.items():
        shown = [*pages.list_display, *(pages.fields or ()), *(getattr(pages, "readonly_fields", ()))]
        shown += [name for _, options in pages.fieldsets or () for name in options["fields"]]
        for inline in pages.inlines:
            yield from ((inline.model, str(name)) for name in inline.fields or ())
        flat = [name for each in shown for name in (each if isinstance(each, list | tuple) else [each])]
        yield from ((model, str(name)) for name in flat)


def test_models_and_fields_have_names_that_are_translated() -> None:
    plain = [
        f"{model._meta.label}.{field.name}"
        for model, name in set(shown_by_the_admin())
        if model._meta.app_label in APPS
        for field in model._meta.fields
        if field.name == name and name not in ("id", "kid") and not isinstance(field.verbose_name, Promise)
    ]
    assert sorted(plain) == []
    models = [model for app in APPS for model in apps.get_app_config(app).get_models()]
    assert [model for model in models if not isinstance(model._meta.verbose_name_plural, Promise)] == []


def test_a_refusal_is_told_in_the_language_of_the_page_and_in_english_to_programs(
    site: Site, make_user: Callable[..., User], api_key: Callable[..., str]
) -> None:
    user = make_user()
    wanted = {"name": "Lab", "handle": "admin"}
    browser = Client(headers={"accept-language": "de"})
    browser.force_login(user)
    page = browser.post("/account/organizations", wanted).content.decode()
    own = browser.post("/api/organizations", wanted, content_type="application/json").json()["error"]["message"]
    with site.client(api_key(user)) as program:
        answer = program.post("/api/organizations", json=wanted, headers={"accept-language": "de"})

    assert "Dieser Name ist reserviert." in page
    assert own == "Dieser Name ist reserviert. Bitte wählen Sie einen anderen."
    assert answer.json()["error"]["message"] == "That name is reserved; please choose another."


async def test_sockets_of_pages_are_told_in_their_language(site: Site, make_user: Callable[..., User]) -> None:
    user = await run_db(make_user)
    session = await Session.objects.acreate(handle=f"s-{uuid.uuid4().hex}", owner=user)
    browser = Client()
    await run_db(browser.force_login, user)
    cookies = f"sessionid={browser.cookies['sessionid'].value}; django_language=de"
    headers = {"cookie": cookies, "origin": site.url}
    async with connect(f"{site.ws_url}/ws/sessions/{session.handle}", additional_headers=headers) as socket:
        await socket.send(json.dumps({"type": "message", "text": " "}))
        while (frame := json.loads(await socket.recv()))["type"] != "error":
            continue

    assert frame["message"] == "Der Text ist leer."


def test_numbers_in_a_refusal_are_written_as_its_language_does() -> None:
    error = InvalidRequest(
        gettext_lazy("The text has %(size)s bytes; %(limit)s are allowed."), size=70_000, limit=65_536
    )
    with override("de"):
        assert error.told() == "Der Text hat 70.000 Bytes; 65.536 sind erlaubt."
        assert error.message == "The text has 70,000 bytes; 65,536 are allowed."


def test_the_mail_that_resets_a_password_says_sie(make_user: Callable[..., User], mailoutbox: list[object]) -> None:
    user = make_user(password="x-1-y-2-z")
    Client(headers={"accept-language": "de"}).post("/accounts/password/reset/", {"email": user.email})

    (mail,) = mailoutbox
    assert "Passwort" in mail.subject  # type: ignore[attr-defined]
    assert f"Ihr Benutzername ist {user.username}." in mail.body  # type: ignore[attr-defined]
    assert not DU.search(mail.body)  # type: ignore[attr-defined]
