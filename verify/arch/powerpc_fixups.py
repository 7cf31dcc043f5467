"""Linux's feature fix-ups of PowerPC, the same for all its ABIs.

Entries as in `struct fixup_entry` of the kernel's arch/powerpc/include/asm/feature-fixups.h: the
code is replaced unless the features under the mask have the value. An entry of `__lwsync_fixup` is
the offset of a `sync` that becomes `lwsync`. Instructions: Power ISA 3.1, book I, sections 2.4
(branches; AA is bit 30), 3.3.9 (`addpcis`) and 1.6.3 (prefixed instructions; R is bit 11); book
II, section 4.6.3 (`sync`).
"""

from typing import Literal

from verify.arch.patching import Condition, Layout, Patching, Table, Values, words_matching

_KINDS = {
    "__ftr_fixup": "cpu feature bit",
    "__mmu_ftr_fixup": "mmu feature bit",
    "__fw_ftr_fixup": "firmware feature bit",
}
_NOP = 0x6000_0000
_LWSYNC = 0x7C20_04AC
_RELATIVE = (
    (0xFC00_0002, 0x4800_0000),  # b, bl
    (0xFC00_0002, 0x4000_0000),  # bc, bcl
    (0xFC00_003E, 0x4C00_0004),  # addpcis
    (0xFC10_0000, 0x0410_0000),  # prefixed with R = 1
)


def _layout(kind: str, word: str, bits: int) -> Layout:
    def condition(values: Values) -> Condition:
        mask, value = values["mask"], values["value"]
        if value & ~mask:
            return Condition()
        wanted = ((bit, bool(value >> bit & 1)) for bit in range(bits) if mask >> bit & 1)
        return Condition(tuple((f"{kind} {bit}", on) for bit, on in wanted), negated=True)

    offsets = ("start", "end", "replacement", "replacement_end")
    return Layout(
        (
            ("mask", word.upper()),
            ("value", word.upper()),
            *((name, word) for name in offsets),
        ),
        condition,
        "entry",
    )


def feature_fixups(bits: int, byte_order: Literal["little", "big"]) -> Patching:
    """The fix-ups of an ABI with `long`s of that many bits."""
    word = {32: "i", 64: "q"}[bits]
    lwsync = Layout(
        (("start", word),),
        lambda _: Condition((("lwsync", True),)),
        "entry",
        _LWSYNC.to_bytes(4, byte_order),
    )
    return Patching(
        (
            *(Table(name, (_layout(kind, word, bits),)) for name, kind in _KINDS.items()),
            Table("__lwsync_fixup", (lwsync,)),
        ),
        (_NOP.to_bytes(4, byte_order),),
        words_matching(byte_order, *_RELATIVE),
    )
