"""What people teach an agent, and its documents: changed from its page."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from common.errors import InvalidRequest
from registry.access import correction_to_delete_for, own_agent_for, suggestion_for
from registry.corpora.actions import reindex_corpora
from registry.corrections import remembering
from registry.views.loading import done, found, refused, user_of


@require_POST
@login_required
def accept_correction(request: HttpRequest, owner: str, handle: str, sample: int) -> HttpResponse:
    """Lets what somebody asked here, instead of elsewhere, route everybody's queries."""
    correction = found(suggestion_for, user_of(request), owner, handle, sample)
    accepted = remembering.accept_correction(correction=correction)
    return done(request, _("Accepted “%(text)s”.") % {"text": _short(accepted.text)}, owner, handle)


@require_POST
@login_required
def delete_correction(request: HttpRequest, owner: str, handle: str, sample: int) -> HttpResponse:
    """Deletes a correction: the reader's own, or any for who may change the agent."""
    correction, mine = found(correction_to_delete_for, user_of(request), owner, handle, sample)
    if mine:
        remembering.dismiss_correction(correction=correction)
    else:
        remembering.forget_correction(correction=correction)
    return done(request, _("“%(text)s” no longer leads here.") % {"text": _short(correction.text)}, owner, handle)


@require_POST
@login_required
def reindex(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Has the agent's documents read anew."""
    agent = found(own_agent_for, user_of(request), owner, handle)
    try:
        reindex_corpora(agent=agent)
    except InvalidRequest as error:
        return refused(request, error.told(), owner, handle)
    return done(request, _("The documents are being read again."), owner, handle)


def _short(text: str) -> str:
    return Truncator(" ".join(text.split())).chars(80)
