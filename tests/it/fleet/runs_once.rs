//! Under leases that nobody disturbs no script runs twice. The compare-and-set would hide
//! it from the files: a proxy counts the commits that are sent.

use std::time::Duration;

use super::record::check;
use super::rig::{CALM, Fleet, MODES, bounded};
use super::workload::{WRITES, World};
use crate::support::eventually;
use crate::support::random::{Random, seed};
use crate::support::redis::shared_url;

const LONG: Duration = Duration::from_mins(2);

#[tokio::test]
async fn each_write_sends_one_commit() {
    let mut random = Random(seed());
    for mode in MODES {
        let fleet = Fleet::start_proxied(2, &shared_url(), CALM, &[mode]).await;
        let world = World::new(fleet.apis(), 1, &[]).await;
        for replica in [0, 1] {
            fleet.store_proxy(replica).count(WRITES.as_bytes());
        }
        let mut clients = tokio::task::JoinSet::new();
        for client in 0..6 {
            clients.spawn(world.clone().client(0, client % 2, random.fork(), 5));
        }
        let enough = bounded(150) as u64;
        eventually("enough is written", LONG, || async { (world.acknowledged()[0] >= enough).then_some(()) })
            .await;
        world.stop();
        while let Some(ended) = clients.join_next().await {
            ended.expect("a client");
        }
        let (ops, truth) = world.truth(0, fleet.database()).await;
        let tally = check(&ops, &truth).unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        assert_eq!((tally.refused, tally.unanswered), (0, 0), "{mode:?}: {tally:?}");
        let sent: Vec<u64> = (0..2).map(|replica| fleet.store_proxy(replica).counted()).collect();
        assert!(sent.iter().all(|sent| *sent > 0), "{mode:?}: only one replica wrote: {sent:?}");
        assert_eq!(sent.iter().sum::<u64>(), tally.writes as u64, "{mode:?}: {sent:?} commits sent");
    }
}
