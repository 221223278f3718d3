//! The commands, one file each: its arguments, its work, its output.

pub(crate) mod backup;
pub(crate) mod check;
#[cfg(feature = "postgres")]
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod console;
#[cfg(feature = "postgres")]
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod deploy;
pub(crate) mod diff;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod infer;
pub(crate) mod key;
pub(crate) mod load;
pub(crate) mod lsp;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod query;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod rule;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod synth;
pub(crate) mod try_design;
pub(crate) mod verify;

use std::process::ExitCode;

use crate::args::Command;
use crate::output::{Failure, Output};

/// Runs a command.
pub(crate) fn run(command: Command, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        Command::Key(key) => key.run(output),
        Command::Check(check) => check.run(output),
        #[cfg(feature = "postgres")]
        Command::Cluster(cluster) => cluster.run(output),
        Command::Explain(explain) => explain.run(output),
        Command::Lsp(lsp) => lsp.run(output),
        Command::Mcp(mcp) => mcp.run(output),
        Command::Query(query) => query.run(output),
        Command::Rule(rule) => rule.run(output),
        Command::Try(try_design) => try_design.run(output),
        Command::Simulate(simulate) => simulate.run(output),
        Command::New(new) => new.run(output),
        Command::Synth(synth) => synth.run(output),
        Command::Deploy(deploy) => deploy.run(output),
        Command::Diff(diff) => diff.run(output),
        Command::Migrate(migrate) => migrate.run(output),
        Command::Load(load) => load.run(output),
        Command::Dump(dump) => dump.run(output),
        Command::Infer(infer) => infer.run(output),
        Command::ImportModel(model) => model.run(output),
        Command::ExportModel(model) => model.run(output),
        Command::Docs(docs) => docs.run(output),
        Command::Schema(schema) => schema.run(output),
        Command::Demo(demo) => demo.run(output),
        Command::Generate(generate) => generate.run(output),
        Command::Doctor(doctor) => doctor.run(output),
        Command::Serve(serve) => serve.run(output),
        Command::Console(console) => console.run(output),
        Command::Verify(verify) => verify.run(output),
        Command::Backup(backup) => backup.run(output),
        Command::Restore(restore) => restore.run(output),
        Command::Repair(repair) => repair.run(output),
        #[cfg(feature = "postgres")]
        Command::Copy(copy) => copy.run(output),
        Command::Completions(completions) => completions.run(output),
        Command::Man(man) => man.run(output),
    }
}
