"""Tags in arguments, environment values and file names: `{{task.id}}` and its kin (J28), and `{cc}`.

A tag without a value stays in the text as it was written: programs that use braces themselves go unharmed.
"""

from __future__ import annotations

from collections.abc import Mapping

from fluxlike_executor.jobid import base58, dothex, f58

TASK_TAGS = ("taskid", "task.id", "task.rank", "task.index", "task.localid")
PLACE_TAGS = frozenset((*TASK_TAGS, "node.id", "node.name", "node.broker_rank", "tmpdir"))
"""Tags by which two nodes of a job render the same template to different texts."""


def has_tags(text: str) -> bool:
    return "{{" in text or "{cc}" in text


def render(text: str, tags: Mapping[str, str]) -> str:
    """Replaces every known tag; `cc` is among the tags only if the job has such a value."""
    pieces: list[str] = []
    at = 0
    while (begin := text.find("{{", at)) >= 0 and (end := text.find("}}", begin)) >= 0:
        value = tags.get(text[begin + 2 : end].strip())
        if value is None:
            pieces.append(_plain(text[at : begin + 1], tags))
            at = begin + 1
        else:
            pieces += (_plain(text[at:begin], tags), value)
            at = end + 2
    pieces.append(_plain(text[at:], tags))
    return "".join(pieces)


def _plain(text: str, tags: Mapping[str, str]) -> str:
    return text.replace("{cc}", tags["cc"]) if "cc" in tags else text


def names(text: str) -> set[str]:
    """The names of all double-brace tags in the text, known or not."""
    return {part.split("}}", 1)[0].strip() for part in text.split("{{")[1:] if "}}" in part}


def differs_by_node(text: str) -> bool:
    return not PLACE_TAGS.isdisjoint(names(text))


def job_tags(number: int, name: str, nnodes: int, ntasks: int, cc: str | None, tmpdir: str) -> dict[str, str]:
    tags = {
        "id": f58(number),
        "id.f58": f58(number),
        "id.f58plain": "f" + base58(number),
        "id.dec": str(number),
        "id.hex": hex(number),
        "id.dothex": dothex(number),
        "name": name,
        "nnodes": str(nnodes),
        "size": str(ntasks),
        "ntasks": str(ntasks),
        "tmpdir": tmpdir,
    }
    for tag in ("id", "id.f58", "id.f58plain", "id.dec", "id.hex", "id.dothex"):
        tags["job" + tag] = tags[tag]
    if cc is not None:
        tags["cc"] = cc
    return tags


def node_tags(node: int, host: str, rank: int, cores: str, gpus: str) -> dict[str, str]:
    return {
        "node.id": str(node),
        "node.name": host,
        "node.broker_rank": str(rank),
        "node.cores": cores,
        "node.gpus": gpus,
        "node.ncores": str(idset_count(cores)),
        "node.ngpus": str(idset_count(gpus)),
    }


def task_tags(rank: int, index: int) -> dict[str, str]:
    return {
        "taskid": str(rank),
        "task.id": str(rank),
        "task.rank": str(rank),
        "task.index": str(index),
        "task.localid": str(index),
    }


def idset_count(text: str) -> int:
    """How many ids an idset text such as `0-3,7` holds."""
    count = 0
    for part in text.split(",") if text else ():
        low, _, high = part.partition("-")
        count += int(high) - int(low) + 1 if high else 1
    return count
