"""The reference pages match the code."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

import penstock.connectors
import penstock.testing
from tests.docs.blocks import ROOT, blocks, pages


@pytest.fixture(scope="module")
def make_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "scripts" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.insert(0, str(ROOT / "scripts"))  # as when the script runs by itself
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def test_pages_are_up_to_date(make_reference: ModuleType) -> None:
    assert make_reference.outdated_pages() == [], "run: .venv/bin/python scripts/make_reference.py"


def test_every_error_code_is_listed(make_reference: ModuleType) -> None:
    """Searches the source for error classes followed by a code, independently of the generator of the page."""
    kinds = "ConfigError|PlanError|UnsupportedOperation|KeyError_|StateError|TimeError|CheckpointError|UserFunctionError|JobError"
    written = set()
    for file in (ROOT / "src").rglob("*.py"):
        written |= set(re.findall(rf'(?:{kinds})\(\s*f?"([A-Z_]+)"', file.read_text(encoding="utf-8")))
    assert written
    assert written <= {error.code for error in make_reference.find_errors()}


def test_every_option_is_listed(make_reference: ModuleType) -> None:
    assert make_reference.options_page().count("\n| `") == len(make_reference.config.options())


def test_every_public_name_is_listed(make_reference: ModuleType) -> None:
    """Constants are mentioned in the text of the names that they belong to."""
    text = "".join(make_reference.api_reference.pages().values())
    for module in (penstock, penstock.connectors, penstock.testing):
        missing = [name for name in module.__all__ if not re.search(rf"\b{name}\b", text)]
        assert not missing, module.__name__


def test_every_public_member_has_a_docstring(make_reference: ModuleType) -> None:
    """An override of a documented method needs no docstring."""
    api = make_reference.api_reference
    undocumented = []
    for name, (_, value) in api.public_names().items():
        if not inspect.isclass(value):
            undocumented += [] if value.__doc__ else [name]
            continue
        bases = [base for base in value.__mro__[1:] if api.is_listed(base)]
        undocumented += [
            f"{name}.{member}"
            for member, found in api.public_members(value, bases)
            if not getattr(found, "__func__", found).__doc__
        ]
    assert not undocumented


def test_no_page_changes_from_run_to_run() -> None:
    """Object addresses would change. The stored pages are the generated ones (see above)."""
    changing = [page.name for page in (ROOT / "docs" / "reference").rglob("*.md") if " at 0x" in page.read_text()]
    assert changing == []


def test_commands_in_shell_blocks_exist() -> None:
    """Each `penstock ...` line of the documents uses only options of its command."""
    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    known = {
        part.split("`")[0].removeprefix("penstock "): set(re.findall(r"(?:^  |(?<=, ))(--?[\w-]+)", part, re.MULTILINE))
        for part in text.split("## `")[1:]
    }
    for page in pages():
        for block in blocks(page):
            lines = block.text.replace("\\\n", " ").splitlines() if block.language == "sh" else []
            for line in (found for found in lines if found.startswith("penstock ")):
                words = line.split(" -- ")[0].split("#")[0].split()
                if words[1].startswith("--"):
                    continue
                command = next((c for c in (" ".join(words[1:3]), words[1]) if c in known), None)
                assert command is not None, f"{page.name}:{block.line}: {line}"
                assert {w for w in words if w.startswith("-")} <= known[command], f"{page.name}:{block.line}: {line}"


def test_links_lead_somewhere() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "check_docs.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
