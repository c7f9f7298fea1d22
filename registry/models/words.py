"""The words that agents are found by."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils.translation import gettext_lazy as _

from registry.models.agents import Agent

# No language is known: words are what they are.
CONFIG = "simple"


class AgentWords(models.Model):
    """The words of an agent's handle, name and description, and of what it can be asked by everybody.

    Written by `registry.words`. A row of its own: with the agent's it would be loaded by whoever loads the agent.
    """

    agent = models.OneToOneField(
        Agent, on_delete=models.CASCADE, primary_key=True, related_name="words", verbose_name=_("agent")
    )
    words = SearchVectorField(_("words"))

    class Meta:
        verbose_name, verbose_name_plural = _("words of an agent"), _("words of agents")
        # At once where they belong: changes are few, and whoever searches looks through all that waits.
        indexes = [GinIndex(fields=["words"], name="words_of_agents", fastupdate=False)]

    def __str__(self) -> str:
        return str(self.agent)
