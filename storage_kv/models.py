"""User Storage: what one agent keeps about one user, how much it is, and how often the agent has asked.

Rows are written by `store.py` and `actions.py`. In all three models the references have no constraint that Django
knows: the migration makes them in the database, with ON DELETE CASCADE. What is kept hangs on the row of
`StorageUsage`, and that row on its user and its agent. So a value costs no lock on an agent's row, which many users
share (docs/adr/0005), and no value outlives its agent or its user, even one that is written in that very moment.
"""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from registry.models import Agent


def _user() -> "models.ForeignKey[User]":
    # All queries come with an agent, too, and the constraints' indexes begin with the user.
    return models.ForeignKey(
        User,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
        verbose_name=_("user"),
    )


def _agent(*, indexed: bool) -> "models.ForeignKey[Agent]":
    return models.ForeignKey(
        Agent,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=indexed,
        verbose_name=_("agent"),
    )


class StorageUsage(models.Model):
    """How much an agent keeps about a user. Locked before any of its values is written, so it is always exact."""

    user = _user()
    agent = _agent(indexed=True)
    keys = models.PositiveIntegerField(_("keys"))
    bytes = models.PositiveBigIntegerField(_("bytes"), help_text=_("Bytes of all values together."))

    class Meta:
        verbose_name, verbose_name_plural = _("user storage"), _("user storage")
        constraints = [models.UniqueConstraint(fields=["user", "agent"], name="one_storage_a_user_and_agent")]

    def __str__(self) -> str:
        return f"{self.agent_id} about {self.user_id}: {self.keys} keys"


class StoredValue(models.Model):
    """One key and its value. `version` is new with every write, and never comes back."""

    user = _user()
    agent = _agent(indexed=False)
    # In the order of its bytes, whatever the database's language: pages of a list depend on it.
    key = models.TextField(db_collation="C")
    value = models.BinaryField()
    content_type = models.CharField(max_length=255, help_text='Empty for a text that was set as `{"data": …}`.')
    version = models.UUIDField()
    modified = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name, verbose_name_plural = _("stored value"), _("stored values")
        constraints = [models.UniqueConstraint(fields=["user", "agent", "key"], name="one_value_a_key")]

    def __str__(self) -> str:
        return f"{self.agent_id} about {self.user_id}: {self.key}"


class StorageCalls(models.Model):
    """The calls an agent has made for a user in the minute that began at `began`.

    An unlogged table: no call waits for the disk to be counted. A crash of the database empties it.
    """

    user = _user()
    agent = _agent(indexed=True)
    began = models.DateTimeField()
    calls = models.PositiveIntegerField()

    class Meta:
        verbose_name, verbose_name_plural = _("storage calls"), _("storage calls")
        constraints = [models.UniqueConstraint(fields=["user", "agent"], name="one_count_a_user_and_agent")]

    def __str__(self) -> str:
        return f"{self.agent_id} for {self.user_id}: {self.calls}"
