//! A link replicates one table to one other region: copy, then follow the stream, step by step.

use std::ops::Bound;
use std::sync::Arc;

use keyloom_core::image::ImageRef;
use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};
use serde::{Deserialize, Serialize};

use crate::catalog::record::Status;
use crate::catalog::{Table, TableRecord};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::stream::Record;
use crate::{resource, store_error};

use super::changes::Read;
use super::message::{
    self, APPLY, ApplyMessage, MEMBERS, MembersAnswer, MembersMessage, ProbeAnswer, READY,
    ReadyMessage, SETTINGS, SentWrite, SettingsAnswer, SettingsMessage,
};
use super::notes::{LinkError, Trouble};
use super::version::{StoredVersion, Version};
use super::{
    Members, PeerError, Peers, REPLICATION_TARGET, Replication, changes, lineage, receive, returned,
};

/// The kind of the resources that say how far links have come.
pub(crate) const POSITIONS: &str = "replica-position";

/// Items of one message while a table is copied, and their bytes.
const COPIED_AT_ONCE: usize = 250;
const COPIED_BYTES_AT_ONCE: usize = 2 << 20;

/// How much time may pass before a position in an idle stream is stored again. Must be far less than records are kept.
const STORED_EVERY_MS: u64 = 10 * 60 * 1000;

/// How far a link has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Of which global table, and of which stream.
    pub(super) group: String,
    pub(super) stream: Keyspace,
    /// What the other region has been told of the regions.
    pub(super) told: Members,
    pub(super) phase: Phase,
    /// Which table the other region has: another `TableId` is another table, without what was sent before.
    #[serde(default)]
    pub(super) table_id: Option<String>,
    /// When the other region was found without what it had; none if it never was.
    #[serde(default)]
    lost_ms: Option<u64>,
    /// Which settings the other region has been told.
    #[serde(default)]
    pub(super) settings: Option<Version>,
    stored_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// The table is being copied; the stream was like this when that began.
    Copying { part: Part, after: Option<Vec<u8>>, read: Read },
    /// The stream is followed from here.
    Following { read: Read },
}

/// What is being copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Part {
    Items,
    /// Of removed items: the other side may still have them if it was away for long.
    Tombstones,
}

impl Position {
    /// Nothing has been sent.
    fn new(database: &Inner, group: &str, stream: Keyspace) -> Result<Self> {
        let read = Read::until_now(database, stream)?;
        let phase = Phase::Copying { part: Part::Items, after: None, read };
        Ok(Self {
            group: group.to_owned(),
            stream,
            told: Members::new(),
            phase,
            table_id: None,
            lost_ms: None,
            settings: None,
            stored_ms: 0,
        })
    }

    /// Nothing has been sent to the table that the other region has now, in place of the one it had.
    fn after_loss(database: &Inner, group: &str, stream: Keyspace) -> Result<Self> {
        let lost_ms = Some(database.clock.now_ms());
        Ok(Self { lost_ms, ..Self::new(database, group, stream)? })
    }

    /// Of a table that was created for its group: the others have all that it has.
    pub(super) fn of_new(replication: &Replication, stream: Keyspace, next: u64) -> Self {
        Self {
            group: replication.group.clone(),
            stream,
            told: replication.members.clone(),
            phase: Phase::Following { read: Read::before(next) },
            table_id: None,
            lost_ms: None,
            settings: replication.settings.clone(),
            stored_ms: 0,
        }
    }
}

/// The name of a link's position.
pub(super) fn position_name(table: &str, region: &str) -> String {
    format!("{table}/{region}")
}

/// How far a link has come; none if nothing was sent.
pub(super) fn position(database: &Inner, record: &TableRecord, region: &str) -> Option<Position> {
    let replication = record.replication.as_ref()?;
    let stream = record.stream.as_ref()?.keyspace;
    let name = position_name(&record.name, region);
    let stored: Position = resource::get(database, POSITIONS, &name).ok()??;
    (stored.group == replication.group && stored.stream == stream).then_some(stored)
}

/// Forgets how far the links of a table have come.
pub(crate) fn forget(database: &Inner, table: &str, replication: &Replication) -> Result<()> {
    for region in replication.members.keys() {
        resource::delete(database, POSITIONS, &position_name(table, region))?;
        returned::forget(database, table, region)?;
    }
    lineage::forget(database, table, replication.members.keys().map(String::as_str))
}

/// A table's way to one other region.
pub(super) struct Link<'a> {
    pub(super) database: &'a Inner,
    pub(super) peers: &'a dyn Peers,
    pub(super) table: Arc<Table>,
    pub(super) region: &'a str,
}

impl Link<'_> {
    /// Sends the next message, if there is anything to tell; whether there may be more at once.
    pub(super) fn step(&self) -> Result<bool, LinkError> {
        let record = &self.table.record;
        let Some(replication) = &record.replication else { return Ok(false) };
        let stream = record.stream.as_ref().filter(|stream| stream.enabled);
        let lost =
            || Error::InternalServer("the table's stream is lost; replace the replica".into());
        let stream = stream.ok_or_else(lost)?;
        let is_present = replication.has(self.region);
        // A region that left and came back begins anew.
        let is_current = |position: &Position| {
            !is_present || position.told.get(self.region).is_none_or(|told| told.present)
        };
        let known = position(self.database, record, self.region).filter(is_current);
        let anew = || Position::new(self.database, &replication.group, stream.keyspace);
        let mut position = known.map_or_else(anew, Ok)?;
        if !is_present && position.told.get(self.region).is_some_and(|told| !told.present) {
            return Ok(false);
        }
        if position.told != replication.members {
            self.tell_members(replication, &mut position)?;
            return Ok(true);
        }
        if !is_present {
            return Ok(false);
        }
        let again = || self.store(Position { phase: anew()?.phase, ..position.clone() });
        let is_following = matches!(position.phase, Phase::Following { .. });
        if is_following && returned::repay(self.database, record, self.region, again)? {
            return Ok(true);
        }
        if position.settings < replication.settings && self.tell_settings(&mut position)? {
            return Ok(true);
        }
        let sent = match position.phase.clone() {
            // A replica that is still being filled itself has no complete copy to send.
            Phase::Copying { .. } if record.status == Status::Creating => Ok(false),
            Phase::Copying { part, after, read } => self.copy(&mut position, part, after, read),
            Phase::Following { read } => self.follow(&mut position, &read),
        };
        if let Err(LinkError::Peer(PeerError::Refused(Error::ResourceNotFound(_)))) = &sent {
            self.begin_anew(&replication.group, stream.keyspace)?;
        }
        sent
    }

    /// The other side has lost the table, or writes: it is told of it, and gets it, again.
    fn begin_anew(&self, group: &str, stream: Keyspace) -> Result<()> {
        self.store(Position::after_loss(self.database, group, stream)?)
    }

    /// Compares the table that the other region has with the one that it had; `before` is what it had reported when it
    /// was asked, `takes` what [`returned::takes`] said then.
    pub(super) fn check(
        &self,
        before: Option<lineage::Heard>,
        takes: u64,
        answer: Option<ProbeAnswer>,
    ) -> Result<()> {
        let (database, record) = (self.database, &self.table.record);
        let Some(mut position) = position(database, record, self.region) else {
            return Ok(());
        };
        let theirs = answer.as_ref().map(|answer| answer.table_id.as_str());
        let is_other = position.table_id.as_deref().is_some_and(|known| Some(known) != theirs);
        let (name, group) = (&record.name, position.group.clone());
        if is_other {
            self.begin_anew(&group, position.stream)?;
        } else if position.table_id.is_none() && theirs.is_some() {
            position.table_id = theirs.map(str::to_owned);
            self.store(position.clone())?;
        }
        let Some(answer) = answer else { return Ok(()) };
        let on_loss = || self.begin_anew(&group, position.stream);
        let since = answer.since;
        lineage::probed(database, name, before, (&group, self.region), answer, on_loss)?;
        returned::settle(database, (name, &group, self.region), since, takes)
    }

    /// Tells the other region which regions there are, and learns what it knows of them.
    fn tell_members(
        &self,
        replication: &Replication,
        position: &mut Position,
    ) -> Result<(), LinkError> {
        let record = &self.table.record;
        let definition = replication.has(self.region).then(|| Box::new(definition(record)));
        let message = MembersMessage {
            from: self.own_region().to_owned(),
            table: record.name.clone(),
            group: replication.group.clone(),
            definition,
            settings: replication.settings.clone(),
            members: replication.members.clone(),
        };
        let answer = self.send(MEMBERS, &message::encode(&message)?)?;
        let theirs: MembersAnswer = message::decode(&answer)?;
        position.told = message.members;
        if theirs.table_id.is_some() {
            position.table_id = theirs.table_id;
        }
        self.store(position.clone())?;
        receive::merge_members(self.database, &record.name, &replication.group, &theirs.members)?;
        Ok(())
    }

    /// Tells the other region of changed settings; whether it has all of them now.
    fn tell_settings(&self, position: &mut Position) -> Result<bool, LinkError> {
        let record = &self.table.record;
        let Some(replication) = &record.replication else { return Ok(false) };
        let Some(version) = &replication.settings else { return Ok(false) };
        let message = SettingsMessage {
            table: record.name.clone(),
            group: replication.group.clone(),
            version: version.clone(),
            definition: Box::new(definition(record)),
        };
        let answer = self.send(SETTINGS, &message::encode(&message)?)?;
        let SettingsAnswer { is_complete } = message::decode(&answer)?;
        if is_complete {
            position.settings.clone_from(&replication.settings);
            self.store(position.clone())?;
        }
        Ok(is_complete)
    }

    /// Sends the next items of a copy.
    fn copy(
        &self,
        position: &mut Position,
        part: Part,
        after: Option<Vec<u8>>,
        read: Read,
    ) -> Result<bool, LinkError> {
        let copied = self.read_copy(part, after)?;
        self.apply(copied.writes)?;
        position.phase = match (copied.last, part) {
            (Some(last), _) => Phase::Copying { part, after: Some(last), read },
            (None, Part::Items) => Phase::Copying { part: Part::Tombstones, after: None, read },
            (None, Part::Tombstones) => {
                let message = ReadyMessage {
                    from: self.own_region().to_owned(),
                    table: self.table.name().to_owned(),
                    group: position.group.clone(),
                };
                self.send(READY, &message::encode(&message)?)?;
                Phase::Following { read }
            }
        };
        self.store(position.clone())?;
        Ok(true)
    }

    fn read_copy(&self, part: Part, after: Option<Vec<u8>>) -> Result<Copied> {
        let keyspace = self.table.record.keyspace;
        let prefix = match part {
            Part::Items => layout::entries(keyspace),
            Part::Tombstones => layout::versions(keyspace),
        };
        let mut range = KeyRange::prefix(&prefix);
        if let Some(after) = after {
            range.lower = Bound::Excluded(after.into());
        }
        let snapshot = self.database.store.snapshot().map_err(store_error)?;
        let (mut copied, mut bytes, mut seen) = (Copied::default(), 0, 0);
        for entry in snapshot.scan(range, Direction::Forward) {
            let (key, value) = entry.map_err(store_error)?;
            let key = key.into_bytes();
            let write = match part {
                Part::Items => Some(self.copied_item(snapshot.as_ref(), &key, &value)?),
                Part::Tombstones => self.copied_tombstone(&key, &value)?,
            };
            bytes += value.len();
            seen += 1;
            copied.writes.extend(write);
            // Versions of items are small and are only looked at.
            if copied.writes.len() >= COPIED_AT_ONCE
                || bytes > COPIED_BYTES_AT_ONCE
                || seen >= 100 * COPIED_AT_ONCE
            {
                copied.last = Some(key.to_vec());
                break;
            }
        }
        Ok(copied)
    }

    fn copied_item(&self, snapshot: &dyn Snapshot, key: &[u8], value: &Bytes) -> Result<SentWrite> {
        let item = ImageRef::new(value)?.decode()?;
        let stored = snapshot.get(&layout::version(key)).map_err(store_error)?;
        let stored = stored.as_deref().map(StoredVersion::decode).transpose()?;
        let version = stored.map(|stored| stored.version).unwrap_or_default();
        Ok(SentWrite { key: self.table.schema.key_of(&item)?, item: Some(item), version })
    }

    fn copied_tombstone(&self, key: &[u8], value: &[u8]) -> Result<Option<SentWrite>> {
        let stored = StoredVersion::decode(value)?;
        if !stored.tombstone {
            return Ok(None);
        }
        let key = layout::item_key_values(self.table.key(), key)?;
        Ok(Some(SentWrite { key, item: None, version: stored.version }))
    }

    /// Sends the next writes of this region.
    fn follow(&self, position: &mut Position, read: &Read) -> Result<bool, LinkError> {
        let group = position.group.clone();
        let Some(changes) = changes::read(self.database, position.stream, read)? else {
            // Records are gone: only a copy can tell what they said.
            self.store(Position::new(self.database, &group, position.stream)?)?;
            return Ok(true);
        };
        let has_records = !changes.records.is_empty();
        let own = changes.records.into_iter().filter(|(_, record)| !record.is_replicated());
        let writes: Vec<SentWrite> =
            own.map(|(number, record)| self.sent(number, record)).collect();
        self.apply(writes)?;
        position.phase = Phase::Following { read: changes.read };
        let now_ms = self.database.clock.now_ms();
        if has_records || now_ms.saturating_sub(position.stored_ms) > STORED_EVERY_MS {
            self.store(position.clone())?;
        }
        Ok(changes.has_more)
    }

    fn sent(&self, number: u64, record: Record) -> SentWrite {
        let at = record.version.unwrap_or(number);
        let version = Version { at, region: self.own_region().to_owned() };
        SentWrite { key: record.keys, item: record.new, version }
    }

    fn apply(&self, writes: Vec<SentWrite>) -> Result<(), LinkError> {
        let Some(replication) = self.table.record.replication.as_ref() else { return Ok(()) };
        if writes.is_empty() {
            return Ok(());
        }
        let message = ApplyMessage {
            from: self.own_region().to_owned(),
            table: self.table.name().to_owned(),
            group: replication.group.clone(),
            progress: lineage::progress(self.database, &self.table, &replication.group)?,
            writes,
        };
        let answer = self.send(APPLY, &message.encode())?;
        let progress = message::decode(&answer)?;
        let (name, group) = (self.table.name(), &replication.group);
        Ok(lineage::hear(self.database, name, group, self.region, progress)?)
    }

    fn send(&self, name: &str, body: &[u8]) -> Result<Vec<u8>, LinkError> {
        Ok(self.peers.send(self.region, &format!("{REPLICATION_TARGET}{name}"), body)?)
    }

    fn store(&self, mut position: Position) -> Result<()> {
        position.stored_ms = self.database.clock.now_ms();
        let name = position_name(self.table.name(), self.region);
        resource::put(self.database, POSITIONS, &name, &position)
    }

    fn own_region(&self) -> &str {
        &self.database.options.region
    }
}

/// A part of a table.
#[derive(Default)]
struct Copied {
    writes: Vec<SentWrite>,
    /// The store key to go on after; none at the end.
    last: Option<Vec<u8>>,
}

/// The table as another region is to have it: without what belongs to this one alone.
fn definition(record: &TableRecord) -> TableRecord {
    TableRecord {
        stream: None,
        replication: None,
        deletion_protection: false,
        tags: std::collections::BTreeMap::default(),
        settings: std::collections::BTreeMap::default(),
        ..record.clone()
    }
}

/// How a link is, for those who ask about the table.
#[derive(Clone, Debug)]
pub(crate) struct LinkState {
    /// Whether the other region is to have the table.
    pub(crate) is_present: bool,
    /// Whether it has all items.
    pub(crate) is_complete: bool,
    pub(crate) trouble: Option<Trouble>,
}

/// How the link to a region is; none if there is nothing left to do with it.
pub(crate) fn link_state(
    database: &Inner,
    record: &TableRecord,
    region: &str,
) -> Option<LinkState> {
    let is_present = record.replication.as_ref()?.has(region);
    let position = position(database, record, region);
    let mut trouble = database.replication_notes.of(&record.name, region);
    if !is_known(database, region) {
        // Nobody can be told: who leaves has left.
        is_present.then_some(())?;
        let reason = format!("no server is known for {region}: add --replica {region}=URL");
        trouble = Some(Trouble { reason, since_ms: database.clock.now_ms(), is_refusal: false });
    }
    let knows_it =
        position.as_ref().is_some_and(|it| it.told.get(region).is_some_and(|told| !told.present));
    if !is_present && knows_it {
        return None;
    }
    let is_complete =
        position.as_ref().is_some_and(|it| matches!(it.phase, Phase::Following { .. }));
    let lost_ms = position.and_then(|position| position.lost_ms);
    if let Some(since_ms) = lost_ms.filter(|_| !is_complete && trouble.is_none()) {
        let reason =
            format!("{region} has lost the table or writes, and all items are copied to it again");
        trouble = Some(Trouble { reason, since_ms, is_refusal: false });
    }
    Some(LinkState { is_present, is_complete, trouble })
}

fn is_known(database: &Inner, region: &str) -> bool {
    let peers = database.options.peers.as_ref();
    peers.is_some_and(|peers| peers.regions().iter().any(|known| known == region))
}
