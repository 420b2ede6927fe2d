"""The store: what must outlive the broker, in one SQL database, written by one thread.

`batch` gathers rows, `writer` puts them on disk and then runs what waited for that, `load` reads everything
back at start. `history` asks for what is over. `engine` opens a database by its URL, `sqlite` and `postgresql` are
what it can be. These, `schema` and `commit` import SQLAlchemy, and only the writer's thread imports those: the
import takes a tenth of a second, which a starting broker does not wait for.
"""
