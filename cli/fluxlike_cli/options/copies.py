"""Many jobs of one command line: `--cc` and `--bcc`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fluxlike_cli.options.declare import option, together
from fluxlike_cli.options.values import copy_ids

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike_cli.options.submission import Submission

TAG = "{cc}"

copy_options = together(
    option("--cc", type=copy_ids, metavar="IDSET", help="One job for each number; {cc} and FLUX_JOB_CC hold it."),
    option("--bcc", type=copy_ids, metavar="IDSET", help="As --cc, without FLUX_JOB_CC."),
)


def specs(spec: dict[str, Any], values: Sequence[str]) -> list[dict[str, Any]]:
    """A jobspec for each value, `{cc}` replaced where an executor does it: command, environment, files."""
    task = spec["tasks"][0]
    system = spec["attributes"]["system"]
    shell = system.get("shell", {})
    made = []
    for value in values:
        parts = {
            "tasks": [{**task, "command": _replaced(task["command"], value)}],
            "attributes": {
                **spec["attributes"],
                "system": {
                    **system,
                    "environment": _replaced(system.get("environment", {}), value),
                    "shell": _replaced(shell, value),
                },
            },
        }
        made.append({**spec, **parts})
    return made


def _replaced(tree: Any, value: str) -> Any:
    if isinstance(tree, str):
        return tree.replace(TAG, value) if TAG in tree else tree
    if isinstance(tree, dict):
        return {key: _replaced(item, value) for key, item in tree.items()}
    if isinstance(tree, list):
        return [_replaced(item, value) for item in tree]
    return tree


def submit_copies(client: Client, job: Submission, cc: Sequence[str] | None, bcc: Sequence[str] | None) -> list[int]:
    """Submit the job once, or once for each value; gives the ids in that order."""
    if cc is not None:
        return client.submit_template(job.spec, cc, urgency=job.urgency, flags=job.flags)
    if bcc is not None:
        # The instance gives every job with a cc value the variable, so these go out with the value filled in.
        return client.submit_many(specs(job.spec, bcc), urgency=job.urgency, flags=job.flags)
    return [client.submit(job.spec, urgency=job.urgency, flags=job.flags)]
