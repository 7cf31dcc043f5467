"""Two accesses to the words of a generation are one, if they are to both and of one kind."""

from __future__ import annotations

import pytest

from verify.getrandom.walk.events import Field, FieldRead, FieldWrite, PageRead
from verify.getrandom.walk.words import whole
from verify.terms import const

_LOW, _HIGH = const(1, 32), const(2, 32)
_BOTH = const(0x2_0000_0001, 64)


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("kind", [FieldRead, FieldWrite])
def test_of_the_state(little: bool, kind: type[FieldRead] | type[FieldWrite]) -> None:
    words = (_LOW, _HIGH) if little else (_HIGH, _LOW)
    first, second = (
        kind(5, field, word)
        for field, word in zip((Field.FIRST_WORD, Field.SECOND_WORD), words, strict=True)
    )
    expected = kind(5, Field.GENERATION, _BOTH)
    assert whole(first, second, little) == whole(second, first, little) == expected
    assert whole(first, first, little) is None


@pytest.mark.parametrize("little", [True, False])
def test_of_the_data_page(little: bool) -> None:
    words = (_LOW, _HIGH) if little else (_HIGH, _LOW)
    first, second = (PageRead(5, 0x1000 + 4 * n, 4, word, 4 * n) for n, word in enumerate(words))
    expected = PageRead(5, 0x1000, 8, _BOTH, 0)
    assert whole(first, second, little) == whole(second, first, little) == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FieldRead(1, Field.FIRST_WORD, _LOW), FieldWrite(2, Field.SECOND_WORD, _HIGH)),
        (FieldRead(1, Field.FIRST_WORD, _LOW), PageRead(2, 0x1004, 4, _HIGH, 4)),
        (PageRead(1, 0x1004, 4, _LOW, 4), PageRead(2, 0x1008, 4, _HIGH, 8)),
        (PageRead(1, 0x1000, 4, _LOW, 0), PageRead(2, 0x1000, 4, _HIGH, 0)),
        (PageRead(1, 0x1000, 8, _BOTH, 0), PageRead(2, 0x1004, 4, _HIGH, 4)),
        (PageRead(1, 0x1000, 4, _LOW, 0), PageRead(2, 0x2004, 4, _HIGH)),
        (PageRead(1, 0x1000, 4, _LOW), PageRead(2, 0x1004, 4, _HIGH)),
        (FieldRead(1, Field.IN_USE, const(0, 8)), FieldRead(2, Field.FIRST_WORD, _LOW)),
    ],
)
def test_of_others(
    first: FieldRead | FieldWrite | PageRead, second: FieldRead | FieldWrite | PageRead
) -> None:
    assert whole(first, second, True) is None
