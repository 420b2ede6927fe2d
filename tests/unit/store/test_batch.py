from __future__ import annotations

from fluxlike_broker.store.batch import Batch


def full(*jobs: int) -> Batch:
    batch = Batch()
    for job in jobs:
        batch.spec(f"sha1-{job}", b"spec")
        batch.job((job, f"sha1-{job}", 1000, 16, "", None, 1.0, 1))
        batch.event(job, 0, "[1.0,null]")
        batch.allocation(job, f"R{job}")
        batch.end(job, (2.0, "COMPLETED", 1000, "true", 0, b"summary"))
        batch.key(f"of {job}", job, 1, 1.0)
        batch.put(f"key{job}", "value")
        batch.after_commit(print)
    return batch


def contents(batch: Batch) -> list[object]:
    return [getattr(batch, name) for name in Batch.__slots__]


def test_new_batch_is_empty_and_any_row_or_callback_fills_it() -> None:
    fills = (
        lambda b: b.spec("d", b""),
        lambda b: b.job((1, "d", 0, 16, "", None, 0.0, 1)),
        lambda b: b.event(1, 0, "[0.0]"),
        lambda b: b.end(1, (2.0, "FAILED", 0, "", 0, b"")),
        lambda b: b.key("k", 1, 1, 0.0),
        lambda b: b.put("k", "v"),
        lambda b: b.after_commit(print),
    )
    assert not Batch()
    for fill in fills:
        batch = Batch()
        fill(batch)  # type: ignore[no-untyped-call]  # the lambdas' parameter cannot be annotated
        assert batch


def test_rows_counts_what_will_be_written_and_no_callbacks() -> None:
    assert full(1, 2).rows == 12  # an allocation goes into the row of its events


def test_job_ids_are_the_new_jobs_only() -> None:
    batch = full(1, 2)
    batch.event(3, 4, "[1.0]")
    assert batch.job_ids() == {1, 2}


def test_without_jobs_drops_every_row_of_those_jobs_and_nothing_else() -> None:
    batch = full(1, 2, 3)
    batch.event(4, 7, "[2.0]")
    expected = full(2)
    expected.event(4, 7, "[2.0]")
    expected.specs = dict.fromkeys(("sha1-1", "sha1-2", "sha1-3"), b"spec")
    expected.state = dict.fromkeys(("key1", "key2", "key3"), "value")
    expected.callbacks = [print] * 3

    assert contents(batch.without_jobs({1, 3})) == contents(expected)


def test_without_jobs_changes_the_batch_itself() -> None:
    batch = full(1)
    assert batch.without_jobs([1]) is batch
    assert batch.job_ids() == set()


def test_without_unknown_jobs_changes_nothing() -> None:
    assert contents(full(1).without_jobs([9])) == contents(full(1))


def test_extend_puts_later_rows_behind_and_the_later_value_wins() -> None:
    batch, later = full(1), full(2)
    batch.put("both", "old")
    later.put("both", "new")
    later.allocation(1, "R1 again")
    batch.extend(later)

    expected = full(1, 2)
    expected.put("both", "new")
    expected.allocation(1, "R1 again")
    assert contents(batch) == contents(expected)
    assert [row[0] for row in batch.jobs] == [1, 2]


def test_parts_of_a_log_are_joined_behind_the_number_of_the_first() -> None:
    batch, later = Batch(), Batch()
    batch.event(1, 3, "a")
    batch.event(1, 4, "b,c")
    later.event(1, 6, "d")
    later.event(2, 9, "e")
    batch.extend(later)
    assert batch.logs == {1: (3, ("a", "b,c", "d")), 2: (9, ("e",))}
