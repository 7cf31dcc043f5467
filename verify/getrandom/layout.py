"""Where the kernel has its data for a getrandom."""

from __future__ import annotations

from verify.arch.getrandom_port import OWN_PAGE, GetrandomPort
from verify.arch.kerneldata import Layout, Release, TimeNamespace
from verify.lift.machine import Unsupported
from verify.options import Options
from verify.target import Target
from verify.verdict import Environment, ReleaseBy


def layout_of(target: Target, options: Options) -> Layout:
    """What was asked for; in place of what was not, what the kernels have of the release that was
    asked for, or that the file's note names, or of today's.

    Raises Unsupported where that is not known.
    """
    port = _port(target)
    if options.data_page is not None:
        pages = port.page_bytes if options.page_bytes is None else options.page_bytes
        return Layout(pages, options.data_page)
    release, _ = release_of(target, options)
    layout = port.layout(options.page_bytes, release)
    if layout is None:
        major, minor = release
        where = f"Linux {major}.{minor} has its data for getrandom on {target.architecture.title}"
        raise Unsupported(
            0,
            f"where {where} is not known: say so with --data-page, or with --linux name a release"
            " that has them there",
        )
    return layout


def release_of(target: Target, options: Options) -> tuple[Release, ReleaseBy]:
    """The release of Linux whose layout is taken, and what names it."""
    if options.linux is not None:
        return options.linux, ReleaseBy.OPTION
    if target.linux_version is not None:
        return target.linux_version[:2], ReleaseBy.NOTE
    return OWN_PAGE, ReleaseBy.DEFAULT


def layout_in(environment: Environment) -> Layout:
    """The layout that a result has."""
    namespace = None
    if environment.clock_mode is not None and environment.inside is not None:
        namespace = TimeNamespace(environment.clock_mode, environment.inside)
    return Layout(environment.page_bytes, environment.data_page, namespace)


def _port(target: Target) -> GetrandomPort:
    architecture = target.architecture
    if architecture.getrandom_port is None:
        raise Unsupported(0, f"getrandom on {architecture.title} is not supported")
    return architecture.getrandom_port
