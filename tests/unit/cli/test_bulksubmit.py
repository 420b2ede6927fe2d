from __future__ import annotations

import io
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fluxlike.client.submission import BATCH_JOBS
from fluxlike.errors import InvalidRequest
from fluxlike.protocol.jobs import JobEnds, JobWait, Submit, Submitted
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record
from fluxlike_cli.bulk.expressions import compiled
from fluxlike_cli.bulk.inputs import combined, parts, separator_of, shuffled, split
from fluxlike_cli.bulk.replacement import Replacement
from tests.unit.cli.conftest import JOB, JOB_TEXT, Command, life, play


def of(*words: str, separator: str = "\n") -> list[tuple[str, ...]]:
    command, sources = split(words)
    assert command == ["app"]
    return list(combined(sources, separator))


def test_one_list_gives_one_job_each() -> None:
    assert of("app", ":::", "a", "b") == [("a",), ("b",)]


def test_several_lists_give_all_combinations() -> None:
    assert of("app", ":::", "a", "b", ":::", "1", "2") == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]


def test_a_linked_list_goes_side_by_side() -> None:
    assert of("app", ":::", "a", "b", ":::+", "1", "2", ":::", "x") == [("a", "1", "x"), ("b", "2", "x")]


def test_files_are_lists_and_several_of_them_one(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a\n\nb")
    (tmp_path / "two").write_text("c\n")
    assert of("app", "::::", f"{tmp_path}/one", f"{tmp_path}/two") == [("a",), ("",), ("b",), ("c",)]
    assert of("app", ":::", "1", "2", "::::+", f"{tmp_path}/one", separator="\n\n") == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["app", ":::"], "nothing follows"),
        (["app", ":::+", "a"], "none before it"),
        (["app", "::::", "-", "::::", "-"], "once only"),
        (["app", ":::", "a", ":::+", "1", "2"], "same length"),
    ],
)
def test_lists_that_make_no_sense_are_refused(words: list[str], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        of(*words)


def test_a_file_of_other_length_is_refused_where_it_ends(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a\n")
    with pytest.raises(InvalidRequest, match="same length"):
        of("app", ":::", "1", "2", "::::+", f"{tmp_path}/one")


def test_an_endless_first_list_is_read_as_needed() -> None:
    class Endless(io.StringIO):
        def __next__(self) -> str:
            return "again\n"

    stream = parts(Endless(), "\n")
    assert [next(stream) for _ in range(3)] == ["again"] * 3


def test_a_separator_may_lie_across_two_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluxlike_cli.bulk.inputs.CHUNK", 2)
    assert list(parts(io.StringIO("a--b--\n"), "--")) == ["a", "b"]


def test_separators_are_written_as_in_c() -> None:
    assert (separator_of("\\0"), separator_of("\\t,"), separator_of(";")) == ("\0", "\t,", ";")
    with pytest.raises(InvalidRequest):
        separator_of("")


def test_shuffled_inputs_are_the_same_ones() -> None:
    inputs = [(str(number),) for number in range(100)]
    mixed = list(shuffled(inputs))
    assert sorted(mixed) == sorted(inputs)
    assert mixed != inputs


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{}", "dir/a.tar.gz"),
        ("{0}-{1}", "dir/a.tar.gz-two"),
        ("{.%}", "dir/a.tar"),
        ("{./}", "a.tar.gz"),
        ("{.//}", "dir"),
        ("{./%}", "a.tar"),
        ("{1.up}", "TWO"),
        ("{seq} {seq1}", "7 8"),
        ("{{id}} {cc} {x} ${HOME} {print $1}", "{{id}} {cc} {x} ${HOME} {print $1}"),
        ("a{}b{}", "adir/a.tar.gzbdir/a.tar.gz"),
    ],
)
def test_what_tags_stand_for(text: str, result: str) -> None:
    assert Replacement({"up": str.upper})(text, ("dir/a.tar.gz", "two"), 7) == result


@pytest.mark.parametrize(("text", "why"), [("{.no}", "--define"), ("{2}", "number 2, there are 2")])
def test_a_tag_that_means_nothing_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        Replacement()(text, ("a", "b"), 0)


@pytest.mark.parametrize(
    ("expression", "given", "result"),
    [
        ("2**int(x)", "8", "256"),
        ("int(x)//2 + 1", "9", "5"),
        ("x.split('_')[-1].zfill(3)", "run_7", "007"),
        ("'big' if int(x) > 9 else 'small'", "10", "big"),
        ("x[1:3]", "abcd", "bc"),
        ("max(len(x), 2, int('3'))", "abcd", "4"),
        ("not x", "", "True"),
    ],
)
def test_what_expressions_give(expression: str, given: str, result: str) -> None:
    assert compiled(expression)(given) == result


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd').read()",
        "x.__class__",
        "x.format(1)",
        "().__class__.__bases__",
        "(lambda: 1)()",
        "[y for y in x]",
        "f'{x}'",
        "int(x, base=2)",
        "__power(2, 3)",
        "x := 1",
        "1 +",
        "",
    ],
)
def test_an_expression_that_reaches_outside_is_refused(expression: str) -> None:
    with pytest.raises(InvalidRequest):
        compiled(expression)


@pytest.mark.parametrize("expression", ["int(x)", "1/0", "x[99]", "x + 1", "9**9999", "10**4096 * 10**4096"])
def test_an_expression_that_fails_says_for_which_input(expression: str) -> None:
    with pytest.raises(InvalidRequest, match="x='a'"):
        compiled(expression)("a")


def requests_of(broker: FakeBroker, fluxlike: Command, *args: str) -> list[Submit]:
    assert fluxlike("bulksubmit", *args).code == 0
    return broker.seen(Submit)


def commands(request: Submit) -> list[list[str]]:
    return [request.specs[row[0]]["tasks"][0]["command"] for row in request.jobs]


def test_jobs_that_differ_in_one_tag_share_a_jobspec(broker: FakeBroker, fluxlike: Command) -> None:
    args = ["--output=o-{}", "--env=A=x{}", "--env=B={b}", "--job-name=n{}", "echo", "{}", ":::", "a", "b"]
    (request,) = requests_of(broker, fluxlike, *args)
    (spec,) = request.specs
    system = spec["attributes"]["system"]
    assert spec["tasks"][0]["command"] == ["echo", "{cc}"]
    assert (system["environment"]["A"], system["environment"]["B"]) == ("x{cc}", "{b}")
    assert (system["job"]["name"], system["shell"]["options"]["output"]["stdout"]["path"]) == ("n{cc}", "o-{cc}")
    assert request.jobs == [[0, "a"], [0, "b"]]


def test_jobs_that_differ_in_more_get_their_own(broker: FakeBroker, fluxlike: Command) -> None:
    (request,) = requests_of(broker, fluxlike, "--cwd=/{}", "./{}", "{seq}", "{{id}}", ":::", "a", "b")
    assert commands(request) == [["./a", "0", "{{id}}"], ["./b", "1", "{{id}}"]]
    assert [spec["attributes"]["system"]["cwd"] for spec in request.specs] == ["/a", "/b"]
    assert [spec["attributes"]["system"]["job"]["name"] for spec in request.specs] == ["a", "b"]
    assert request.jobs == [[0, None], [1, None]]


def test_numbers_of_options_may_be_tags(broker: FakeBroker, fluxlike: Command) -> None:
    (request,) = requests_of(
        broker, fluxlike, "--define=h=int(x)*2", "-n{}", "-t", "{.h}m", "app", ":::", "1", "4", "1"
    )
    sizes = [request.specs[row[0]]["resources"][0]["count"] for row in request.jobs]
    limits = [request.specs[row[0]]["attributes"]["system"]["duration"] for row in request.jobs]
    assert (sizes, limits, len(request.specs)) == ([1, 4, 1], [120.0, 480.0, 120.0], 2)


def test_a_wrong_number_from_an_input_names_the_option(broker: FakeBroker, fluxlike: Command) -> None:
    result = fluxlike("bulksubmit", "-n", "{}", "app", ":::", "x")
    assert (result.code, "--ntasks: 'x'" in result.err) == (1, True)


def test_copies_of_each_input(broker: FakeBroker, fluxlike: Command) -> None:
    request = requests_of(broker, fluxlike, "--cc=1-2", "app", "{}", "{cc}", ":::", "a", "b")[-1]
    assert [(row[0], row[1]) for row in request.jobs] == [(0, "1"), (0, "2"), (1, "1"), (1, "2")]
    request = requests_of(broker, fluxlike, "--bcc=1-2", "app", "{}", "{cc}", ":::", "a")[-1]
    assert commands(request) == [["app", "a", "1"], ["app", "a", "2"]]


def test_without_a_command_each_input_is_one(broker: FakeBroker, fluxlike: Command) -> None:
    (request,) = requests_of(broker, fluxlike, ":::", "echo 'a b'", "./run")
    assert commands(request) == [["echo", "a b"], ["./run"]]


def test_lines_of_standard_input_go_out_by_the_thousand(
    broker: FakeBroker, process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    child = process("bulksubmit", "--quiet", "app", "{}")
    out, err = child.communicate("".join(f"{number}\n" for number in range(2 * BATCH_JOBS + 500)).encode(), timeout=30)
    assert (child.returncode, out, err) == (0, b"", b"")
    assert [len(request.jobs) for request in broker.seen(Submit)] == [BATCH_JOBS, BATCH_JOBS, 500]
    assert broker.seen(Submit)[2].jobs[-1] == [0, str(2 * BATCH_JOBS + 499)]


def test_jobs_are_submitted_before_the_input_ends(
    broker: FakeBroker, process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    child = process("bulksubmit", "app", "{}")
    assert child.stdin is not None
    child.stdin.write(b"x\n" * (BATCH_JOBS + 1))
    child.stdin.flush()
    broker.wait_until(lambda: any(message.topic == "job.submit" for message in broker.requests))


def test_a_refusal_tells_what_was_accepted_before(broker: FakeBroker, fluxlike: Command) -> None:
    def answer(request: Submit) -> Submitted:
        if len(request.jobs) < BATCH_JOBS:
            raise InvalidRequest("no more")
        return Submitted(ids=list(range(JOB, JOB + BATCH_JOBS)))

    broker.on(Submit, answer)
    result = fluxlike("bulksubmit", "--quiet", "app", "{}", ":::", *map(str, range(BATCH_JOBS + 1)))
    assert result.code == 1
    assert "no more" in result.err
    assert f"{BATCH_JOBS} jobs before it were accepted" in result.err


def test_a_dry_run_prints_command_lines(broker: FakeBroker, fluxlike: Command) -> None:
    args = ["--dry-run", "-n", "{}", "-x", "-N1", "--env=A={}", "--env=B", "--sep=,", "app", "{.%}", "c d"]
    result = fluxlike("bulksubmit", *args, ":::", "1", "2.x")
    options = "--nodes=1 --ntasks={0} --exclusive --env=A={0} --env=B app {1} 'c d'"
    assert result.out.splitlines() == [
        f"fluxlike submit {options.format('1', '1')}",
        f"fluxlike submit {options.format('2.x', '2')}",
    ]
    assert not broker.requests


def test_logs_take_what_would_be_printed(broker: FakeBroker, fluxlike: Command, tmp_path: Path) -> None:
    play(broker, life(), [[0, "stdout", b"out\n"], [0, "stderr", b"err\n"]])

    def ends(request: JobWait) -> Iterator[JobEnds]:
        yield JobEnds(jobs=[job_record(JOB, result="failed", returncode=3)])

    broker.on(JobWait, ends)
    log, errors = tmp_path / "log", tmp_path / "errors"
    both = fluxlike("submit", "--watch", f"--log={log}", f"--log-stderr={errors}", "app")
    assert (both.code, both.out, both.err) == (3, "", "")
    assert log.read_text().splitlines() == [JOB_TEXT, "out"]
    assert sorted(errors.read_text().splitlines()) == ["err", f"fluxlike: {JOB_TEXT}: failed: exit code 3"]
    one = fluxlike("submit", "--watch", f"--log={log}", "app")
    assert (one.out, one.err) == ("", "")
    assert sorted(log.read_text().splitlines()) == [
        "err",
        f"fluxlike: {JOB_TEXT}: failed: exit code 3",
        "out",
        JOB_TEXT,
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--define=x", "app", ":::", "a"], "NAME=EXPRESSION"),
        (["--define=f=open(x)", "app", ":::", "a"], "not allowed"),
        (["--cc=1", "--bcc=1", "app", ":::", "a"], "not both"),
        (["app", ":::"], "nothing follows"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(fluxlike: Command, args: list[Any], words: str) -> None:
    result = fluxlike("bulksubmit", *args)
    assert (result.code, words in result.err) == (2, True)
