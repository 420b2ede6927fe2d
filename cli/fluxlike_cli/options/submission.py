"""The options that `submit` and `run` share, and the jobspec they describe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from fluxlike.config.environment import snapshot
from fluxlike.errors import InvalidRequest
from fluxlike.jobspec.build import from_command
from fluxlike_cli.commands.parameters import urgency
from fluxlike_cli.options import values
from fluxlike_cli.options.declare import option, together
from fluxlike_cli.options.environment import environment, environment_options, rules_of

POSITIVE = click.IntRange(min=1)

resource_options = together(
    option("-N", "--nodes", type=POSITIVE, metavar="N",
           help="Number of nodes; without -n, whole nodes with one task each."),
    option("-n", "--ntasks", type=POSITIVE, metavar="N", help="Number of tasks.  [default: 1]"),
    option("-c", "--cores-per-task", type=POSITIVE, default=1, metavar="N",
           help="Cores for each task.  [default: 1]"),
    option("-g", "--gpus-per-task", type=click.IntRange(min=0), default=0, metavar="N",
           help="GPUs for each task."),
    option("-x", "--exclusive", is_flag=True, help="Give the job whole nodes (needs -N)."),
    option("-t", "--time-limit", type=values.time_limit, metavar="MINUTES|FSD",
           help="End the job after this long: 10 is minutes, 90s, 2h."),
    option("-q", "--queue", default="", metavar="NAME", help="Queue to submit to."),
)  # fmt: skip

job_options = together(
    option("--job-name", default="", metavar="NAME", help="Name in listings.  [default: the program's]"),
    option("--cwd", default="", metavar="DIR", help="Working directory.  [default: this one]"),
    option("--urgency", type=urgency, default="default", metavar="N", help="0 to 31, hold, expedite."),
    option("--dependency", multiple=True, metavar="SCHEME:VALUE",
           help="Wait: afterok, afterany, afternotok, afterexcept or afterstart, and a job id."),
    option("--begin-time", type=values.begin_time, metavar="+FSD|TIME",
           help="Not before this time: +30m, 18:00, '2030-12-31 18:00'."),
    option("-S", "--setattr", multiple=True, metavar="KEY[=VALUE]", help="Set an attribute of the jobspec."),
    option("--flags", type=values.flags, multiple=True, metavar="FLAG", help="debug, waitable, novalidate."),
)  # fmt: skip

io_options = together(
    option("--output", default="", metavar="TEMPLATE",
           help="File for output, such as job-{{id}}.out; without --error, for both streams."),
    option("--error", default="", metavar="TEMPLATE", help="File for standard error."),
    option("--input", "input_", default="", metavar="FILE", help="File for standard input."),
    option("-l", "--label-io", is_flag=True, help="Put the task's number before each line of output."),
    option("-u", "--unbuffered", is_flag=True, help="Pass output on as it comes, not by whole lines."),
    option("-o", "--setopt", multiple=True, metavar="KEY[=VALUE]",
           help="Set a shell option, such as output.mode=append."),
)  # fmt: skip

submission_options = together(resource_options, job_options, io_options, environment_options)

IN_STORE = ("none", "kvs")
"""Templates that mean: no file, keep it with the job."""


class Submission:
    """One command line's job: its jobspec, and what goes beside it in the request."""

    __slots__ = ("flags", "spec", "urgency")

    def __init__(
        self, ctx: click.Context, command: Sequence[str], stdin: str = "", given: dict[str, Any] | None = None
    ) -> None:
        """`stdin`: a path, `pipe`, or empty for none. `given` are options other than those of the command line.
        Bad values are usage errors."""
        given = ctx.params if given is None else given
        self.urgency: int = given["urgency"]
        self.flags = flags_of(given)
        try:
            self.spec = from_command(
                command,
                ntasks=given["ntasks"],
                nnodes=given["nodes"] or 0,
                cores_per_task=given["cores_per_task"],
                gpus_per_task=given["gpus_per_task"],
                exclusive=given["exclusive"],
                duration=given["time_limit"] or 0.0,
                name=given["job_name"] or os.path.basename(command[0]),
                cwd=os.path.abspath(given["cwd"]) if given["cwd"] else os.getcwd(),
                environment=environment(rules_of(ctx), snapshot()),
                queue=given["queue"],
                dependencies=_dependencies(given["dependency"], given["begin_time"]),
                shell_options=_shell_options(given, stdin),
            )
        except InvalidRequest as error:
            raise click.UsageError(str(error), ctx) from None
        _set_attributes(self.spec["attributes"], given["setattr"])

    @property
    def ntasks(self) -> int:
        """How many tasks the job will have."""
        resource = self.spec["resources"][0]
        slot = resource["with"][0] if resource["type"] == "node" else resource
        nodes = resource["count"] if resource["type"] == "node" else 1
        total: int = self.spec["tasks"][0]["count"].get("total", nodes * slot["count"])
        return total


def flags_of(given: dict[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in given["flags"] for name in names))


def _dependencies(texts: Sequence[str], begin_time: str | None) -> list[dict[str, Any]]:
    if not texts and begin_time is None:
        return []
    from fluxlike.jobspec.dependency import parse

    found = [parse(text) for text in texts]
    if begin_time is not None:
        found.append({"scheme": "begin-time", "value": begin_time})
    return found


def _shell_options(given: dict[str, Any], stdin: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    paths = {"stdout": given["output"], "stderr": given["error"]}
    for stream, path in paths.items():
        if path and path not in IN_STORE:
            values.put(options, f"output.{stream}.path", path)
            if given["label_io"]:
                values.put(options, f"output.{stream}.label", True)
    if stdin:
        values.put(options, "input.stdin", stdin)
    if given["unbuffered"]:
        options["unbuffered"] = True
    for text in given["setopt"]:
        values.put(options, *values.assignment(text))
    return options


def _set_attributes(attributes: dict[str, Any], texts: Sequence[str]) -> None:
    """A key without `system.` or `user.` in front belongs to the system's; a leading dot is the top."""
    for text in texts:
        key, value = values.assignment(text.removeprefix("."))
        top = text.startswith(".") or key.startswith(("system.", "user."))
        values.put(attributes, key if top else f"system.{key}", value)
