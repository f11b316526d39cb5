-------------------------------- MODULE Probe -------------------------------
(* One replica: requests share freshness probes and loads (session/freshness.rs,        *)
(* session/entry.rs). A cohort is the requests that one probe answers.                  *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Requests, MaxCommits,
  Join,       \* "next": only a probe that has not started; "in flight": also one that has
  MayDrop     \* requests may be dropped at any await, the one that asks for its cohort too
VARIABLES
  db, acked,  \* newest commit; newest that somebody was told of
  st,         \* request: new, wait (in a cohort), probed, loading, done, left
  coh,        \* request: number of its cohort
  floor,      \* request: `acked` when it came
  got,        \* request: the row that it holds, then the tree
  open,       \* cohort that may be joined; 0: none
  cohorts,    \* given so far
  turn,       \* cohort whose probe is in flight; 0: none
  read,       \* what that probe read in the store; None: not yet
  warm,       \* the session's tree
  loaded      \* who loads: what it read in the store; None: not yet
vars == <<db, acked, st, coh, floor, got, open, cohorts, turn, read, warm, loaded>>
None == MaxCommits + 1
Init == /\ db = 0 /\ acked = 0 /\ open = 0 /\ cohorts = 0 /\ turn = 0 /\ read = None /\ warm = None
        /\ loaded = None
        /\ st = [q \in Requests |-> "new"] /\ coh = [q \in Requests |-> 0]
        /\ floor = [q \in Requests |-> 0] /\ got = [q \in Requests |-> None]
Commit == /\ db < MaxCommits /\ db' = db + 1
          /\ UNCHANGED <<acked, st, coh, floor, got, open, cohorts, turn, read, warm, loaded>>
Ack == /\ acked < db /\ acked' = db
       /\ UNCHANGED <<db, st, coh, floor, got, open, cohorts, turn, read, warm, loaded>>
Arrive(q) ==
  /\ st[q] = "new" /\ st' = [st EXCEPT ![q] = "wait"] /\ floor' = [floor EXCEPT ![q] = acked]
  /\ IF Join = "in flight" /\ turn # 0
     THEN coh' = [coh EXCEPT ![q] = turn] /\ UNCHANGED <<open, cohorts>>
     ELSE IF open # 0
     THEN coh' = [coh EXCEPT ![q] = open] /\ UNCHANGED <<open, cohorts>>
     ELSE coh' = [coh EXCEPT ![q] = cohorts + 1] /\ open' = cohorts + 1 /\ cohorts' = cohorts + 1
  /\ UNCHANGED <<db, acked, got, turn, read, warm, loaded>>
Members(c) == {q \in Requests : coh[q] = c /\ st[q] = "wait"}
(* Takes the turn, closes the cohort, sends the probe. *)
Send(c) == /\ turn = 0 /\ Members(c) # {} /\ turn' = c /\ read' = None
           /\ open' = (IF open = c THEN 0 ELSE open)
           /\ UNCHANGED <<db, acked, st, coh, floor, got, cohorts, warm, loaded>>
(* The store executes it: some moment between sending and reply. *)
Execute == /\ turn # 0 /\ read = None /\ read' = db
           /\ UNCHANGED <<db, acked, st, coh, floor, got, open, cohorts, turn, warm, loaded>>
Reply == /\ turn # 0 /\ read # None
         /\ st' = [q \in Requests |-> IF q \in Members(turn) THEN "probed" ELSE st[q]]
         /\ got' = [q \in Requests |-> IF q \in Members(turn) THEN read ELSE got[q]]
         /\ turn' = 0 /\ read' = None
         /\ UNCHANGED <<db, acked, coh, floor, open, cohorts, warm, loaded>>
(* The request that asks for all is dropped: the turn is free, another member asks anew. *)
DropAsker == /\ MayDrop /\ turn # 0 /\ turn' = 0 /\ read' = None
             /\ \E q \in Members(turn) : st' = [st EXCEPT ![q] = "left"]
             /\ UNCHANGED <<db, acked, coh, floor, got, open, cohorts, warm, loaded>>
Drop(q) == /\ MayDrop /\ st[q] \in {"probed"} /\ st' = [st EXCEPT ![q] = "left"]
           /\ UNCHANGED <<db, acked, coh, floor, got, open, cohorts, turn, read, warm, loaded>>
Loading == \E q \in Requests : st[q] = "loading"
(* The row's head is the warm tree's: done. Else one load at a time; who waited looks again. *)
UseWarm(q) == /\ st[q] = "probed" /\ warm = got[q] /\ st' = [st EXCEPT ![q] = "done"]
              /\ UNCHANGED <<db, acked, coh, floor, got, open, cohorts, turn, read, warm, loaded>>
BeginLoad(q) == /\ st[q] = "probed" /\ warm # got[q] /\ ~Loading /\ st' = [st EXCEPT ![q] = "loading"]
              /\ loaded' = None
              /\ UNCHANGED <<db, acked, coh, floor, got, open, cohorts, turn, read, warm>>
ExecuteLoad == /\ Loading /\ loaded = None /\ loaded' = db
              /\ UNCHANGED <<db, acked, st, coh, floor, got, open, cohorts, turn, read, warm>>
EndLoad(q) == /\ st[q] = "loading" /\ loaded # None
              /\ st' = [st EXCEPT ![q] = "done"] /\ got' = [got EXCEPT ![q] = loaded]
              /\ warm' = (IF warm = None \/ warm < loaded THEN loaded ELSE warm) /\ loaded' = None
              /\ UNCHANGED <<db, acked, coh, floor, open, cohorts, turn, read>>
(* A commit of this replica makes its tree the warm one. *)
OwnCommit == /\ db < MaxCommits /\ db' = db + 1 /\ warm' = db + 1
             /\ UNCHANGED <<acked, st, coh, floor, got, open, cohorts, turn, read, loaded>>
Next == Commit \/ Ack \/ OwnCommit \/ Execute \/ Reply \/ DropAsker \/ ExecuteLoad
        \/ (\E q \in Requests : Arrive(q) \/ UseWarm(q) \/ BeginLoad(q) \/ EndLoad(q) \/ Drop(q) \/ Send(coh[q]))
Fairness == /\ WF_vars(Execute) /\ WF_vars(Reply) /\ WF_vars(ExecuteLoad)
            /\ \A q \in Requests : WF_vars(UseWarm(q)) /\ SF_vars(BeginLoad(q)) /\ WF_vars(EndLoad(q))
                                   /\ SF_vars(Send(coh[q]))
Spec == Init /\ [][Next]_vars /\ Fairness
-----------------------------------------------------------------------------
Fresh == \A q \in Requests : st[q] \in {"probed", "done"} => got[q] >= floor[q]
NotFromTheFuture == \A q \in Requests : st[q] = "done" => got[q] <= db
WarmNotNewer == warm # None => warm <= db
Served == \A q \in Requests : (st[q] = "wait") ~> (st[q] \in {"done", "left"})
=============================================================================
