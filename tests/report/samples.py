"""Results made by hand: one of each kind that a report has to show."""

from __future__ import annotations

from dataclasses import replace

from verify.anatomy import (
    Anatomy,
    Held,
    ListedInstruction,
    MemoryAccess,
    MemoryRegion,
    Part,
    Role,
)
from verify.callhistory import (
    CallHistory,
    CallOutcome,
    HistoryCall,
    HistoryInterruption,
    KernelAnswer,
    SystemCallMade,
)
from verify.callpair import CallPair
from verify.counterexample import (
    Counterexample,
    Departure,
    Look,
    Observation,
    RegisterValue,
    StateWord,
)
from verify.verdict import (
    CalledFunction,
    Caveat,
    Check,
    Contract,
    Environment,
    LoopSummary,
    PatchSummary,
    PropertyResult,
    Result,
    StackWrite,
    TargetSummary,
    VariantSummary,
    VariantVerdict,
    Verdict,
)

TARGET = TargetSummary(
    source="vdso/looped.so",
    sha256="0123456789abcdef" * 4,
    path=("looped.so",),
    image_sha256="0123456789abcdef" * 4,
    build_id="00112233445566778899aabbccddeeff00112233",
    architecture="loongarch64",
    function="__arch_chacha20_blocks_nostack",
    address=0x360,
    size=868,
    function_sha256="fedcba9876543210" * 4,
    located="symbol __arch_chacha20_blocks_nostack",
)
EMBEDDED = TargetSummary(
    source="linux-binary-7.2.13_ppc64el.deb",
    sha256="1" * 64,
    path=("linux-binary-7.2.13_ppc64el.deb", "./boot/vmlinuz", "ELF at 0x1890000"),
    image_sha256="2" * 64,
    build_id="",
    architecture="powerpc64le",
    function="0x760",
    address=0x760,
    size=876,
    function_sha256="3" * 64,
    located="reached from __kernel_getrandom by the call at 0x510",
)
TOOLS = {"angr": "10.0.5", "pypcode": "4.0.1", "z3-solver": "5.3.1.0"}
LOOPS = (
    LoopSummary(
        0x3C4,
        5,
        "blocks",
        0x648,
        (0x648,),
        0,
        (
            Held("a0", "advances", "dst + 64*index", 64),
            Held("a1", "counter", "the block's counter"),
            Held("s1", "constant", "key word 0"),
            Held("t0", "unknown", ""),
        ),
    ),
    LoopSummary(
        0x418,
        3,
        "rounds",
        0x59C,
        (0x59C,),
        10,
        (Held("a2", "advances", "from 10", -1), Held("a4", "state", "word 0")),
    ),
)
REGIONS = (
    MemoryRegion("dst", 0, 64, readable=False, writable=True, secret=True),
    MemoryRegion("key", 0, 32, readable=True, writable=False, secret=True),
    MemoryRegion("counter", 0, 8, readable=True, writable=True, secret=False),
    MemoryRegion("stack", -96, 0, readable=True, writable=True, secret=False),
)
ODD_ROUNDS = tuple(range(1, 20, 2))


def line(
    address: int, text: str, *roles: Role, accesses: tuple[MemoryAccess, ...] = ()
) -> ListedInstruction:
    """An instruction that is executed."""
    return ListedInstruction(address, "00112233", text, True, roles, accesses)


ANATOMY = Anatomy(
    "",
    (
        line(0x360, "addi.d sp, sp,-0x60", Role(Part.FRAME, "sp at entry - 96")),
        line(
            0x364,
            "st.d ra, sp(0x58)",
            Role(Part.SAVE, "ra of the caller"),
            accesses=(MemoryAccess("write", "stack", -8, 0, 8, "return address"),),
        ),
        line(
            0x3B8,
            "ld.w s1, a1(0x0)",
            Role(Part.INITIAL, "", words=(4,)),
            accesses=(MemoryAccess("read", "key", 0, 0, 4),),
        ),
        line(0x3C4, "nop"),
        line(
            0x418,
            "add.w a4, a4, t0",
            Role(Part.OPERATION, "sum", ODD_ROUNDS, (1,), (0,)),
        ),
        line(0x59C, "bnez a2, 0x418", Role(Part.LOOP, "goes on with the loop at 0x418")),
        line(
            0x5A0,
            "add.w a5, a5, a2",
            Role(Part.OPERATION, "sum with the initial state", words=(1,)),
        ),
        line(
            0x648,
            "st.w a5, a0(0x4)",
            Role(Part.OUTPUT, "", words=(1,)),
            accesses=(MemoryAccess("write", "dst", 4, 64, 4, "output word 1", True),),
        ),
        line(0x690, "move a4, zero", Role(Part.WIPE, "a4"), Role(Part.CONSTANT, "0x0")),
        line(0x6C0, "ret", Role(Part.RETURN, "")),
        ListedInstruction(0x6C4, "00004003", "nop", False),
    ),
    REGIONS,
    -96,
)
FAULTY_ANATOMY = Anatomy(
    "facility 148",
    (
        line(
            0x390,
            "stw r8, 0(r1)",
            Role(Part.MOVE, "", words=(4, 5)),
            accesses=(MemoryAccess("write", "stack", -96, 0, 4, "depends on key words k4", True),),
        ),
        line(0x394, "stw r9, 8(r5)", accesses=(MemoryAccess("write", "counter", 8, 0, 4, "0x0"),)),
        line(0x398, "lwzx r9, r5, r8", accesses=(MemoryAccess("read", "code", None, 0, 4),)),
        line(0x39C, "stw r9, 0(r8)", accesses=(MemoryAccess("write", "", None, 0, 4, "", True),)),
        line(0x4A4, "rotri.w t0, t0, 0xf"),
    ),
    REGIONS,
    None,
)


def check(name: str, verdict: Verdict = Verdict.PROVED, reason: str = "") -> Check:
    """An obligation of that name."""
    return Check(name, f"{name} holds", verdict, 0.25, 2, (0x3C4, 0x3C8), reason)


def property_result(name: str, verdict: Verdict = Verdict.PROVED) -> PropertyResult:
    """A property with two obligations, both of that verdict."""
    checks = (check(f"{name}/first", verdict), check(f"{name}/second", verdict))
    return PropertyResult(name, f"The {name} is right", verdict, 0.5, checks)


SAVE = StackWrite(0x364, "st.d ra, sp(0x58)", -8, 8, "ra", "callee-saved", "frame")
POINTER = StackWrite(0x390, "st.d a2, sp(0x0)", -96, 8, "counter", "pointer", "frame")
PROPERTIES = ("output", "counter", "footprint", "stack", "abi")
PROVED = Result(
    target=TARGET,
    properties=tuple(map(property_result, PROPERTIES)),
    stack_writes=(SAVE, POINTER),
    discipline="only callee-saved registers and public values are written",
    loops=LOOPS,
    caveats=(Caveat.REGIONS_DISJOINT, Caveat.SOLVER_TRUSTED, Caveat.CODE_UNPATCHED),
    tools=TOOLS,
    seconds=2.5,
    anatomies=(ANATOMY,),
)
COUNTEREXAMPLE = Counterexample(
    key=(0x03020100, 0x07060504, 0, 1, 2, 3, 0xFFFFFFFF, 0x80000000),
    counter=0x1_0000_0000,
    nblocks=2,
    in_place=False,
    what="word 3 of block 1",
    expected="0x6b206574",
    actual="0x6b206575",
    deviation=0x4A4,
    deviation_text="rotri.w t0, t0, 0xf",
    executed_by="qemu-loongarch64 7.2.22",
    kind="a word of the output",
    registers=(RegisterValue("r14", 0x12345678_9ABCDEF0),),
    block=1,
    expected_words=tuple(range(16)),
    actual_words=(0, 1, 2, 0xFFFFFFFF, *range(4, 15), 16),
    notes=(
        "not seen with fewer than 2 blocks",
        "33 bits of key and counter are set, and with any one of them cleared it is not seen",
    ),
    departure=Departure(
        1,
        7,
        3,
        "rotation by 12",
        7,
        0x0BADF00D,
        9,
        tuple(
            StateWord(n, n, (f"r{n}[63:32]",) if n % 3 else (f"r{n}", f"sp-{n}")) for n in range(13)
        )
        + tuple(StateWord(n, 0, ()) for n in range(13, 16)),
    ),
    source="chacha.S:120",
)
REFUTED = Result(
    target=EMBEDDED,
    properties=(
        PropertyResult(
            "output",
            "Each block is ChaCha20's",
            Verdict.REFUTED,
            1.5,
            (
                check("output/feed-forward", Verdict.REFUTED),
                check("output/rounds", Verdict.UNKNOWN),
            ),
            counterexample=COUNTEREXAMPLE,
        ),
        PropertyResult(
            "stack",
            "Only public values are written below the stack pointer at entry",
            Verdict.REFUTED,
            0.125,
            tuple(check(f"stack/{n}", Verdict.REFUTED) for n in range(7)),
            findings=("a key word is written at 0x390",),
        ),
    ),
    stack_writes=(
        SAVE,
        StackWrite(
            0x390,
            "a mnemonic with many operands, r10, r11, r12, r13",
            -400,
            4,
            "word 4 of the key, rotated",
            "secret",
            "outside",
        ),
    ),
    tools=TOOLS,
    seconds=2.5,
    anatomies=(FAULTY_ANATOMY,),
)
UNKNOWN = Result(
    target=TARGET,
    properties=(
        property_result("counter"),
        PropertyResult(
            "abi",
            "Registers are restored",
            Verdict.UNKNOWN,
            30.0,
            (check("abi/s0", Verdict.UNKNOWN, "timeout"), check("abi/s1", Verdict.VACUOUS)),
            reason="0x3a0: SLEIGH does not decode this instruction",
        ),
    ),
)
STACKLESS = Result(
    target=TARGET,
    properties=(property_result("stack"),),
    discipline="no stack writes",
    caveats=(Caveat.CODE_UNPATCHED,),
    tools=TOOLS,
)
BUILT = VariantSummary(
    "as in the file",
    "4" * 64,
    (),
    (VariantVerdict("output", Verdict.PROVED), VariantVerdict("stack", Verdict.PROVED)),
)
PATCHED_VARIANT = VariantSummary(
    "facility 148",
    "5" * 64,
    (PatchSummary(0x514, "c00400000000", "facility 148"), PatchSummary(0x682, "07fe", "always")),
    (VariantVerdict("output", Verdict.UNKNOWN), VariantVerdict("stack", Verdict.PROVED)),
)
PATCHED = Result(
    target=TARGET,
    properties=(
        PropertyResult(
            "output",
            "Each block is ChaCha20's",
            Verdict.UNKNOWN,
            1.5,
            (check("output/1"), check("output/1@variant1", Verdict.UNKNOWN, "timeout")),
            variant="facility 148",
        ),
        property_result("stack"),
    ),
    discipline="no stack writes",
    tools=TOOLS,
    variants=(BUILT, PATCHED_VARIANT),
)
STATE = "00" * 144
HISTORY = CallHistory(
    what="call 1: the result is 7 instead of 8",
    calls=(
        HistoryCall(0x4000, 0, 0, 0x5000, 144, 7, 1, "", STATE),
        HistoryCall(
            0x4000,
            8,
            0,
            0x5000,
            144,
            2**64 - 1,
            1,
            "cc" * 8,
            "",
            (KernelAnswer(32, "11" * 32, STATE, 9), KernelAnswer(-11, "")),
            (
                HistoryInterruption(0x530, 1, STATE, 0),
                HistoryInterruption(
                    0x540, 0, call=HistoryCall(0x6000, 4, 1, 0x5000, 144, 7, 1, "cc" * 4, "")
                ),
            ),
        ),
    ),
    outcomes=(
        CallOutcome(0, "", STATE),
        CallOutcome(
            7,
            "dd" * 8,
            STATE,
            (SystemCallMade(278, 0x5060, 32, 0, STATE),),
            (CallOutcome(None, "", STATE),),
            ("it does not restore s0",),
        ),
    ),
    specified=(CallOutcome(0, "", STATE), CallOutcome(8, "dd" * 8, STATE)),
    account=(
        "call 0: getrandom(0x4000, 0, 0x0, 0x5000, 144)",
        "  does       returns 0",
        "call 1: getrandom(0x4000, 8, 0x0, 0x5000, 144)",
        "  does       returns 7",
        "  specified  returns 8",
    ),
    executed_by="qemu-ppc64le 7.2.22",
)
PAIR = CallPair(
    what="t5 is 0x23 after call 0, 0x9b after call 1",
    calls=(
        HistoryCall(0x4000, 1, 0, 0x5000, 144, 7, 1, "cc", STATE),
        HistoryCall(0x4000, 1, 0, 0x5000, 144, 7, 1, "cc", "11" * 144),
    ),
    seeds=(3, None),
    outcomes=(CallOutcome(1, "dd", STATE), CallOutcome(1, "dd", STATE)),
    observation=Observation(Look.REGISTER, register="t5"),
    account=(
        "call 0: getrandom(0x4000, 1, 0x0, 0x5000, 144)",
        "call 1: getrandom(0x4000, 1, 0x0, 0x5000, 144)",
    ),
    executed_by="qemu-loongarch64 7.2.22",
)
GETRANDOM = Result(
    target=replace(
        EMBEDDED, function="__kernel_getrandom", address=0x510, located="symbol __kernel_getrandom"
    ),
    properties=(
        PropertyResult(
            "stream",
            "The bytes are the stream's",
            Verdict.REFUTED,
            None,
            reason=HISTORY.what,
            history=HISTORY,
        ),
        PropertyResult(
            "erasure",
            "What is given out is erased",
            Verdict.UNKNOWN,
            None,
            (check("erasure/first"), check("erasure/second", Verdict.UNKNOWN)),
            reason="on a path that ends at 0x5c8: at 'return' pos is another",
        ),
        PropertyResult(
            "secrecy",
            "Nothing is left in registers",
            Verdict.REFUTED,
            None,
            reason=PAIR.what,
            pair=PAIR,
        ),
    ),
    caveats=(Caveat.CHACHA20_BY_CONTRACT, Caveat.DATA_PAGE_GIVEN),
    tools=TOOLS,
    seconds=7.5,
    contract=Contract.GETRANDOM,
    environment=Environment(
        0x10000, 0x2000, CalledFunction("0x760", 0x760, 876, "3" * 64, EMBEDDED.located)
    ),
)
ALL = {
    "proved": PROVED,
    "refuted": REFUTED,
    "unknown": UNKNOWN,
    "stackless": STACKLESS,
    "patched": PATCHED,
    "getrandom": GETRANDOM,
}
