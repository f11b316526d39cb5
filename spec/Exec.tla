-------------------------------- MODULE Exec --------------------------------
(* A write exec: lease, freshness, run, commit, release; any number of replicas.       *)
(* Each script appends its own line to one file (val, here a set of lines), so that a   *)
(* lost update shows as a line that was committed and is not in the file.               *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Replicas, NONE,
  MaxCommits,       \* bound
  Freshness,        \* "postgres": the sandbox row is asked; "redis": a counter, raised after COMMIT
  Identity,         \* "head": never used twice; "version": a number
  Cas,              \* "tree": commit compares what the tree was loaded at;
                    \* "start": what the row said when the script started; "off"
  UseLease,         \* FALSE: Redis is away (REDIS_DOWN=degrade)
  ReloadOnConflict, \* a re-run after a lost race starts with freshness
  MayCrash, MayFlush, MayEvict, MayLapse, MayRestore
VARIABLES
  row,      \* the sandbox row and the file; commits: the lines committed in this timeline
  past,     \* earlier rows: where a restore or a fail-over may go back to
  heads,    \* heads given so far
  counter,  \* Redis: version counter (used by Freshness = "redis" alone)
  lease,    \* Redis: holder
  st,       \* idle, probe, run, publish, release
  warm,     \* the replica's tree: content and what it was loaded at
  start     \* identity of the row when the script started
vars == <<row, past, heads, counter, lease, st, warm, start>>
NoTree == [id |-> 0, label |-> 0, val |-> {}, loaded |-> FALSE]
Id(x) == IF Identity = "head" THEN x.head ELSE x.version
Init == /\ row = [version |-> 0, head |-> 0, val |-> {}, commits |-> {}]
        /\ past = {} /\ heads = 0 /\ counter = 0 /\ lease = NONE
        /\ st = [r \in Replicas |-> "idle"] /\ warm = [r \in Replicas |-> NoTree]
        /\ start = [r \in Replicas |-> 0]
Acquire(r) == /\ st[r] = "idle" /\ (UseLease => lease = NONE)
              /\ lease' = (IF UseLease THEN r ELSE lease)
              /\ st' = [st EXCEPT ![r] = "probe"]
              /\ UNCHANGED <<row, past, heads, counter, warm, start>>
(* Freshness and load: one snapshot gives content and identity together (Read.tla, Reload.tla). *)
Probe(r) == LET label == IF Freshness = "postgres" THEN Id(row) ELSE counter IN
            /\ st[r] = "probe" /\ st' = [st EXCEPT ![r] = "run"]
            /\ warm' = [warm EXCEPT ![r] = IF @.loaded /\ @.label = label THEN @
                 ELSE [id |-> Id(row), label |-> label, val |-> row.val, loaded |-> TRUE]]
            /\ start' = [start EXCEPT ![r] = Id(row)]
            /\ UNCHANGED <<row, past, heads, counter, lease>>
Wins(r) == CASE Cas = "off" -> TRUE
             [] Cas = "tree" -> warm[r].id = Id(row)
             [] Cas = "start" -> start[r] = Id(row)
Commit(r) ==
  /\ st[r] = "run" /\ heads < MaxCommits
  /\ IF Wins(r)
     THEN LET new == [version |-> row.version + 1, head |-> heads + 1,
                      val |-> warm[r].val \cup {heads + 1}, commits |-> row.commits \cup {heads + 1}] IN
          /\ row' = new /\ past' = (IF MayRestore THEN past \cup {row} ELSE past) /\ heads' = heads + 1
          /\ warm' = [warm EXCEPT ![r] = [id |-> Id(new), val |-> new.val, loaded |-> TRUE,
                                 label |-> IF Freshness = "postgres" THEN Id(new) ELSE @.label]]
          /\ st' = [st EXCEPT ![r] = "publish"]
     ELSE /\ st' = [st EXCEPT ![r] = IF ReloadOnConflict THEN "probe" ELSE "run"]
          /\ UNCHANGED <<row, past, heads, warm>>
  /\ UNCHANGED <<counter, lease, start>>
(* The counter of the reference protocol: a second system, written after COMMIT. *)
Publish(r) == /\ st[r] = "publish" /\ st' = [st EXCEPT ![r] = "release"]
              /\ IF Freshness = "redis"
                 THEN /\ counter' = counter + 1
                      /\ warm' = [warm EXCEPT ![r].label = counter + 1]
                 ELSE UNCHANGED <<counter, warm>>
              /\ UNCHANGED <<row, past, heads, lease, start>>
Release(r) == /\ st[r] = "release" /\ st' = [st EXCEPT ![r] = "idle"]
              /\ lease' = (IF lease = r THEN NONE ELSE lease)
              /\ UNCHANGED <<row, past, heads, counter, warm, start>>
(* The script ends without a change, or is cut off: the working copy is dropped. *)
NothingToCommit(r) == /\ st[r] = "run" /\ st' = [st EXCEPT ![r] = "release"]
              /\ UNCHANGED <<row, past, heads, counter, lease, warm, start>>
Crash(r) == /\ MayCrash /\ st[r] # "idle"
            /\ st' = [st EXCEPT ![r] = "idle"] /\ warm' = [warm EXCEPT ![r] = NoTree]
            /\ UNCHANGED <<row, past, heads, counter, lease, start>>
ExpireDead == /\ lease # NONE /\ st[lease] = "idle" /\ lease' = NONE
              /\ UNCHANGED <<row, past, heads, counter, st, warm, start>>
(* Pause, clock step, partition: the lease ends while its holder goes on. *)
Lapse == /\ MayLapse /\ lease # NONE /\ lease' = NONE
         /\ UNCHANGED <<row, past, heads, counter, st, warm, start>>
Flush == /\ MayFlush /\ (lease # NONE \/ counter # 0) /\ counter' = 0 /\ lease' = NONE
         /\ UNCHANGED <<row, past, heads, st, warm, start>>
(* Memory pressure removes the counter alone. *)
Evict == /\ MayEvict /\ counter # 0 /\ counter' = 0
         /\ UNCHANGED <<row, past, heads, lease, st, warm, start>>
(* Point-in-time restore, or fail-over to a replica that lagged behind. *)
Restore == /\ MayRestore /\ \E p \in past : row' = p /\ past' = {q \in past : q.version < p.version}
           /\ UNCHANGED <<heads, counter, lease, st, warm, start>>
Next == ExpireDead \/ Lapse \/ Flush \/ Evict \/ Restore \/ \E r \in Replicas :
   Acquire(r) \/ Probe(r) \/ Commit(r) \/ Publish(r) \/ Release(r) \/ NothingToCommit(r) \/ Crash(r)
Fairness == WF_vars(ExpireDead) /\ \A r \in Replicas :
   WF_vars(Probe(r)) /\ WF_vars(Commit(r) \/ NothingToCommit(r)) /\ WF_vars(Publish(r)) /\ WF_vars(Release(r))
Spec == Init /\ [][Next]_vars /\ Fairness
(* Each replica runs one script, which writes; who loses a race runs again. *)
NextOnce == \E r \in Replicas : (Acquire(r) /\ ~warm[r].loaded) \/ Probe(r) \/ Commit(r) \/ Publish(r) \/ Release(r)
SpecOnce == Init /\ [][NextOnce]_vars /\ \A r \in Replicas :
   WF_vars(Acquire(r) /\ ~warm[r].loaded) /\ WF_vars(Probe(r)) /\ WF_vars(Commit(r))
   /\ WF_vars(Publish(r)) /\ WF_vars(Release(r))
-----------------------------------------------------------------------------
NoLostUpdate == row.val = row.commits
FreshStart == \A r \in Replicas : (st[r] = "run" /\ lease = r) => warm[r].val = row.val
WarmRight == \A r \in Replicas : (warm[r].loaded /\ warm[r].id = Id(row)) => warm[r].val = row.val
LeaseFreed == \A r \in Replicas : (lease = r) ~> (lease # r)
AllCommit == <>(heads = Cardinality(Replicas))
=============================================================================
