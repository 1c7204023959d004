"""Names and contents of the files that are shipped to workers."""

from __future__ import annotations

import zipfile
from pathlib import Path

from penstock.spark.session.shipping import packed_file


def test_the_name_follows_from_the_content(tmp_path: Path) -> None:
    module = tmp_path / "rules.py"
    module.write_text("LIMIT = 1")
    first, again = packed_file(str(module)), packed_file(str(module))
    assert first.name == again.name
    assert first.parent != again.parent
    module.write_text("LIMIT = 2")
    changed = packed_file(str(module))
    assert changed.name != first.name
    assert changed.name.startswith("rules-")
    with zipfile.ZipFile(changed) as packed:
        assert packed.namelist() == ["rules.py"]
        assert packed.read("rules.py") == b"LIMIT = 2"


def test_a_folder_contains_its_name(tmp_path: Path) -> None:
    for path in ("lib/inner", "lib/__pycache__"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "lib/inner/part.py").write_text("")
    (tmp_path / "lib/__pycache__/part.pyc").write_text("")
    with zipfile.ZipFile(packed_file(str(tmp_path / "lib"))) as packed:
        assert packed.namelist() == ["lib/inner/", "lib/inner/part.py"]
