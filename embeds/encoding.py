"""What an upload may not be: compressed on its way."""

from django.http import HttpRequest

from common.errors import InvalidRequest


def check_plain(request: HttpRequest) -> None:
    """Raises InvalidRequest where the body says it is compressed: nothing here inflates what strangers send."""
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise InvalidRequest(
            "Send the bytes as they are: a body with Content-Encoding is not unpacked here.",
            field="Content-Encoding",
            value=encoding[:100],
        )
