------------------------------- MODULE Reload -------------------------------
(* Incremental reload of a warm tree from the versioned rows, with pruned history and a *)
(* database that was restored or failed over. Content is the list of its commits.       *)
EXTENDS Naturals, Sequences, FiniteSets
CONSTANTS
  Replicas, MaxHeads,
  CheckHead,   \* the log's head at the warm version must be the warm head
  CheckFrom,   \* the warm version must not be older than the kept history
  OneSnapshot  \* both tests and the rows come from one snapshot
VARIABLES
  log,         \* heads of versions 1, 2, ..: the exec log of the present timeline
  from,        \* history_from: changes after this version are all kept
  heads,       \* heads given so far, never used twice
  restored,
  warm,        \* replica: head, version and content of its tree
  tested       \* replica: version and head that the tests passed for, rows not read yet
vars == <<log, from, heads, restored, warm, tested>>
No == [version |-> 0, head |-> 0, content |-> <<>>]
Init == /\ log = <<>> /\ from = 0 /\ heads = 0 /\ restored = FALSE
        /\ warm = [r \in Replicas |-> No] /\ tested = [r \in Replicas |-> FALSE]
Head0 == IF Len(log) = 0 THEN 0 ELSE log[Len(log)]
HeadAt(v) == IF v = 0 THEN 0 ELSE log[v]
Commit == /\ heads < MaxHeads /\ heads' = heads + 1 /\ log' = Append(log, heads + 1)
          /\ UNCHANGED <<from, restored, warm, tested>>
Prune == /\ from < Len(log) /\ from' = from + 1 /\ UNCHANGED <<log, heads, restored, warm, tested>>
(* Back to an earlier state of the database; its history_from may be that of then. *)
Restore == /\ ~restored /\ restored' = TRUE
           /\ \E v \in 0..Len(log) : log' = SubSeq(log, 1, v) /\ \E f \in 0..v : f <= from /\ from' = f
           /\ UNCHANGED <<heads, warm, tested>>
Incremental(r) == LET w == warm[r] IN
  /\ w.version <= Len(log)
  /\ (CheckFrom => w.version >= from)
  /\ (CheckHead => HeadAt(w.version) = w.head)
Kept(s) == SelectSeq(log, LAMBDA h : \E v \in 1..Len(log) : log[v] = h /\ v > s /\ v > from)
Result(r, inc) == [version |-> Len(log), head |-> Head0,
                   content |-> IF inc THEN warm[r].content \o Kept(warm[r].version) ELSE log]
Reload(r) == /\ OneSnapshot /\ warm[r].head # Head0 /\ warm' = [warm EXCEPT ![r] = Result(r, Incremental(r))]
             /\ UNCHANGED <<log, from, heads, restored, tested>>
Test(r) == /\ ~OneSnapshot /\ warm[r].head # Head0 /\ ~tested[r] /\ Incremental(r)
           /\ tested' = [tested EXCEPT ![r] = TRUE] /\ UNCHANGED <<log, from, heads, restored, warm>>
Rows(r) == /\ tested[r] /\ tested' = [tested EXCEPT ![r] = FALSE]
           /\ warm' = [warm EXCEPT ![r] = Result(r, TRUE)] /\ UNCHANGED <<log, from, heads, restored>>
Next == Commit \/ Prune \/ Restore \/ \E r \in Replicas : Reload(r) \/ Test(r) \/ Rows(r)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
(* A tree whose head is the row's has the row's content: what freshness and the         *)
(* compare-and-set rely on.                                                             *)
TreeRight == \A r \in Replicas : warm[r].head = Head0 => warm[r].content = log
=============================================================================
