"""Content types and names: what they may look like, whether the bytes give them the lie, what a browser may show."""

import mimetypes
import re
from uuid import UUID

from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidRequest
from common.filenames import safe_filename

MAX_LENGTH = 255
HEAD_BYTES = 512  # of the content, for `check_honest`

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
# RFC 9110, section 8.3.1, where a word is called a token; of quoted strings those without backslashes.
_PARAMETER = re.compile(rf'[ \t]*;[ \t]*({_WORD})=({_WORD}|"[\t !#-\[\]-~]*")')
_CONTENT_TYPE = re.compile(rf"({_WORD}/{_WORD})((?:{_PARAMETER.pattern})*)")

# How content begins (bytes at its very start, after white space for markup) and the types it may then be called.
_MARKUP = rb"(?:\xef\xbb\xbf)?\s*"
_SIGNATURES = [
    (re.compile(beginning, re.DOTALL | re.IGNORECASE), types)
    for beginning, types in (
        (rb"\x89PNG\r\n\x1a\n", {"image/png", "image/apng", "image/vnd.mozilla.apng"}),
        (rb"\xff\xd8\xff", {"image/jpeg", "image/jpg", "image/pjpeg"}),
        (rb"GIF8[79]a", {"image/gif"}),
        (rb"RIFF....WEBP", {"image/webp"}),
        (rb"%PDF-", {"application/pdf"}),
        (rb"PK(?:\x03\x04|\x05\x06)", set[str]()),
        (rb"\x1f\x8b|MZ|\x7fELF", set[str]()),
        (_MARKUP + rb"(?:<\?xml|<svg|<!doctype svg|<!--)", {"image/svg+xml"}),
        (_MARKUP + rb"<(?:!doctype|html|head|body|script|iframe|style|table|div|p|a|h1|br)[\s>]", set[str]()),
    )
]
# Types that a browser takes at their word and plays or shows. What they are called, they must be.
_SHOWN = re.compile(r"(?:image|audio|video)/|application/pdf$")
_INLINE = re.compile(r"image/(?:png|jpeg|gif|webp|avif)$|(?:audio|video)/|text/plain$")


def checked(value: str) -> str:
    """`value` in one way of writing it. Raises InvalidRequest (`content_type`) unless it is a content type."""
    text = value.strip()
    match = _CONTENT_TYPE.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise InvalidRequest(
            f"A content type is type/subtype, such as image/png, in at most {MAX_LENGTH} characters.",
            field="content_type",
            value=value[:100],
        )
    parameters = [f"; {name.lower()}={text}" for name, text in _PARAMETER.findall(match[2])]
    return match[1].lower() + "".join(parameters)


def check_honest(content_type: str, head: bytes) -> None:
    """Raises InvalidRequest (`content_type`) where content that begins with `head` is plainly something else.

    Only pictures, sound, video and PDF are asked for; anything may be called text or octets, as which it is harmless.
    """
    essence = _essence(content_type)
    if not _SHOWN.match(essence):
        return
    for beginning, types in _SIGNATURES:
        if beginning.match(head) and essence not in types:
            raise InvalidRequest(
                _("The content is not %(value)s: it begins like something else."), field="content_type", value=essence
            )


def named(name: str) -> str:
    """The name of a file as it is kept: somebody else may be shown it, and save the file under it."""
    return safe_filename(name)


def disposition(content_type: str, name: str, embed_id: UUID) -> str:
    """`Content-Disposition`: shown only where showing cannot run anything, saved as `name`, if there is one."""
    essence = _essence(content_type)
    filename = name or f"{embed_id}{mimetypes.guess_extension(essence) or ''}"
    return content_disposition_header(not _INLINE.match(essence), filename) or ""


def _essence(content_type: str) -> str:
    return content_type.partition(";")[0]
