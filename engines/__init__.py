"""The answering: model strings, the offline engine, and the one path every call takes.

Every call, whatever its purpose, goes journal -> meter -> ledger -> engine, so
that it is replayed after a crash, refused over budget, and counted, in one place.
"""
