cat > machine.py <<'PY'
from __future__ import annotations
import enum, sys
from dataclasses import dataclass, field

class State(enum.Enum):
    IDLE = "idle"; RUNNING = "running"; DONE = "done"; FAILED = "failed"

EDGES = {State.IDLE: {"start": State.RUNNING}, State.RUNNING: {"finish": State.DONE, "fail": State.FAILED},
         State.FAILED: {"retry": State.RUNNING}}

class IllegalMove(ValueError):
    pass

@dataclass
class Job:
    name: str
    state: State = State.IDLE
    log: list[str] = field(default_factory=list)

    def move(self, event: str) -> Job:
        try:
            new = EDGES[self.state][event]
        except KeyError:
            raise IllegalMove(f"{self.name}: cannot {event} from {self.state.value}") from None
        self.log.append(f"{self.state.value}->{new.value}")
        self.state = new
        return self

job = Job("build")
for event in sys.argv[1:]:
    try:
        job.move(event)
    except IllegalMove as error:
        print("refused:", error)
print(job.state.name, job.log)
sys.exit(0 if job.state is State.DONE else 4)
PY
python3 machine.py start fail retry finish; echo $?
python3 machine.py finish start start; echo $?
