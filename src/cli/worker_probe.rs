//! `sqlfs worker-probe`: one try to get out of a worker's guards. Test builds alone have it.

use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;

use super::CliError;
use crate::exec::process::probe::{self, Guards, Scene, Targets};

/// What to try, against whom.
#[derive(Debug, Args)]
pub struct WorkerProbeArgs {
    /// A probe's name; `list`, `hold`, or something that a closed process can do
    name: String,
    /// Without the guards
    #[arg(long, conflicts_with_all = ["layers", "python"])]
    open: bool,
    /// With the guards of a kernel that filters no system calls
    #[arg(long)]
    layers: bool,
    /// With the guards of a worker that runs Python
    #[arg(long, conflicts_with = "layers")]
    python: bool,
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    #[arg(long, default_value_t = 0)]
    sibling: i32,
    #[arg(long, default_value_t = 0)]
    tcp: u16,
    #[arg(long, default_value_t = 0)]
    udp: u16,
    #[arg(long, default_value = ".")]
    unix: PathBuf,
    #[arg(long, default_value = "")]
    abstract_name: String,
}

/// The process could not be made ready for its probe.
const NOT_READY: u8 = 3;

/// Runs a probe. Prints `reached` (exit code 0) or `refused: ERRNO` (exit code 1).
pub fn run(args: WorkerProbeArgs) -> Result<u8, CliError> {
    let guards = match (args.open, args.layers, args.python) {
        (true, ..) => Guards::Open,
        (_, true, _) => Guards::Layers,
        (.., true) => Guards::ClosedWithPython,
        _ => Guards::Closed,
    };
    let close = || probe::close(guards).map_err(|error| CliError::Failed(error, NOT_READY));
    match args.name.as_str() {
        "list" => {
            for probe in probe::all() {
                println!("{} {}", probe.name, probe.layered);
            }
            return Ok(0);
        }
        // Says what holds, and waits for the end of its input.
        "hold" => {
            let open = probe::close_inherited().map_err(|error| CliError::Failed(error, NOT_READY))?;
            println!("{open} descriptors, {}", close()?);
            std::io::stdin().read_to_end(&mut Vec::new())?;
            return Ok(0);
        }
        name => {
            if let Some((_, live)) = probe::lives().iter().find(|(life, _)| *life == name) {
                close()?;
                live();
                println!("lived");
                return Ok(0);
            }
        }
    }
    let Some(probe) = probe::all().find(|probe| probe.name == args.name) else {
        return Err(CliError::Failed(format!("no probe {}", args.name), NOT_READY));
    };
    let targets = Targets {
        folder: args.folder,
        sibling: args.sibling,
        tcp: args.tcp,
        udp: args.udp,
        unix: args.unix,
        abstract_name: args.abstract_name,
    };
    let ready = Scene::set(targets).map_err(|error| CliError::Failed(error.to_string(), NOT_READY));
    let scene = ready?;
    close()?;
    match probe.run(&scene) {
        Ok(()) => {
            println!("reached");
            Ok(0)
        }
        Err(error) => {
            println!("refused: {}", error.raw_os_error().unwrap_or(-1));
            Ok(1)
        }
    }
}
