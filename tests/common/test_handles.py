"""Names of agents at the start of texts, and wherever a person writes one."""

import pytest

from common.errors import InvalidRequest
from common.handles import split_address, split_agent_name


@pytest.mark.parametrize(
    ("text", "address", "rest"),
    [
        ("@fixie/dice roll 2d6", "fixie/dice", "roll 2d6"),
        ("@dice roll 2d6", "dice", "roll 2d6"),
        ("  @dice, roll", "dice", "roll"),
        ("@fixie/dice: roll", "fixie/dice", "roll"),
        ("@my_dice-2\nroll", "my_dice-2", "roll"),
        ("@dice", "dice", ""),
        ("roll @dice", None, "roll @dice"),
        ("@dice/ roll", None, "@dice/ roll"),
        ("@fixie/dice/x roll", None, "@fixie/dice/x roll"),
        ("@dice's turn", None, "@dice's turn"),
        ("@-dice roll", None, "@-dice roll"),
        ("@ dice", None, "@ dice"),
        (f"@{'x' * 51} roll", None, f"@{'x' * 51} roll"),
        ("me@example.com", None, "me@example.com"),
        ("", None, ""),
    ],
)
def test_a_text_may_be_addressed_to_an_agent(text: str, address: str | None, rest: str) -> None:
    assert split_address(text) == (address, rest)


def test_a_handle_alone_has_no_owner() -> None:
    assert split_agent_name("dice") == ("", "dice")
    assert split_agent_name("fixie/dice") == ("fixie", "dice")
    with pytest.raises(InvalidRequest):
        split_agent_name("a/b/c")
