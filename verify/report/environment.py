"""What a getrandom was proved with, in words."""

from __future__ import annotations

from verify.verdict import Environment, Result


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
    return (
        f"pages of {environment.page_bytes} bytes, the kernel's data {environment.data_page} bytes"
        " in front of the image"
    )
