"""What operators do with other people's sessions and runs; each act is in the audit log.

Runs are not stopped or asked in a transaction: that speaks to the processes that execute them.
"""

from asgiref.sync import async_to_sync
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.actions import grant_credits
from accounts.audit import record
from accounts.auth import Caller
from accounts.models import User
from common.errors import InvalidRequest
from sessions_app import stopping
from sessions_app.asking_again import question_of
from sessions_app.models import Run, Session, SharedLink
from sessions_app.posting import Posted, post

CREDIT_REASON = "a query that failed and was asked again by an administrator"


def cancel_run(*, run: Run, by: User) -> bool:
    """Stops a run, waiting or at work, and all below it; False where it had ended already."""
    stopped = async_to_sync(stopping.end)(run.pk, session_id=run.session_id, status=run.status)
    if stopped:
        record(by=by, object=run, message="Canceled it.")
    return bool(stopped)


def is_retryable(run: Run) -> bool:
    """Whether a person asked it, here, and it failed."""
    return run.status == Run.Status.FAILED and run.parent_id is None and not run.copied


def retry_run(*, run: Run, by: User) -> Posted:
    """Asks the query of a failed run again: the same agent, in the same session, as the session's owner.

    It is one more query of theirs today, and they get a credit for it, so that it costs them nothing. Doing it twice
    changes nothing. Raises InvalidRequest where the run did not fail, and as `posting.post`; then nothing is kept.
    """
    if not is_retryable(run):
        raise InvalidRequest(_("Only a query that failed can be asked again."), field="run")
    if run.agent is None:
        raise InvalidRequest(_("The agent that was asked no longer exists."), field="run")
    text, embeds = question_of(run)
    posted = async_to_sync(post)(
        Caller(run.session.owner_id, None),
        run.session.handle,
        text,
        agent=(run.agent.owner.handle, run.agent.handle),
        embeds=embeds,
        client_id=f"retry:{run.pk}",
    )
    if not posted.again:
        grant_credits(user=run.session.owner, amount=1, reason=CREDIT_REASON, by=by)
        record(by=by, object=run, message=f"Asked it again, as run {posted.run}.")
    return posted


def revoke_shared_link(*, link: SharedLink, by: User) -> None:
    """Nobody reads the session by this link any more. Once more changes nothing."""
    with transaction.atomic():
        if SharedLink.objects.filter(pk=link.pk, revoked=None).update(revoked=Now()):
            record(by=by, object=link.session, message="Revoked a shared link.")


def open_content(*, session: Session, by: User, reason: str, what: str) -> None:
    """Notes that `by` reads `what` of a session, and why; to be called before anything is shown."""
    record(by=by, object=session, message=f"Read {what}. Reason: {reason}")
