//! How each server is started, as its user would.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::contender::Contender;
use crate::process::{Server, free_address};

/// Where data is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage<'p> {
    Memory,
    /// In this directory, which exists.
    Disk(&'p Path),
}

/// The programs that were found.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    keyloom: PathBuf,
    peers: PathBuf,
    scratch: PathBuf,
}

/// What every server can be asked first.
const FIRST_QUESTION: (&str, &str) = ("ListTables", "{}");

impl Programs {
    pub(crate) fn new(keyloom: PathBuf, peers: PathBuf, scratch: PathBuf) -> Self {
        Self { keyloom, peers, scratch }
    }

    /// The file that must be there for a contender to run.
    fn program(&self, contender: Contender) -> Option<PathBuf> {
        match contender {
            Contender::Keyloom | Contender::KeyloomRelaxed => Some(self.keyloom.clone()),
            Contender::Dynoxide => Some(self.peers.join("dynoxide/bin/dynoxide")),
            Contender::Dynalite => Some(self.peers.join("dynalite/node_modules/dynalite/cli.js")),
            Contender::Moto => Some(self.peers.join("moto/bin/moto_server")),
            Contender::Echo => std::env::current_exe().ok(),
            _ => None,
        }
    }

    /// Those of the contenders that are installed.
    pub(crate) fn installed(&self, wanted: &[Contender]) -> Vec<Contender> {
        let is_there =
            |contender: &Contender| self.program(*contender).is_some_and(|path| path.exists());
        wanted.iter().copied().filter(is_there).collect()
    }

    /// Starts a server that answers.
    pub(crate) fn start(&self, contender: Contender, storage: Storage<'_>) -> Result<Server> {
        self.start_until(contender, storage, FIRST_QUESTION)
    }

    /// Starts a server and waits until it has answered this question.
    pub(crate) fn start_until(
        &self,
        contender: Contender,
        storage: Storage<'_>,
        question: (&str, &str),
    ) -> Result<Server> {
        let address = free_address()?;
        let command = self.command(contender, storage, address)?;
        let log = self.scratch.join(format!("{contender:?}-{}.log", address.port()));
        Server::start(contender, command, address, &log, question)
    }

    /// The command that starts a server.
    pub(crate) fn command(
        &self,
        contender: Contender,
        storage: Storage<'_>,
        address: SocketAddr,
    ) -> Result<Command> {
        let program = self.program(contender);
        let program = program.with_context(|| format!("{contender:?} is no server"))?;
        let port = address.port().to_string();
        let mut command = match contender {
            Contender::Dynalite => Command::new("node"),
            _ => Command::new(&program),
        };
        match contender {
            Contender::Keyloom | Contender::KeyloomRelaxed => {
                command.args(["serve", "--port", &port]);
                match storage {
                    Storage::Memory => command.arg("--memory"),
                    Storage::Disk(path) => command.arg("--data").arg(path.join("keyloom")),
                };
                if contender == Contender::KeyloomRelaxed {
                    command.arg("--relaxed");
                }
            }
            Contender::Dynoxide => {
                command.args(["--port", &port]);
                if let Storage::Disk(path) = storage {
                    command.arg("--db-path").arg(path.join("dynoxide.db"));
                }
            }
            Contender::Dynalite => {
                command.arg(&program).args(["--host", "127.0.0.1", "--port", &port]);
                command.args(["--createTableMs", "0"]);
                if let Storage::Disk(path) = storage {
                    command.arg("--path").arg(path.join("dynalite"));
                }
            }
            Contender::Moto => {
                command.args(["-H", "127.0.0.1", "-p", &port]);
            }
            _ => {
                command.args(["echo", "--port", &port]);
            }
        }
        Ok(command)
    }
}
