"""Counterfactuals in sktime: of any fitted classifier, regressor or pipeline, in the user's own containers.

:class:`CounterfactualExplainer` explains a model that is fitted already, :class:`CounterfactualForecastExplainer` a
fitted forecaster. :class:`CounterfactualClassifier`,
:class:`CounterfactualRegressor` and :class:`CounterfactualTransformer` are sktime estimators.
Needs the extra ``sktime``.
"""

from ntdcfe_plugins._shared.errors import extra

with extra("sktime"):
    import sktime.base  # noqa: F401

from ntdcfe_plugins.sktime.classifier import CounterfactualClassifier
from ntdcfe_plugins.sktime.explainer import CounterfactualExplainer
from ntdcfe_plugins.sktime.forecast import CounterfactualForecastExplainer
from ntdcfe_plugins.sktime.forecast_result import ForecastResult
from ntdcfe_plugins.sktime.regressor import CounterfactualRegressor
from ntdcfe_plugins.sktime.result import CounterfactualResult
from ntdcfe_plugins.sktime.transformer import CounterfactualTransformer

__all__ = [
    "CounterfactualClassifier",
    "CounterfactualExplainer",
    "CounterfactualForecastExplainer",
    "CounterfactualRegressor",
    "CounterfactualResult",
    "CounterfactualTransformer",
    "ForecastResult",
]
