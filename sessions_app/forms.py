"""What a person fills in to begin a session."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from common.errors import FixieError
from common.handles import split_agent_id
from registry.access import agent_for, nearest_first
from registry.liveness.health import health_of
from registry.models import Agent

# A longer list would be no help; any other agent is asked with @owner/handle.
AGENTS_MAX = 200


class NewSession(forms.Form):
    """A front agent that `user` sees, and the first question, which may be left for later.

    `initial` may name an agent: where there is none of that name, the field has an error that says so.
    """

    agent = forms.CharField(label=gettext_lazy("Agent"), required=False, max_length=101, widget=forms.Select)
    text = forms.CharField(
        label=gettext_lazy("Your question"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 1, "dir": "auto", "enterkeyhint": "send", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.problem = ""
        widget = self.fields["agent"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = choices = _choices(user)
        named = str(self["agent"].value() or "")
        if named and named not in dict(choices):
            choices += self._one_more(named)
        anything = choices and not choices[0][0]
        words = _("Ask anything. Fixie finds the agent that can help.") if anything else _("Ask something")
        self.fields["text"].widget.attrs["placeholder"] = words

    def clean_agent(self) -> Agent | None:
        """The front agent; None lets the site's default agent choose."""
        if not self.cleaned_data["agent"]:
            return None
        try:
            return agent_for(self.user, *split_agent_id(self.cleaned_data["agent"]))
        except FixieError as error:
            raise forms.ValidationError(error.told()) from None

    def _one_more(self, named: str) -> list[tuple[str, str]]:
        """The choice of an agent that the list has no room for."""
        try:
            return [(named, _label(agent_for(self.user, *split_agent_id(named))))]
        except FixieError as error:
            self.problem = error.told()
            return []


def _choices(user: User) -> list[tuple[str, str]]:
    """The site's default agent first, which chooses among the others; without it one of them has to be named."""
    visible = Agent.objects.visible_to(user).filter(enabled=True).select_related("owner", "liveness")
    owner, handle = split_agent_id(settings.DEFAULT_AGENT)
    default = visible.filter(owner__handle=owner, handle=handle)
    others = nearest_first(visible.exclude(pk__in=default), user)[:AGENTS_MAX]
    agents = [(agent.agent_id, _label(agent)) for agent in others]
    return [("", _("Fixie chooses")), *agents] if default.exists() else agents


def _label(agent: Agent) -> str:
    label = f"{agent.name} ({agent.agent_id})" if agent.name else agent.agent_id
    return label if health_of(agent, mine=False).healthy else _("%(agent)s, not answering") % {"agent": label}
