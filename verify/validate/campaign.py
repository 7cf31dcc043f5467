"""Comparing the harness's reading of each instruction of a target with QEMU."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from signal import SIGALRM, SIGILL

from verify import qemu
from verify.arch import Architecture
from verify.getrandom.lifted import lifted
from verify.lift.engine import CodeReader, Engine
from verify.lift.machine import Unsupported
from verify.lift.select import engine_for
from verify.prove.cfg import control_flow
from verify.qemu.machines import PROGRAM_COUNTER
from verify.target import Target
from verify.validate.code import START, Code, Misplaced
from verify.validate.encodings import Encoding, Form, encoding_of
from verify.validate.expectation import OutsideWindow, difference, expect
from verify.validate.model import Mismatch, Row, Validation
from verify.validate.operands import vary
from verify.validate.reading import Reading, read
from verify.validate.record import semantics_version
from verify.validate.registers import Registers
from verify.validate.states import State, States, Unplaceable

Lifter = Callable[[Architecture, CodeReader], Engine]

VARIATIONS = 32
"""Words of each form with other operands, each on a sixteenth of the states; one that is alone in
its form has them all."""
_VARIATION_SHARE = 16
_DRAWS = 64
_BATCH = 2048
_SECONDS = 20.0
"""What one instruction may take under QEMU, on the wall: enough for a machine that stands still."""


@dataclass
class _Entry:
    """An instruction on its way to a row."""

    code: bytes
    text: str
    occurs: bool
    wanted: int
    reading: Reading | None = None
    reason: str = ""
    states: int = 0
    mismatches: int = 0
    first: Mismatch | None = None
    taken: set[int] = field(default_factory=set)
    undefined: dict[str, None] = field(default_factory=dict)
    misplaced: bool = False


@dataclass(frozen=True)
class _Job:
    """One state of one instruction, and the case that QEMU runs for it."""

    entry: _Entry
    reading: Reading
    state: State
    case: qemu.Case


def validate(
    target: Target, states: int = 256, seed: int = 0, lifter: Lifter = engine_for
) -> Validation:
    """Compare every instruction of a target with QEMU: of ChaCha20, or of the getrandom around it.

    See `validate_all`.
    """
    return validate_all(target.architecture, [target], states, seed, lifter=lifter)


def validate_all(  # one for each thing that can be chosen
    architecture: Architecture,
    targets: Iterable[Target],
    states: int = 256,
    seed: int = 0,
    *,
    forms: Iterable[Form] = (),
    lifter: Lifter = engine_for,
) -> Validation:
    """Compare the instructions of several targets of one architecture, and other forms.

    Each that occurs is executed on `states` states, and VARIATIONS others of each form with
    other operands on a sixteenth as many each; of `forms` there are only the latter. `seed`
    chooses states and operands. `lifter` makes the engine. One for which the engine has no
    meaning, or which QEMU does not execute, is in a row that is not checked, and so are all where
    QEMU is missing. Raises Unsupported where a target cannot be read at all.
    """
    reason = _impossible(architecture)
    if reason:
        version = semantics_version(architecture)
        engine = architecture.lifter.engine
        return Validation(architecture.name, "", version, states, seed, (), (), reason, engine)
    found: dict[bytes, str] = {}
    for target in targets:
        found |= _instructions_of(target) | found
    return _Campaign(architecture, states, seed, lifter).run(found, forms)


def _impossible(architecture: Architecture) -> str:
    """Why nothing of an architecture can be compared; empty where it can."""
    if architecture.name not in qemu.MACHINES:
        return f"there is no runner for {architecture.title} under QEMU"
    try:
        encoding_of(architecture.instruction_set, architecture.byte_order)
    except KeyError:
        return f"the instruction formats of {architecture.title} are not known"
    return ""


def _instructions_of(target: Target) -> dict[bytes, str]:
    """Every distinct instruction of a target whose meaning a proof takes from the lifter, with its
    text."""
    engine = engine_for(target.architecture, target.code)
    if target.callee is None:
        blocks = control_flow(engine, target.function.address).blocks.values()
        addresses = tuple(at for block in blocks for at in block.instructions)
    else:
        addresses = lifted(target)
    found: dict[bytes, str] = {}
    for address in addresses:
        size = target.instruction_size(address)
        code = target.code(address, size) or b""
        if code not in found:
            texts = dict(engine.disassemble(address, size))
            found[code] = texts.get(address, code.hex())
    return found


class _Campaign:
    """The comparison for one architecture."""

    def __init__(self, architecture: Architecture, states: int, seed: int, lifter: Lifter) -> None:
        self._architecture = architecture
        self._states = states
        self._seed = seed
        self._rng = random.Random(seed)  # chooses states to compare, no secrets
        self._encoding: Encoding = encoding_of(
            architecture.instruction_set, architecture.byte_order
        )
        self._code = Code(self._encoding.trap)
        self._engine = lifter(architecture, self._code.read)
        self._registers = Registers(architecture, self._encoding, self._engine.layout)
        self._maker = States(self._registers, self._rng)
        self._version = qemu.available(architecture.name)

    def run(self, found: dict[bytes, str], forms: Iterable[Form]) -> Validation:
        """Compare these instructions, others of the same forms, and some of these other forms."""
        entries = [self._entry(code, text, self._states) for code, text in found.items()]
        if self._version is None:
            hint = qemu.install_hint(self._architecture.name)
            for entry in entries:
                entry.reason = hint
        else:
            entries += self._variations(found, forms)
            self._compare(entries)
        return Validation(
            self._architecture.name,
            self._version or "",
            semantics_version(self._architecture),
            self._states,
            self._seed,
            self._registers.unmodelled,
            tuple(self._row(entry) for entry in entries),
            lifter=self._architecture.lifter.engine,
        )

    def _row(self, entry: _Entry) -> Row:
        paths = len(entry.reading.paths) if entry.reading else 0
        reason = entry.reason
        if not reason and entry.occurs and len(entry.taken) < paths:
            reason = f"only {len(entry.taken)} of {paths} ways through it were taken"
        return Row(
            entry.code,
            entry.text,
            self._encoding.form(entry.code),
            entry.occurs,
            entry.states,
            entry.mismatches,
            entry.first,
            reason,
            tuple(entry.undefined),
        )

    def _entry(self, code: bytes, text: str, wanted: int, *, occurs: bool = True) -> _Entry:
        """Read an instruction; without a text, with that of the lifter."""
        entry = _Entry(code, text, occurs, wanted)

        def read_at(address: int) -> Reading:
            shown = self._engine.disassemble(address, len(code))
            entry.text = text or (shown[0][1] if shown else "")
            return read(self._engine, self._registers, self._engine.lift(address, 1))

        try:
            entry.reading = self._placed(code, read_at, apart=occurs)
        except Unsupported as error:
            entry.reason = error.reason
            entry.misplaced = isinstance(error, Misplaced)
        entry.text = entry.text or code.hex()
        return entry

    def _placed(self, code: bytes, read_at: Callable[[int], Reading], *, apart: bool) -> Reading:
        """The reading of an instruction where it can be executed.

        One with an access at a fixed distance from itself is put where that is aligned and no
        code, if it may be put `apart`.
        """
        reading = self._code.place(code, read_at)
        if reading.fixed is None:
            return reading
        address, size = reading.fixed
        if apart:
            return self._code.place_apart(code, read_at, address - reading.address, size)
        if self._code.is_code(address, size):
            raise Misplaced(reading.address, "it accesses code")
        self._code.keep(address, size)
        return reading

    def _variations(self, found: Iterable[bytes], others: Iterable[Form]) -> list[_Entry]:
        """Instructions of the same and of other forms with other operands, which can be run."""
        encoding = self._encoding
        seen = set(found)
        share = max(1, self._states // _VARIATION_SHARE)
        entries: list[_Entry] = []
        known = (form for form in others if form.mask == encoding.format_of(form).mask)
        for form in dict.fromkeys((*map(encoding.form, found), *known)):
            kind = encoding.format_of(form)
            alone = not (kind.registers or kind.immediates)
            left = VARIATIONS
            for _ in range(_DRAWS):
                word = vary(kind, form, self._rng)
                code = word.to_bytes(form.size, encoding.order)
                if left and code not in seen and kind.defined(word) and encoding.form(code) == form:
                    seen.add(code)
                    wanted = self._states if alone else share
                    entry = self._entry(code, "", wanted, occurs=False)
                    if not entry.misplaced and self._placeable(entry):
                        entries.append(entry)
                        left -= 1
        return entries

    def _placeable(self, entry: _Entry) -> bool:
        """Whether there are states for it; one without a reading is reported as such."""
        try:
            if entry.reading is not None:
                self._maker.make(entry.reading, 0)
        except Unplaceable:
            return False
        return True

    def _compare(self, entries: Sequence[_Entry]) -> None:
        """Run all states of all instructions, QEMU beside the evaluation of the readings."""
        running: deque[tuple[list[_Job], Future[list[qemu.Outcome | str]]]] = deque()
        with ThreadPoolExecutor(1) as pool:
            batch: list[_Job] = []
            for job in self._jobs(entries):
                batch.append(job)
                if len(batch) == _BATCH:
                    running.append((batch, pool.submit(self._execute, batch)))
                    batch = []
                if len(running) > 2:
                    self._judge_batch(*running.popleft())
            if batch:
                running.append((batch, pool.submit(self._execute, batch)))
            while running:
                self._judge_batch(*running.popleft())

    def _jobs(self, entries: Sequence[_Entry]) -> Iterator[_Job]:
        for entry in entries:
            if entry.reading is None:
                continue
            try:
                for number in range(entry.wanted):
                    state = self._maker.make(entry.reading, number)
                    yield _Job(entry, entry.reading, state, _case(entry.reading, state))
            except Unplaceable:
                entry.reason = "its accesses or its target could not be put where they can be run"

    def _execute(self, batch: Sequence[_Job]) -> list[qemu.Outcome | str]:
        """The outcomes, or, for the instructions on which QEMU itself fails, how."""
        name = self._architecture.name
        code = self._code.blobs(job.reading.address for job in batch)
        cases = [job.case for job in batch]
        try:
            return list(qemu.run(name, code, START, cases, timeout=_SECONDS))
        except qemu.QemuError as error:
            parts = [list(jobs) for _, jobs in groupby(batch, key=lambda job: job.entry.code)]
            if len(parts) == 1:
                return [str(error)] * len(batch)
            return [outcome for jobs in parts for outcome in self._execute(jobs)]

    def _judge_batch(
        self, batch: Sequence[_Job], outcomes: Future[list[qemu.Outcome | str]]
    ) -> None:
        for job, outcome in zip(batch, outcomes.result(), strict=True):
            if isinstance(outcome, str):
                job.entry.reason = outcome
            else:
                self._judge(job, outcome)

    def _judge(self, job: _Job, outcome: qemu.Outcome) -> None:
        entry, reading = job.entry, job.reading
        at_start = outcome.registers[PROGRAM_COUNTER] == reading.address
        if outcome.signal == SIGILL and at_start:
            lacking = qemu.lacking(self._architecture.name)
            entry.reason = lacking or f"{self._version} does not execute it (SIGILL)"
            return
        if outcome.signal == SIGALRM:
            entry.reason = f"{self._version} did not end it within {_SECONDS:.0f} s"
            return
        try:
            expectation = expect(reading, job.state, self._registers)
        except OutsideWindow:
            entry.reason = "its accesses are not at one place"
            return
        entry.states += 1
        entry.taken |= set(expectation.taken)
        undefined = tuple(self._encoding.undefined(entry.code, job.state.registers))
        entry.undefined |= dict.fromkeys(undefined)
        found = difference(reading, job.state, expectation, outcome, self._registers, undefined)
        if found is not None:
            entry.mismatches += 1
            entry.first = entry.first or found


def _case(reading: Reading, state: State) -> qemu.Case:
    return qemu.Case(
        state.registers,
        () if state.window is None else (state.window,),
        () if state.observed is None else (state.observed,),
        reading.address,
    )
