-------------------------------- MODULE Hint --------------------------------
(* VERSION_CHECK=redis: a version hint in Redis saves the read of the sandbox row. The   *)
(* acquire script returns it and marks it pending; the release script sets it. Anything  *)
(* but a number written under Redis' present run id means: ask Postgres.                 *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, NONE,
  MaxCommits, Grants, MaxRuns,  \* bounds: commits, acquires of each replica, starts of Redis
  Pending,      \* acquire marks the hint pending
  RunId,        \* a hint of another run of Redis is not used
  TokenCheck,   \* only the holder's release sets the hint
  MayLapse,     \* a lease ends while its holder goes on: by a pause, or lost by Redis
  MayCrash, MayEvict
VARIABLES
  db, acked,
  lease, hint, run, saved,  \* Redis; hint.v: number, Missing or Marked; saved: hint on disk
  st, n,                    \* writer: idle, fresh, run, answer; number of its token
  use, base, wrote, floor,  \* what it was told with the lease; its tree; committed?; `acked` when it came
  warm, rel,                \* session's tree; release messages in flight
  rst, rfloor, rgot         \* one reader a replica
vars == <<db, acked, lease, hint, run, saved, st, n, use, base, wrote, floor, warm, rel, rst, rfloor, rgot>>
None == MaxCommits + 1
Missing == MaxCommits + 2
Marked == MaxCommits + 3
redis == <<lease, hint, run, saved>>
writer == <<st, n, use, base, wrote, floor>>
reader == <<rst, rfloor, rgot>>
Usable(h) == IF h.v <= MaxCommits /\ (RunId => h.run = run) THEN h.v ELSE None
Max(a, b) == IF a > b THEN a ELSE b
Newer(a, b) == IF a = None THEN b ELSE IF b = None THEN a ELSE Max(a, b)
Init == /\ db = 0 /\ acked = 0 /\ lease = NONE /\ hint = [v |-> Missing, run |-> 1] /\ run = 1
        /\ saved = [v |-> Missing, run |-> 1]
        /\ st = [r \in Replicas |-> "idle"] /\ n = [r \in Replicas |-> 0]
        /\ use = [r \in Replicas |-> None] /\ base = [r \in Replicas |-> None]
        /\ wrote = [r \in Replicas |-> FALSE] /\ floor = [r \in Replicas |-> 0]
        /\ warm = [r \in Replicas |-> None] /\ rel = {}
        /\ rst = [r \in Replicas |-> "idle"] /\ rfloor = [r \in Replicas |-> 0]
        /\ rgot = [r \in Replicas |-> None]
Acquire(r) == /\ st[r] = "idle" /\ lease = NONE /\ n[r] < Grants
              /\ n' = [n EXCEPT ![r] = @ + 1] /\ lease' = <<r, n[r] + 1>>
              /\ use' = [use EXCEPT ![r] = Usable(hint)]
              /\ hint' = (IF Pending THEN [v |-> Marked, run |-> run] ELSE hint)
              /\ st' = [st EXCEPT ![r] = "fresh"] /\ floor' = [floor EXCEPT ![r] = acked]
              /\ wrote' = [wrote EXCEPT ![r] = FALSE]
              /\ UNCHANGED <<db, acked, run, saved, base, warm, rel, reader>>
Freshness(r) == LET b == IF use[r] # None /\ use[r] = warm[r] THEN warm[r] ELSE db IN
              /\ st[r] = "fresh" /\ st' = [st EXCEPT ![r] = "run"]
              /\ base' = [base EXCEPT ![r] = b] /\ warm' = [warm EXCEPT ![r] = Newer(@, b)]
              /\ UNCHANGED <<db, acked, redis, n, use, wrote, floor, rel, reader>>
(* Compare-and-set in Postgres; a lost race asks Postgres and runs again. *)
Commit(r) == /\ st[r] = "run" /\ db < MaxCommits
             /\ IF base[r] = db
                THEN /\ db' = db + 1 /\ base' = [base EXCEPT ![r] = db + 1] /\ wrote' = [wrote EXCEPT ![r] = TRUE]
                     /\ warm' = [warm EXCEPT ![r] = db + 1] /\ st' = [st EXCEPT ![r] = "answer"]
                     /\ UNCHANGED use
                ELSE /\ st' = [st EXCEPT ![r] = "fresh"] /\ use' = [use EXCEPT ![r] = None]
                     /\ UNCHANGED <<db, base, wrote, warm>>
             /\ UNCHANGED <<acked, redis, n, floor, rel, reader>>
WroteNothing(r) == /\ st[r] = "run" /\ st' = [st EXCEPT ![r] = "answer"]
             /\ UNCHANGED <<db, acked, redis, n, use, base, wrote, floor, warm, rel, reader>>
(* The reply does not wait for the release. *)
Answer(r) == /\ st[r] = "answer" /\ st' = [st EXCEPT ![r] = "idle"] /\ acked' = Max(acked, base[r])
             /\ rel' = rel \cup {[r |-> r, n |-> n[r], head |-> base[r], wrote |-> wrote[r]]}
             /\ base' = [base EXCEPT ![r] = None] /\ use' = [use EXCEPT ![r] = None]
             /\ floor' = [floor EXCEPT ![r] = 0]
             /\ UNCHANGED <<db, redis, n, wrote, warm, reader>>
(* Not the holder any more: who committed deletes the hint. *)
Release(m) == /\ m \in rel /\ rel' = rel \ {m}
              /\ IF lease = <<m.r, m.n>> \/ ~TokenCheck
                 THEN /\ hint' = [v |-> m.head, run |-> run]
                      /\ lease' = (IF lease = <<m.r, m.n>> THEN NONE ELSE lease)
                 ELSE /\ hint' = (IF m.wrote THEN [v |-> Missing, run |-> run] ELSE hint) /\ UNCHANGED lease
              /\ UNCHANGED <<db, acked, run, saved, writer, warm, reader>>
LoseRelease(m) == m \in rel /\ rel' = rel \ {m} /\ UNCHANGED <<db, acked, redis, writer, warm, reader>>
Crash(r) == /\ MayCrash /\ (st[r] # "idle" \/ warm[r] # None)
            /\ st' = [st EXCEPT ![r] = "idle"] /\ warm' = [warm EXCEPT ![r] = None]
            /\ rst' = [rst EXCEPT ![r] = "idle"] /\ rgot' = [rgot EXCEPT ![r] = None]
            /\ base' = [base EXCEPT ![r] = None] /\ use' = [use EXCEPT ![r] = None]
            /\ UNCHANGED <<db, acked, redis, n, wrote, floor, rel, rfloor>>
Held == lease # NONE /\ st[lease[1]] # "idle" /\ n[lease[1]] = lease[2]
Lapse == /\ lease # NONE /\ (Held => MayLapse) /\ lease' = NONE
         /\ UNCHANGED <<db, acked, hint, run, saved, writer, warm, rel, reader>>
Evict == /\ MayEvict /\ hint' = [v |-> Missing, run |-> run] /\ hint # hint'
         /\ UNCHANGED <<db, acked, lease, run, saved, writer, warm, rel, reader>>
Save == /\ MaxRuns > 1 /\ saved # hint /\ saved' = hint
        /\ UNCHANGED <<db, acked, lease, hint, run, writer, warm, rel, reader>>
(* Redis starts again with what was on disk, or a lagging copy of it takes over. *)
Restart == /\ run < MaxRuns /\ (Held => MayLapse) /\ run' = run + 1 /\ hint' = saved /\ lease' = NONE
           /\ UNCHANGED <<db, acked, saved, writer, warm, rel, reader>>
ReadBegin(r) == /\ rst[r] = "idle" /\ rst' = [rst EXCEPT ![r] = "ask"] /\ rfloor' = [rfloor EXCEPT ![r] = acked]
            /\ UNCHANGED <<db, acked, redis, writer, warm, rel, rgot>>
ReadAsk(r) == LET u == Usable(hint)  b == IF u # None /\ u = warm[r] THEN warm[r] ELSE db IN
            /\ rst[r] = "ask" /\ rst' = [rst EXCEPT ![r] = "done"] /\ rgot' = [rgot EXCEPT ![r] = b]
            /\ warm' = [warm EXCEPT ![r] = Newer(@, b)]
            /\ UNCHANGED <<db, acked, redis, writer, rel, rfloor>>
ReadAnswer(r) == /\ rst[r] = "done" /\ rst' = [rst EXCEPT ![r] = "idle"] /\ acked' = Max(acked, rgot[r])
            /\ rgot' = [rgot EXCEPT ![r] = None] /\ rfloor' = [rfloor EXCEPT ![r] = 0]
            /\ UNCHANGED <<db, redis, writer, warm, rel>>
Next == Lapse \/ Evict \/ Save \/ Restart \/ (\E m \in rel : Release(m) \/ LoseRelease(m))
        \/ \E r \in Replicas : Acquire(r) \/ Freshness(r) \/ Commit(r) \/ WroteNothing(r) \/ Answer(r) \/ Crash(r)
                               \/ ReadBegin(r) \/ ReadAsk(r) \/ ReadAnswer(r)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
Fresh == \A r \in Replicas : /\ rst[r] = "done" => rgot[r] >= rfloor[r]
                             /\ st[r] = "answer" => base[r] >= floor[r]
(* The hint never costs an update: commits are still compared in Postgres. *)
NothingAhead == \A r \in Replicas : warm[r] # None => warm[r] <= db
=============================================================================
