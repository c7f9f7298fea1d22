"""Who takes what the site keeps about them, and when: a large answer, so one at a time and a few a day."""

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import DataExport, User
from common.errors import RateLimited

A_DAY = timedelta(days=1)
EXPORTS_A_DAY = 5
# One that has not ended by then died with its process.
LONGEST = timedelta(hours=1)


@transaction.atomic
def begin_export(*, user: User) -> DataExport:
    """Notes that an export begins. Raises RateLimited where one is being sent, or there were enough today."""
    # Of two who begin at once, one waits here.
    User.objects.select_for_update(no_key=True).only("pk").get(pk=user.pk)
    user.data_exports.filter(started__lt=Now() - A_DAY).delete()
    if user.data_exports.filter(finished=None, started__gt=Now() - LONGEST).exists():
        raise RateLimited(_("Your data is being sent already. Wait until that is done."), which="export")
    if user.data_exports.count() >= EXPORTS_A_DAY:
        words = _("You have taken your data %(limit)s times in a day, which is the most. Try again tomorrow.")
        raise RateLimited(words, which="exports", limit=EXPORTS_A_DAY)
    return DataExport.objects.create(user=user)


def end_export(*, export: int) -> None:
    """It was sent, or its reader has left. May be done twice, and after its user is gone."""
    DataExport.objects.filter(pk=export, finished=None).update(finished=Now())
