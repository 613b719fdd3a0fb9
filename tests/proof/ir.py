# SPDX-License-Identifier: Apache-2.0
"""Functions of textual LLVM IR, as blocks of lines."""
import re
from dataclasses import dataclass, field

NAME = r'[%@](?:[-\w.$]+|"[^"]*")'


@dataclass
class Function:
    name: str
    type: str
    parameters: list  # (type, name)
    blocks: dict = field(default_factory=dict)  # label: lines, the first block first

    def lines(self):
        return [(label, place) for label, lines in self.blocks.items() for place in range(len(lines))]


def plain(line):
    """Drops metadata, and attributes that say nothing of the value."""
    line = re.sub(r', ![\w.]+( !\d+)?', '', line)
    line = re.sub(r'\s*;.*$', '', line)
    line = re.sub(r'\b(tail|musttail|notail) call', 'call', line)
    line = re.sub(r'(?<!\S)(range\([^)]*\)|noundef|zeroext|signext) ', '', line)
    return re.sub(r' #\d+$', '', line).strip()


def parse(text):
    """Returns the functions of a module by name."""
    functions = {}
    for match in re.finditer(r'^define (.*?)\{\n(.*?)^\}', text, re.M | re.S):
        head, body = match.groups()
        name, arguments = re.search(r'@([\w.]+)\((.*?)\)', head).groups()
        result = re.search(r'(\S+) @', head).group(1)
        parameters = []
        for argument in filter(None, arguments.split(', ')):
            words = argument.split()
            parameters.append((words[0], words[-1]))
        unnamed = sum(1 for _, p in parameters if re.fullmatch(r'%\d+', p))
        function = Function(name, result, parameters)
        label = str(unnamed)
        for line in re.sub(r'\[\n(.*?)\]', lambda m: '[' + m.group(1).replace('\n', ' ') + ']',
                           body, flags=re.S).split('\n'):
            start = re.match(r'([-\w.$]+|"[^"]*"):', line)
            if start:
                label = start.group(1)
            elif plain(line):
                function.blocks.setdefault(label, []).append(plain(line))
        functions[name] = function
    return functions


def successors(line):
    return [name[1:] for name in re.findall('label (' + NAME + ')', line)]


def ordered(function):
    """Returns the labels so that a block follows all its predecessors. Refuses a loop."""
    state, order = {}, []

    def visit(label):
        if state.get(label) == 'open':
            raise ValueError(f'{function.name}: refused: a loop')
        if label in state:
            return
        state[label] = 'open'
        for following in successors(function.blocks[label][-1]):
            visit(following)
        state[label] = 'done'
        order.append(label)

    visit(next(iter(function.blocks)))
    return order[::-1]
