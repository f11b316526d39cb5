-------------------------------- MODULE Read --------------------------------
(* Fresh reads over several replicas, and one version for the whole of a script. No     *)
(* lease: writers are kept apart by the row lock. Each replica has one warm tree.       *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, PerReplica,  \* readers at a time on each replica
  MaxCommits,
  Probe,    \* "postgres" | "redis": where a reader asks whether its tree is the newest
  Load,     \* "atomic": row and tree of one snapshot; "row first", "tree first": two statements
  Pin,      \* a reader keeps the tree that it picked; FALSE: it reads on in the session's tree
  MayCrash, MayEvict
VARIABLES
  db,       \* commits so far; each has a new head, so the number stands for the head too
  counter, unpublished,  \* Redis: version counter, raised after COMMIT, before the reply
  acked,    \* newest commit that somebody was told of: by its writer's or a reader's reply
  warm,     \* replica: label and content of its tree
  st, floor, tree, first   \* reader: phase; `acked` when it came; its tree; what it read first
vars == <<db, counter, unpublished, acked, warm, st, floor, tree, first>>
Readers == Replicas \X (1..PerReplica)
None == MaxCommits + 1
Asked == IF Probe = "postgres" THEN db ELSE counter
Init == /\ db = 0 /\ counter = 0 /\ unpublished = 0 /\ acked = 0
        /\ warm = [r \in Replicas |-> [label |-> None, content |-> None]]
        /\ st = [q \in Readers |-> "idle"] /\ floor = [q \in Readers |-> 0]
        /\ tree = [q \in Readers |-> None] /\ first = [q \in Readers |-> None]
CommitW == /\ db < MaxCommits /\ db' = db + 1 /\ unpublished' = unpublished + 1
           /\ UNCHANGED <<counter, acked, warm, st, floor, tree, first>>
AckW == /\ unpublished > 0 /\ unpublished' = unpublished - 1 /\ counter' = counter + 1
        /\ acked' = (IF unpublished = 1 THEN db ELSE acked)
        /\ UNCHANGED <<db, warm, st, floor, tree, first>>
CrashW == /\ MayCrash /\ unpublished > 0 /\ unpublished' = unpublished - 1
          /\ UNCHANGED <<db, counter, acked, warm, st, floor, tree, first>>
Evict == /\ MayEvict /\ counter # 0 /\ counter' = 0
         /\ UNCHANGED <<db, unpublished, acked, warm, st, floor, tree, first>>
Cold(r) == /\ warm[r].label # None /\ \A q \in Readers : q[1] = r => st[q] # "load"
           /\ (Pin \/ \A q \in Readers : q[1] = r => st[q] = "idle")
           /\ warm' = [warm EXCEPT ![r] = [label |-> None, content |-> None]]
           /\ UNCHANGED <<db, counter, unpublished, acked, st, floor, tree, first>>
(* Arrival, freshness, and the first half of a load that is needed. *)
Begin(q) == LET r == q[1] IN
  /\ st[q] = "idle" /\ floor' = [floor EXCEPT ![q] = acked]
  /\ ~\E p \in Readers : p[1] = r /\ st[p] = "load"          \* single flight
  /\ IF warm[r].label = Asked
     THEN st' = [st EXCEPT ![q] = "read"] /\ tree' = [tree EXCEPT ![q] = warm[r].content] /\ UNCHANGED warm
     ELSE CASE Load = "atomic" ->
                 /\ warm' = [warm EXCEPT ![r] = [label |-> Asked, content |-> db]]
                 /\ st' = [st EXCEPT ![q] = "read"] /\ tree' = [tree EXCEPT ![q] = db]
            [] Load = "row first" ->
                 /\ warm' = [warm EXCEPT ![r].label = Asked]
                 /\ st' = [st EXCEPT ![q] = "load"] /\ UNCHANGED tree
            [] Load = "tree first" ->
                 /\ warm' = [warm EXCEPT ![r].content = db]
                 /\ st' = [st EXCEPT ![q] = "load"] /\ UNCHANGED tree
  /\ UNCHANGED <<db, counter, unpublished, acked, first>>
Load2(q) == LET r == q[1]  new == IF Load = "row first" THEN [warm[r] EXCEPT !.content = db]
                                                        ELSE [warm[r] EXCEPT !.label = Asked] IN
  /\ st[q] = "load" /\ st' = [st EXCEPT ![q] = "read"]
  /\ warm' = [warm EXCEPT ![r] = new] /\ tree' = [tree EXCEPT ![q] = new.content]
  /\ UNCHANGED <<db, counter, unpublished, acked, floor, first>>
(* A script reads twice. *)
Sees(q) == IF Pin THEN tree[q] ELSE warm[q[1]].content
Read1(q) == /\ st[q] = "read" /\ st' = [st EXCEPT ![q] = "read2"]
            /\ first' = [first EXCEPT ![q] = Sees(q)] /\ tree' = [tree EXCEPT ![q] = Sees(q)]
            /\ UNCHANGED <<db, counter, unpublished, acked, warm, floor>>
Read2(q) == /\ st[q] = "read2" /\ st' = [st EXCEPT ![q] = "done"]
            /\ tree' = [tree EXCEPT ![q] = Sees(q)]
            /\ UNCHANGED <<db, counter, unpublished, acked, warm, floor, first>>
Answer(q) == /\ st[q] = "done" /\ st' = [st EXCEPT ![q] = "idle"]
             /\ acked' = (IF tree[q] > acked THEN tree[q] ELSE acked)
             /\ tree' = [tree EXCEPT ![q] = None] /\ first' = [first EXCEPT ![q] = None]
             /\ floor' = [floor EXCEPT ![q] = 0]
             /\ UNCHANGED <<db, counter, unpublished, warm>>
Next == CommitW \/ AckW \/ CrashW \/ Evict \/ (\E r \in Replicas : Cold(r))
        \/ \E q \in Readers : Begin(q) \/ Load2(q) \/ Read1(q) \/ Read2(q) \/ Answer(q)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
Fresh == \A q \in Readers : st[q] = "done" => tree[q] >= floor[q]
OneVersion == \A q \in Readers : st[q] = "done" => tree[q] = first[q]
(* The label of a warm tree is its content's: else a commit computed from old content passes. *)
LabelRight == (Probe = "postgres") => \A r \in Replicas :
  (\A q \in Readers : q[1] = r => st[q] # "load") => warm[r].content = warm[r].label
LabelNotNewer == (Probe = "postgres") => \A r \in Replicas :
  (\A q \in Readers : q[1] = r => st[q] # "load") => warm[r].content >= warm[r].label
=============================================================================
