"""The exceptions a caller may meet, all under :class:`NTDCFEError`."""


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
