"""The errors that a user is told of, and text that is safe to show."""


def printable(text: str) -> str:
    """Return `text` on one line that any terminal can show: everything else is escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


class InputError(ValueError):
    """An input that cannot be used; `str()` is one line for the user: "source: reason".

    `source` names the file (or the service) and `reason` says what is wrong with it and, where
    something can be done about it, what to do.
    """

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source = printable(source)
        self.reason = printable(reason)

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class FormatError(ValueError):
    """A reason without its file: raised where bytes are read, turned into `InputError` above."""


def reason(error: OSError | ValueError) -> str:
    """Return why the operating system refused something, without the file's name."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
