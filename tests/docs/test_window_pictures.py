"""The pictures of windows show the results of the harness."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT

IMAGES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_window_pictures", ROOT / "scripts" / "make_window_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def test_pictures_are_up_to_date(script: ModuleType) -> None:
    drawn = script.draw_all()
    stored = {path.name: path.read_text(encoding="utf-8") for path in IMAGES.glob("window-*.svg")}
    assert stored == drawn, "run scripts/make_window_pictures.py"


def test_every_picture_is_shown_on_a_page(script: ModuleType) -> None:
    pages = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs" / "explanation" / "windows").glob("*.md"))
    assert set(re.findall(r"images/(window-\w+\.svg)", pages)) == set(script.draw_all())
