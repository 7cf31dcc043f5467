"""What a getrandom was proved with, in words."""

from __future__ import annotations

from collections.abc import Mapping

from verify.verdict import Environment, ReleaseBy, Result

_NAMED: Mapping[ReleaseBy, str] = {
    ReleaseBy.NOTE: "which a note in the file names",
    ReleaseBy.OPTION: "which the command names",
    ReleaseBy.DEFAULT: "since no note in the file names another",
}


def environment_parts(result: Result) -> tuple[str, ...]:
    """The ChaCha20 that is called, and where the kernel's data are; nothing
    for another contract."""
    environment = result.environment
    if environment is None:
        return ()
    called = environment.chacha20
    end = called.address + called.size
    return (
        f"ChaCha20 {called.address:#x}..{end:#x} sha256 {called.function_sha256}"
        f" ({called.located})",
        _pages(environment),
    )


def placed(result: Result) -> str:
    """The same in sentences, without the hash."""
    environment = result.environment
    if environment is None:
        return ""
    called = environment.chacha20
    return f" ChaCha20 is the {called.size} bytes at {called.address:#x}; {_pages(environment)}."


def _pages(environment: Environment) -> str:
    text = (
        f"pages of {environment.page_bytes} bytes, the kernel's data {environment.data_page} bytes"
        " in front of the image"
    )
    if environment.inside is not None:
        text += f", inside a time namespace {environment.inside}"
    if environment.linux_by is not None:
        text += f" as in Linux {environment.linux}, {_NAMED[environment.linux_by]}"
    return text
