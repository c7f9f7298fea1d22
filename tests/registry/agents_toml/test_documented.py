"""What the document tells of the file is so."""

import re

from registry.agents_toml.entries import AgentEntry, RateLimit, RuleEntry
from tests.registry.agents_toml.conftest import PROGRAM, Workshop
from tests.sites import ROOT

DOCUMENT = (ROOT / "docs" / "stdio-agents.md").read_text()


def test_the_documents_file_is_imported_as_it_stands(workshop: Workshop) -> None:
    program = workshop.folder / "processed.py"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (text,) = (block for block in re.findall(r"^```toml\n(.*?)^```$", DOCUMENT, re.M | re.S) if "[[agents]]" in block)
    told = workshop.load(text)
    assert (told.problems, told.error) == ([], "")
    assert len(told.out) == 2


def test_the_document_names_every_key() -> None:
    section = DOCUMENT.partition("## Import and export")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section))
    assert {*AgentEntry.model_fields, *RateLimit.model_fields, *RuleEntry.model_fields} - named == set()
