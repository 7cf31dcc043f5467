"""The instructions of a getrandom whose meaning is what the lifter says."""

from __future__ import annotations

from verify.arch.kerneldata import Layout
from verify.getrandom.walk.setting import setting_of
from verify.lift.machine import Unsupported
from verify.target import Target


def lifted(target: Target) -> tuple[int, ...]:
    """Where they lie in the target's getrandom, ascending, ChaCha20's not among them.

    Barriers and system calls are not: what they do is said by contracts. Raises Unsupported where
    a getrandom of the architecture cannot be read.
    """
    port = target.architecture.getrandom_port
    if target.callee is None or port is None:
        raise Unsupported(0, f"getrandom on {target.architecture.title} is not supported")
    layout = Layout(port.page_bytes, port.data_page)
    setting = setting_of(target.called, target.function.address, layout, port)
    reached = {at for block in setting.flow.blocks.values() for at in block.instructions}
    contracts = setting.barriers | setting.system_calls
    return tuple(at - setting.base for at in sorted(reached - contracts))
