"""Records of the counterfactual estimators of ntdcfe-plugins, as they would stand in sktime's own tree.

Where ntdcfe-plugins is installed, each name is the class of that package; elsewhere it is a record that sktime's
overview of estimators lists, and that names the package to install when somebody fits one.
"""

__all__ = ["CounterfactualClassifier", "CounterfactualRegressor", "CounterfactualTransformer"]

from sktime.classification.base import BaseClassifier
from sktime.regression.base import BaseRegressor
from sktime.transformations.base import BaseTransformer
from sktime.utils.dependencies import _placeholder_record

PACKAGE = "ntdcfe-plugins"
# What sktime's search for estimators asks a class before its package is there.
TAGS = {
    "authors": "ntdcfe-plugins developers",
    "maintainers": "ntdcfe-plugins developers",
    "python_dependencies": PACKAGE,
    "capability:random_state": True,
    "property:randomness": "derandomized",
}


@_placeholder_record("ntdcfe_plugins.sktime", dependencies=PACKAGE)
class CounterfactualClassifier(BaseClassifier):
    """A classifier with counterfactual explanations of its own predictions, from the package ntdcfe-plugins.

    Predicts as the inner classifier does; ``explain(X, target)`` gives what would have to change in each series for
    another prediction, found by asking the classifier only.

    Parameters
    ----------
    classifier : sktime classifier
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see ``ntdcfe_plugins.sktime.CounterfactualExplainer``.
    """

    _tags = {**TAGS, "capability:multivariate": True, "capability:predict_proba": True}  # noqa: RUF012

    def __init__(
        self,
        classifier,
        features=None,
        constraints=(),
        plausible=None,
        settings=None,
        random_state=None,
        backend=None,
        backend_params=None,
    ):
        self.classifier = classifier
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Parameters that sktime's tests try."""
        from sktime.classification.dummy import DummyClassifier

        return [{"classifier": DummyClassifier()}, {"classifier": DummyClassifier(), "random_state": 42}]


@_placeholder_record("ntdcfe_plugins.sktime", dependencies=PACKAGE)
class CounterfactualRegressor(BaseRegressor):
    """A regressor with counterfactual explanations of its own predictions, from the package ntdcfe-plugins.

    Predicts as the inner regressor does; ``explain(X, target)`` gives what would have to change in each series for a
    prediction within an interval, found by asking the regressor only.

    Parameters
    ----------
    regressor : sktime regressor
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see ``ntdcfe_plugins.sktime.CounterfactualExplainer``.
    """

    _tags = {**TAGS, "capability:multivariate": True}  # noqa: RUF012

    def __init__(
        self,
        regressor,
        features=None,
        constraints=(),
        plausible=None,
        settings=None,
        random_state=None,
        backend=None,
        backend_params=None,
    ):
        self.regressor = regressor
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Parameters that sktime's tests try."""
        from sktime.regression.dummy import DummyRegressor

        return [{"regressor": DummyRegressor()}, {"regressor": DummyRegressor(), "random_state": 42}]


@_placeholder_record("ntdcfe_plugins.sktime", dependencies=PACKAGE)
class CounterfactualTransformer(BaseTransformer):
    """Maps every series of a panel to its counterfactual under an inner estimator, from the package ntdcfe-plugins.

    Parameters
    ----------
    estimator : sktime classifier or regressor
    target : label, list of labels, "other" or interval
        The wanted prediction of the inner estimator for the transformed series.
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see ``ntdcfe_plugins.sktime.CounterfactualExplainer``.
    """

    _tags = {  # noqa: RUF012
        **TAGS,
        "requires_y": True,
        "fit_is_empty": False,
        "scitype:transform-input": "Series",
        "scitype:transform-output": "Series",
        "scitype:transform-labels": "Primitives",
        "scitype:instancewise": False,
        "capability:categorical_in_X": False,
    }

    def __init__(
        self,
        estimator,
        target="other",
        features=None,
        constraints=(),
        plausible=None,
        settings=None,
        random_state=None,
        backend=None,
        backend_params=None,
    ):
        self.estimator = estimator
        self.target = target
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Parameters that sktime's tests try."""
        from sktime.classification.dummy import DummyClassifier

        return [{"estimator": DummyClassifier()}, {"estimator": DummyClassifier(), "random_state": 42}]
