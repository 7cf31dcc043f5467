"""All files of one command: their functions, the proofs, and what could not be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from verify.atonce import AtOnce
from verify.errors import InputError, printable
from verify.image import Running, images_of, read_input
from verify.locate import find_getrandom, find_target
from verify.resultjson import Failed, Failure, Outcome
from verify.verdict import Contract, Verdict

if TYPE_CHECKING:
    from verify.cache import ProofCache
    from verify.options import Options
    from verify.progress import Progress
    from verify.prove.segments import Segments
    from verify.target import Target
    from verify.verdict import Result


class Listener(Protocol):
    """Whom to tell what happens, while it happens."""

    def started(self, target: Target, number: int, total: int) -> None:
        """The proof of a target begins, the `number`-th (from 1) of `total`."""

    def progressed(self, progress: Progress) -> None:
        """How far it is."""

    def finished(self, result: Result) -> None:
        """It is over."""

    def noted(self, source: str, note: str) -> None:
        """Something that changes no verdict: one line about a file."""

    def failed(self, failure: Failure) -> None:
        """Something cannot be used; in the harness itself while its exception is handled."""


def targets_in(
    file: str | Running, function: str | None, contract: Contract = Contract.CHACHA20
) -> Iterator[Target | InputError]:
    """The function with that contract in each image of a file ("-" is standard input) or of a
    process, or why not.

    `function` as in `find_target`.
    """
    find = find_getrandom if contract is Contract.GETRANDOM else find_target
    try:
        content = read_input(file)
        images = images_of(content)
    except InputError as error:
        yield error
        return
    for image in images:
        try:
            yield find(image, content.source, content.sha256, function)
        except InputError as error:
            yield error


def prove_files(
    files: Sequence[str | Running],
    function: str | None,
    options: Options,
    listener: Listener,
    cache: ProofCache | None = None,
) -> Outcome:
    """Prove the function of every image in every file or process, unless `cache` has the proof.

    All files are read before the first proof begins, so that bad input is reported at once. It
    ends neither the other proofs, nor does a failure of the harness.
    """
    results: list[Result] = []
    failures: list[Failure] = []

    def fail(kind: Failed, source: str, reason: str) -> None:
        failures.append(Failure(kind, source, reason))
        listener.failed(failures[-1])

    try:
        targets = []
        for file in files:
            try:
                for target in targets_in(file, function, options.contract):
                    if isinstance(target, InputError):
                        fail(Failed.INPUT, target.source, target.reason)
                    else:
                        targets.append(target)
            except Exception as error:  # noqa: BLE001  # reported, and the other files go on
                fail(Failed.INTERNAL, str(file), internal_error(error))
        with closing(AtOnce(targets, options, listener.progressed)) as at_once:
            for number, target in enumerate(targets, 1):
                listener.started(target, number, len(targets))
                try:
                    result, certificates = (
                        (at_once.next(), dict[str, bytes])
                        if at_once.left
                        else _settled(target, options, listener, cache)
                    )
                    results.append(result)
                    listener.finished(result)
                    if options.certificate is not None:
                        from verify.evidence.certificate import save

                        place = options.certificate / (str(number) if len(targets) > 1 else "")
                        save(certificates(), place)
                except InputError as error:
                    fail(Failed.INPUT, error.source, error.reason)
                except Exception as error:  # noqa: BLE001  # likewise
                    fail(Failed.INTERNAL, target.source, internal_error(error))
    except KeyboardInterrupt:
        fail(Failed.INTERRUPTED, "", "interrupted")
    return Outcome(tuple(results), tuple(failures))


type _Certificates = Callable[[], Mapping[str, bytes]]
"""Makes the certificates of a result: file name to content. Raises InputError where none can be."""


def _settled(
    target: Target, options: Options, listener: Listener, cache: ProofCache | None
) -> tuple[Result, _Certificates]:
    """The result of a target, from the cache or from a proof, which the cache then keeps."""
    if cache is None:
        return _prove(target, options, listener, certified=options.certificate is not None)
    from verify.evidence.check_model import RefusedError

    try:
        kept = cache.find(target, options)
    except RefusedError as note:
        listener.noted(target.source, str(note))
        kept = None
    if kept is not None:
        return kept.result, kept.certificates
    result, certificates = _prove(target, options, listener, certified=True)
    if result.verdict is Verdict.PROVED:
        try:
            made = certificates()
            cache.keep(target, options, result, made)
        except (InputError, RefusedError) as note:
            listener.noted(target.source, getattr(note, "reason", str(note)))
        else:
            return result, lambda: made
    return result, certificates


def _prove(
    target: Target, options: Options, listener: Listener, *, certified: bool
) -> tuple[Result, _Certificates]:
    """Prove a target; `certified` says that certificates may be wanted."""
    from verify.lift.angr_import import import_angr

    import_angr()
    from verify.run import prove

    parts: list[tuple[Segments, Result]] = []

    def certificates() -> Mapping[str, bytes]:
        from verify.evidence.certificate import certificates

        return certificates(result, parts)

    if not certified:
        return prove(target, options, listener.progressed), certificates
    result = prove(target, options, listener.progressed, lambda *part: parts.append(part))
    return result, certificates


def internal_error(error: BaseException) -> str:
    """One line about an exception that nothing was meant to raise."""
    message = printable(" ".join(str(error).split()))
    detail = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"internal error ({detail}); please report it with what vdso-verify --debug prints"
