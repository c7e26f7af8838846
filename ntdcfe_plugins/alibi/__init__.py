"""NTD-CFE as an alibi explainer. Needs the extra ``alibi``."""

from ntdcfe_plugins._shared.errors import extra

with extra("alibi"):
    import alibi.api.interfaces  # noqa: F401

from ntdcfe_plugins.alibi.explainer import NTDCFE
from ntdcfe_plugins.alibi.explanation import Explanation

__all__ = ["NTDCFE", "Explanation"]
