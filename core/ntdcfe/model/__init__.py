"""The black box: how it is asked, what that may cost, and what one may believe of its answers."""
