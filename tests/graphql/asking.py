"""Somebody who sends GraphQL documents to the site."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from accounts.models import User

Json = dict[str, Any]


@dataclass(frozen=True)
class Asker:
    """A user (nobody, for a stranger) and an HTTP client that sends what they have to show."""

    user: "User"
    key: str | None
    http: httpx2.Client

    def send(self, document: str, **variables: Any) -> httpx2.Response:
        return self.http.post("/graphql", json={"query": document, "variables": variables})

    def ask(self, document: str, **variables: Any) -> Json:
        """The data of an answer without errors."""
        answer = self.send(document, **variables)
        assert answer.status_code == 200, answer.text
        assert "errors" not in answer.json(), answer.text
        return dict(answer.json()["data"])

    def refused(self, document: str, **variables: Any) -> Json:
        """The one error of an answer without data, as `{code, message, retryable, details}`."""
        return error_of(self.send(document, **variables))


def error_of(answer: httpx2.Response) -> Json:
    document = answer.json()
    assert not any((document.get("data") or {}).values()), document
    (error,) = document["errors"]
    assert error["message"]
    assert set(error["extensions"]) == {"code", "retryable", "details"}, error
    return {"message": error["message"], **error["extensions"]}
