"""What the admin's pages show of the content of sessions, to those who opened it, and where its pages are."""

from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from sessions_app.attachments import shown_with
from sessions_app.frames import Frame
from sessions_app.models import Message, Session, naming_agents

MESSAGES = 200


def run_url(run: UUID) -> str:
    return reverse("admin:sessions_app_run_change", args=[run])


@dataclass(frozen=True, slots=True)
class Said:
    """A message and its embeds, by their keys."""

    message: Message
    embeds: list[tuple[int, Frame]]


@dataclass(frozen=True, slots=True)
class Page:
    """Messages in order. `older` is where the page before this one ends; None where there is none."""

    messages: list[Said]
    older: int | None

    @property
    def told(self) -> str:
        """What is on it, for the audit log."""
        if not self.messages:
            return "it, which is empty"
        return f"messages {self.messages[0].message.seq} to {self.messages[-1].message.seq}"


def page_of(session: Session, *, before: str) -> Page:
    """The last messages of a session, or those before the number `before`."""
    of_session = Message.objects.filter(session=session)
    if before.isascii() and before.isdigit() and len(before) < 10:
        of_session = of_session.filter(seq__lt=int(before))
    newest = list(naming_agents(of_session).order_by("-seq")[: MESSAGES + 1])
    messages = newest[MESSAGES - 1 :: -1] if len(newest) > MESSAGES else newest[::-1]
    embeds = shown_with(session.pk, messages)
    said = [Said(message, [(key, embeds[key]) for key in message.embed_keys if key in embeds]) for message in messages]
    return Page(said, messages[0].seq if len(newest) > MESSAGES else None)
