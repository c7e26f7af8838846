"""You are the model: the search asks about one row at a time, and you answer yes or no at the keyboard.

A loan officer decides by a rule of their own. The session finds out what would have to change for a yes, without
ever seeing the rule: it asks, it is told, and in the end it says what it found.
"""

import numpy as np

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings

features = Features(
    [
        Continuous(name="income", bounds=(10, 100), precision=0, direction="rise"),
        Continuous(name="debt", bounds=(0, 40), precision=0, direction="fall"),
        Discrete(name="guarantors", values=[0, 1, 2]),
    ]
)
applicant = np.array([30.0, 20.0, 0.0])
settings = SearchSettings(max_rows=24, batch_rows=4, confirmations=1)
session = NTDCFE(None, features, settings=settings).session(applicant, target="yes")

print("Would you grant this loan? Answer yes or no.")
while (rows := session.ask()) is not None:
    answers = []
    for income, debt, guarantors in rows:
        said = ""
        while said not in ("yes", "no"):
            said = input(f"income {income:g}, debt {debt:g}, guarantors {guarantors:g}: ").strip().lower()
        answers.append(said)
    session.tell(answers)
print(f"\n{session.result()}")
