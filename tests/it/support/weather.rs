//! How the connections of a proxy fare: slowly, not at all, or losing what they carry.

use std::time::Duration;

use tokio::sync::watch;

/// What becomes of the pieces of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// They pass.
    #[default]
    Pass,
    /// They are kept until the weather changes, and pass then.
    Hold,
    /// They vanish; the connection stays open.
    Swallow,
}

/// Which way a piece goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards the server.
    Up,
    /// Towards the client.
    Down,
}

/// Of all connections of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// Requests.
    pub up: Flow,
    /// Replies.
    pub down: Flow,
    /// Each piece is this late.
    pub latency: Duration,
}

impl Weather {
    /// Nothing happens.
    pub fn is_calm(&self) -> bool {
        *self == Self::default()
    }

    fn flow(&self, way: Way) -> Flow {
        match way {
            Way::Up => self.up,
            Way::Down => self.down,
        }
    }
}

/// Waits as long as a piece is held or late; `false` when it is to vanish.
pub async fn passes(weather: &mut watch::Receiver<Weather>, way: Way) -> bool {
    loop {
        let now = *weather.borrow_and_update();
        match now.flow(way) {
            Flow::Swallow => return false,
            Flow::Hold => {
                if weather.changed().await.is_err() {
                    return false;
                }
            }
            Flow::Pass => {
                tokio::time::sleep(now.latency).await;
                return true;
            }
        }
    }
}
