"""The one error class of the lab."""


class LabError(ValueError):
    """Something the user can act on. Its text names the input and the rule that it breaks.

    The command line prints it in one line on standard error and exits with status 2. It is a
    ValueError so that msgspec adds the place to one that a type raises when it is read.
    """
