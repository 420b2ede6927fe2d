from __future__ import annotations

import io

from fluxlike_cli.output.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_the_share_the_failures_and_the_rate() -> None:
    progress = Progress("ended", 8, rate=True, stream=None)
    progress.advance(3)
    progress.advance(1, failed=1)
    assert progress.text(2.0) == f"ended [{'#' * 15}{' ' * 15}]  50% 4/8 1 failed 2.0 jobs/s"


def test_without_a_total_it_counts() -> None:
    progress = Progress("submitted", None, stream=None)
    progress.advance(1000)
    assert progress.text(1.0) == "submitted 1000"


def test_nothing_is_written_into_a_pipe() -> None:
    stream = io.StringIO()
    with Progress("ended", 2, wanted=True, stream=stream) as progress:
        progress.advance(2)
        progress.hide()
    assert stream.getvalue() == ""


def test_what_is_done_at_once_is_not_shown_unless_wanted() -> None:
    stream = Terminal()
    with Progress("ended", 2, stream=stream) as progress:
        progress.advance(2)
    assert stream.getvalue() == ""


def test_the_line_is_taken_away_for_other_output_and_stays_at_the_end() -> None:
    stream = Terminal()
    with Progress("ended", 2, wanted=True, stream=stream) as progress:
        progress.advance(1)
        progress.hide()
        progress.hide()
        assert stream.getvalue().count("\r\x1b[K") == 1
        progress.advance(1)
    assert stream.getvalue().endswith("100% 2/2\x1b[K\n")
