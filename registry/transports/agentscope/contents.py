"""What every event of the Agent API protocol has, and the contents of a message: text, images, data and so on."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from registry.transports.agentscope.vocabulary import ContentType, RunStatus


class Document(BaseModel):
    """Any object of the protocol. Fields that it does not know are kept."""

    model_config = ConfigDict(extra="allow")


class Error(Document):
    code: str
    message: str


class Event(Document):
    """What a stream is made of. The methods set the status and return the event itself.

    `object` says what it is: `response`, `message` or `content`. `sequence_number` rises over a stream; a text that is
    no number is kept as it is, since the specification has both.
    """

    sequence_number: Annotated[int | str | None, Field(union_mode="left_to_right")] = None
    object: str
    status: str | None = None
    error: Error | None = None

    def created(self) -> Self:
        return self._with(RunStatus.Created)

    def queued(self) -> Self:
        return self._with(RunStatus.Queued)

    def in_progress(self) -> Self:
        return self._with(RunStatus.InProgress)

    def completed(self) -> Self:
        return self._with(RunStatus.Completed)

    def incomplete(self) -> Self:
        return self._with(RunStatus.Incomplete)

    def canceled(self) -> Self:
        return self._with(RunStatus.Canceled)

    def rejected(self) -> Self:
        return self._with(RunStatus.Rejected)

    def failed(self, error: Error) -> Self:
        self.error = error
        return self._with(RunStatus.Failed)

    def _with(self, status: RunStatus) -> Self:
        self.status = status.value
        return self


class Content(Event):
    """A part of a message; of an unknown `type` this itself, with all of its fields.

    `index` is its place in the message `msg_id`. Where `delta` is true, it is the next piece of what is there.
    """

    # The field that deltas add to.
    grows: ClassVar[str] = ""

    type: str
    object: str = "content"
    index: int | None = None
    delta: bool | None = False
    msg_id: str | None = None

    def extend(self, delta: "Content") -> None:
        """Takes in the next piece: texts and encoded files are appended, data is merged (`merged`).

        Other fields of the piece, such as a format, take the place of what was there. Of an unknown type, all is data.
        """
        old = dict(self)
        for name, value in delta.payload().items():
            new = merged(old.get(name), value) if name == self.grows or not self.grows else value
            # A field that no model has may go by any name, even by one of a method.
            fields = self.__dict__ if name in type(self).model_fields else self.__pydantic_extra__
            assert fields is not None
            fields[name] = new
            self.model_fields_set.add(name)

    def payload(self) -> dict[str, Any]:
        """The fields that make this content, without those that every content has."""
        return {name: value for name, value in self if name not in Content.model_fields and value is not None}

    def is_bare(self) -> bool:
        """Whether it says nothing but where it belongs and its status, and maybe what its type has no field for."""
        return not any(name in type(self).model_fields or not self.grows for name in self.payload())


class TextContent(Content):
    grows = "text"

    type: Literal["text"] = "text"
    text: str | None = None


class ImageContent(Content):
    """`image_url` is an http(s) or a data URL."""

    grows = "image_url"

    type: Literal["image"] = "image"
    image_url: str | None = None


class DataContent(Content):
    grows = "data"

    type: Literal["data"] = "data"
    data: dict[str, Any] | None = None


class AudioContent(Content):
    """`data` is a URL or base64, `format` such as `mp3`."""

    grows = "data"

    type: Literal["audio"] = "audio"
    data: str | None = None
    format: str | None = None


class VideoContent(Content):
    grows = "video_url"

    type: Literal["video"] = "video"
    video_url: str | None = None


class FileContent(Content):
    """A file by its URL, by an id that its server knows, or as base64 in `file_data`."""

    grows = "file_data"

    type: Literal["file"] = "file"
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None
    file_data: str | None = None


class RefusalContent(Content):
    grows = "refusal"

    type: Literal["refusal"] = "refusal"
    refusal: str | None = None


CONTENTS: dict[str, type[Content]] = {
    ContentType.TEXT: TextContent,
    ContentType.IMAGE: ImageContent,
    ContentType.DATA: DataContent,
    ContentType.AUDIO: AudioContent,
    ContentType.VIDEO: VideoContent,
    ContentType.FILE: FileContent,
    ContentType.REFUSAL: RefusalContent,
}


def _tag(value: Any) -> str:
    kind = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return kind if isinstance(kind, str) and kind in CONTENTS else "other"


# The model is chosen by `type` alone, so that an error names the one field that is wrong.
AnyContent = Annotated[
    Annotated[TextContent, Tag("text")]
    | Annotated[ImageContent, Tag("image")]
    | Annotated[DataContent, Tag("data")]
    | Annotated[AudioContent, Tag("audio")]
    | Annotated[VideoContent, Tag("video")]
    | Annotated[FileContent, Tag("file")]
    | Annotated[RefusalContent, Tag("refusal")]
    | Annotated[Content, Tag("other")],
    Discriminator(_tag),
]


def merged(old: Any, new: Any) -> Any:
    """What `old` becomes by the delta `new`; neither is changed.

    Texts and lists are appended, numbers added, objects merged key by key, as the published builder does. None adds
    nothing: deltas of a call often name the tool in the first of them only. Anything else is replaced.
    """
    match old, new:
        case (_, None):
            return old
        case (dict(), dict()):
            return old | {key: merged(old.get(key), value) for key, value in new.items()}
        case (bool(), _) | (_, bool()):
            return new
        case (str(), str()) | (list(), list()) | (int() | float(), int() | float()):
            return old + new
        case _:
            return new
