# SPDX-License-Identifier: Apache-2.0
"""Runs each task in a process of its own, and ends those that take too long."""
import multiprocessing
import time
from multiprocessing.connection import wait

fork = multiprocessing.get_context('fork')


def each(function, tasks, processes, seconds):
    """Yields (task, result), in the order in which tasks end. The result of a task that was ended, or
    that died, is None."""
    def body(task, end):
        end.send(function(task))

    running, waiting = {}, list(reversed(tasks))
    while waiting or running:
        while waiting and len(running) < processes:
            here, there = fork.Pipe(duplex=False)
            task = waiting.pop()
            process = fork.Process(target=body, args=(task, there))
            process.start()
            there.close()
            running[here] = process, task, time.monotonic() + seconds
        ready = wait(running, timeout=1)
        for end in list(running):
            process, task, deadline = running[end]
            if end not in ready and time.monotonic() < deadline:
                continue
            result = None
            if end in ready:
                try:
                    result = end.recv()
                except EOFError:
                    pass
            else:
                process.kill()
            process.join()
            end.close()
            del running[end]
            yield task, result
