"""Manifests: both formats, both kinds, and clear words for everything else."""

import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import AgentFailed, AgentInvalidResponse, AgentUnreachable
from common.http import aclose_client
from registry.manifests.documents import read_document
from registry.manifests.manifest import (
    ReadManifest,
    manifest_as_dict,
    manifest_from_dict,
    parse_manifest,
    read_manifest,
)
from registry.transports.base import FuncCorpus, Manifest, UrlCorpus
from tests.agents import Behaviour, ScriptedAgent, answer, chunks, redirect

FEW_SHOT = "Q: Roll\nAsk Func[roll]: 1 6\nFunc[roll] says: 4\nA: You rolled 4 🎲."
CODE_SHOT = {"base_prompt": "I roll dice.", "few_shots": [FEW_SHOT]}


@pytest.fixture
async def agent() -> AsyncIterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        yield running
    await aclose_client()


async def read(agent: ScriptedAgent, behaviour: Behaviour, path: str = "/") -> ReadManifest:
    agent.on(path, behaviour, method="GET")
    return await read_manifest(agent.url + path, token="a-token")


async def problem(agent: ScriptedAgent, behaviour: Behaviour) -> AgentInvalidResponse:
    with pytest.raises(AgentInvalidResponse) as error:
        await read(agent, behaviour)
    return error.value


# Reading


async def test_a_seed_agents_json_is_a_code_shot_manifest(agent: ScriptedAgent) -> None:
    found = await read(agent, answer(CODE_SHOT))
    assert found.transport == "code_shot"
    assert found.raw == CODE_SHOT
    assert found.manifest == Manifest(type="code_shot", base_prompt="I roll dice.", few_shots=(FEW_SHOT,))
    assert agent.requests[0].headers["authorization"] == "Bearer a-token"


async def test_the_sdks_streamed_yaml_is_read(agent: ScriptedAgent) -> None:
    sent = {
        **CODE_SHOT,
        "conversational": True,
        "corpora": [{"urls": ["http://example.com/doc1.txt"], "loader": None}, {"func_name": "load"}],
        "response_model": {"model": "test-model", "temperature": 0.5, "maximum_tokens": 42},
        "type": "code_shot",
    }
    data = yaml.dump(sent).encode()
    pieces = [data[start : start + 7] for start in range(0, len(data), 7)]
    found = await read(agent, chunks(*pieces, content_type="application/yaml"))
    assert found.raw == sent
    assert found.manifest == Manifest(
        type="code_shot",
        base_prompt="I roll dice.",
        few_shots=(FEW_SHOT,),
        corpora=(UrlCorpus(("http://example.com/doc1.txt",)), FuncCorpus("load")),
        conversational=True,
        model="test-model",
        temperature=0.5,
        max_tokens=42,
    )


@pytest.mark.parametrize("queries", [["sample query"], [], None])
async def test_a_standalone_agent_is_reached_by_queries(agent: ScriptedAgent, queries: list[str] | None) -> None:
    data = yaml.dump({"sample_queries": queries, "type": "standalone"}).encode()
    found = await read(agent, answer(body=data, content_type="application/yaml"))
    assert found.transport == "query_http"
    assert found.manifest == Manifest(type="standalone", sample_queries=tuple(queries or ()))


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_agent_that_knows_no_get_only_answers_queries(agent: ScriptedAgent, status: int) -> None:
    found = await read(agent, answer({"detail": "no"}, status=status))
    assert found == ReadManifest(Manifest(type="standalone"), {}, "query_http")


async def test_a_manifest_moved_elsewhere_is_followed(agent: ScriptedAgent) -> None:
    agent.on("/there/", answer(CODE_SHOT), method="GET")
    assert (await read(agent, redirect("/there/", status=307))).transport == "code_shot"


async def test_an_agent_that_refuses_or_is_down_is_told_apart(agent: ScriptedAgent) -> None:
    with pytest.raises(AgentFailed, match="refused"):
        await read(agent, answer({"detail": "Invalid token"}, status=403))
    with pytest.raises(AgentUnreachable):
        await read(agent, answer(body=b"Bad Gateway", status=502))


async def test_an_agent_is_usable_as_soon_as_its_manifest_is_mended(agent: ScriptedAgent) -> None:
    await problem(agent, answer({**CODE_SHOT, "few_shots": ["Q: Roll"]}))
    assert (await read(agent, answer(CODE_SHOT))).transport == "code_shot"


async def test_a_manifest_over_a_megabyte_is_refused(agent: ScriptedAgent) -> None:
    error = await problem(agent, answer({**CODE_SHOT, "more": "x" * 1024 * 1024}))
    assert error.details["max_bytes"] == 1024 * 1024


async def test_a_web_page_is_not_a_manifest(agent: ScriptedAgent) -> None:
    error = await problem(agent, answer(body=b"<p>Hi</p>", content_type="text/html; charset=utf-8"))
    assert "web page" in error.message


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b"{", "application/json", "not JSON"),
        (b"base_prompt: x\nfew_shots: [", "application/yaml", "line"),
        (b"a: b: c", "text/plain", "line 1"),
        (b"\xff\xfe\x00", "text/yaml", "UTF-8"),
        (b"- a\n- b", "text/yaml", "object"),
        (b'"text"', "application/json", "object"),
        (b"", "application/yaml", "object"),
        (b"a: \x07", "application/yaml", "neither JSON nor YAML"),
        (b"1: x", "application/yaml", "field names"),
        (b"a: !!python/object/apply:os.system [ls]", "application/yaml", "tags"),
        (b"a: !!int 1:59:59", "application/yaml", "tags"),
        (b"a: &x [1]\nb: *x", "application/yaml", "aliases"),
        (b'{"a": 12345678901234567890}', "application/json", "too large"),
        (b"a: 1.0e+999", "application/yaml", "too large"),
    ],
)
async def test_documents_that_are_not_plain_values_are_refused_with_a_reason(
    agent: ScriptedAgent, body: bytes, content_type: str, words: str
) -> None:
    error = await problem(agent, answer(body=body, content_type=content_type))
    assert words in error.message


@pytest.mark.parametrize(
    "body",
    [
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%b]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9)),
        b"[" * 1_000_000,
        b"{a: " * 250_000,
        b"- " * 500_000,
        b"[" + b"a," * 500_000 + b"]",
        b"a: " + b"1:" * 300_000 + b"1",
        b"a: " + b"9" * 900_000,
        b"? " * 300_000,
        b'{"a":' * 900 + b"1" + b"}" * 900,
    ],
    ids=["laughs", "lists", "maps", "items", "many", "sexagesimal", "digits", "keys", "json"],
)
def test_bombs_are_defused_in_a_moment(body: bytes) -> None:
    started = time.monotonic()
    with contextlib.suppress(AgentInvalidResponse):
        assert len(json.dumps(read_document(body, "application/yaml"))) < 2_000_000
    assert time.monotonic() - started < 2


def test_yaml_scalars_are_those_of_json() -> None:
    data = b"a: 2020-01-01\nb: 1_000\nc: 017\nd: 1:30\ne: 12\nf: 1.5\ng: yes\nh: ~\ni: '12'\nj: <<\nk: -3\nl: 1e3"
    assert read_document(data, "text/yaml") == {
        **{"a": "2020-01-01", "b": "1_000", "c": "017", "d": "1:30", "e": 12, "f": 1.5, "g": True},
        **{"h": None, "i": "12", "j": "<<", "k": -3, "l": "1e3"},
    }


def test_a_character_that_cannot_be_stored_is_replaced() -> None:
    assert read_document(b'{"a\\u0000": ["\\u0000"]}', "") == {"a\ufffd": ["\ufffd"]}


# Fields


def problems(**changes: Any) -> list[dict[str, Any]]:
    with pytest.raises(AgentInvalidResponse) as error:
        parse_manifest({**CODE_SHOT, **changes})
    found: list[dict[str, Any]] = error.value.details["problems"]
    return found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "robot"),
        ("type", 5),
        ("base_prompt", ["x"]),
        ("base_prompt", "x" * 300_000),
        ("few_shots", None),
        ("few_shots", {"a": "b"}),
        ("few_shots", ["x", 5]),
        ("few_shots", [FEW_SHOT + "x" * 65_536]),
        ("few_shots", [FEW_SHOT] * 201),
        ("conversational", "yes"),
        ("conversational", 1),
        ("sample_queries", "What?"),
        ("sample_queries", [None]),
        ("model", ""),
        ("model", 4),
        ("temperature", "hot"),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", True),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_tokens", True),
        ("corpora", {"urls": []}),
        ("corpora", [{"func_name": "load"}] * 21),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field: str, value: object) -> None:
    assert problems(**{field: value})[0]["field"] == field


@pytest.mark.parametrize(
    ("field", "corpus"),
    [
        ("", "https://example.com/*"),
        ("", {}),
        ("", {"sitemap": "https://example.com"}),
        ("", {"urls": ["https://example.com"], "func_name": "load"}),
        (".urls", {"urls": "https://example.com"}),
        (".urls", {"urls": []}),
        (".urls", {"urls": [""]}),
        (".urls", {"urls": ["ftp://example.com"]}),
        (".urls", {"urls": ["https://example.com/" + "x" * 2000]}),
        (".urls", {"urls": ["https://example.com"] * 1001}),
        (".exclude_patterns", {"urls": ["https://example.com"], "exclude_patterns": "*.pdf"}),
        (".auth_token_func", {"urls": ["https://example.com"], "auth_token_func": "a b"}),
        (".func_name", {"func_name": None}),
        (".func_name", {"func_name": "../admin"}),
    ],
)
def test_what_is_wrong_with_a_corpus_is_named(field: str, corpus: object) -> None:
    good = {"func_name": "load"}
    assert [problem["field"] for problem in problems(corpora=[good, corpus])] == [f"corpora[1]{field}"]


@pytest.mark.parametrize("group", ["response_model", "llm_settings"])
def test_model_settings_are_read_where_they_are_found(group: str) -> None:
    found = parse_manifest({**CODE_SHOT, group: {"model": "m", "temperature": 1}, "max_tokens": 5})
    assert (found.model, found.temperature, found.max_tokens) == ("m", 1.0, 5)
    assert problems(**{group: {"maximum_tokens": "many"}})[0]["field"] == f"{group}.maximum_tokens"


def test_fields_that_are_null_count_as_absent() -> None:
    nulls = dict.fromkeys(["type", "corpora", "conversational", "response_model", "llm_settings", "sample_queries"])
    assert parse_manifest({**CODE_SHOT, **nulls}) == parse_manifest(CODE_SHOT)


def test_an_object_that_is_no_manifest_says_what_is_missing() -> None:
    with pytest.raises(AgentInvalidResponse, match="few_shots is missing"):
        parse_manifest({"hello": "world"})


def test_few_shots_in_one_text_are_split() -> None:
    found = parse_manifest({"base_prompt": "", "few_shots": f"\n{FEW_SHOT}\n\nQ: Hi\nA: Hello\n"})
    assert found.few_shots == (FEW_SHOT, "Q: Hi\nA: Hello")


def test_problems_name_few_shot_line_and_reason_in_words_and_in_details() -> None:
    with pytest.raises(AgentInvalidResponse) as error:
        parse_manifest({"base_prompt": "", "few_shots": [FEW_SHOT, "Q: Hi\nAsk Func[a b]: x\nA: Hello"]})
    assert error.value.message == (
        "The manifest cannot be used."
        " Few-shot 2, line 2 (`Ask Func[a b]: x`): Func names are letters, digits and _."
        " Few-shot 2, line 2 (`Ask Func[a b]: x`): A line `Func[a b] says: …` must follow."
    )
    assert error.value.details["problems"][0] == {
        "few_shot": 2,
        "line": 2,
        "reason": "Func names are letters, digits and _.",
        "text": "Ask Func[a b]: x",
    }


def test_ten_problems_are_listed_and_the_rest_counted() -> None:
    with pytest.raises(AgentInvalidResponse, match="And 5 more") as error:
        parse_manifest({"base_prompt": "", "few_shots": ["Q: Hi"] * 15})
    assert len(error.value.details["problems"]) == 10


# Storing


def test_a_stored_manifest_comes_back_and_equals_itself() -> None:
    pages = {"urls": ["https://example.com/*"], "exclude_patterns": ["*.pdf"], "auth_token_func": "key"}
    corpora = [pages, {"urls": ["https://example.com"], "exclude_patterns": None}, {"func_name": "load"}]
    manifest = parse_manifest({**CODE_SHOT, "sample_queries": ["a"], "temperature": 0.3, "corpora": corpora})
    stored = json.loads(json.dumps(manifest_as_dict(manifest)))
    assert stored == manifest_as_dict(manifest)
    assert manifest_from_dict(stored) == manifest


def test_what_a_newer_version_stored_is_passed_over() -> None:
    manifest = parse_manifest(CODE_SHOT)
    assert manifest_from_dict({**manifest_as_dict(manifest), "news": [1]}) == manifest


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        *("type", "base_prompt", "few_shots", "sample_queries", "conversational", "corpora"),
        *("model", "temperature", "max_tokens", "response_model", "llm_settings"),
    ]
)


@settings(deadline=None)
@given(st.dictionaries(names, values | st.lists(st.just(FEW_SHOT)), max_size=6))
def test_any_object_is_a_manifest_or_a_known_error(raw: dict[str, Any]) -> None:
    with contextlib.suppress(AgentInvalidResponse):
        manifest = parse_manifest(raw)
        assert manifest_from_dict(json.loads(json.dumps(manifest_as_dict(manifest)))) == manifest


@settings(deadline=None)
@given(
    st.binary(max_size=60) | st.text(max_size=60).map(str.encode),
    st.sampled_from(["application/json", "text/yaml", ""]),
)
def test_any_bytes_are_a_document_or_a_known_error(body: bytes, content_type: str) -> None:
    with contextlib.suppress(AgentInvalidResponse):
        assert "\\u0000" not in json.dumps(read_document(body, content_type))


@settings(deadline=None)
@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5), values, max_size=4)
)
def test_yaml_and_json_of_the_same_object_read_the_same(value: dict[str, Any]) -> None:
    try:
        from_json = read_document(json.dumps(value, allow_nan=False).encode(), "application/json")
    except (AgentInvalidResponse, ValueError):
        return
    assert read_document(yaml.dump(value).encode(), "text/yaml") == from_json
