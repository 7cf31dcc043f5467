"""Calls are counted exactly, and only those that are served as specified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from binaries.build import build
from binaries.patches import Edit, Fault
from binaries.products import complete
from tests.getrandom import shared
from tests.history.programs import BINARIES, BUILDS, EACH_ONCE, FAULTS, LAYOUTS
from verify.arch.patching import Condition
from verify.cost.cost import calls
from verify.cost.formula import formulas
from verify.cost.measure import UNALIGNED, Uncounted, counts
from verify.history.layout import Booted, Unplaced, booted
from verify.image import Image, images_in, open_images
from verify.target import Alternative

CALLS = ((4, 0), (7, 89), (32, 80), (256, 33))
_SET = "\tONCE(state->in_use) = 1;\n"


_BEGIN = "\tif (opaque_len == ~0ul &&"


def built(architecture: str, text: str, where: str = _SET) -> Image:
    """The getrandom of an architecture with a line in front of another, where in_use is set."""
    one = BUILDS[architecture]
    assert one.getrandom is not None
    edit = Edit(where, f"{text}\n{where}")
    fault = Fault("changed", architecture, "getrandom", (), "", (edit,), file="getrandom.c")
    product = complete(one, one.getrandom, "getrandom", fault.path, fault)
    (image,) = images_in(build(product), fault.path)
    return image


def test_the_layout_of_a_release_that_shares_the_page(tmp_path: Path) -> None:
    """It is the one of the release that the note in the file names."""
    (image,) = open_images(shared.built("x86_64", tmp_path))
    assert booted(image).program.layout == shared.layout("x86_64")


def own(name: str) -> Booted:
    (image,) = open_images(BINARIES / f"{name}.so")
    return booted(image)


@pytest.mark.parametrize("name", EACH_ONCE)
def test_the_layout_is_found(name: str) -> None:
    program = own(name).program
    assert (program.page_bytes, program.data_page) == (
        LAYOUTS[name].page_bytes,
        LAYOUTS[name].data_page,
    )


@pytest.mark.parametrize("architecture", ["riscv64", "x86_64"])
def test_one_more_instruction_is_one_more(architecture: str) -> None:
    before = counts(own(f"{architecture}/getrandom"), CALLS).by_call
    after = counts(booted(built(architecture, '\t__asm__ volatile("nop");')), CALLS).by_call
    assert after == {call: number + 1 for call, number in before.items()}


def test_another_address_of_the_buffer() -> None:
    program = own("s390x/getrandom")
    assert counts(program, CALLS) == counts(program, CALLS, UNALIGNED)


def test_a_call_that_is_not_served_as_specified() -> None:
    fault = next(one for one in FAULTS if one.name == "batch-not-zeroed")
    (image,) = open_images(BINARIES.parent / fault.path)
    with pytest.raises(Uncounted, match=r"a call for 4 bytes with pos 0 is not served: .*state"):
        counts(booted(image), CALLS)


def test_steps_of_one_instruction_are_not_counted() -> None:
    text = '\tword n = 3; __asm__ volatile("rep lodsb" : "+c"(n) : "S"(state) : "rax", "memory");'
    with pytest.raises(Uncounted, match="executed twice in a row"):
        counts(booted(built("x86_64", text)), CALLS)


def test_code_that_cannot_be_patched_as_the_kernel_does() -> None:
    program = own("s390x/getrandom")
    here = Alternative(program.program.entry, bytes(4), Condition((("facility 1", True),)), "no")
    with pytest.raises(Uncounted, match=r"the kernel replaces .* \(facility 1\), but no"):
        counts(replace(program, refused=(here,)), CALLS)


def test_no_data_page() -> None:
    with pytest.raises(Unplaced, match="signal 4"):
        booted(built("x86_64", '\t__asm__ volatile("ud2");', _BEGIN))


@pytest.mark.long
@pytest.mark.parametrize("name", EACH_ONCE)
def test_formulas_hold_for_every_call_that_the_batch_is_enough_for(name: str) -> None:
    program = own(name)
    fitted = dict(counts(program, calls()).by_call)
    within = [(length, pos) for pos in range(96) for length in range(1, 97 - pos)]
    every = fitted | counts(program, [one for one in within if one not in fitted]).by_call
    assert formulas(every) == formulas(fitted)
    assert formulas(every).within is not None
