"""What the harness says of a target: the only thing that reports and evidence read.

A `Result` is one target with one verdict per property. It is written as JSON and read back
without loss; the format is versioned and described by `verify/schema/result.schema.json`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from verify.anatomy import Anatomy, Held
from verify.callhistory import CallHistory
from verify.callpair import CallPair
from verify.counterexample import Counterexample

FORMAT = 2
"""Version of the JSON format. It changes when a reader of the old one would misunderstand."""


class Contract(Enum):
    """What a function has to do."""

    CHACHA20 = "chacha20"
    """Write blocks of ChaCha20."""
    GETRANDOM = "getrandom"
    """Give out random bytes, as the vDSO's exported function."""


class Verdict(Enum):
    """The outcome of a property or of one obligation."""

    PROVED = "PROVED"
    """Holds for all inputs in the contract, given the caveats."""
    REFUTED = "REFUTED"
    """Fails for concrete inputs on which the real bytes were executed."""
    UNKNOWN = "UNKNOWN"
    """Neither: out of time or memory, an unsupported instruction, a counterexample that does not
    reproduce."""
    VACUOUS = "VACUOUS"
    """The assumptions contradict each other, so nothing was said."""


class Caveat(Enum):
    """A named assumption that a verdict rests on. SOUNDNESS.md explains each."""

    LIFTER_UNCHECKED = "lifter-unchecked"
    """An instruction form of the function was not compared with QEMU for this version of the
    semantics."""
    REGIONS_DISJOINT = "regions-disjoint"
    """dst, key, counter and the stack do not overlap, except as getrandom() overlaps dst and
    key."""
    SOLVER_TRUSTED = "solver-trusted"
    """"unsat" of one solver was believed."""
    CODE_UNPATCHED = "code-unpatched"
    """The bytes in the file are the bytes that run: what the kernel patches is not known."""
    READING_CACHED = "reading-cached"
    """What the code does was not read anew but taken from a proof cache, and so was all that is
    said beside the verdicts."""
    CHACHA20_BY_CONTRACT = "chacha20-by-contract"
    """ChaCha20 writes its blocks and the counter, and nothing else."""
    KERNEL_BY_CONTRACT = "kernel-by-contract"
    """A system call writes to its buffer at most what is asked for."""
    BARRIERS_ORDER_ONLY = "barriers-order-only"
    """Accesses happen in program order."""
    UNDISTURBED = "undisturbed"
    """While a call runs nothing else writes the state, but its generation and in_use; `fork` and
    `reentry` say what holds otherwise."""
    ZEROED_AT_ONCE = "zeroed-at-once"
    """A state is zeroed as a whole, between two accesses."""
    ZEROED_OR_INTERRUPTED = "zeroed-or-interrupted"
    """No state is zeroed in the same call in which a handler calls with it."""
    CHACHA20_ZEROED = "chacha20-zeroed"
    """ChaCha20 writes and returns as by its contract also if its key is zeroed meanwhile."""
    DATA_PAGE_GIVEN = "data-page-given"
    """The kernel's data lie where the command says, and pages are as large."""
    GENERATION_IN_ONE_WORD = "generation-in-one-word"
    """On 32 bits one of the two words of the kernel's generation is always 0, always the same."""


@dataclass(frozen=True)
class Check:
    """One obligation and how it was decided.

    `claim` is one line of English. `instructions` are the addresses that it came from,
    `instances` the number of places in the proof that need the same formula. `seconds` is wall
    time, None where others were decided in the same; `reason` tells why it is UNKNOWN.
    """

    id: str
    claim: str
    verdict: Verdict
    seconds: float | None
    instances: int = 1
    instructions: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class PropertyResult:
    """One property of one target: verdict, its obligations, what it found besides.

    `seconds` is wall time, None where others were shown in the same.
    """

    property: str
    title: str
    verdict: Verdict
    seconds: float | None
    checks: tuple[Check, ...] = ()
    findings: tuple[str, ...] = ()
    reason: str = ""
    counterexample: Counterexample | None = None
    variant: str = ""
    """The name of the variant that is not PROVED, of which all this is; empty if all are."""
    history: CallHistory | None = None
    """Calls of a getrandom on which the real bytes break the property, where it is REFUTED."""
    pair: CallPair | None = None
    """The same, where two calls that differ in secrets show it."""


@dataclass(frozen=True)
class StackWrite:
    """One store relative to the stack pointer.

    `offset` is in bytes from the stack pointer at entry, `size` in bytes. `holds` names what is
    written, `kind` classifies it (callee-saved, pointer, public, secret, unknown). `place` is
    `frame`, `red zone`, `linkage area` or `outside`.
    """

    instruction: int
    text: str
    offset: int
    size: int
    holds: str
    kind: str
    place: str


@dataclass(frozen=True)
class Residue:
    """What a register that the ABI does not preserve holds at return.

    `holds` in words; `kind` is `unchanged`, `zero`, `constant`, `pointer`, `public`,
    `key-dependent` or `unknown`. `writer` is the instruction that last wrote it on that path.
    `gives_away` says, for a key-dependent one, what follows from it.
    """

    register: str
    holds: str
    kind: str
    writer: int | None
    gives_away: str = ""


@dataclass(frozen=True)
class LoopSummary:
    """A loop of the function: address of its head, number of basic blocks, and its part in the
    proof (`blocks`: closed by induction; `rounds`: constant number of passes).

    `last` is the address of its last instruction, `back` are the instructions that go back to the
    head. `passes` is the number of passes where that is a constant, else 0. `held` is what
    registers and stack hold whenever the head is reached; for `rounds`, at the second and later
    arrivals.
    """

    head: int
    blocks: int
    part: str
    last: int | None = None
    back: tuple[int, ...] = ()
    passes: int = 0
    held: tuple[Held, ...] = ()


AS_BUILT = "as in the file"
"""The name of the variant in which nothing is patched."""
AS_RUNNING = "as it runs"
"""The name of the variant that is read from memory."""


@dataclass(frozen=True)
class PatchSummary:
    """Bytes that the kernel writes when it boots: where, which (in hexadecimal), and when."""

    address: int
    code: str
    condition: str


@dataclass(frozen=True)
class VariantVerdict:
    """The verdict of one property, by its id, in one variant."""

    property: str
    verdict: Verdict


@dataclass(frozen=True)
class VariantSummary:
    """The function as it is after some patches: hash of its bytes, and the verdicts.

    `name` are the conditions of the patches, or AS_BUILT.
    """

    name: str
    function_sha256: str
    patches: tuple[PatchSummary, ...]
    verdicts: tuple[VariantVerdict, ...] = ()


@dataclass(frozen=True)
class TargetSummary:
    """Which bytes were proved.

    `source` is the file as named by the user, `sha256` its hash, `path` how the image was reached
    inside it. `address` and `size` are the function's range in bytes, `function_sha256` the hash
    of those bytes, `located` how the function was found.
    """

    source: str
    sha256: str
    path: tuple[str, ...]
    image_sha256: str
    build_id: str
    architecture: str
    function: str
    address: int
    size: int
    function_sha256: str
    located: str


@dataclass(frozen=True)
class CalledFunction:
    """A function of the image whose contract is taken for granted: its range in bytes, the hash of
    that, and how it was found."""

    function: str
    address: int
    size: int
    function_sha256: str
    located: str


class ReleaseBy(Enum):
    """What names the release of Linux whose data a getrandom is proved with."""

    NOTE = "note"
    """The file's own note."""
    OPTION = "option"
    """The command."""
    DEFAULT = "default"
    """Nothing: it is taken for one of today's."""


@dataclass(frozen=True)
class Environment:
    """What a getrandom was proved with: bytes of a page, how many bytes in front of the image the
    kernel's data lie, and the ChaCha20 that it calls.

    Where the data are elsewhere inside a time namespace, `clock_mode` is how many bytes in front of
    the image that lies which tells so, and `inside` how many they do there. `linux` is the release
    of Linux that has them so, say 6.12, and `linux_by` what names it; empty and None if the command
    says where the data lie.
    """

    page_bytes: int
    data_page: int
    chacha20: CalledFunction
    clock_mode: int | None = None
    inside: int | None = None
    linux: str = ""
    linux_by: ReleaseBy | None = None


@dataclass(frozen=True)
class Result:
    """Everything that is said of one target, or why nothing could be said (`error`)."""

    target: TargetSummary
    properties: tuple[PropertyResult, ...]
    stack_writes: tuple[StackWrite, ...] = ()
    discipline: str = ""
    """Which stack discipline is met: no stack writes, or only public ones; empty if neither."""
    residues: tuple[Residue, ...] = ()
    """What the registers that the ABI does not preserve hold at return."""
    findings: tuple[str, ...] = ()
    """Facts beside the verdicts, one line each."""
    loops: tuple[LoopSummary, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    tools: dict[str, str] = field(default_factory=dict)
    """Name to version of everything that the verdict rests on."""
    seconds: float = 0.0
    variants: tuple[VariantSummary, ...] = ()
    """What the kernel can make of the function; empty where that is not known."""
    lifters: tuple[str, ...] = ()
    """What read the code, `vex` or `pcode`; with two, each verdict but UNKNOWN is both's."""
    anatomies: tuple[Anatomy, ...] = ()
    """What each variant does, instruction by instruction, as far as that is known."""
    contract: Contract = Contract.CHACHA20
    """What the properties are of."""
    environment: Environment | None = None
    """That of a getrandom, where it is known for the architecture."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all properties: REFUTED, then UNKNOWN, VACUOUS, PROVED."""
        return worst(result.verdict for result in self.properties)


_ORDER = (Verdict.REFUTED, Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.PROVED)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first of REFUTED, UNKNOWN, VACUOUS, PROVED that occurs; UNKNOWN for none at all."""
    found = set(verdicts)
    return next((verdict for verdict in _ORDER if verdict in found), Verdict.UNKNOWN)


def together(times: Iterable[float | None]) -> float | None:
    """The sum of some times; None where one of them is not known."""
    known = list(times)
    return None if None in known else sum(one for one in known if one is not None)
