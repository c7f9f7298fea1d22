"""What can be looked for in the list of agents."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

WHOSE = [("", _("Whose: all")), ("mine", _("Mine")), ("team", _("Of my organizations"))]
KINDS = [
    ("", _("Kind: all")),
    ("code_shot", _("Code Shot")),
    ("query_http", _("Answers by itself")),
    ("agentscope", _("AgentScope Runtime")),
    ("stdio_jsonrpc", _("Program on this machine")),
    ("internal", _("Inside this site")),
]
STATES = [("", _("State: all")), ("well", _("Answering")), ("off", _("Mine, switched off"))]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`q` are words; `owner` is a handle; the others are of `WHOSE`, `KINDS` and `STATES`; empty: all.

    `after` is the id of the agent that the page before ended with.
    """

    q: str = ""
    owner: str = ""
    whose: str = ""
    kind: str = ""
    state: str = ""
    after: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether anything is left out."""
        return any((self.q.strip(), self.owner, self.whose, self.kind, self.state))
