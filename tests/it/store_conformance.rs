//! What every store must do, run against SQLite and Postgres, and against the store in
//! memory that the simulation uses, as far as that goes. After each case the tables
//! themselves are audited: an API that answers well over rotten rows is no store.

mod audit;
mod commits;
mod contents;
mod maintenance;
mod operators;
mod races;
mod replies;
mod rig;
mod rig_memory;
mod sandboxes;

use rig::Rig;

/// Each case as a test on a store.
macro_rules! on {
    ($name:ident: $rig:expr; $($module:ident: $($case:ident),+ $(,)?;)+) => {
        mod $name {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let rig = $rig;
                    super::$module::$case(&rig).await;
                    rig.end().await;
                }
            )+)+
        }
    };
}

/// `everywhere`: also on the store in memory, which neither ages nor collects.
macro_rules! cases {
    (everywhere { $($all:tt)+ } databases { $($some:tt)+ }) => {
        on! { on_memory: super::Rig::memory(); $($all)+ }
        on! { on_sqlite: super::Rig::sqlite().await; $($all)+ $($some)+ }
        on! { on_postgres: super::Rig::postgres().await; $($all)+ $($some)+ }
    };
}

cases! {
    everywhere {
        sandboxes:
            a_created_sandbox_is_there_as_asked_for,
            listing_pages_from_newest_to_oldest,
            patch_changes_name_uniqueness_and_environment,
            a_unique_name_has_one_holder_in_a_race,
            a_unique_name_is_free_after_deletion_and_release,
            deletion_is_final_and_the_owners_alone,
            the_working_directory_is_kept_beside_the_version,
            touch_moves_time_forward_only;
        commits:
            a_commit_is_stored_and_told_as_a_delta,
            every_kind_of_change_reloads_equal,
            a_stale_head_changes_nothing,
            a_lower_fence_loses_and_the_fence_never_goes_back,
            a_deleted_or_unknown_sandbox_is_gone,
            a_change_set_that_does_not_fit_changes_nothing,
            an_applied_commit_is_found_by_its_exec_id,
            a_commit_that_was_given_up_on_loses_when_it_comes_late,
            a_creation_that_was_given_up_on_loses_when_it_comes_late,
            a_delta_is_only_told_in_the_history_it_was_asked_in,
            a_large_change_set_is_stored_as_a_small_one;
        contents:
            flushed_contents_are_read_back_whole_and_in_ranges,
            a_commit_that_names_an_absent_content_changes_nothing,
            large_contents_are_flushed_before_the_commit;
        races:
            of_writers_that_saw_the_same_head_one_wins,
            writers_of_the_same_contents_in_opposite_order_all_commit,
            a_load_is_of_one_version_while_writers_run;
        operators:
            all_owners_are_listed_in_pages,
            a_revocation_is_kept_with_its_latest_moment,
            usage_counts_what_lives;
        replies:
            a_reply_is_kept_with_its_commit_or_not_at_all,
            a_reply_without_a_version_is_kept_with_the_directory,
            old_replies_are_forgotten;
    }
    databases {
        contents:
            a_commit_may_name_flushed_contents;
        races:
            garbage_collection_never_takes_a_named_content;
        maintenance:
            history_is_pruned_by_number_of_versions,
            history_is_pruned_by_age_but_never_what_is_young,
            history_is_pruned_by_the_bytes_it_alone_holds,
            pruning_visits_every_sandbox_and_then_rests,
            old_log_rows_go_but_those_that_history_needs,
            deleted_sandboxes_are_purged_to_a_tombstone,
            unnamed_contents_are_collected_after_their_grace;
    }
}
