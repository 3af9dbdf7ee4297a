"""What can go wrong, as one tree.

::

    LacunetError
    ├── DataError (ValueError)      a table that cannot be used as it is
    ├── ModelError (ValueError)     a network, its tables or its file
    ├── OptionError (ValueError)    an argument or option out of its range
    └── OutputError (OSError)       a result that could not be written

Each message says where, what, what is allowed, and the next step. Each class also inherits the
built-in that it resembles, so that `except ValueError` keeps working for people who write that.
"""


class LacunetError(Exception):
    """Root of every error that Lacunet raises on purpose."""


class DataError(LacunetError, ValueError):
    """A table that cannot be used as it is."""


class ModelError(LacunetError, ValueError):
    """A network, its tables or its file that is not valid."""


class OptionError(LacunetError, ValueError):
    """An argument or option out of its range."""


class OutputError(LacunetError, OSError):
    """A result that could not be written."""
