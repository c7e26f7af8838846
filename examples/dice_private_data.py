"""DiCE without data: explain a lender's model from ranges and categories alone.

Nobody hands over a single applicant. `dice_ml.Data(features=...)` says what the columns are; the
explainer adds what DiCE cannot say: who may change what, in which direction, and what follows.
"""

import dice_ml
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ntdcfe import AtMost
from ntdcfe_plugins.dice import NTDCFE, NoCounterfactualsFound


def lenders_model() -> object:
    """Fitted somewhere else, on data that we never see."""
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 75, n),
            "years_in_job": rng.integers(0, 30, n),
            "income": rng.lognormal(3.5, 0.5, n).round(1),
            "debt": rng.lognormal(2.5, 0.8, n).round(1),
            "home": rng.choice(["rent", "own", "mortgage"], n),
            "purpose": rng.choice(["car", "business", "study"], n),
        }
    )
    worth = X["income"] / 10 - X["debt"] / 8 + X["years_in_job"] / 10 + (X["home"] == "own") - (X["purpose"] == "study")
    y = np.where(worth + rng.normal(0, 0.5, n) > 2.5, "grant", "refuse")
    columns = make_column_transformer((OneHotEncoder(), ["home", "purpose"]), remainder="passthrough")
    return make_pipeline(columns, GradientBoostingClassifier(random_state=0)).fit(X, y)


data = dice_ml.Data(
    features={
        "age": [18, 75],
        "years_in_job": [0, 40],
        "income": [0.0, 200.0],
        "debt": [0.0, 150.0],
        "home": ["rent", "own", "mortgage"],
        "purpose": ["car", "business", "study"],
    },
    outcome_name="decision",
    type_and_precision={"income": ["float", 1], "debt": ["float", 1]},
)
model = dice_ml.Model(model=lenders_model(), backend="sklearn")
explainer = NTDCFE(
    data,
    model,
    features={"age": {"direction": "rise"}, "years_in_job": {"direction": "rise"}, "purpose": {"role": "immutable"}},
    constraints=[AtMost("years_in_job", "age")],
)

applicant = {"age": 31, "years_in_job": 2, "income": 28.5, "debt": 14.0, "home": "rent", "purpose": "car"}
explanations = explainer.generate_counterfactuals(applicant, total_CFs=4, desired_class="grant", random_seed=0)
answer = explanations.cf_examples_list[0]
print("The applicant:\n", answer.test_instance_df.to_string(index=False))
print("\nGranted, if instead:\n", answer.final_cfs_df.to_string(index=False))
print("\nIn words, and how often it holds if every value is off by 1%:")
print(answer.details_df[["edits", "survival"]].to_string(index=False))
print(f"\nThe nearest in words:\n{answer.counterfactual}")

letter = explanations.report("dice_private_data.html", title="What would change the decision on your loan")
print(f"\nA letter to the applicant: {letter}")

importance = explainer.local_feature_importance(pd.DataFrame([applicant]), total_CFs=10, desired_class="grant")
print("\nHow often each feature is changed, over ten of them:", importance.local_importance[0])
print("\nAs JSON:", explanations.to_json()[:160], "...")

# Where nothing is found, DiCE's exception tells why, and how near it came.
try:
    explainer.generate_counterfactuals(
        applicant, total_CFs=1, permitted_range={"age": [31, 33]}, features_to_vary=["age"], max_rows=200
    )
except NoCounterfactualsFound as nothing:
    missed = nothing.explanations.cf_examples_list[0]
    print(f"\nBy age alone? {missed.reason}. Nearest:\n", missed.near_miss_df.to_string(index=False))
