"""What people fill in about an agent, and what they look for in the list."""

from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Owner, User
from common.errors import FixieError
from registry.access import owners_of
from registry.fields import DESCRIPTION_MAX, NAME_MAX, URL_MAX, AgentFields, check_queries
from registry.models import Agent, Revision
from registry.wanted import KINDS, STATES, WHOSE, Wanted

FOUND_BY = _("One question a line. With these and its few-shots the Router finds it.")
CHECKED_BY = _("Where the agent has no manifest, the first one is asked once an hour to see whether it answers.")
LONG = {"rows": 4, "dir": "auto"}


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    def prepare_value(self, value: Any) -> Any:
        """A text that came with line breaks is shown on one line."""
        return "\n".join(" ".join(text.split()) for text in value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = (super().to_python(value) or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(self.prepare_value(initial)) != self.to_python(data))


class QueriesField(LinesField):
    """What an agent can be asked, as its owner gives it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(label=_("What can it be asked?"), required=False, **{"widget": forms.Textarea, **options})

    def clean(self, value: Any) -> Any:
        queries = super().clean(value)
        try:
            check_queries(queries)
        except FixieError as error:
            raise forms.ValidationError(error.told()) from None
        return queries


class Queries(forms.Form):
    queries = QueriesField(
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=FOUND_BY,
    )

    def __init__(self, *args: Any, agent: Agent, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        revision = agent.current_revision
        # Whether others answer is not looked after.
        if revision is not None and revision.deployment == Revision.Deployment.EXTERNAL:
            self.fields["queries"].help_text = f"{FOUND_BY} {CHECKED_BY}"


class _Refusable(forms.Form):
    """A form whose values an action may refuse."""

    def refuse(self, error: FixieError) -> None:
        """Shows the error at the field that it names, else above the form."""
        field = str(error.details.get("field"))
        self.add_error(field if field in self.fields else None, error.told())


class Details(_Refusable):
    """The texts of an agent, and who sees it."""

    name = forms.CharField(
        label=_("Name"), required=False, max_length=NAME_MAX, widget=forms.TextInput(attrs={"dir": "auto"})
    )
    description = forms.CharField(
        label=_("Description"), required=False, max_length=DESCRIPTION_MAX, widget=forms.Textarea(attrs=LONG)
    )
    more_info_url = forms.CharField(
        label=_("Web page about it"),
        required=False,
        max_length=URL_MAX,
        widget=forms.TextInput(attrs={"inputmode": "url", "placeholder": "https://"}),
    )
    published = forms.BooleanField(label=_("Published: everybody sees it and can ask it"), required=False)

    @classmethod
    def of(cls, agent: Agent) -> "Details":
        return cls(initial={name: getattr(agent, name) for name in cls.base_fields})

    def fields_of_agent(self) -> AgentFields:
        return cast(AgentFields, dict(self.cleaned_data))


def _address_field() -> forms.CharField:
    return forms.CharField(
        label=_("Address"),
        max_length=URL_MAX,
        widget=forms.TextInput(
            attrs={"inputmode": "url", "placeholder": "https://", "autocomplete": "off", "spellcheck": "false"}
        ),
    )


class Address(_Refusable):
    deployment_url = _address_field()


class NewAgent(Details):
    """An agent of `user`, or of an organization of theirs, and where it runs.

    `may_go_on` is set where its manifest cannot be used: then it may be registered all the same, with `anyway`.
    """

    field_order = ("deployment_url", "owner", "handle", "name", "description", "more_info_url", "published")
    deployment_url = _address_field()
    owner = forms.ChoiceField(label=_("Owner"))
    handle = forms.CharField(
        label=_("Handle"),
        max_length=50,
        help_text=_("People ask it as @owner/handle. Letters, digits, - and _."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    anyway = forms.BooleanField(required=False)
    may_go_on = False

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owner = self.fields["owner"]
        assert isinstance(owner, forms.ChoiceField)
        # The user first, who comes before their organizations.
        owners = Owner.objects.filter(pk__in=owners_of(user)).exclude(pk=user.owner_id).order_by("handle")
        owner.choices = [(handle, handle) for handle in (user.username, *owners.values_list("handle", flat=True))]

    def fields_of_agent(self) -> AgentFields:
        names = ("handle", "name", "description", "more_info_url", "published")
        return cast(AgentFields, {name: self.cleaned_data[name] for name in names})


class Deletion(forms.Form):
    """The handle of the agent that is to be deleted, typed."""

    handle = forms.CharField(
        label=_("Its handle"), required=False, widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True})
    )

    def __init__(self, *args: Any, handle: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected = handle

    def clean_handle(self) -> str:
        if self.cleaned_data["handle"].strip() != self.expected:
            raise forms.ValidationError(_("This is not its handle. Nothing was deleted."))
        return self.expected


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of an agent's page that were refused; None is shown as the agent is."""

    queries: Queries | None = None
    details: Details | None = None
    address: Address | None = None


class AgentFilters(forms.Form):
    """What a reader looks for in the list. What it does not understand it passes over."""

    q = forms.CharField(
        label=_("Search"),
        required=False,
        max_length=NAME_MAX,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off", "dir": "auto"}),
    )
    whose = forms.ChoiceField(label=_("Whose"), required=False, choices=WHOSE)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=KINDS)
    state = forms.ChoiceField(label=_("State"), required=False, choices=STATES)
    owner = forms.CharField(required=False, max_length=50, widget=forms.HiddenInput)
    after = forms.CharField(required=False, max_length=101)

    def __init__(self, *args: Any, reader: User | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if reader is None:
            del self.fields["whose"]
            self.fields["state"].choices = STATES[:-1]  # type: ignore[attr-defined]  # nothing of theirs is off

    def wanted(self) -> Wanted:
        """What was asked for, as far as it is understood."""
        self.full_clean()
        given = {name: value.replace("\0", "") for name, value in self.cleaned_data.items()}
        return Wanted(**given)
