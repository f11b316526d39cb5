------------------------------- MODULE BlobGc -------------------------------
(* One content. Writers store it (early flush, or with the commit) and then refer to it;  *)
(* garbage collection judges it unreferenced, and deletes it later.                       *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Writers,
  ForeignKey,  \* inodes refer to blobs
  Grace,       \* the delete looks again at last_referenced_at
  Resend       \* a writer that the foreign key refused stores the content again
VARIABLES
  blob,        \* the row is there
  young,       \* last referenced within the grace period
  refs,        \* committed inodes that name it
  w,           \* writer: new, stored, done, refused
  gc           \* idle, doomed
vars == <<blob, young, refs, w, gc>>
Init == blob = FALSE /\ young = FALSE /\ refs = 0 /\ w = [x \in Writers |-> "new"] /\ gc = "idle"
(* Upsert. It may rest on a row that the collector has judged already. *)
Store(x) == /\ w[x] = "new" \/ (Resend /\ w[x] = "refused")
            /\ w' = [w EXCEPT ![x] = "stored"] /\ blob' = TRUE /\ young' = TRUE /\ UNCHANGED <<refs, gc>>
Commit(x) == /\ w[x] = "stored"
             /\ IF ForeignKey /\ ~blob
                THEN w' = [w EXCEPT ![x] = "refused"] /\ UNCHANGED refs
                ELSE w' = [w EXCEPT ![x] = "done"] /\ refs' = refs + 1
             /\ UNCHANGED <<blob, young, gc>>
(* The file is overwritten and its history pruned. *)
Drop(x) == /\ w[x] = "done" /\ refs > 0 /\ refs' = refs - 1 /\ w' = [w EXCEPT ![x] = "new"] /\ UNCHANGED <<blob, young, gc>>
Age == young /\ young' = FALSE /\ UNCHANGED <<blob, refs, w, gc>>
Judge == /\ gc = "idle" /\ blob /\ refs = 0 /\ ~young /\ gc' = "doomed" /\ UNCHANGED <<blob, young, refs, w>>
Collect == /\ gc = "doomed" /\ gc' = "idle"
           /\ blob' = (IF (ForeignKey /\ refs > 0) \/ (Grace /\ young) THEN blob ELSE FALSE)
           /\ UNCHANGED <<young, refs, w>>
Next == Age \/ Judge \/ Collect \/ \E x \in Writers : Store(x) \/ Commit(x) \/ Drop(x)
Spec == /\ Init /\ [][Next]_vars
        /\ \A x \in Writers : WF_vars(Store(x)) /\ WF_vars(Commit(x))
(* A script slower than the grace period may meet the collector, but not for ever. *)
SpecOften == Spec /\ \A x \in Writers : SF_vars(blob /\ Commit(x))
-----------------------------------------------------------------------------
NoDangling == refs > 0 => blob
Commits == \A x \in Writers : (w[x] = "stored") ~> (w[x] = "done")
=============================================================================
