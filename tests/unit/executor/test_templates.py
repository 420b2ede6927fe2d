from __future__ import annotations

import pytest

from fluxlike_executor.jobid import base58, dothex, f58
from fluxlike_executor.templates import differs_by_node, idset_count, job_tags, node_tags, render, task_tags

TAGS = {
    **job_tags(6731191091817518, "lammps", 2, 8, "42", "/run/fuZZybuNNy"),
    **node_tags(1, "node-1", 5, "0-3,7", "1"),
    **task_tags(6, 2),
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("flux-{{id}}.out", "flux-ƒuZZybuNNy.out"),
        ("{{jobid}}", "ƒuZZybuNNy"),
        ("{{id.f58}} {{id.dec}} {{id.hex}}", "ƒuZZybuNNy 6731191091817518 0x17e9fb8df16c2e"),
        ("{{id.dothex}}", "0017.e9fb.8df1.6c2e"),
        ("{{name}} {{nnodes}} {{size}} {{ntasks}}", "lammps 2 8 8"),
        ("{{node.id}} {{node.name}} {{node.broker_rank}}", "1 node-1 5"),
        ("{{node.cores}} {{node.gpus}} {{node.ncores}}", "0-3,7 1 5"),
        ("{{taskid}} {{task.id}} {{task.rank}} {{task.index}} {{task.localid}}", "6 6 6 2 2"),
        ("{{tmpdir}}/x", "/run/fuZZybuNNy/x"),
        ("{{ id }}", "ƒuZZybuNNy"),
        ("case-{cc}", "case-42"),
        ("{{cc}}", "42"),
        ("{{unknown}} {{", "{{unknown}} {{"),
        ("{{unknown {{name}}", "{{unknown lammps"),
        ("{{{name}}}", "{lammps}"),
        ("plain", "plain"),
    ],
)
def test_tags_are_filled_in_and_all_else_is_left(template: str, text: str) -> None:
    assert render(template, TAGS) == text


def test_cc_stays_when_the_job_has_none() -> None:
    assert render("{cc} {{cc}}", job_tags(1, "", 1, 1, None, "")) == "{cc} {{cc}}"


@pytest.mark.parametrize(
    ("template", "differs"),
    [("out", False), ("{{id}}.out", False), ("{{node.name}}", True), ("o-{{ taskid }}", True)],
)
def test_a_template_knows_whether_nodes_write_to_different_files(template: str, differs: bool) -> None:
    assert differs_by_node(template) is differs


def test_ids_in_text() -> None:
    assert f58(6731191091817518) == "ƒuZZybuNNy"
    assert base58(0) == "1"
    assert dothex(0) == "0000.0000.0000.0000"


@pytest.mark.parametrize(("text", "count"), [("", 0), ("3", 1), ("0-3", 4), ("0-1,5,7-9", 6)])
def test_ids_in_an_idset_are_counted(text: str, count: int) -> None:
    assert idset_count(text) == count
