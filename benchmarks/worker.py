"""A contestant's process: runs tasks of one program, and says what each took.

It is run by the contestant's own interpreter and imports nothing but the standard library.  A
request is a line of JSON with `task` and its arguments; so is the answer.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import inspect
import json
import os
import runpy
import sys
import time
from typing import Any


def serve(program: str) -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a peer that prints must not disturb the answers
    sys.path.append(os.path.dirname(program))  # behind the packages, some of whose names it has
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        tasks = runpy.run_path(program)
        ready: dict[str, Any] = {"ready": True}
    except Exception as error:  # noqa: BLE001 - the runner names it as the reason
        tasks, ready = {}, {"error": f"{type(error).__name__}: {error}"}
    gc.freeze()  # what was imported is not looked at again before each task
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(tasks, json.loads(line), loop)), file=answers, flush=True)


def _answer(
    tasks: dict[str, Any], request: dict[str, Any], loop: asyncio.AbstractEventLoop
) -> dict[str, Any]:
    name = request.pop("task")
    if name == "versions":
        return {"result": {one: importlib.metadata.version(one) for one in request["packages"]}}
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        result = tasks[name](**request)
        if inspect.isawaitable(result):
            result = loop.run_until_complete(result)
    except Exception as error:  # noqa: BLE001 - what a peer cannot do is a result
        return {"error": f"{type(error).__name__}: {error}"[:400]}
    return {
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.perf_counter() - wall,
        "result": result,
    }


if __name__ == "__main__":
    serve(sys.argv[1])
