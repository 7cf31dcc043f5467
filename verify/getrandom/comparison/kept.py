"""What a caller finds in its registers when the function returns."""

from __future__ import annotations

from collections.abc import Iterator

from verify.arch import Saved
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import Setting, entry_machine
from verify.terms import add, const, equal


def not_kept(setting: Setting, path: Path, questions: Questions) -> Iterator[str]:
    """For each register that the function has to preserve and is not shown to, that it does not."""
    before = entry_machine(setting)
    for register in setting.architecture.with_saved(Saved.CALLEE):
        was = setting.read(before, register.name)
        if register.name == setting.architecture.stack_pointer:
            was = add(was, const(setting.architecture.popped_at_return, was.width))
        if not questions.follows(path.facts, equal(setting.read(path.machine, register.name), was)):
            yield f"{register.name} is not restored"
