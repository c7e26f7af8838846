"""The common part of the sktime estimators that explain an inner estimator."""

from __future__ import annotations

from typing import Any

from sktime.registry import ESTIMATOR_TAG_LIST

from ntdcfe import InvalidInputError
from ntdcfe_plugins.sktime.explainer import CounterfactualExplainer
from ntdcfe_plugins.sktime.result import CounterfactualResult

# The mtypes that are handed to an inner estimator as they are.
PANELS = ["pd-multiindex", "numpy3D", "nested_univ", "df-list"]
OPTIONS = ("features", "constraints", "plausible", "settings", "random_state", "backend", "backend_params")
# Set by scikit-learn from 1.9 before `fit`, and deleted by it afterwards.
CALLBACKS = "_parent_callback_ctx"


def known(tags: dict[str, Any]) -> dict[str, Any]:
    """Those of the tags that the installed sktime knows: its checks refuse others."""
    return {name: value for name, value in tags.items() if name in ESTIMATOR_TAG_LIST}


TAGS = known(
    {
        "authors": "ntdcfe-plugins developers",
        "maintainers": "ntdcfe-plugins developers",
        "X_inner_mtype": PANELS,
        "capability:random_state": True,
        "property:randomness": "derandomized",
    }
)


class Explaining:
    """An sktime estimator with an inner estimator, which is fitted and explained.

    Parameters
    ----------
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see :class:`CounterfactualExplainer`.
    """

    _inner: str
    _inner_tags: tuple[str, ...]

    def __init__(
        self,
        features: Any,
        constraints: Any,
        plausible: Any,
        settings: Any,
        random_state: Any,
        backend: Any,
        backend_params: Any,
    ) -> None:
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()
        # Here and not in __post_init__, which the oldest sktime does not call.
        inner = getattr(self, self._inner)
        tags = known({f"capability:{tag}": None for tag in self._inner_tags})
        self.clone_tags(inner, list(tags))  # type: ignore[attr-defined]
        if inner.get_tag("property:randomness", raise_error=False) == "stochastic":
            self.set_tags(**{"property:randomness": "stochastic"})  # type: ignore[attr-defined]

    def _fit(self, X: Any, y: Any = None) -> Any:
        setattr(self, f"{self._inner}_", getattr(self, self._inner).clone().fit(X, y))
        return self

    def explain(self, X: Any, target: Any = "other", **limits: Any) -> CounterfactualResult:
        """The counterfactuals of one series or of a panel, see :meth:`CounterfactualExplainer.explain`.

        Parameters
        ----------
        X : panel of mtype numpy3D, numpyflat, pd-multiindex, nested_univ or df-list, or one series
        target : label, list of labels, "other", interval, Target, or one for each instance
        **limits
            ``prefer``, ``n_counterfactuals``, ``max_rows``, ``max_seconds``, ``seconds_per_series``,
            ``actionable_steps``, ``progress``, ``checkpoint``.
        """
        self.check_is_fitted()  # type: ignore[attr-defined]
        fitted = getattr(self, f"{self._inner}_", None)
        if fitted is None:  # sktime does not call _fit for a single class, and calls it on clones for several outputs
            raise InvalidInputError("there is no model to explain: it was fitted to one class, or to several outputs.")
        options = {name: getattr(self, name) for name in OPTIONS}
        return CounterfactualExplainer(fitted, **options).explain(X, target, **limits)


class ExplainingModel(Explaining):
    """An estimator that predicts as its inner estimator does."""

    def __rmul__(self, other: Any) -> Any:
        """``trafo * self``: the transformer joins the inner estimator, so that raw input is explained."""
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        return type(self)(**{**params, self._inner: other * params[self._inner]})

    def reset(self) -> Any:
        """As in sktime; what scikit-learn's grid search hangs on an estimator while it fits is left there for it."""
        kept = {name: value for name, value in vars(self).items() if name == CALLBACKS}
        super().reset()  # type: ignore[misc]
        vars(self).update(kept)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's model selection wants to know, which sktime's base does not tell it."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = self._inner
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(three_d_array=True, allow_nan=True),
        )

    def _predict(self, X: Any) -> Any:
        return getattr(self, f"{self._inner}_").predict(X)
