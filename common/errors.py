"""The errors a caller may see: one code, one HTTP status, one sentence, the same over REST and sockets."""

from typing import Any, ClassVar

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import override


class FixieError(Exception):
    """An error with a public face.

    `message` is a plain English sentence for the person at the other end; `details` are JSON values that name
    the field, the limit or the number behind it. `retryable` says whether the same call may work later.
    What a page may show is given as a `gettext_lazy` text, whose `%(names)s` are details: `told` is it in the
    language of whoever is answered now.
    """

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | Promise, **details: Any) -> None:
        self.details = details
        self._sentence = message
        with override("en"):
            self.message = self.told()
        super().__init__(self.message)

    def told(self) -> str:
        """The message in the active language; English where that is none of a page's, or nobody translated it."""
        if not isinstance(self._sentence, Promise):
            return self._sentence
        filled = {name: _written(value) for name, value in self.details.items()}
        return str(self._sentence) % filled

    def as_dict(self) -> dict[str, Any]:
        """The wire form: `{"code", "message", "retryable", "details"}`; to the site's own pages in their language."""
        return {
            "code": self.code,
            "message": self.told(),
            "retryable": self.retryable,
            "details": self.details,
        }


def _written(value: Any) -> Any:
    return number_format(value, force_grouping=True) if isinstance(value, int) else value


class Unavailable(FixieError):
    """Something of the site's own, its database above all, is away and will be back."""

    http_status = 503
    retryable = True


class InvalidRequest(FixieError):
    code = "invalid_request"
    http_status = 400


class Unauthenticated(FixieError):
    code = "unauthenticated"
    http_status = 401


class NotFound(FixieError):
    """Missing and forbidden look the same, so that nobody can probe for what others own."""

    code = "not_found"
    http_status = 404


class AgentSwitchedOff(FixieError):
    """Those who may change the agent have switched it off; told to those who see it."""

    code = "agent_switched_off"
    http_status = 409


class LinkRefused(FixieError):
    """A signed URL that has expired, or is not what was signed."""

    code = "link_refused"
    http_status = 403


class NotSupported(FixieError):
    """The platform knows what is asked for and does not do it (yet)."""

    code = "not_supported"
    http_status = 501


class VersionConflict(FixieError):
    """Somebody wrote meanwhile; `details["etag"]` is what stands there now, null where nothing does."""

    code = "version_conflict"
    http_status = 409


class SessionBusy(FixieError):
    code = "session_busy"
    http_status = 409
    retryable = True


class PayloadTooLarge(FixieError):
    code = "payload_too_large"
    http_status = 413


class RateLimited(FixieError):
    """`details["retry_after"]`, in seconds, becomes the Retry-After header."""

    code = "rate_limited"
    http_status = 429
    retryable = True


class QuotaExceeded(RateLimited):
    """`details` hold `which`, `used`, `limit`, `resets_at` (the end of the day in UTC) and `retry_after` (seconds)."""

    code = "quota_exceeded"


class AgentUnreachable(FixieError):
    code = "agent_unreachable"
    http_status = 502
    retryable = True


class AgentTimeout(FixieError):
    code = "agent_timeout"
    http_status = 504
    retryable = True


class AgentInvalidResponse(FixieError):
    code = "agent_invalid_response"
    http_status = 502


class AgentFailed(FixieError):
    """The agent itself said that it failed; `message` is what it told the user."""

    code = "agent_error"
    http_status = 502


class ModelUnavailable(FixieError):
    code = "model_unavailable"
    http_status = 503
    retryable = True


class Canceled(FixieError):
    code = "canceled"
    http_status = 409


def error_of(code: str, message: str, **details: Any) -> FixieError:
    """The error with this `code`, for failures that were stored and are told again later."""
    return _BY_CODE.get(code, FixieError)(message, **details)


def _all(kind: type[FixieError]) -> list[type[FixieError]]:
    return [kind] + [each for below in kind.__subclasses__() for each in _all(below)]


# Where two share a code, the one that is nearer to FixieError speaks for it.
_BY_CODE = {kind.code: kind for kind in reversed(_all(FixieError))}
CODES = sorted(_BY_CODE)
