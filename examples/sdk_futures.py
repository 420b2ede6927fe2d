"""Python calls and commands as futures, as concurrent.futures has them. Run it inside an instance:

fluxlike start -- python examples/sdk_futures.py
"""

from __future__ import annotations

import math
from concurrent.futures import as_completed

from fluxlike.client import FluxlikeExecutor
from fluxlike.errors import Unsatisfiable
from fluxlike.ids import encode_f58


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def main() -> None:
    with FluxlikeExecutor(duration=600.0) as executor:
        # One call in a job of its own.
        future = executor.submit(math.factorial, 20)
        print(f"20! is {future.result(timeout=60)}, computed by job {encode_f58(future.job_id())}")

        # Many calls, several of them to a job, with the results in order.
        numbers = range(10**9, 10**9 + 100)
        primes = [n for n, prime in zip(numbers, executor.map(is_prime, numbers, chunksize=25), strict=True) if prime]
        print("primes:", *primes)

        # What a call raises is raised here, and says where it was raised there.
        error = executor.submit(math.sqrt, -1).exception(timeout=60)
        print(f"{type(error).__name__}: {error}")

        # Commands: the result is the job's record, however it ended.
        codes = {executor.submit_command(["sh", "-c", f"exit {code}"]): code for code in range(3)}
        for done in as_completed(codes, timeout=60):
            job = done.result()
            print(f"exit {codes[done]}: {job.result}, exit code {job.returncode}")

        # A future that is cancelled cancels its job.
        sleeper = executor.submit_command(["sleep", "600"])
        print("cancelled:", sleeper.cancel(), sleeper.cancelled())

        # What can never run is refused, and the others are not.
        try:
            executor.submit_command(["true"], nnodes=10_000).result(timeout=60)
        except Unsatisfiable as refusal:
            print("refused:", refusal)


if __name__ == "__main__":
    main()
