# SPDX-License-Identifier: Apache-2.0
"""Runs each task in a process of its own, with a limit of processor time."""
import multiprocessing
import resource
from multiprocessing.connection import wait

fork = multiprocessing.get_context('fork')


def each(function, tasks, processes, seconds):
    """Yields (task, result), in the order in which tasks end. A task that reaches the limit, or that
    dies, has the result None."""
    def body(task, end):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        end.send(function(task))

    running, waiting = {}, list(reversed(tasks))
    while waiting or running:
        while waiting and len(running) < processes:
            here, there = fork.Pipe(duplex=False)
            task = waiting.pop()
            process = fork.Process(target=body, args=(task, there))
            process.start()
            there.close()
            running[here] = process, task
        for end in wait(running):
            process, task = running.pop(end)
            try:
                result = end.recv()
            except EOFError:
                result = None
            process.join()
            end.close()
            yield task, result
