"""What `submit` and `bulksubmit` do once jobs are in the queue, as options."""

from __future__ import annotations

from fluxlike_cli.options.declare import option, together

staying_options = together(
    option("--wait", "wait_end", is_flag=True, help="Wait until all have ended; exit with the highest exit code."),
    option("--wait-event", "event", default="", metavar="NAME", help="Wait until all jobs have had this event."),
    option("--watch", "watch_output", is_flag=True, help="Write the jobs' output here until they have ended."),
    option("--progress", is_flag=True, help="Show a progress bar at once, not only when it takes long."),
    option("--jps", is_flag=True, help="With jobs per second in the progress bar."),
    option("--log", metavar="FILE", help="Write ids, output and errors to FILE instead."),
    option("--log-stderr", metavar="FILE", help="Write errors, and the jobs' standard error, to FILE instead."),
    option("--quiet", is_flag=True, help="Print no ids, nothing about jobs that failed, no progress."),
    option("--json", "as_json", is_flag=True, help="Print the ids as JSON."),
)
