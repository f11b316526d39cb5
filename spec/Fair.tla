-------------------------------- MODULE Fair --------------------------------
(* Fairness between replicas: a waiting one leaves a short-lived mark, and the last    *)
(* holder may not take the lease again while another's mark stands.                    *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, NONE,
  Mark,        \* the acquire script obeys marks
  MarkExpires, \* marks end by themselves
  MaxDead      \* replicas that may die
VARIABLES
  lock, last, marks,
  polled,   \* replicas that left or renewed their mark by a refused poll and wait since
  st,       \* idle, want, hold, dead
  passed,   \* grants to others since the replica's mark was left
  again     \* of these: grants to the one that had held the lease just before
vars == <<lock, last, marks, polled, st, passed, again>>
Cap == 3
Up(n) == IF n < Cap THEN n + 1 ELSE n
Init == /\ lock = NONE /\ last = NONE /\ marks = {} /\ polled = {} /\ st = [r \in Replicas |-> "idle"]
        /\ passed = [r \in Replicas |-> 0] /\ again = [r \in Replicas |-> 0]
Wish(r) == /\ st[r] = "idle" /\ st' = [st EXCEPT ![r] = "want"] /\ UNCHANGED <<lock, last, marks, polled, passed, again>>
Free(r) == lock = NONE /\ ~(Mark /\ last = r /\ marks \ {r} # {})
Waiting(q) == q \in marks /\ st[q] = "want"
Take(r) == /\ st[r] = "want" /\ Free(r)
           /\ lock' = r /\ last' = r /\ marks' = marks \ {r} /\ polled' = polled \ {r}
           /\ st' = [st EXCEPT ![r] = "hold"]
           /\ passed' = [q \in Replicas |-> IF q = r THEN 0 ELSE IF Waiting(q) THEN Up(passed[q]) ELSE passed[q]]
           /\ again' = [q \in Replicas |-> IF q = r THEN 0
                         ELSE IF Waiting(q) /\ last = r THEN Up(again[q]) ELSE again[q]]
Refused(r) == /\ st[r] = "want" /\ ~Free(r) /\ ~(r \in marks /\ r \in polled)
              /\ marks' = marks \cup {r} /\ polled' = polled \cup {r}
              /\ UNCHANGED <<lock, last, st, passed, again>>
Release(r) == /\ st[r] = "hold" /\ lock' = NONE /\ st' = [st EXCEPT ![r] = "idle"]
              /\ UNCHANGED <<last, marks, polled, passed, again>>
(* The request was dropped: it asks Redis nothing more; its mark is left to expire. *)
Leave(r) == /\ st[r] = "want" /\ st' = [st EXCEPT ![r] = "idle"] /\ polled' = polled \ {r}
            /\ passed' = [passed EXCEPT ![r] = 0] /\ again' = [again EXCEPT ![r] = 0]
            /\ UNCHANGED <<lock, last, marks>>
Die(r) == /\ st[r] # "dead" /\ Cardinality({q \in Replicas : st[q] = "dead"}) < MaxDead
          /\ st' = [st EXCEPT ![r] = "dead"] /\ polled' = polled \ {r}
          /\ UNCHANGED <<lock, last, marks, passed, again>>
ExpireLease == /\ lock # NONE /\ st[lock] = "dead" /\ lock' = NONE
               /\ UNCHANGED <<last, marks, polled, st, passed, again>>
(* A mark outlives the pause between two polls of a replica that goes on waiting; one     *)
(* that no poll renews ends, also when requests come and go without polling.              *)
ExpireMark(r) == /\ MarkExpires /\ r \in marks /\ r \notin polled /\ marks' = marks \ {r}
                 /\ UNCHANGED <<lock, last, polled, st, passed, again>>
Next == ExpireLease \/ \E r \in Replicas : Wish(r) \/ Take(r) \/ Refused(r) \/ Release(r) \/ Leave(r)
                                            \/ Die(r) \/ ExpireMark(r)
Poll(r) == Take(r) \/ Refused(r)
Fairness == WF_vars(ExpireLease) /\ \A r \in Replicas : WF_vars(Release(r)) /\ WF_vars(ExpireMark(r))
(* Weak: a waiting replica polls again and again, but may come at the wrong moment always. *)
Spec == Init /\ [][Next]_vars /\ Fairness /\ \A r \in Replicas : WF_vars(Poll(r)) /\ WF_vars(Take(r))
(* Strong: polls with jitter do not miss every free moment. *)
SpecJitter == Init /\ [][Next]_vars /\ Fairness /\ \A r \in Replicas : WF_vars(Poll(r)) /\ SF_vars(Take(r))
-----------------------------------------------------------------------------
NotPassedTwice == \A r \in Replicas : passed[r] <= 1     \* between two replicas
LastHolderWaits == \A r \in Replicas : again[r] = 0      \* among any number
Served == \A r \in Replicas : (st[r] = "want") ~> (st[r] # "want")
=============================================================================
