------------------------------- MODULE Delete -------------------------------
(* Deletion against running execs, creation, and other deletions. The row stays as a    *)
(* tombstone; ids are made by the server and never used again.                          *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, Owners,
  MaxLives,      \* bound
  ExecCreates,   \* an exec creates the row that it does not find
  StateCheck,    \* commit demands state = active and the head that it saw
  IdReuse,       \* the id may be created again after deletion
  OneStep        \* deletion: owner check and tombstone in one transaction
VARIABLES
  row,     \* absent, active, deleted
  owner, life,   \* of the row; life counts creations of this id
  head,
  files,   \* life whose files are in the tables; 0: none
  gone,    \* lives whose deletion was answered
  st, seen, of,  \* exec of a replica: idle, run; head and life that it saw
  applied, \* pairs (life that the exec saw, life that it wrote to)
  del      \* requests for deletion: idle, checked; (owner, life) of what they deleted
Requests == Owners \X {1, 2}
vars == <<row, owner, life, head, files, gone, st, seen, of, applied, del>>
Init == /\ row = "active" /\ owner \in Owners /\ life = 1 /\ head = 1 /\ files = 1 /\ gone = {}
        /\ st = [r \in Replicas |-> "idle"] /\ seen = [r \in Replicas |-> 0] /\ of = [r \in Replicas |-> 0]
        /\ applied = {} /\ del = [q \in Requests |-> [st |-> "idle", done |-> {}]]
Start(r) == /\ st[r] = "idle" /\ row = "active" /\ st' = [st EXCEPT ![r] = "run"]
            /\ seen' = [seen EXCEPT ![r] = head] /\ of' = [of EXCEPT ![r] = life]
            /\ UNCHANGED <<row, owner, life, head, files, gone, applied, del>>
Heads == 3 * MaxLives
Commit(r) == /\ st[r] = "run" /\ st' = [st EXCEPT ![r] = "idle"] /\ head < Heads
             /\ IF IF StateCheck THEN row = "active" /\ head = seen[r] ELSE row = "active" \/ ExecCreates
                THEN /\ row' = "active" /\ head' = head + 1 /\ files' = of[r]
                     /\ applied' = applied \cup {<<of[r], life, row>>}
                ELSE UNCHANGED <<row, head, files, applied>>   \* answered 404, applied: no
             /\ UNCHANGED <<owner, life, gone, seen, of, del>>
DeleteNow(q) == /\ row' = "deleted" /\ head' = head + 1 /\ files' = 0 /\ gone' = gone \cup {life}
                /\ del' = [del EXCEPT ![q] = [st |-> "idle", done |-> @.done \cup {<<owner, life>>}]]
                /\ UNCHANGED <<owner, life, st, seen, of, applied>>
Delete(q) == OneStep /\ row = "active" /\ owner = q[1] /\ head < Heads /\ DeleteNow(q)
Check(q) == /\ ~OneStep /\ del[q].st = "idle" /\ row = "active" /\ owner = q[1]
            /\ del' = [del EXCEPT ![q].st = "checked"]
            /\ UNCHANGED <<row, owner, life, head, files, gone, st, seen, of, applied>>
DeleteLater(q) == del[q].st = "checked" /\ row = "active" /\ head < Heads /\ DeleteNow(q)
Recreate(o) == /\ IdReuse /\ row = "deleted" /\ life < MaxLives /\ row' = "active" /\ owner' = o
               /\ life' = life + 1 /\ head' = head + 1 /\ head < Heads /\ files' = life + 1
               /\ UNCHANGED <<gone, st, seen, of, applied, del>>
Next == \/ \E r \in Replicas : Start(r) \/ Commit(r)
        \/ \E q \in Requests : Delete(q) \/ Check(q) \/ DeleteLater(q)
        \/ \E o \in Owners : Recreate(o)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
NoResurrection == (row = "active" => life \notin gone) /\ (files # 0 => files \notin gone)
OwnLifeOnly == \A a \in applied : a[1] = a[2] /\ a[3] = "active"
OnlyOwnerDeletes == \A q \in Requests : \A d \in del[q].done : d[1] = q[1]
=============================================================================
