"""`fluxlike jobs --tasks ID`."""

from __future__ import annotations

from typing import Any

import click

from fluxlike.errors import InvalidRequest
from fluxlike_cli.context import connect
from fluxlike_cli.output.layout import sort_keys, sort_rows
from fluxlike_cli.output.task_fields import read_task_format, task_field


def list_tasks(ctx: click.Context, job_id: int, given: dict[str, Any]) -> int:
    """Print the tasks of an array, those that the options of `jobs` leave."""
    try:
        layout = read_task_format(given["format"])
        keys = sort_keys(given["sort"] or "", task_field) or layout.sort
    except InvalidRequest as error:
        raise click.BadParameter(str(error), ctx, param_hint="-o") from None
    with connect(ctx) as client:
        tasks = client.tasks(job_id, given["states"] or (), limit=given["count"])
    from fluxlike.clock import SystemClock

    now = SystemClock().now()
    rows = sort_rows(tasks, keys, task_field, now)
    if given["as_json"]:
        from fluxlike_cli.output.ids import id_text
        from fluxlike_cli.output.json import print_json

        name = id_text(job_id)
        print_json({"tasks": [{**row.record, "id": f"{name}.{row.index}"} for row in rows]})
    else:
        lines = layout.lines(rows, now, not given["no_header"])
        if lines:
            click.echo("\n".join(lines))
    return 0
