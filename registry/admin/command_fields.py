"""What the "Run a command" form asks for in lines: arguments and an environment, which may also be given as JSON."""

from typing import Any

import orjson
from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget


class LinesOrJsonField(forms.CharField):
    """A list or an object, written in lines, or as JSON where the text begins with `bracket`.

    What is shown is what is read back: as JSON where lines would say something else.
    """

    kind: type
    bracket: str
    words: str | Promise

    def __init__(self, **options: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 4})
        super().__init__(required=False, strip=False, widget=widget, **options)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, self.kind):
            return value  # what somebody wrote, to be corrected
        text = "\n".join(self.lines_of(value))
        return text if self._reads_as(text, value) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()

    def to_python(self, value: Any) -> Any:
        # Browsers send \r\n for any line break.
        text = (super().to_python(value) or "").replace("\r\n", "\n").replace("\r", "\n")
        if not text.lstrip().startswith(self.bracket):
            return self.read_lines(text.removesuffix("\n").split("\n") if text else [])
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            problem = _("What begins with %(bracket)s is read as %(words)s, and this is none.")
            raise forms.ValidationError(problem % {"bracket": self.bracket, "words": self.words}) from None

    def _reads_as(self, text: str, value: Any) -> bool:
        try:
            return bool(self.to_python(text) == value)
        except forms.ValidationError:
            return False

    def lines_of(self, value: Any) -> list[str]:
        raise NotImplementedError

    def read_lines(self, lines: list[str]) -> Any:
        raise NotImplementedError


class ArgumentsField(LinesOrJsonField):
    """Arguments, one a line, just as they stand there; a line break at the end adds none."""

    kind, bracket, words = list, "[", _("a JSON list")

    def lines_of(self, value: list[str]) -> list[str]:
        return value

    def read_lines(self, lines: list[str]) -> list[str]:
        return lines


class EnvironmentField(LinesOrJsonField):
    """`NAME=value`, one a line."""

    kind, bracket, words = dict, "{", _("a JSON object")

    def lines_of(self, value: dict[str, str]) -> list[str]:
        return [f"{name}={text}" for name, text in value.items()]

    def read_lines(self, lines: list[str]) -> dict[str, str]:
        filled = {number: line for number, line in enumerate(lines, start=1) if line.strip()}
        if wrong := [number for number, line in filled.items() if "=" not in line]:
            raise forms.ValidationError(_("Line %(number)s is not NAME=value.") % {"number": wrong[0]})
        return dict(line.split("=", 1) for line in filled.values())
