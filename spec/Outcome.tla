------------------------------- MODULE Outcome ------------------------------
(* COMMITs whose reply is lost or given up on, backends that wake late, and the       *)
(* resolver that settles the outcome. Postgres is one row (head, version) with a row   *)
(* lock, and the exec log. Creation of a sandbox is the same machine: the absent row   *)
(* is the first head, and the tombstone that the resolver leaves is the voided head.   *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Clients, NONE,
  Tries,       \* a client sends again after "applied: no", this many times in all
  Void,        \* "same": the head is voided in the transaction that found no log row;
               \* "later": in the next one; "never"
  RowLock,     \* the resolver holds the row lock while it looks
  IdleTimeout  \* Postgres ends a transaction whose client sleeps
VARIABLES
  head, version, nextHead,
  lock,      \* attempt whose transaction holds the row lock
  log,       \* attempts with outcome committed; the version that each made
  st,        \* server: new, run, sent, found, resolving, voiding, end
  base,      \* head that the attempt's tree was loaded at
  backend,   \* none, asleep, locked, committed, stale, aborted
  told       \* answer that the client got: none, yes, no
vars == <<head, version, nextHead, lock, log, st, base, backend, told>>
Attempts == Clients \X (1..Tries)
Client(a) == a[1]
Init == /\ head = 0 /\ version = 0 /\ nextHead = 1 /\ lock = NONE /\ log = {}
        /\ st = [a \in Attempts |-> "new"] /\ base = [a \in Attempts |-> 0]
        /\ backend = [a \in Attempts |-> "none"] /\ told = [a \in Attempts |-> "none"]
Start(a) == /\ st[a] = "new"
            /\ a[2] > 1 => told[<<a[1], a[2] - 1>>] = "no"   \* only this answer allows to send again
            /\ st' = [st EXCEPT ![a] = "run"] /\ base' = [base EXCEPT ![a] = head]
            /\ UNCHANGED <<head, version, nextHead, lock, log, backend, told>>
(* From here on the commit lies in a socket, a pooler, or a backend that has not run yet. *)
Send(a) == /\ st[a] = "run" /\ st' = [st EXCEPT ![a] = "sent"]
           /\ backend' = [backend EXCEPT ![a] = "asleep"]
           /\ UNCHANGED <<head, version, nextHead, lock, log, base, told>>
(* Compare-and-set: waits for the row lock, then sees the newest head. *)
Wake(a) == /\ backend[a] = "asleep" /\ lock = NONE
           /\ IF head = base[a] THEN lock' = a /\ backend' = [backend EXCEPT ![a] = "locked"]
                                ELSE UNCHANGED lock /\ backend' = [backend EXCEPT ![a] = "stale"]
           /\ UNCHANGED <<head, version, nextHead, log, st, base, told>>
Committed(a) == /\ backend[a] = "locked" /\ lock' = NONE
           /\ backend' = [backend EXCEPT ![a] = "committed"]
           /\ head' = nextHead /\ nextHead' = nextHead + 1 /\ version' = version + 1
           /\ log' = log \cup {[attempt |-> a, version |-> version + 1]}
           /\ UNCHANGED <<st, base, told>>
Aborted(a) == /\ backend[a] = "locked" /\ lock' = NONE
           /\ backend' = [backend EXCEPT ![a] = "aborted"]
           /\ UNCHANGED <<head, version, nextHead, log, st, base, told>>
(* The bytes never reach a backend. *)
Vanish(a) == /\ backend[a] = "asleep" /\ backend' = [backend EXCEPT ![a] = "aborted"]
           /\ UNCHANGED <<head, version, nextHead, lock, log, st, base, told>>
Reply(a) == /\ st[a] = "sent" /\ backend[a] \in {"committed", "stale"}
            /\ st' = [st EXCEPT ![a] = "end"]
            /\ told' = [told EXCEPT ![a] = IF backend[a] = "committed" THEN "yes" ELSE "no"]
            /\ UNCHANGED <<head, version, nextHead, lock, log, base, backend>>
(* Connection lost, or the caller gave up; at any moment. *)
ReplyLost(a) == /\ st[a] = "sent" /\ st' = [st EXCEPT ![a] = "resolving"]
            /\ UNCHANGED <<head, version, nextHead, lock, log, base, backend, told>>
InLog(a) == \E e \in log : e.attempt = a
(* The twins show what the row lock, and voiding in the same transaction, are for. *)
Resolve(a) ==
  /\ st[a] = "resolving" /\ (RowLock => lock = NONE)
  /\ IF InLog(a)
     THEN /\ told' = [told EXCEPT ![a] = "yes"] /\ st' = [st EXCEPT ![a] = "end"]
          /\ UNCHANGED <<head, version, nextHead>>
     ELSE IF Void = "never"
     THEN /\ told' = [told EXCEPT ![a] = "no"] /\ st' = [st EXCEPT ![a] = "end"]
          /\ UNCHANGED <<head, version, nextHead>>
     ELSE IF Void = "later" \/ ~RowLock
     THEN /\ st' = [st EXCEPT ![a] = "voiding"] /\ UNCHANGED <<head, version, nextHead, told>>
     ELSE /\ head' = nextHead /\ nextHead' = nextHead + 1 /\ version' = version + 1
          /\ told' = [told EXCEPT ![a] = "no"] /\ st' = [st EXCEPT ![a] = "end"]
  /\ UNCHANGED <<lock, log, base, backend>>
VoidLater(a) == /\ st[a] = "voiding" /\ lock = NONE
            /\ head' = nextHead /\ nextHead' = nextHead + 1 /\ version' = version + 1
            /\ told' = [told EXCEPT ![a] = "no"] /\ st' = [st EXCEPT ![a] = "end"]
            /\ UNCHANGED <<lock, log, base, backend>>
Next == \E a \in Attempts : Start(a) \/ Send(a) \/ Wake(a) \/ Committed(a) \/ Aborted(a) \/ Vanish(a)
                            \/ Reply(a) \/ ReplyLost(a) \/ Resolve(a) \/ VoidLater(a)
Fairness == \A a \in Attempts : WF_vars(Reply(a)) /\ SF_vars(Resolve(a)) /\ SF_vars(VoidLater(a))
                                /\ (IdleTimeout => WF_vars(Committed(a) \/ Aborted(a)))
Spec == Init /\ [][Next]_vars /\ Fairness
-----------------------------------------------------------------------------
AnswersRight == \A a \in Attempts : /\ told[a] = "no" => ~InLog(a)
                                    /\ told[a] = "yes" => InLog(a)
AppliedOnce == \A a \in Attempts : Cardinality({e \in log : e.attempt = a}) <= 1
NoEffectDoubled == \A c \in Clients : Cardinality({e \in log : Client(e.attempt) = c}) <= 1
(* One total order: no two commits made the same version. *)
OneCommitPerVersion == \A e, f \in log : e.version = f.version => e = f
Answered == \A a \in Attempts : (st[a] = "resolving") ~> (told[a] # "none")
=============================================================================
