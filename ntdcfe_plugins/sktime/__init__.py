"""Counterfactuals in sktime: of any fitted classifier, regressor or pipeline, in the user's own containers.

:class:`CounterfactualExplainer` explains a model that is fitted already. :class:`CounterfactualClassifier`,
:class:`CounterfactualRegressor` and :class:`CounterfactualTransformer` are sktime estimators.
Needs the extra ``sktime``.
"""

from ntdcfe_plugins._shared.errors import extra

with extra("sktime"):
    import sktime.base  # noqa: F401

from ntdcfe_plugins.sktime.explainer import (
    CounterfactualClassifier,
    CounterfactualExplainer,
    CounterfactualRegressor,
    CounterfactualResult,
    CounterfactualTransformer,
)

__all__ = [
    "CounterfactualClassifier",
    "CounterfactualExplainer",
    "CounterfactualRegressor",
    "CounterfactualResult",
    "CounterfactualTransformer",
]
