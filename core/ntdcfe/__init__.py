"""Counterfactual explanations of any model, without its training data."""

from ntdcfe.candidates import LocalOutlierDetector
from ntdcfe.constraints import AtMost, Causal
from ntdcfe.counterfactual import Change, Counterfactual
from ntdcfe.environment import Intervention
from ntdcfe.errors import InvalidInputError, NTDCFEError, PredictorError
from ntdcfe.explainer import NTDCFE
from ntdcfe.features import Continuous, Discrete, Feature, Features, OneHot
from ntdcfe.settings import PAPER, SearchSettings
from ntdcfe.target import Target

__all__ = [
    "NTDCFE",
    "PAPER",
    "AtMost",
    "Causal",
    "Change",
    "Continuous",
    "Counterfactual",
    "Discrete",
    "Feature",
    "Features",
    "Intervention",
    "InvalidInputError",
    "LocalOutlierDetector",
    "NTDCFEError",
    "OneHot",
    "PredictorError",
    "SearchSettings",
    "Target",
]

__version__ = "0.1.0"
