"""Bodies that are larger than any call may be."""

from collections.abc import Callable
from typing import Any

from django.conf import settings

from tests.sites import Site


def test_a_body_over_the_limit_is_refused_and_the_limit_named(
    site: Site, make_user: Callable[..., Any], api_key: Callable[..., str]
) -> None:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    with site.client(api_key(make_user())) as http:
        answer = http.post("/api/sessions", json={"name": "x" * limit})
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "payload_too_large"
        assert answer.json()["error"]["details"] == {"field": "body", "limit": limit}
        assert http.get("/api/sessions").json()["items"] == []
