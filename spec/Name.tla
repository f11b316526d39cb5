-------------------------------- MODULE Name --------------------------------
(* One unique name of one owner. Creations and renames race over replicas; deletion and  *)
(* letting go free it.                                                                   *)
EXTENDS Naturals, FiniteSets
CONSTANTS Sandboxes, Index  \* the database holds the name unique (partial unique index)
VARIABLES st, told          \* st: new, free (live without the name), looked, holds, deleted
vars == <<st, told>>        \* told: what the request for the name was answered: none, yes, or the holder
Init == st = [s \in Sandboxes |-> "new"] /\ told = [s \in Sandboxes |-> "none"]
Holders == {s \in Sandboxes : st[s] = "holds"}
(* Insert, or update, and let the unique index decide. *)
Take(s) == /\ Index /\ st[s] \in {"new", "free"}
           /\ IF Holders = {} THEN st' = [st EXCEPT ![s] = "holds"] /\ told' = [told EXCEPT ![s] = "yes"]
              ELSE UNCHANGED st /\ \E h \in Holders : told' = [told EXCEPT ![s] = h]
Look(s) == /\ ~Index /\ st[s] \in {"new", "free"} /\ Holders = {} /\ st' = [st EXCEPT ![s] = "looked"] /\ UNCHANGED told
Insert(s) == /\ st[s] = "looked" /\ st' = [st EXCEPT ![s] = "holds"] /\ told' = [told EXCEPT ![s] = "yes"]
Create(s) == st[s] = "new" /\ st' = [st EXCEPT ![s] = "free"] /\ UNCHANGED told
LetGo(s) == st[s] = "holds" /\ st' = [st EXCEPT ![s] = "free"] /\ told' = [told EXCEPT ![s] = "none"]
Delete(s) == st[s] \in {"free", "holds"} /\ st' = [st EXCEPT ![s] = "deleted"] /\ told' = [told EXCEPT ![s] = "none"]
Next == \E s \in Sandboxes : Take(s) \/ Look(s) \/ Insert(s) \/ Create(s) \/ LetGo(s) \/ Delete(s)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
OneHolder == Cardinality(Holders) <= 1
ToldRight == \A s \in Sandboxes : told[s] = "yes" => st[s] = "holds"
=============================================================================
