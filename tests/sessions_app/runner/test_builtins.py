"""The Funcs that the platform itself answers."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import override_settings

from registry.transports.base import Manifest
from sessions_app.runner.builtins import builtin_answer

OWN = "Q: Time in Rome?\nAsk Func[local_datetime]: Rome\nFunc[local_datetime] says: noon\nA: Noon."
OURS = "Q: Time?\nAsk Func[local_datetime]:\nFunc[local_datetime] says: noon\nA: Noon."


def manifest(*few_shots: str) -> Manifest:
    return Manifest("code_shot", base_prompt="I tell the time.", few_shots=few_shots)


@pytest.mark.parametrize("name", ["base_prompt", "fixie_base_prompt"])
def test_the_base_prompt_is_the_agents(name: str) -> None:
    assert builtin_answer(name, manifest()) == "I tell the time."


@pytest.mark.parametrize("name", ["utc_datetime", "fixie_utc_datetime"])
def test_the_time_is_told_in_utc(name: str) -> None:
    said = builtin_answer(name, manifest())
    assert said is not None
    told = datetime.strptime(said, "%A %B %d %Y %I:%M %p UTC").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=2)


def test_local_time_is_that_of_the_site() -> None:
    with override_settings(TIME_ZONE="Asia/Kolkata"):
        said = builtin_answer("fixie_local_datetime", manifest())
    assert said is not None
    assert said.endswith("M UTC+05:30")


def test_a_func_of_the_agents_own_goes_before_the_short_name() -> None:
    assert builtin_answer("local_datetime", manifest(OURS)) is not None
    assert builtin_answer("local_datetime", manifest(OURS, OWN)) is None
    assert builtin_answer("fixie_local_datetime", manifest(OWN)) is not None


@pytest.mark.parametrize(
    "name", ["", "fixie_", "fixie_query_corpus", "roll", "fixie_fixie_base_prompt", "_base_prompt"]
)
def test_anything_else_is_not_built_in(name: str) -> None:
    assert builtin_answer(name, manifest()) is None
