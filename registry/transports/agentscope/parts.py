"""What a content of the Agent API protocol is to us: words, or an embed. Pure."""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from registry.transports.agentscope.models import (
    AudioContent,
    Content,
    DataContent,
    FileContent,
    ImageContent,
    RefusalContent,
    TextContent,
    VideoContent,
)
from registry.transports.base import EmbedRef
from registry.transports.wire import clean

UNKNOWN_TYPE = "application/octet-stream"
FILENAME_MAX = 200
# What a site of this platform adds to the contents that are embeds: the number by which the text names them.
KEY = "key"
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SUBTYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]{0,50}")
# How the Base64 of pictures begins, which some servers send bare.
_PICTURES = {"iVBORw": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


@dataclass(frozen=True, slots=True)
class Part:
    """A text, or an embed with the name of its file and the number it is to have, where these are told."""

    text: str = ""
    embed: EmbedRef | None = None
    filename: str = ""
    key: str = ""


def part_of(content: Content) -> Part:
    """What a whole content says. One of an unknown type, or with nothing in it that can be had, is shown as JSON."""
    part = _part(content)
    key = getattr(content, KEY, None)
    return replace(part, key=key) if isinstance(key, str) and _NUMBER.fullmatch(key) else part


def _part(content: Content) -> Part:
    match content:
        case TextContent(text=str(text)) | RefusalContent(refusal=str(text)):
            return Part(clean(text))
        case ImageContent(image_url=str(url)) if url:
            return Part(embed=_embed(url, _picture(url)))
        case AudioContent(data=str(data)) if data:
            return Part(embed=_embed(data, _sound(content.format or "")))
        case VideoContent(video_url=str(url)) if url:
            return Part(embed=_embed(url, "video/mp4"))
        case FileContent():
            return _file(content)
        case DataContent(data=dict(data)):
            return Part(fenced(data))
    payload = content.payload()
    return Part(fenced(payload)) if payload else Part()


def fenced(value: Mapping[str, Any]) -> str:
    """`value` as a block of JSON in Markdown."""
    return f"```json\n{orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()}\n```"


def _file(content: FileContent) -> Part:
    name = " ".join(clean(content.filename or "").split())[:FILENAME_MAX]
    at = content.file_url or content.file_data
    if at:
        return Part(embed=_embed(at, mimetypes.guess_type(name)[0] or UNKNOWN_TYPE), filename=name)
    if content.file_id:
        return Part(f"{name or 'A file'} (file_id: {clean(content.file_id)}, which only the agent can open)")
    return Part(name)


def _embed(value: str, content_type: str) -> EmbedRef:
    """`value` is an address, which says itself what is there, or bare Base64 of `content_type`."""
    if _SCHEME.match(value):
        return EmbedRef("", clean(value))
    return EmbedRef(content_type, f"data:{content_type};base64,{clean(value)}")


def _picture(base64: str) -> str:
    return next((kind for start, kind in _PICTURES.items() if base64.startswith(start)), UNKNOWN_TYPE)


def _sound(said: str) -> str:
    """The content type of a format such as `mp3` or `audio/mpeg`."""
    subtype = said.lower().removeprefix("audio/")
    if not _SUBTYPE.fullmatch(subtype):
        return UNKNOWN_TYPE
    guessed = mimetypes.guess_type(f"sound.{subtype}")[0] or ""
    return guessed if guessed.startswith("audio/") else f"audio/{subtype}"
