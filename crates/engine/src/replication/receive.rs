//! Applies the messages of other regions.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::error::request;
use keyloom_core::{Error, Result};

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Change, Table, TableRecord};
use crate::database::Inner;
use crate::identity;
use crate::ops::tables::{delete_table, stream_setting};
use crate::resource;
use crate::stream::NUMBERS_PER_MS;
use crate::write::{self, OneOrMore, Origin, Write};

use super::link::{POSITIONS, Position, position_name};
use super::message::{
    self, APPLY, ApplyMessage, MEMBERS, MembersAnswer, MembersMessage, PROBE, READY, ReadyMessage,
    SETTINGS, SentWrite,
};
use super::{Members, Replication, departure, latest, lineage, merge, probe, returned, settings};

/// The view type that the stream of a global table must have.
pub(crate) const VIEW: &str = "NEW_AND_OLD_IMAGES";

/// How far the clock of another region may be ahead. A version from the far future could never be overwritten.
const MAX_AHEAD_MS: u64 = 15 * 60 * 1000;

/// Answers a message of another region.
pub(crate) fn call(database: &Inner, name: &str, body: &[u8]) -> Result<Vec<u8>> {
    if database.options.peers.is_none() {
        return Err(request::unknown_operation());
    }
    match name {
        MEMBERS => members(database, &message::decode(body)?),
        APPLY => apply(database, ApplyMessage::decode(body)?),
        READY => ready(database, &message::decode(body)?),
        PROBE => probe::answer(database, &message::decode(body)?),
        SETTINGS => settings::receive(database, &message::decode(body)?),
        _ => Err(request::unknown_operation()),
    }
}

/// The table of a group.
pub(super) fn table_of(database: &Inner, name: &str, group: &str) -> Option<Arc<Table>> {
    let belongs =
        |table: &Arc<Table>| table.record.replication.as_ref().is_some_and(|it| it.group == group);
    database.catalog.find(name).filter(belongs)
}

pub(super) fn not_here(database: &Inner, table: &str) -> Error {
    Error::ResourceNotFound(format!(
        "{} has no replica of this global table: {table}",
        database.options.region
    ))
}

/// Merges another region's list of regions, and creates or removes the table accordingly.
fn members(database: &Inner, message: &MembersMessage) -> Result<Vec<u8>> {
    check_clock(database, latest(&message.members))?;
    database.streams.advance_past(latest(&message.members));
    let own = &database.options.region;
    if table_of(database, &message.table, &message.group).is_some() {
        let known = merge_members(database, &message.table, &message.group, &message.members)?;
        return members_answer(database, message, known.unwrap_or_default());
    }
    let mut known = message.members.clone();
    if let Some(left) = departure::left(database, &message.group)? {
        merge(&mut known, &left);
    }
    let settings = message.settings.clone();
    let replication = Replication { group: message.group.clone(), members: known, settings };
    if let Some(definition) = message.definition.as_ref().filter(|_| replication.has(own)) {
        create(database, definition, &replication)?;
    }
    members_answer(database, message, replication.members)
}

fn members_answer(database: &Inner, message: &MembersMessage, members: Members) -> Result<Vec<u8>> {
    let table = table_of(database, &message.table, &message.group);
    let table_id = table.map(|table| table.record.id.clone());
    message::encode(&MembersAnswer { members, table_id })
}

/// Merges lists of the regions of a table; returns the merged list, unless the table was deleted.
pub(super) fn merge_members(
    database: &Inner,
    name: &str,
    group: &str,
    theirs: &Members,
) -> Result<Option<Members>> {
    let change = database.change()?;
    let Some(table) = table_of(database, name, group) else { return Ok(None) };
    let mut record = table.record.clone();
    let Some(replication) = &mut record.replication else { return Ok(None) };
    if !merge(&mut replication.members, theirs) {
        return Ok(Some(replication.members.clone()));
    }
    let known = replication.clone();
    if known.has(&database.options.region) {
        change.put(record, Alongside::default())?;
    } else {
        if record.deletion_protection {
            return Err(request::deletion_protected());
        }
        delete_table::remove(database, &change, &table)?;
    }
    Ok(Some(known.members))
}

/// Creates the table of a group; it is filled, and then ready, by messages of the other regions.
fn create(database: &Inner, definition: &TableRecord, replication: &Replication) -> Result<()> {
    let own = &database.options.region;
    let known = database.options.peers.as_ref().map(|peers| peers.regions()).unwrap_or_default();
    if let Some(stranger) = replication.others(own).find(|it| !known.iter().any(|k| k == it)) {
        return Err(Error::validation(format!(
            "{own} cannot send to {stranger}: start its server with --replica {stranger}=URL"
        )));
    }
    let change = database.change()?;
    if database.catalog.find(&definition.name).is_some() {
        return Err(request::table_exists(&definition.name));
    }
    let record = record(database, &change, definition, replication)?;
    let stream = stream_setting::begun(database, &record);
    let mut resources = Vec::new();
    if let Some(stream) = &stream {
        let start = stream.shards.first().map_or(0, |shard| shard.start);
        let position = Position::of_new(replication, stream.keyspace, start);
        for region in replication.others(own) {
            let name = position_name(&record.name, region);
            resources.push(resource::encode(POSITIONS, &name, &position)?);
        }
    }
    let streams = stream.into_iter().collect();
    change.put(record, Alongside { streams, resources, ..Alongside::default() })?;
    Ok(())
}

/// The record of a table that another region has defined.
fn record(
    database: &Inner,
    change: &Change<'_>,
    definition: &TableRecord,
    replication: &Replication,
) -> Result<TableRecord> {
    let mut record = definition.clone();
    record.id = identity::uuid();
    record.created_ms = database.clock.now_ms();
    record.status = Status::Creating;
    let first = change.allocate_keyspaces(record.keyspaces() + 1)?;
    record.move_to(first);
    let stream = first + record.keyspaces();
    record.stream = Some(stream_setting::begin(database, &record.name, stream, VIEW)?);
    record.replication = Some(replication.clone());
    Ok(record)
}

/// Lets requests use a table whose items have arrived.
fn ready(database: &Inner, message: &ReadyMessage) -> Result<Vec<u8>> {
    let change = database.change()?;
    let table = table_of(database, &message.table, &message.group)
        .ok_or_else(|| not_here(database, &message.table))?;
    if table.record.status == Status::Creating {
        let record = TableRecord { status: Status::Active, ..table.record.clone() };
        change.put(record, Alongside::default())?;
    }
    Ok(b"{}".to_vec())
}

/// Applies writes of another region.
fn apply(database: &Inner, message: ApplyMessage) -> Result<Vec<u8>> {
    let table = table_of(database, &message.table, &message.group)
        .ok_or_else(|| not_here(database, &message.table))?;
    let is_member = table.record.replication.as_ref().is_some_and(|it| it.has(&message.from));
    if !is_member {
        return Err(Error::validation(format!(
            "{} is not a replica of {}",
            message.from, message.table
        )));
    }
    let last = message.writes.iter().map(|write| write.version.at).max().unwrap_or_default();
    check_clock(database, last)?;
    // The records of these writes, and all later writes of this region, are after them.
    database.streams.advance_past(last);
    let mut newest: BTreeMap<Vec<u8>, Write> = BTreeMap::new();
    for write in message.writes {
        let write = planned(&table, write)?;
        let is_older = newest.get(&write.store_key).is_some_and(|it| it.arrived >= write.arrived);
        if !is_older {
            newest.insert(write.store_key.clone(), write);
        }
    }
    // Before its writes: whoever has them knows how far their region has come.
    lineage::hear(database, &message.table, &message.group, &message.from, message.progress)?;
    let owing = returned::note(database, &table, &message.from, &newest)?;
    if let Some(writes) = OneOrMore::of(newest.into_values()) {
        for outcome in write::several(database, writes)? {
            outcome?;
        }
    }
    drop(owing);
    message::encode(&lineage::progress(database, &table, &message.group)?)
}

fn planned(table: &Arc<Table>, write: SentWrite) -> Result<Write> {
    let SentWrite { key, item, version } = write;
    let planned = if let Some(item) = item {
        // Not the keys of indexes: the other region need not have the same ones.
        table.schema.check_key(&table.schema.key_of(&item)?)?;
        Write::put(Arc::clone(table), item, None)?
    } else {
        table.schema.check_key(&key)?;
        Write::delete(Arc::clone(table), key, None)?
    };
    Ok(Write { arrived: Some(version), ..planned.by(Origin::Replica) })
}

pub(super) fn check_clock(database: &Inner, number: u64) -> Result<()> {
    let now_ms = database.clock.now_ms();
    let ahead_ms = (number / NUMBERS_PER_MS).saturating_sub(now_ms);
    if ahead_ms <= MAX_AHEAD_MS {
        return Ok(());
    }
    Err(Error::validation(format!(
        "The write is {} minutes in the future of {}: set the clocks of both servers right",
        ahead_ms / 60_000,
        database.options.region
    )))
}
