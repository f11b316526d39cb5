-------------------------------- MODULE Fence -------------------------------
(* The fencing token. No mutual exclusion is assumed here: leases may overlap freely.  *)
EXTENDS Naturals
CONSTANTS
  Replicas,
  MaxVersion, MaxToken,  \* bounds
  Floor,     \* acquire passes the fence that the session knows
  Raise,     \* a row fence that is not below the token raises the counter, and a new token is taken
  Check,     \* commit refuses a token below the row's
  MayDegrade \* execs without a lease, which present the row's own fence
VARIABLES counter, fence, version, st, token, base, known
vars == <<counter, fence, version, st, token, base, known>>
Max(a, b) == IF a > b THEN a ELSE b
Init == /\ counter = 0 /\ fence = 0 /\ version = 0
        /\ st = [r \in Replicas |-> "idle"] /\ token = [r \in Replicas |-> 0]
        /\ base = [r \in Replicas |-> 0] /\ known = [r \in Replicas |-> 0]
Grant(r) == LET t == Max(counter, IF Floor THEN known[r] ELSE 0) + 1 IN
            /\ st[r] = "idle" /\ t <= MaxToken
            /\ counter' = t /\ token' = [token EXCEPT ![r] = t] /\ st' = [st EXCEPT ![r] = "probe"]
            /\ UNCHANGED <<fence, version, base, known>>
Degrade(r) == /\ MayDegrade /\ st[r] = "idle" /\ st' = [st EXCEPT ![r] = "run"]
            /\ token' = [token EXCEPT ![r] = fence] /\ base' = [base EXCEPT ![r] = version]
            /\ known' = [known EXCEPT ![r] = fence] /\ UNCHANGED <<counter, fence, version>>
Probe(r) == /\ st[r] = "probe" /\ base' = [base EXCEPT ![r] = version]
            /\ known' = [known EXCEPT ![r] = fence]
            /\ st' = [st EXCEPT ![r] = IF Raise /\ fence >= token[r] THEN "raise" ELSE "run"]
            /\ UNCHANGED <<counter, fence, version, token>>
RaiseCounter(r) == LET t == Max(counter, known[r]) + 1 IN
            /\ st[r] = "raise" /\ t <= MaxToken /\ counter' = t
            /\ token' = [token EXCEPT ![r] = t] /\ st' = [st EXCEPT ![r] = "run"]
            /\ UNCHANGED <<fence, version, base, known>>
Commit(r) == /\ st[r] = "run" /\ version < MaxVersion
             /\ IF version = base[r] /\ (Check => fence <= token[r])
                THEN /\ version' = version + 1 /\ fence' = token[r] /\ st' = [st EXCEPT ![r] = "idle"]
                ELSE /\ st' = [st EXCEPT ![r] = "probe"] /\ UNCHANGED <<version, fence>>
             /\ UNCHANGED <<counter, token, base, known>>
Stop(r) == /\ st[r] # "idle" /\ st' = [st EXCEPT ![r] = "idle"]
           /\ UNCHANGED <<counter, fence, version, token, base, known>>
Cold(r) == /\ st[r] = "idle" /\ known[r] # 0 /\ known' = [known EXCEPT ![r] = 0]
           /\ UNCHANGED <<counter, fence, version, st, token, base>>
Flush == /\ counter # 0 /\ counter' = 0 /\ UNCHANGED <<fence, version, st, token, base, known>>
Next == Flush \/ \E r \in Replicas : Grant(r) \/ Degrade(r) \/ Probe(r) \/ RaiseCounter(r)
                                     \/ Commit(r) \/ Stop(r) \/ Cold(r)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
FenceNeverBack == [][fence' >= fence]_vars
CommittedTokensGrow == [][version' # version => fence' > fence]_vars
StartsAboveRow == \A r \in Replicas : (st[r] = "run" /\ base[r] = version) =>
                     IF MayDegrade THEN token[r] >= fence ELSE token[r] > fence
=============================================================================
