"""R as text, of which all but the times is made once."""

from __future__ import annotations

import json

import pytest

from fluxlike.resource import rtext
from fluxlike.resource.rset import RSet
from fluxlike.resource.rtext import RTexts


def two_nodes(host: str = "node") -> RSet:
    return RSet(ranks={0: (0b1, 0), 3: (0b110, 0b1)}, hosts={0: f"{host}0", 3: f"{host}3"}, nslots=3)


@pytest.mark.parametrize(("starttime", "expiration"), [(0.0, 0.0), (1700000000.25, 0.0), (1.5, 1e12)])
def test_text_is_the_set_with_its_times(starttime: float, expiration: float) -> None:
    expected = RSet(
        ranks=two_nodes().ranks, hosts=two_nodes().hosts, nslots=3, starttime=starttime, expiration=expiration
    )
    text = RTexts().text("key", two_nodes, starttime, expiration)
    assert json.loads(text) == expected.to_json()
    assert RSet.from_json(json.loads(text)) == expected


def test_the_set_is_made_once_for_each_key() -> None:
    made: list[str] = []

    def make(name: str) -> RSet:
        made.append(name)
        return two_nodes(name)

    texts = RTexts()
    first = texts.text("a", lambda: make("a"), 1.0, 0.0)
    assert texts.text("a", lambda: make("a"), 1.0, 0.0) == first
    assert texts.text("b", lambda: make("b"), 1.0, 0.0) != first
    assert made == ["a", "b"]


def test_after_clearing_hosts_have_their_new_names() -> None:
    texts = RTexts()
    texts.text("a", lambda: two_nodes("old"), 1.0, 0.0)
    texts.clear()
    assert RSet.from_json(json.loads(texts.text("a", lambda: two_nodes("new"), 1.0, 0.0))).hosts[3] == "new3"


def test_texts_of_a_wild_mix_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtext, "_MOST", 4)
    texts = RTexts()
    expected = json.loads(texts.text(-1, two_nodes, 1.0, 2.0))
    for key in range(20):
        assert json.loads(texts.text(key, two_nodes, 1.0, 2.0)) == expected
        assert len(texts._heads) <= 4
