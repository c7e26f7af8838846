"""The exceptions a caller may meet, all under :class:`NTDCFEError`."""

import traceback
from pathlib import Path


class NTDCFEError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInputError(NTDCFEError, ValueError):
    """An argument is wrong; raised before the model is asked anything."""


class PredictorError(NTDCFEError, RuntimeError):
    """The model failed, or returned something that is no prediction.

    When the model itself raised, that exception is the ``__cause__``.
    """


def in_words(error: BaseException) -> str:
    """The text of an exception; its class where it cannot even be printed."""
    try:
        return str(error)
    except Exception:
        return f"a {type(error).__name__} that cannot be printed"


def raised_while_searching(cause: Exception) -> PredictorError:
    """The error of a search that another error ended; its file and line tell whether a function of the user's did."""
    if isinstance(cause, InvalidInputError) and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__  # what the user's function raised, in place of our word for it
    frames = traceback.extract_tb(cause.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    error = PredictorError(
        f"while searching, not in the model, {type(cause).__name__} was raised{place}: {in_words(cause)}"
    )
    error.__cause__ = cause
    return error
