"""The words of a scenario: `verb word... key=value...`."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable
from typing import Any

from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.dependency import parse as parse_dependency
from fluxlike.protocol.internal import JobReports, StopJobs, Usage
from fluxlike.protocol.jobs import (
    JobEvents,
    JobInfo,
    JobJournal,
    JobKill,
    JobList,
    JobRaise,
    JobStats,
    JobStdin,
    JobUpdate,
    JobUrgency,
    JobWait,
    QueueDisable,
    QueueDrain,
    QueueEnable,
    QueueIdle,
    QueueStart,
    QueueStatus,
    QueueStop,
    Submit,
)
from fluxlike.protocol.message import Flag
from scenario_stage.world import BEGAN, World

Words = list[str]
Options = dict[str, str]


def run(world: World, line: str) -> None:
    """Do what one line of a scenario says."""
    verb, *rest = shlex.split(line)
    words: Words = []
    options: Options = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if equals and (verb != "submit" or not words):  # a command's own words may hold anything
            options[key] = value
        else:
            words.append(word)
    VERBS[verb](world, words, options)


# -- the machine and its time -------------------------------------------------------------------------------------


def _nodes(world: World, words: Words, options: Options) -> None:
    """nodes COUNT [cores=N | cores=N,N,...]"""
    given = [int(count) for count in options.get("cores", "4").split(",")]
    counts = given if len(given) > 1 else given * int(words[0])
    world.nodes = [(rank, f"node{rank}", (1 << cores) - 1, 0, True) for rank, cores in enumerate(counts)]
    world.tell_nodes()


def _node(world: World, words: Words, options: Options) -> None:
    """node RANK up|down"""
    rank, up = int(words[0]), words[1] == "up"
    world.nodes[rank] = (*world.nodes[rank][:4], up)
    world.tell_nodes()


def _advance(world: World, words: Words, options: Options) -> None:
    """advance SECONDS"""
    world.advance(float(words[0]))


def _restart(world: World, words: Words, options: Options) -> None:
    """restart: kill -9 of rank 0, and the nodes come back"""
    world.restart()
    if options.get("nodes") != "away":
        world.tell_nodes()


# -- the store ----------------------------------------------------------------------------------------------------


def _store(world: World, words: Words, options: Options) -> None:
    """store by-hand | by-itself | broken REASON | mended"""
    match words[0]:
        case "by-hand":
            world.by_hand = True
        case "by-itself":
            world.by_hand = False
            world.settle()
        case "broken":
            world.disk.broken = words[1]
        case "mended":
            world.disk.broken = None
            world.do(world.store.retry)
        case other:
            raise ValueError(f"store {other}")


def _commit(world: World, words: Words, options: Options) -> None:
    if world.store.busy:
        world.commit()
    else:
        world.tape.write("nothing to commit")


# -- jobs ---------------------------------------------------------------------------------------------------------


def _dependency(world: World, text: str) -> dict[str, Any]:
    """afterok:j1, or begin-time:+60 for a minute after the scenario began."""
    scheme, _, value = text.partition(":")
    if scheme == "begin-time":
        value = repr(BEGAN + float(value))
    elif value.startswith("j"):
        value = str(world.tape.id_of(value))
    return parse_dependency(f"{scheme}:{value}")


def _submit(world: World, words: Words, options: Options) -> None:
    """submit [n=TASKS] [N=NODES] [c=CORES] [t=SECONDS] [urgency=U] [after=DEP,DEP] [copies=N] [flags=F] [key=K]
    [links=SCHEME:INDEX,...] COMMAND; each link makes one more copy, which depends on an earlier one"""
    spec = from_command(
        words,
        ntasks=int(options["n"]) if "n" in options else None,
        nnodes=int(options.get("N", "0")),
        cores_per_task=int(options.get("c", "1")),
        duration=float(options.get("t", "0")),
        dependencies=[_dependency(world, text) for text in options.get("after", "").split(",") if text],
    )
    copies = int(options.get("copies", "0"))
    rows: list[list[Any]] = [[0, str(copy)] for copy in range(copies)] or [[0, None]]
    for link in filter(None, options.get("links", "").split(",")):
        scheme, _, index = link.partition(":")
        rows.append([0, None, [[scheme, int(index)]]])
    flags = [flag for flag in options.get("flags", "").split(",") if flag]
    urgency, key = int(options.get("urgency", "16")), options.get("key", "")
    world.ask(Submit(specs=[spec], jobs=rows, urgency=urgency, flags=flags, key=key))


def _ids(world: World, words: Words) -> list[int]:
    return [world.tape.id_of(word) for word in words]


def _cancel(world: World, words: Words, options: Options) -> None:
    """cancel JOB... | cancel states=pending,running"""
    states = [state for state in options.get("states", "").split(",") if state]
    world.ask(JobRaise(ids=_ids(world, words), states=states, note=options.get("note", "")))


def _raise(world: World, words: Words, options: Options) -> None:
    """raise JOB... type=T severity=N note=TEXT"""
    severity = int(options.get("severity", "0"))
    world.ask(JobRaise(ids=_ids(world, words), type=options["type"], severity=severity, note=options.get("note", "")))


def _kill(world: World, words: Words, options: Options) -> None:
    """kill SIGNAL JOB..."""
    world.ask(JobKill(ids=_ids(world, words[1:]), signum=int(signal.Signals[words[0]])))


def _urgency(world: World, words: Words, options: Options) -> None:
    """urgency JOB N"""
    world.ask(JobUrgency(id=world.tape.id_of(words[0]), urgency=int(words[1])))


def _update(world: World, words: Words, options: Options) -> None:
    """update JOB [duration=SECONDS|+SECONDS|-SECONDS] [name=TEXT]"""
    world.ask(JobUpdate(id=world.tape.id_of(words[0]), updates=dict(options)))


def _stdin(world: World, words: Words, options: Options) -> None:
    """stdin JOB TEXT"""
    world.ask(JobStdin(id=world.tape.id_of(words[0]), data=words[1].encode()))


# -- news of tasks ------------------------------------------------------------------------------------------------


def _report(what: str, context: Callable[[Words], dict[str, Any] | None]) -> Callable[[World, Words, Options], None]:
    def tell(world: World, words: Words, options: Options) -> None:
        row = (world.tape.id_of(words[0]), what, world.clock.now(), context(words[1:]))
        world.ask(JobReports(rows=[row]))

    return tell


def _finish_context(words: Words) -> dict[str, Any]:
    """A wait status: `finished j1 256` is exit code 1, `finished j1 15` the signal."""
    return {"status": int(words[0]) if words else 0}


def _exception_context(words: Words) -> dict[str, Any]:
    return {"type": words[0], "severity": 0, "note": words[1]}


# -- questions ----------------------------------------------------------------------------------------------------


def _list(world: World, words: Words, options: Options) -> None:
    """list [STATE...] [limit=N] [cursor=C]"""
    world.ask(JobList(states=words, limit=int(options.get("limit", "1000")), cursor=options.get("cursor", "")))


def _info(world: World, words: Words, options: Options) -> None:
    """info JOB KEY..."""
    world.ask(JobInfo(id=world.tape.id_of(words[0]), keys=words[1:]))


def _events(world: World, words: Words, options: Options) -> None:
    """events JOB [since=N] [wait=yes]"""
    job = world.tape.id_of(words[0])
    world.ask(JobEvents(id=job, since=int(options.get("since", "0")), wait="wait" in options))


def _journal(world: World, words: Words, options: Options) -> None:
    """journal [EVENT...]"""
    world.ask(JobJournal(names=words), Flag.STREAM)


def _stats(world: World, words: Words, options: Options) -> None:
    world.ask(JobStats())


def _usage(world: World, words: Words, options: Options) -> None:
    world.ask(Usage())


def _wait(world: World, words: Words, options: Options) -> None:
    """wait JOB..."""
    world.ask(JobWait(ids=_ids(world, words)), Flag.STREAM)


def _queue(world: World, words: Words, options: Options) -> None:
    """queue status | start | stop [REASON] | enable | disable [REASON] | drain | idle"""
    match words:
        case ["status"]:
            world.ask(QueueStatus())
        case ["start"]:
            world.ask(QueueStart())
        case ["stop", *reason]:
            world.ask(QueueStop(reason=" ".join(reason)))
        case ["enable"]:
            world.ask(QueueEnable())
        case ["disable", *reason]:
            world.ask(QueueDisable(reason=" ".join(reason)))
        case ["drain"]:
            world.ask(QueueDrain())
        case ["idle"]:
            world.ask(QueueIdle())
        case _:
            raise ValueError(f"queue {words}")


def _stop(world: World, words: Words, options: Options) -> None:
    """stop running | stop all: the instance is going to end"""
    world.ask(StopJobs(all=words == ["all"]))


VERBS: dict[str, Callable[[World, Words, Options], None]] = {
    "nodes": _nodes,
    "node": _node,
    "advance": _advance,
    "restart": _restart,
    "store": _store,
    "commit": _commit,
    "submit": _submit,
    "cancel": _cancel,
    "raise": _raise,
    "kill": _kill,
    "urgency": _urgency,
    "update": _update,
    "stdin": _stdin,
    "started": _report("start", lambda words: None),
    "finished": _report("finish", _finish_context),
    "failed": _report("exception", _exception_context),
    "list": _list,
    "info": _info,
    "events": _events,
    "wait": _wait,
    "journal": _journal,
    "stats": _stats,
    "usage": _usage,
    "queue": _queue,
    "stop": _stop,
}
