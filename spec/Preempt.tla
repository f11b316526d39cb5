------------------------------ MODULE Preempt -------------------------------
(* Mode preemptible, with explicit time. One liveness key for each replica; a lease names *)
(* replica, incarnation and token and is acquiring (expires by itself) or acquired (lives  *)
(* as long as its replica). A heartbeat renews the liveness key, confirms the running      *)
(* lease, and repeats releases that were not acknowledged. One sandbox.                    *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, NONE,
  Grants, Incarnations,  \* bounds, for each replica
  MaxMessages,           \* bound: messages in flight
  Live, Acq,             \* ticks: liveness key, acquiring lease
  Margin, Slack,         \* safety margin; how late a replica may act
  Bounded,               \* FALSE: pauses of any length
  TwoPhase,              \* FALSE: a lease is acquired at once
  OneStep,               \* admission and kill-switch are one step
  Compare,               \* take-over replaces only the token that it read
  ByIncarnation,         \* a liveness key stands for one incarnation alone
  RepeatRelease,         \* heartbeats repeat releases
  KillSwitch, MayCrash, MayLose
VARIABLES
  lock,      \* Redis: NONE or [r, n, inc, phase]
  ttl,       \* ticks left of an acquiring lease
  live,      \* Redis: ticks left of each liveness key, by replica and incarnation
  inc, st, n,      \* replica: incarnation; idle, wait, checked, run; number of its token
  confirmed,       \* its lease is known to be acquired
  left,            \* ticks until an unconfirmed script must be dead at the latest
  alive,           \* ticks until all its scripts must be dead at the latest
  owed,            \* tokens whose release is not acknowledged
  over,            \* token of a dead owner that it read, for a take-over
  net
redis == <<lock, ttl, live>>
vars == <<redis, inc, st, n, confirmed, left, alive, owed, over, net>>
Longest == IF Live > Acq THEN Live ELSE Acq   \* who is older counts for nothing anyway
Sub(a, b) == IF a > b THEN a - b ELSE 0
TokenOf(l) == <<l.r, l.n>>
Is(r, i) == lock # NONE /\ TokenOf(lock) = <<r, i>>
Key(i) == IF ByIncarnation THEN i ELSE 1
Init == /\ lock = NONE /\ ttl = 0 /\ live = [r \in Replicas |-> [i \in 1..Incarnations |-> 0]]
        /\ inc = [r \in Replicas |-> 1] /\ st = [r \in Replicas |-> "idle"] /\ n = [r \in Replicas |-> 0]
        /\ confirmed = [r \in Replicas |-> FALSE] /\ left = [r \in Replicas |-> 0]
        /\ alive = [r \in Replicas |-> 0] /\ owed = [r \in Replicas |-> {}]
        /\ over = [r \in Replicas |-> NONE] /\ net = {}
Acquire(r) == /\ st[r] = "idle" /\ n[r] < Grants /\ st' = [st EXCEPT ![r] = "wait"]
              /\ n' = [n EXCEPT ![r] = @ + 1]
              /\ net' = net \cup {[kind |-> "acquire", r |-> r, n |-> n[r] + 1, inc |-> inc[r], age |-> 0, over |-> over[r]]}
              /\ over' = [over EXCEPT ![r] = NONE]
              /\ UNCHANGED <<redis, inc, confirmed, left, alive, owed>>
(* The owner's liveness key is gone, or it is another incarnation's. *)
ReadDead(r) == /\ lock # NONE /\ lock.phase = "acquired" /\ over[r] = NONE /\ st[r] = "idle" /\ n[r] < Grants
               /\ live[lock.r][Key(lock.inc)] = 0
               /\ over' = [over EXCEPT ![r] = TokenOf(lock)]
               /\ UNCHANGED <<redis, inc, st, n, confirmed, left, alive, owed, net>>
Beats(r) == {m \in net : m.r = r /\ m.inc = inc[r] /\ m.kind \in {"beat", "beaten"}}
Beat(r) == /\ Beats(r) = {}
           /\ net' = net \cup {[kind |-> "beat", r |-> r, n |-> IF st[r] = "run" THEN n[r] ELSE 0,
                               inc |-> inc[r], age |-> 0, owed |-> owed[r]]}
           /\ UNCHANGED <<redis, inc, st, n, confirmed, left, alive, owed, over>>
Redis(m) ==
  /\ m \in net
  /\ CASE m.kind = "acquire" ->
         /\ IF \/ lock = NONE \/ Is(m.r, m.n)
               \/ m.over # NONE /\ lock.phase = "acquired" /\ (Compare => TokenOf(lock) = m.over)
            THEN /\ lock' = [r |-> m.r, n |-> m.n, inc |-> m.inc, phase |-> IF TwoPhase THEN "acquiring" ELSE "acquired"]
                 /\ ttl' = Acq
                 /\ net' = (net \ {m}) \cup {[kind |-> "granted", r |-> m.r, n |-> m.n, inc |-> m.inc, age |-> m.age]}
            ELSE /\ net' = (net \ {m}) \cup {[kind |-> "busy", r |-> m.r, n |-> m.n, inc |-> m.inc, age |-> 0]}
                 /\ UNCHANGED <<lock, ttl>>
         /\ UNCHANGED live
       [] m.kind = "beat" ->
         /\ live' = [live EXCEPT ![m.r][Key(m.inc)] = Live]
         /\ lock' = (IF m.n # 0 /\ Is(m.r, m.n) THEN [lock EXCEPT !.phase = "acquired"]
                     ELSE IF RepeatRelease /\ \E i \in m.owed : Is(m.r, i) THEN NONE ELSE lock)
         /\ net' = (net \ {m}) \cup {[kind |-> "beaten", r |-> m.r, n |-> m.n, inc |-> m.inc, age |-> m.age,
                                      owed |-> m.owed, mine |-> m.n # 0 /\ Is(m.r, m.n)]}
         /\ UNCHANGED ttl
       [] m.kind = "release" ->
         /\ lock' = (IF Is(m.r, m.n) THEN NONE ELSE lock) /\ net' = net \ {m} /\ UNCHANGED <<ttl, live>>
       [] OTHER -> FALSE
  /\ UNCHANGED <<inc, st, n, confirmed, left, alive, owed, over>>
End(r) == /\ st' = [st EXCEPT ![r] = "idle"] /\ confirmed' = [confirmed EXCEPT ![r] = FALSE]
          /\ left' = [left EXCEPT ![r] = 0] /\ owed' = [owed EXCEPT ![r] = @ \cup {n[r]}]
Released(r) == {[kind |-> "release", r |-> r, n |-> n[r], inc |-> inc[r], age |-> 0]}
Granted(m) == LET r == m.r  k == Sub(Acq + Slack, Margin + m.age) IN
  /\ m \in net /\ m.kind = "granted"
  /\ IF m.inc # inc[r] \/ m.n # n[r] \/ st[r] # "wait"
     THEN net' = net \ {m} /\ UNCHANGED <<st, confirmed, left, owed>>
     ELSE IF alive[r] > Slack /\ (TwoPhase => k > Slack)
     THEN /\ st' = [st EXCEPT ![r] = IF OneStep THEN "run" ELSE "checked"]
          /\ confirmed' = [confirmed EXCEPT ![r] = ~TwoPhase] /\ left' = [left EXCEPT ![r] = k]
          /\ net' = net \ {m} /\ UNCHANGED owed
     ELSE End(r) /\ net' = (net \ {m}) \cup Released(r)
  /\ UNCHANGED <<redis, inc, n, alive, over>>
Busy(m) == /\ m \in net /\ m.kind = "busy" /\ net' = net \ {m}
           /\ st' = (IF m.inc = inc[m.r] /\ m.n = n[m.r] /\ st[m.r] = "wait" THEN [st EXCEPT ![m.r] = "idle"] ELSE st)
           /\ UNCHANGED <<redis, inc, n, confirmed, left, alive, owed, over>>
GiveUp(r) == /\ st[r] = "wait" /\ End(r) /\ net' = net \cup Released(r) /\ UNCHANGED <<redis, inc, n, alive, over>>
Beaten(m) == LET r == m.r  k == Sub(Live + Slack, Margin + m.age)  same == m.n # 0 /\ m.n = n[r] /\ st[r] = "run" IN
  /\ m \in net /\ m.kind = "beaten" /\ net' = net \ {m}
  /\ IF m.inc # inc[r] THEN UNCHANGED <<st, confirmed, left, alive, owed>>
     ELSE /\ alive' = [alive EXCEPT ![r] = IF k > @ THEN k ELSE @]
          /\ owed' = [owed EXCEPT ![r] = IF RepeatRelease THEN @ \ m.owed ELSE @]
          /\ IF same /\ m.mine THEN confirmed' = [confirmed EXCEPT ![r] = TRUE] /\ UNCHANGED <<st, left>>
             ELSE IF same /\ KillSwitch
             THEN /\ st' = [st EXCEPT ![r] = "idle"] /\ confirmed' = [confirmed EXCEPT ![r] = FALSE]
                  /\ left' = [left EXCEPT ![r] = 0]
             ELSE UNCHANGED <<st, confirmed, left>>
  /\ UNCHANGED <<redis, inc, n, over>>
Lose(m) == /\ MayLose /\ m \in net /\ m.kind \in {"granted", "release"} /\ net' = net \ {m}
           /\ UNCHANGED <<redis, inc, st, n, confirmed, left, alive, owed, over>>
(* Twin of OneStep. *)
StartLate(r) == /\ st[r] = "checked" /\ st' = [st EXCEPT ![r] = "run"]
                /\ UNCHANGED <<redis, inc, n, confirmed, left, alive, owed, over, net>>
Overdue(r, s) == st[r] = "run" /\ (alive[r] <= s \/ (~confirmed[r] /\ left[r] <= s))
Kill(r) == /\ KillSwitch /\ Overdue(r, Slack) /\ End(r) /\ net' = net \cup Released(r)
           /\ UNCHANGED <<redis, inc, n, alive, over>>
Finish(r) == /\ st[r] = "run" /\ End(r) /\ net' = net \cup Released(r) /\ UNCHANGED <<redis, inc, n, alive, over>>
(* The process ends and starts again; bound: of one replica only. *)
Crash(r) == /\ MayCrash /\ inc[r] < Incarnations /\ (\A q \in Replicas \ {r} : inc[q] = 1)
            /\ inc' = [inc EXCEPT ![r] = @ + 1]
            /\ st' = [st EXCEPT ![r] = "idle"] /\ confirmed' = [confirmed EXCEPT ![r] = FALSE]
            /\ left' = [left EXCEPT ![r] = 0] /\ alive' = [alive EXCEPT ![r] = 0]
            /\ owed' = [owed EXCEPT ![r] = {}] /\ over' = [over EXCEPT ![r] = NONE]
            /\ UNCHANGED <<redis, n, net>>
Tick == /\ (Bounded /\ KillSwitch) => \A r \in Replicas : ~Overdue(r, 0)
        /\ IF lock # NONE /\ lock.phase = "acquiring"
           THEN IF ttl <= 1 THEN lock' = NONE /\ ttl' = 0 ELSE ttl' = ttl - 1 /\ UNCHANGED lock
           ELSE ttl' = 0 /\ UNCHANGED lock
        /\ live' = [r \in Replicas |-> [i \in 1..Incarnations |-> Sub(live[r][i], 1)]]
        /\ left' = [r \in Replicas |-> Sub(left[r], 1)] /\ alive' = [r \in Replicas |-> Sub(alive[r], 1)]
        /\ net' = {[m EXCEPT !.age = IF m.kind \in {"acquire", "granted", "beat", "beaten"} /\ @ < Longest
                                     THEN @ + 1 ELSE @] : m \in net}
        /\ UNCHANGED <<inc, st, n, confirmed, owed, over>>
Next == Tick \/ (\E m \in net : Redis(m) \/ Granted(m) \/ Busy(m) \/ Beaten(m) \/ Lose(m))
        \/ \E r \in Replicas : Acquire(r) \/ ReadDead(r) \/ Beat(r) \/ GiveUp(r) \/ StartLate(r) \/ Kill(r)
                               \/ Finish(r) \/ Crash(r)
Spec == /\ Init /\ [][Next]_vars /\ WF_vars(Tick)
        /\ \A r \in Replicas : /\ WF_vars(Kill(r)) /\ WF_vars(Beat(r))
                               /\ WF_vars(\E m \in Beats(r) : Redis(m) \/ Beaten(m))
FewMessages == Cardinality(net) <= MaxMessages
-----------------------------------------------------------------------------
AtMostOne == Cardinality({r \in Replicas : st[r] = "run"}) <= 1                    \* G7
HolderRuns == \A r \in Replicas : st[r] = "run" => Is(r, n[r])
(* A lease that nobody uses and nobody may take. *)
Stuck == /\ lock # NONE /\ lock.phase = "acquired" /\ live[lock.r][Key(lock.inc)] > 0
         /\ ~(n[lock.r] = lock.n /\ inc[lock.r] = lock.inc /\ st[lock.r] \in {"run", "wait", "checked"})
NotStuck == Stuck ~> ~Stuck                                                        \* G8
LoserStops == \A r \in Replicas : (st[r] = "run" /\ ~Is(r, n[r])) ~> (st[r] # "run")
=============================================================================
