"""A GDB script that stops the C program of a counterexample at the instruction at fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.qemu import machine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.counterexample import Counterexample, Departure, StateWord
    from verify.target import Target

_INSTRUCTIONS = 8


def gdb_script(target: Target, counterexample: Counterexample, program: str) -> str:
    """The script, for GDB with the program, of that name, as it runs on the machine or behind
    QEMU's stub.

    It stops at the first instruction at fault, in the visit of it in which it is at fault, shows
    the state of ChaCha20 where the specification's words are known to be, and the code around.
    """
    return "\n".join(_lines(target, counterexample, program)) + "\n"


def _lines(target: Target, found: Counterexample, program: str) -> Iterator[str]:
    first = min(segment.address for segment in target.segments)
    yield f"# {found.what}: expected {found.expected}, actual {found.actual}"
    yield f"# On the machine:  gdb -x THIS_FILE {program}"
    yield f"# Under QEMU:      qemu-{target.architecture.qemu} -g 1234 {program} &"
    yield f"#                  gdb-multiarch -ex 'target remote :1234' -x THIS_FILE {program}"
    yield "set pagination off"
    yield "set confirm off"
    yield "set breakpoint pending on"
    yield "handle SIGUSR1 SIGILL SIGSEGV SIGBUS SIGFPE SIGALRM nostop noprint pass"
    yield "break *entering"
    yield "if $_thread == 0"
    yield "  run"
    yield "else"
    yield "  continue"
    yield "end"
    # The program makes the call at hand last, after two that it is compared with.
    yield "ignore 1 1"
    yield "continue"
    yield f"set $copy = (unsigned long) ${target.architecture.arguments[0]}"
    if found.deviation is None:
        yield f"break *($copy + {target.function.address - first:#x})"
    else:
        yield f"break *($copy + {found.deviation - first:#x})"
        visit = found.departure.visit if found.departure is not None else 1
        if visit > 1:
            yield f"ignore 2 {visit - 1}"
    yield "continue"
    if found.deviation is not None:
        yield f'printf "stopped before {found.deviation:#x}: {_quoted(found.deviation_text)}\\n"'
    if found.departure is not None:
        yield from _state(target, found.departure)
    yield f"x/{_INSTRUCTIONS}i $pc"
    yield "stepi"
    yield "info registers"
    yield "delete"
    yield "continue"


def _state(target: Target, departure: Departure) -> Iterator[str]:
    yield (
        f'printf "block {departure.block}, round {departure.round}, quarter round'
        f" {departure.quarter_round}: {departure.operation}; state word {departure.word} becomes"
        f' {departure.expected:#010x}\\n"'
    )
    for word in departure.state:
        yield from _word(target, word)


def _word(target: Target, word: StateWord) -> Iterator[str]:
    """Print where the word is, if that is (part of) a register that GDB shows as a number."""
    places = machine_of(target.architecture.name).places
    for held in word.held_in[:1]:
        name, _, bits = held.partition("[")
        if name in places and places[name].bits <= 64:
            low = int(bits.rstrip("]").split(":")[1]) if bits else 0
            yield (
                f'printf "x{word.word} in {held}: %08x, in the specification {word.value:08x}\\n",'
                f" (unsigned int) (${name} >> {low})"
            )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
