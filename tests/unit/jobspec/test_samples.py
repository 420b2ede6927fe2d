"""Every file in valid/ parses and in invalid/ is refused at the path that its first line names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fluxlike.errors import InvalidJobspec
from fluxlike.jobspec.parse import loads, parse

HERE = Path(__file__).parent


def samples(folder: str) -> list[Path]:
    found = sorted((HERE / folder).glob("*.yaml"))
    assert found, f"no samples in {folder}"
    return found


@pytest.mark.parametrize("sample", samples("invalid"), ids=lambda sample: sample.stem)
def test_invalid_sample_is_refused_with_the_path_of_its_fault(sample: Path) -> None:
    text = sample.read_text()
    first = text.partition("\n")[0]
    assert first.startswith("# path:")
    path = first.removeprefix("# path:").strip()
    with pytest.raises(InvalidJobspec) as caught:
        loads(text)
    error = caught.value
    # A path of a document without an end is cut; its beginning must still be right.
    assert error.path == path or (error.path.endswith("...") and error.path[:-3].startswith(path))
    assert str(error).startswith(error.path)
    assert len(str(error)) < 400


@pytest.mark.parametrize("sample", samples("valid"), ids=lambda sample: sample.stem)
def test_valid_sample_survives_the_round_trip_through_json(sample: Path) -> None:
    spec = loads(sample.read_bytes())
    assert parse(spec.to_json()) == spec
    assert loads(json.dumps(spec.to_json())) == spec
