"""Ask and tell: an explanation whose questions the caller answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.counterfactual import Counterfactual
from ntdcfe.errors import InvalidInputError, PredictorError, in_words
from ntdcfe.model.job import Job
from ntdcfe.model.predictor import Predictor
from ntdcfe.model.result import result


class Session:
    """One explanation in which the caller asks the model: a person, a queue, or a service that answers later.

    Made by :meth:`ntdcfe.NTDCFE.session`. `ask` gives the rows that the search wants to know about, `tell` takes
    what the model says of them, `result` is what was found; ``explain`` is a loop around these three.

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe import NTDCFE
    >>> session = NTDCFE(None).session(np.full((8, 2), -0.5), target=1)
    >>> while (rows := session.ask()) is not None:
    ...     session.tell((rows[:, -3:, 0].min(axis=1) > 0).astype(int))
    >>> session.result().found
    True
    """

    def __init__(self, job: Job, predictor: Predictor, original: NDArray[Any]) -> None:
        self._job = job
        self._predictor = predictor
        self._original = original
        self._job.begin()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to ask."""
        return self._job.phase == "done"

    def ask(self) -> NDArray[Any] | None:
        """The rows ``(n, K, D)``, or ``(n, D)`` of static data, to be answered next; None when it is done.

        The same rows until they are told.
        """
        if self._job.pending is None:
            return None
        rows = self._job.search.space.rows(self._job.pending.states)
        return np.array(rows[:, 0] if self._original.ndim == 1 else rows)

    def tell(self, answers: Any) -> None:
        """What the model says of the rows that were asked, as ``predict`` would return it.

        Raises
        ------
        PredictorError
            If that is no prediction of these rows; they are still to be told then.
        """
        if self._job.pending is None:
            raise InvalidInputError("there is nothing to tell: the session is done, see result().")
        n = len(self._job.pending.states)
        try:
            told = np.array(answers)
        except Exception as cause:
            raise PredictorError(
                f"what was told is no array, {type(answers).__name__} raised {type(cause).__name__}: {in_words(cause)}"
            ) from cause
        prediction = self._predictor.reader.understand(told, (n, *self._original.shape))
        self._job.budget.spend(n, 1, 0, prediction.n_unscored)
        try:
            self._job.tell(prediction)
        except Exception as cause:
            if self._job.present is None and isinstance(cause, InvalidInputError):
                raise  # the target names a class that the model does not have
            self._job.fail(cause)

    def stop(self) -> None:
        """End the search here; what was found is still asked again, see :attr:`done`."""
        if not self.done:
            self._job.end_search("interrupted")

    def result(self) -> Counterfactual:
        """What was found so far; before the end, and after `stop`, not confirmed."""
        if not self.done:
            self.stop()
        if not self.done:
            self._job.end_check()
        return result(self._job, self._original)
