"""Manifests: as agents serve them, and readings as if an agent had been asked."""

from common.errors import AgentInvalidResponse
from registry.actions import Reading
from registry.manifests.manifest import ReadManifest
from registry.transports.base import FuncCorpus, Manifest, UrlCorpus
from tests.agents import Behaviour, ScriptedAgent

URL = "http://127.0.0.1:9009/agent"
GOOD = {"base_prompt": "I roll dice.", "few_shots": ["Q: Roll 3d8\nAsk Func[roll]: 8 3\nFunc[roll] says: 5\nA: 5"]}


def reads(
    url: str = URL,
    base_prompt: str = "I roll dice.",
    few_shots: tuple[str, ...] = (),
    transport: str = "code_shot",
    corpora: tuple[UrlCorpus | FuncCorpus, ...] = (),
) -> Reading:
    """A reading that went well."""
    manifest = Manifest(type="code_shot", base_prompt=base_prompt, few_shots=few_shots, corpora=corpora)
    return Reading(url, ReadManifest(manifest=manifest, raw={}, transport=transport))


def fails(url: str = URL, reason: str = "The manifest is no JSON.") -> Reading:
    return Reading(url, AgentInvalidResponse(reason))


def serve_manifest(server: ScriptedAgent, behaviour: Behaviour) -> None:
    server.on("/", behaviour, method="GET")
