------------------------------- MODULE Lease --------------------------------
(* Mode lease: acquire, start, renew, kill-switch, release, with explicit time: ticks.  *)
(* Messages are delayed without bound, lost, and delivered late; one sandbox.           *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, NONE,
  Grants,        \* bound: acquires of each replica; each has a token of its own
  Ttl, Margin,   \* lease and safety margin, ticks
  Slack,         \* by how many ticks a replica may act late (pause, clock rate)
  Bounded,       \* FALSE: pauses of any length
  DeadlineFrom,  \* "send" | "reply": from when the holder counts its deadline
  KillSwitch,
  OneStep,       \* look at the deadline and start (or register) the script in one step
  TokenCheck,    \* renew and release act only on the caller's own token
  Expires,       \* the key has a time to live
  MayCrash, MayFlush
VARIABLES
  lock, ttl,     \* Redis: token, ticks left
  st,            \* idle, wait, checked, run
  n,             \* number of the replica's present token
  left,          \* ticks until the script must be dead at the latest (deadline + Slack)
  net            \* messages in flight; age: ticks since the request was sent
vars == <<lock, ttl, st, n, left, net>>
Token(r) == <<r, n[r]>>
Msg(k, r, i, a) == [kind |-> k, r |-> r, n |-> i, age |-> a]
Sub(a, b) == IF a > b THEN a - b ELSE 0
(* Ticks left for who holds a grant whose request is `age` old. *)
Allowed(age) == Sub(Ttl + Slack, Margin + (IF DeadlineFrom = "send" THEN age ELSE 0))
Init == /\ lock = NONE /\ ttl = 0 /\ net = {}
        /\ st = [r \in Replicas |-> "idle"] /\ n = [r \in Replicas |-> 0]
        /\ left = [r \in Replicas |-> 0]
SendAcquire(r) == /\ st[r] = "idle" /\ n[r] < Grants
                  /\ n' = [n EXCEPT ![r] = @ + 1] /\ st' = [st EXCEPT ![r] = "wait"]
                  /\ net' = net \cup {Msg("acquire", r, n[r] + 1, 0)}
                  /\ UNCHANGED <<lock, ttl, left>>
SendRenew(r) == /\ st[r] = "run"
                /\ ~\E m \in net : m.r = r /\ m.n = n[r] /\ m.kind \in {"renew", "renewed", "foreign"}
                /\ net' = net \cup {Msg("renew", r, n[r], 0)}
                /\ UNCHANGED <<lock, ttl, st, n, left>>
(* Redis executes a request. *)
Redis(m) ==
  /\ m \in net
  /\ LET t == <<m.r, m.n>>  mine == lock = t \/ (~TokenCheck /\ lock # NONE) IN
     CASE m.kind = "acquire" ->
            IF lock \in {NONE, t}
            THEN lock' = t /\ ttl' = Ttl /\ net' = (net \ {m}) \cup {Msg("granted", m.r, m.n, m.age)}
            ELSE net' = (net \ {m}) \cup {Msg("busy", m.r, m.n, 0)} /\ UNCHANGED <<lock, ttl>>
       [] m.kind = "renew" ->
            IF mine
            THEN lock' = t /\ ttl' = Ttl /\ net' = (net \ {m}) \cup {Msg("renewed", m.r, m.n, m.age)}
            ELSE net' = (net \ {m}) \cup {Msg("foreign", m.r, m.n, 0)} /\ UNCHANGED <<lock, ttl>>
       [] m.kind = "release" ->
            /\ net' = net \ {m}
            /\ IF mine THEN lock' = NONE /\ ttl' = 0 ELSE UNCHANGED <<lock, ttl>>
       [] OTHER -> FALSE
  /\ UNCHANGED <<st, n, left>>
Release(r) == net \cup {Msg("release", r, n[r], 0)}
(* The reply arrives at the replica. *)
Reply(m) ==
  /\ m \in net /\ m.kind \in {"granted", "busy", "renewed", "foreign"}
  /\ LET r == m.r  now == m.n = n[m.r] IN
     CASE m.kind = "granted" /\ now /\ st[r] = "wait" ->
            IF Allowed(m.age) > Slack
            THEN /\ st' = [st EXCEPT ![r] = IF OneStep THEN "run" ELSE "checked"]
                 /\ left' = [left EXCEPT ![r] = Allowed(m.age)] /\ net' = net \ {m}
            ELSE /\ st' = [st EXCEPT ![r] = "idle"] /\ net' = Release(r) \ {m} /\ UNCHANGED left
       [] m.kind = "busy" /\ now /\ st[r] = "wait" ->
            st' = [st EXCEPT ![r] = "idle"] /\ net' = net \ {m} /\ UNCHANGED left
       [] m.kind = "renewed" /\ now /\ st[r] = "run" ->
            /\ left' = [left EXCEPT ![r] = IF Allowed(m.age) > @ THEN Allowed(m.age) ELSE @]
            /\ net' = net \ {m} /\ UNCHANGED st
       [] m.kind = "foreign" /\ now /\ st[r] = "run" /\ KillSwitch ->
            st' = [st EXCEPT ![r] = "idle"] /\ net' = net \ {m} /\ UNCHANGED left
       [] OTHER -> net' = net \ {m} /\ UNCHANGED <<st, left>>
  /\ UNCHANGED <<lock, ttl, n>>
Lose(m) == m \in net /\ net' = net \ {m} /\ UNCHANGED <<lock, ttl, st, n, left>>
GiveUp(r) == /\ st[r] = "wait" /\ st' = [st EXCEPT ![r] = "idle"] /\ net' = Release(r)
             /\ UNCHANGED <<lock, ttl, n, left>>
(* Twin of OneStep: started after the check, whatever happened since; nothing to kill in between. *)
StartLate(r) == /\ st[r] = "checked" /\ st' = [st EXCEPT ![r] = "run"] /\ UNCHANGED <<lock, ttl, n, left, net>>
(* The script is cancelled and its working copy revoked: it can commit nothing. *)
Kill(r) == /\ KillSwitch /\ st[r] = "run" /\ left[r] <= Slack
           /\ st' = [st EXCEPT ![r] = "idle"] /\ net' = Release(r) /\ UNCHANGED <<lock, ttl, n, left>>
Finish(r) == /\ st[r] = "run" /\ st' = [st EXCEPT ![r] = "idle"] /\ net' = Release(r)
             /\ UNCHANGED <<lock, ttl, n, left>>
Crash(r) == /\ MayCrash /\ st[r] # "idle" /\ st' = [st EXCEPT ![r] = "idle"] /\ UNCHANGED <<lock, ttl, n, left, net>>
Flush == /\ MayFlush /\ lock # NONE /\ lock' = NONE /\ ttl' = 0 /\ UNCHANGED <<st, n, left, net>>
Tick == /\ (Bounded /\ KillSwitch) => \A r \in Replicas : st[r] = "run" => left[r] > 0
        /\ IF Expires /\ ttl <= 1 THEN lock' = NONE /\ ttl' = 0 ELSE ttl' = Sub(ttl, 1) /\ UNCHANGED lock
        /\ left' = [r \in Replicas |-> IF st[r] \in {"run", "checked"} THEN Sub(left[r], 1) ELSE 0]
        /\ net' = {[m EXCEPT !.age = IF m.kind \in {"acquire", "granted", "renew", "renewed"} /\ @ < Ttl
                                     THEN @ + 1 ELSE @] : m \in net}
        /\ UNCHANGED <<st, n>>
Next == Tick \/ Flush \/ (\E m \in net : Redis(m) \/ Reply(m) \/ Lose(m))
        \/ \E r \in Replicas : SendAcquire(r) \/ SendRenew(r) \/ GiveUp(r) \/ StartLate(r) \/ Kill(r)
                               \/ Finish(r) \/ Crash(r)
Spec == Init /\ [][Next]_vars /\ WF_vars(Tick) /\ \A r \in Replicas : WF_vars(Kill(r))
-----------------------------------------------------------------------------
AtMostOne == Cardinality({r \in Replicas : st[r] = "run"}) <= 1                     \* G7
HolderRuns == \A r \in Replicas : st[r] = "run" => lock = Token(r)                  \* stronger
Freed == \A r \in Replicas, i \in 1..Grants :                                       \* G8
  (lock = <<r, i>> /\ ~(n[r] = i /\ st[r] \in {"wait", "run"})) ~> (lock # <<r, i>>)
LoserStops == \A r \in Replicas : (st[r] = "run" /\ lock # Token(r)) ~> (st[r] # "run")
=============================================================================
