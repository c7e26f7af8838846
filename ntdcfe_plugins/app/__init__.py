"""A local page on which one asks a model again: freeze, bound, weigh, ask, compare, save the letter.

Needs the extra ``app`` (Bokeh) when it is served; what the page remembers is plain Python and needs nothing.
"""

from ntdcfe_plugins.app.serving import serve

__all__ = ["serve"]
