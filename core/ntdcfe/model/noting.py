"""A failure of one of the user's functions is noted in the job that it ends, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ntdcfe.errors import raised_while_searching

if TYPE_CHECKING:
    from ntdcfe.model.job import Job


@contextmanager
def noting(job: Job) -> Iterator[None]:
    """What is raised inside is why the job ended, and goes no further: what is plausible is for the user to say."""
    try:
        yield
    except Exception as cause:
        job.cause = job.cause or raised_while_searching(cause)
        if job.status != "already_target":
            job.status = "model_failed"
