"""Counterfactual explanations of any model, without its training data."""

from ntdcfe.counterfactual import Change, Counterfactual
from ntdcfe.errors import InvalidInputError, NTDCFEError, PredictorError
from ntdcfe.explainer import NTDCFE
from ntdcfe.problem.constraints import AtMost, Causal, Constraint
from ntdcfe.problem.features import Category, Continuous, Discrete, Feature, Features, OneHot
from ntdcfe.problem.objective import Term
from ntdcfe.problem.plausibility import LocalOutlierDetector
from ntdcfe.problem.target import Target
from ntdcfe.problem.transition import Intervention
from ntdcfe.search.refine.moves import Move
from ntdcfe.settings import PAPER, SearchSettings

__all__ = [
    "NTDCFE",
    "PAPER",
    "AtMost",
    "Category",
    "Causal",
    "Change",
    "Constraint",
    "Continuous",
    "Counterfactual",
    "Discrete",
    "Feature",
    "Features",
    "Intervention",
    "InvalidInputError",
    "LocalOutlierDetector",
    "Move",
    "NTDCFEError",
    "OneHot",
    "PredictorError",
    "SearchSettings",
    "Target",
    "Term",
]

__version__ = "0.1.0"
