//! Traces of two replicas `a` and `b`, made by the protocol itself over the reference
//! store, in a time of their own; and ways to doctor them.

use std::path::Path;

use serde::Serialize;
use sqlfs::ids::{SandboxId, TenantId};
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::protocol::{Config, Effect, Event, Protocol, Rule};
use sqlfs::lease::table::{Table, TableRule};
use sqlfs::lease::trace::{Header, Step};
use sqlfs::lease::verbs::{Incarnation, Mode, Ms, Notice, Terms};

/// The lines of both files.
#[derive(Default)]
pub struct Made {
    pub a: Vec<String>,
    pub b: Vec<String>,
}

struct World {
    now: Ms,
    steps: u64,
    table: Table<LeaseKey>,
    key: LeaseKey,
    replicas: Vec<Protocol<LeaseKey>>,
    wake_ups_are_late: bool,
    made: Made,
}

const A: usize = 0;
const B: usize = 1;
const RENEW: Ms = 200;

fn config(mode: Mode) -> Config {
    Config { mode, lease: 1000, renew: RENEW, margin: 200, poll: 50, retry: 20 }
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON") + "\n"
}

impl World {
    fn new(mode: Mode) -> Self {
        let config = config(mode);
        let key =
            LeaseKey { tenant: TenantId("default".into()), sandbox: SandboxId(uuid::Uuid::from_u128(1)) };
        let table = Table::new(Terms { lease: config.lease, mark: 4 * config.poll });
        let mut world = Self {
            now: 0,
            steps: 0,
            table,
            key,
            replicas: vec![],
            wake_ups_are_late: false,
            made: Made::default(),
        };
        for name in [0xa, 0xb] {
            let incarnation = Incarnation(name);
            world.replicas.push(Protocol::new(config, incarnation));
            let header = line(&Header { config, incarnation, origin_ns: 0 });
            if name == 0xa { world.made.a.push(header) } else { world.made.b.push(header) }
        }
        world
    }

    /// A step, and the calls that come of it; each takes 1 ms.
    fn step(&mut self, at: usize, event: Event<LeaseKey>) {
        let effects = self.replicas[at].step(self.now, event.clone());
        self.steps += 1;
        let ns = self.now * 1_000_000 + self.steps;
        let text = line(&Step { at: self.now, ns, event, effects: effects.clone() });
        if at == A {
            self.made.a.push(text);
        } else {
            self.made.b.push(text);
        }
        for effect in effects {
            if let Effect::Send(seq, verb) = effect {
                self.now += 1;
                let mut wakes = Vec::new();
                let answer = self.table.call(self.now, &verb, &mut wakes);
                self.step(at, Event::Reply(seq, Ok(answer)));
                if self.wake_ups_are_late {
                    wakes.clear();
                }
                for (owner, notice) in wakes {
                    let Notice::Free(key) = notice else { continue };
                    self.step((owner.0 - 0xa) as usize, Event::Woken(key));
                }
            }
        }
    }

    fn acquire(&mut self, at: usize, ticket: u64) {
        self.step(at, Event::Acquire { ticket, key: self.key.clone(), floor: 0, degrade: false });
    }
}

/// Three times the lease goes over to the other one, who waits.
pub fn made(mode: Mode) -> Made {
    let mut world = World::new(mode);
    world.step(A, Event::Tick);
    world.step(B, Event::Tick);
    world.acquire(A, 0);
    world.step(A, Event::Check(0));
    world.acquire(B, 0);
    world.now += RENEW / 2;
    world.step(B, Event::Tick);
    world.now += RENEW / 2;
    world.step(A, Event::Tick);
    world.step(B, Event::Tick);
    world.step(A, Event::Check(0));
    world.step(A, Event::Release(0));
    world.step(B, Event::Check(0));
    world.acquire(A, 1);
    world.step(B, Event::Release(0));
    world.step(A, Event::Check(1));
    world.acquire(B, 1);
    world.step(A, Event::Release(1));
    world.step(B, Event::Check(1));
    world.step(B, Event::Check(1));
    world.step(B, Event::Release(1));
    world.step(A, Event::Tick);
    world.made
}

/// A ticket that asks for permission after its deadline.
pub fn late_check(without: Option<Rule>) -> Made {
    let mut world = World::new(Mode::Lease);
    if let Some(rule) = without {
        world.replicas[A] = world.replicas[A].clone().without(rule);
    }
    world.acquire(A, 0);
    world.now += 900;
    world.step(A, Event::Check(0));
    world.made
}

impl Made {
    /// Writes `a.jsonl` and `b.jsonl`.
    pub fn write(&self, folder: &Path) {
        std::fs::write(folder.join("a.jsonl"), self.a.concat()).expect("written");
        std::fs::write(folder.join("b.jsonl"), self.b.concat()).expect("written");
    }

    /// Index of the first step with this text.
    fn find(lines: &[String], text: &str) -> usize {
        let found = lines.iter().skip(1).position(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("no line has {text}: {lines:?}")) + 1
    }

    /// In the first step with `text`: `to` in place of `from`. The number of its line.
    pub fn edit_a(&mut self, text: &str, from: &str, to: &str) -> usize {
        let at = Self::find(&self.a, text);
        assert!(self.a[at].contains(from), "{from} is not in {}", self.a[at]);
        self.a[at] = self.a[at].replacen(from, to, 1);
        at + 1
    }

    /// The step stands there twice.
    pub fn repeat_a(&mut self, text: &str) -> usize {
        let at = Self::find(&self.a, text);
        self.a.insert(at, self.a[at].clone());
        at + 2
    }

    /// The step stands after the next one.
    pub fn swap_a(&mut self, text: &str) -> usize {
        let at = Self::find(&self.a, text);
        self.a.swap(at, at + 1);
        at + 2
    }

    pub fn truncate_a(&mut self, text: &str) -> usize {
        let at = Self::find(&self.a, text);
        let half = self.a[at].len() / 2;
        self.a[at].replace_range(half.., "\n");
        at + 1
    }

    /// The number is that of the line that follows.
    pub fn remove_a(&mut self, text: &str) -> usize {
        let at = Self::find(&self.a, text);
        self.a.remove(at);
        at + 1
    }

    fn change(line: &mut String, change: impl FnOnce(&mut Step)) {
        let mut step: Step = serde_json::from_str(line).expect("a step");
        change(&mut step);
        *line = self::line(&step);
    }

    fn ns(line: &str) -> u64 {
        serde_json::from_str::<Step>(line).expect("a step").ns
    }

    /// The step comes so much later.
    pub fn delay_a(&mut self, text: &str, ms: Ms) -> usize {
        let at = Self::find(&self.a, text);
        Self::change(&mut self.a[at], |step| step.at += ms);
        at + 1
    }

    /// The first ticket asks once more after its release, and is permitted.
    pub fn late_permission_a(&mut self) -> usize {
        let mut line = self.a.last().expect("a step").clone();
        Self::change(&mut line, |step| {
            (step.event, step.effects) = (Event::Check(0), vec![Effect::Permitted(0)]);
        });
        self.a.push(line);
        self.a.len()
    }

    /// The first holder gives the lease back only after the next one was permitted.
    pub fn overlap(&mut self) -> usize {
        let permitted = Self::ns(&self.b[Self::find(&self.b, "Permitted")]);
        let at = Self::find(&self.a, r#""event":{"Release""#);
        Self::change(&mut self.a[at], |step| step.ns = permitted + 1);
        at + 1
    }

    /// The second grant has the token of the first.
    pub fn same_token(&mut self) -> usize {
        let at = Self::find(&self.b, "Granted");
        self.b[at] = self.b[at].replace(r#""fence":2"#, r#""fence":1"#).replace("[0,2]", "[0,1]");
        at + 1
    }

    /// As of a store that grants to whoever asks: `a` twice, while `b` waits.
    pub fn overtaking(&mut self) -> usize {
        let mut world = World::new(Mode::Lease);
        world.table = world.table.without(TableRule::LongestWaiterFirst);
        world.wake_ups_are_late = true;
        world.acquire(A, 0);
        world.acquire(B, 0);
        for ticket in [1, 2] {
            world.step(A, Event::Release(ticket - 1));
            world.acquire(A, ticket);
        }
        *self = world.made;
        Self::find(&self.a, r#""Granted":[2"#) + 1
    }
}
