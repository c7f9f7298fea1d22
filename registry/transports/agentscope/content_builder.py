"""Builds one content of a message."""

from copy import deepcopy
from typing import Any, Protocol, TypeVar

from registry.transports.agentscope.contents import CONTENTS
from registry.transports.agentscope.models import (
    AudioContent,
    Content,
    ContentType,
    DataContent,
    FileContent,
    ImageContent,
    Message,
    RefusalContent,
    RunStatus,
    TextContent,
    VideoContent,
)

AContent = TypeVar("AContent", bound=Content)


class Home(Protocol):
    """What a content needs of the builder of its message."""

    message: Message

    def begin(self, builder: "ContentBuilder") -> None:
        """Says that the content has something to say. Raises ValueError where the message cannot take it."""

    def keep(self, content: AContent) -> AContent:
        """Makes a complete content part of the message, and returns its event."""

    def numbered(self, event: AContent) -> AContent:
        """A copy of `event` with its place in the stream."""


class ContentBuilder:
    """Builds one content, whole (`set_…`) or piece by piece (`add_…_delta`). `complete` ends it.

    What is set takes the place of what was there; deltas add to it. Get one from `create_content_builder`.
    """

    def __init__(self, message_builder: Home, content_type: str = ContentType.TEXT, index: int = 0) -> None:
        """Raises ValueError for a type of content that there is none of."""
        if content_type not in CONTENTS:
            raise ValueError(f"There is no content type {content_type!r}; there are {', '.join(CONTENTS)}.")
        self.index = index
        self.is_begun = False
        self._message = message_builder
        self._content: Content = CONTENTS[content_type](
            type=content_type, index=index, msg_id=message_builder.message.id
        )
        self._text: list[str] = []

    @property
    def content(self) -> Content:
        if isinstance(self._content, TextContent):
            self._content.text = "".join(self._text)
        return self._content

    def is_open(self) -> bool:
        return self.is_begun and self._content.status == RunStatus.InProgress

    def add_text_delta(self, text: str) -> TextContent:
        piece = self._begin(TextContent(text=text))
        self._text.append(text)
        return self._delta(piece)

    def add_delta(self, text: str) -> TextContent:
        """The same as `add_text_delta`."""
        return self.add_text_delta(text)

    def set_text(self, text: str) -> TextContent:
        whole = self._begin(TextContent(text=text))
        self._text = [text]
        return self._set(whole)

    def set_image_url(self, image_url: str) -> ImageContent:
        """`image_url` is a web address, or a data URL with the image in base64."""
        return self._set(self._begin(ImageContent(image_url=image_url)))

    def set_video_url(self, video_url: str) -> VideoContent:
        return self._set(self._begin(VideoContent(video_url=video_url)))

    def set_data(self, data: dict[str, Any]) -> DataContent:
        return self._set(self._begin(DataContent(data=deepcopy(data))))

    def add_data_delta(self, delta_data: dict[str, Any]) -> DataContent:
        """Merges `delta_data` into the data: texts and lists are appended, numbers added, objects merged."""
        piece = self._begin(DataContent(data=deepcopy(delta_data)))
        self._content.extend(piece)
        return self._delta(piece)

    def set_audio(self, data: str, format: str | None = None) -> AudioContent:
        """`data` is a web address, or the sound in base64; `format` such as `mp3`."""
        return self._set(self._begin(AudioContent(data=data, format=format)))

    def set_file(
        self,
        *,
        file_url: str | None = None,
        file_id: str | None = None,
        filename: str | None = None,
        file_data: str | None = None,
    ) -> FileContent:
        """`file_data` is the file in base64."""
        whole = FileContent(file_url=file_url, file_id=file_id, filename=filename, file_data=file_data)
        return self._set(self._begin(whole))

    def set_refusal(self, refusal: str) -> RefusalContent:
        return self._set(self._begin(RefusalContent(refusal=refusal)))

    def complete(self) -> Content:
        """Ends the content, which becomes part of its message. The event has all of it."""
        self._begin(self._content)
        return self._message.keep(self.content.completed())

    def break_off(self) -> Content:
        """The content as far as it got, for a message that ends before its time."""
        return self.content.incomplete()

    def _begin(self, said: AContent) -> AContent:
        """Makes sure that `said` may be said now, and says where it belongs."""
        if said.type != self._content.type:
            raise ValueError(f"This is content of the type {self._content.type}.")
        if self.is_begun and not self.is_open():
            raise ValueError(f"Content {self.index} has ended.")
        self._message.begin(self)
        self.is_begun = True
        self._content.in_progress()
        said.index, said.msg_id = self.index, self._content.msg_id
        return said.in_progress()

    def _delta(self, piece: AContent) -> AContent:
        piece.delta = True
        return self._message.numbered(piece)

    def _set(self, whole: AContent) -> AContent:
        self._content = whole
        return self._message.numbered(whole)
