from __future__ import annotations

from io import BytesIO

from fluxlike_cli.output.streams import LONGEST_LINE, StreamWriter


def test_lines_of_two_sources_are_not_mixed() -> None:
    sink = BytesIO()
    writer = StreamWriter(sink)
    writer.write("0", b"one ")
    writer.write("1", b"two\n")
    writer.write("0", b"line\nrest")
    assert sink.getvalue() == b"two\none line\n"
    writer.close()
    assert sink.getvalue() == b"two\none line\nrest"


def test_raw_output_passes_at_once() -> None:
    sink = BytesIO()
    writer = StreamWriter(sink, raw=True)
    writer.write("0", b"50%\r")
    assert sink.getvalue() == b"50%\r"


def test_each_line_has_its_label_also_the_last_without_an_end() -> None:
    sink = BytesIO()
    writer = StreamWriter(sink, raw=True)
    writer.write("0", b"a\n\nb", "0")
    writer.write("1", b"c", "1")
    writer.close()
    assert sink.getvalue() == b"0: a\n0: \n0: b\n1: c\n"


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    sink = BytesIO()
    writer = StreamWriter(sink)
    writer.write("0", b"x" * LONGEST_LINE)
    assert sink.getvalue() == b""
    writer.write("0", b"x")
    assert len(sink.getvalue()) == LONGEST_LINE + 1


def test_bytes_that_are_no_text_pass_unharmed() -> None:
    sink = BytesIO()
    writer = StreamWriter(sink)
    writer.write("0", bytes(range(256)))
    writer.close()
    assert sink.getvalue() == bytes(range(256))
