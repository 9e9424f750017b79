"""Classes as operators write them, in a module of their own, and the bench of their tools."""

from __future__ import annotations

from itertools import count
from types import MappingProxyType

from bot.tools.python import PythonTool

CLASSES = """
from functools import wraps

from lifecycle.ports import ToolFailed

def with_client(method):
    @wraps(method)
    def given(self, call):
        return method(self, call, "client")
    return given

class Plain:
    reversible = True

    def __init__(self, live):
        self.live = live

    def execute(self, call):
        if "version" not in call.parameters:
            raise ToolFailed("version is missing")
        self.live[call.proposal_id] = 1
        return {"id": call.proposal_id}

    def roll_back(self, call):
        self.live.pop(call.proposal_id, None)
        return {}

class Waits(Plain):
    deferred = True

    def __init__(self, live, staged):
        self.live, self.staged = live, staged

    async def execute(self, call):
        if "version" not in call.parameters:
            raise ToolFailed("version is missing")
        self.staged[call.proposal_id] = 1
        return {"id": call.proposal_id}

    async def commit(self, call):
        self.staged.pop(call.proposal_id, None)
        self.live[call.proposal_id] = 1
        return {}

    async def roll_back(self, call):
        self.staged.pop(call.proposal_id, None)
        return {}

class Keeps(Plain):
    deferred = True

class Halfway(Keeps):
    reversible = False

    def commit(self, call):
        return {}

class Forgets(Halfway):
    reversible = True
    deferred = None

class AtOnce(Forgets):
    deferred = False

class Away:
    @property
    def execute(self):
        raise ConnectionError("its server is away")

class Made(Forgets):
    def __init__(self, live):
        super().__init__(live)
        self.deferred = True

class Computed(Forgets):
    @property
    def deferred(self):
        return True

class One(Forgets):
    deferred = 1

class ComputedAtOnce(Forgets):
    @property
    def deferred(self):
        return False

class AnyName:
    def __init__(self, live):
        pass

    def __getattr__(self, name):
        return lambda call: {}

class OneWay:
    def execute(self, call):
        return None

class Hostile:
    def __init__(self, does):
        self.does = does

    def execute(self, call):
        self.does()
        return {}

class HostileAsync(Hostile):
    async def execute(self, call):
        return await self.does()

class HostileLater(Hostile):
    def execute(self, call):
        return self.does()

class Refuses(OneWay):
    def __init__(self):
        1 / 0

class Misshapen:
    def execute(self):
        return {}

class Wrapped(Plain):
    # its decorator gives the client
    @with_client
    def execute(self, call, client):
        return {"id": client}

class Idle:
    pass

class Boasts(OneWay):
    reversible = True

no_class = 1
"""
NUMBERS = count()


class PythonBench:
    parameters = MappingProxyType({"version": "1"})
    failing = MappingProxyType({})

    def __init__(self, folder, name: str, **options) -> None:
        module = f"tools_of_test_{next(NUMBERS)}"
        (folder / f"{module}.py").write_text(CLASSES)
        self.options = options
        self.tool = PythonTool({"class": f"{module}:{name}", "options": options}, folder, {})

    def acts(self) -> int:
        return len(self.options["live"])

    def staged(self) -> int:
        return len(self.options.get("staged", ()))
