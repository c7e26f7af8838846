"""Functions of cfts (counterfactuals-for-time-series) as explainers of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntdcfe_plugins.compare.counted import CountedModel

Array = NDArray[Any]


@dataclass(frozen=True)
class OfCfts:
    """A function of cfts, ``f(sample (D, K), model, target_class=, dataset=, ...)``, as a factory of an explainer.

    The counted model is handed to it as a torch module that has no gradients: methods that need them fail, and say so.

    Parameters
    ----------
    function : callable
        Such as ``cfts.cf_comte.comte.comte_cf``.
    X : array (n, K, D), optional
        Training series, for functions that want a dataset.
    y : array (n,), optional
        Their labels.
    options : dict
        Further arguments of the function.

    Examples
    --------
    >>> from ntdcfe_plugins.compare import OfCfts
    >>> def shifted(sample, model, target_class=None, dataset=None):  # stands for a function of cfts
    ...     return sample + 1, None
    >>> explainers = {"shifted": OfCfts(shifted)}
    """

    function: Callable[..., Any]
    X: ArrayLike | None = None
    y: ArrayLike | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, predict: CountedModel) -> Asking:
        """The explainer, with the counted model within."""
        return Asking(self, predict)


class Asking:
    """Asks a function of cfts as tscf-eval's methods are asked: ``explain(x (D, K))``."""

    def __init__(self, of: OfCfts, predict: CountedModel) -> None:
        import torch

        class Model(torch.nn.Module):
            """The counted model, of series ``(n, D, K)``."""

            def __init__(self) -> None:
                super().__init__()
                # The functions look for the device of a parameter.
                self.device_of = torch.nn.Parameter(torch.zeros(1))

            def forward(self, rows: Any) -> Any:
                """Probabilities ``(n, C)``."""
                answers = predict.channels_first.predict_proba(rows.detach().cpu().numpy())
                return torch.as_tensor(answers, dtype=torch.float32)

        self.of, self.predict, self.model = of, predict, Model().eval()

    def explain(self, x: Array, class_of_interest: Any = None) -> tuple[Any, Any]:
        """The counterfactual of a series ``(D, K)``, and what else the function returns."""
        classes = list(self.predict.classes_)
        arguments: dict[str, Any] = {"target_class": classes.index(class_of_interest)}
        if self.of.X is not None and self.of.y is not None:
            labels = np.asarray(self.of.y).tolist()
            series = np.asarray(self.of.X, dtype=np.float32).transpose(0, 2, 1)
            arguments["dataset"] = [(s, classes.index(label)) for s, label in zip(series, labels, strict=True)]
        found = self.of.function(x.astype(np.float32), self.model, **arguments, **self.of.options)
        return found[0], found[1:]
