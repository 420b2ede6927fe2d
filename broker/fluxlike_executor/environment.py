"""The environment of a task (J18): the job's own, plus what tells the task who it is. Pure.

`FLUX_URI`, `FLUX_KVS_NAMESPACE` and `PMI_*` are never set here: who finds them would try to talk to a Flux.
"""

from __future__ import annotations

from collections.abc import Mapping

from fluxlike_executor.instance import Instance
from fluxlike_executor.job import Job
from fluxlike_executor.jobid import tick_of
from fluxlike_executor.spec import Spec, encoded
from fluxlike_executor.templates import job_tags, node_tags, render

Environment = dict[bytes, bytes]

COMMAND = b"FLUXLIKE_EXEC"
"""Marks a transient command, which has no job id: the executor after one that was killed finds it by this."""


def job_environment(job: Job, spec: Spec, instance: Instance) -> Environment:
    """What all tasks of the job on this node share. A transient command is no job, and is told of none."""
    environment = spec.environment.copy()
    environment[b"FLUXLIKE_URI"] = instance.uri_bytes
    if job.transient:
        environment[COMMAND] = b"%d" % -job.id
        return environment
    environment[b"FLUX_JOB_ID"] = job.name
    environment[b"FLUX_JOB_ID_PATH"] = instance.id_path + job.name
    if spec.array is not None:
        # Its own id stays what FLUX_JOB_ID says: strays are told apart by it.
        name, first = spec.array
        environment[b"FLUXLIKE_ARRAY_ID"] = name
        environment[b"FLUXLIKE_ARRAY_INDEX"] = b"%d" % (tick_of(job.id) - first)
    environment[b"FLUX_JOB_SIZE"] = b"%d" % job.ntasks
    environment[b"FLUX_JOB_NNODES"] = b"%d" % job.nnodes
    environment[b"FLUX_JOB_TMPDIR"] = encoded(job.directory)
    if job.cc is not None:
        environment[b"FLUX_JOB_CC"] = encoded(job.cc)
    else:
        # Submitted from inside a job that had one: the submitter's value is not this job's.
        environment.pop(b"FLUX_JOB_CC", None)
    return environment


def set_task(environment: Environment, job: Job, index: int) -> None:
    """Turns the environment, in place, into that of the task with this index on the node."""
    if not job.transient:
        environment[b"FLUX_TASK_RANK"] = b"%d" % (job.first + index)
        environment[b"FLUX_TASK_LOCAL_ID"] = b"%d" % index


def render_values(environment: Environment, spec: Spec, tags: Mapping[str, str]) -> None:
    """Fills in the tags of the job's own values, in place."""
    for name, value in spec.environment_tags.items():
        environment[name] = encoded(render(value, tags))


def tags_of(job: Job, spec: Spec, instance: Instance) -> dict[str, str]:
    """Values of all tags that do not depend on the task."""
    tags = job_tags(abs(job.id), spec.name, job.nnodes, job.ntasks, job.cc, job.directory)
    tags.update(node_tags(job.node, instance.host, instance.rank, job.cores, job.gpus))
    return tags
