//! UpdateTable.
//!
//! The request is applied part by part to a copy of the table's record: [`billing`], [`indexes`], [`vectors`], the
//! stream and the other settings. The response shows the table before the change, with the status `UPDATING`; the
//! change itself takes effect at once. Only a new index takes longer: it is backfilled in the background.

mod billing;
mod follow;
mod indexes;
mod replicas;
mod vectors;

pub(crate) use follow::follow;
use keyloom_api::Fields;
use keyloom_api::settings::ReplicaUpdate;
use keyloom_api::tables::{StreamChange, UpdateTableInput};
use keyloom_core::Result;
use keyloom_core::error::{request, table as message};

use crate::backfill::{self, Backfill};
use crate::catalog::record::{Status, TableClassSetting};
use crate::catalog::{Alongside, Change, Table, TableRecord};
use crate::database::Inner;
use crate::layout::Keyspace;
use crate::replication;

use super::{description, stream_setting};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = UpdateTableInput::decode(&fields)?;
    let replicas = ReplicaUpdate::decode_all(&fields)?;
    let change = database.change()?;
    let table = database.catalog.described_table(&input.table_name)?;
    if table.record.status != Status::Active {
        return Err(request::table_being_changed(table.name(), table.record.status.as_str()));
    }
    let mut update = Update::of(&table.record, database.clock.now_ms());
    billing::apply(&input, &mut update)?;
    indexes::apply(&input, &change, &mut update)?;
    vectors::apply(&input, &database.options, &change, &mut update)?;
    update.apply_stream(&input, database, &change)?;
    replicas::apply(&replicas, database, &change, &mut update)?;
    update.apply_settings(&input)?;
    replication::note_settings(database, &table.record, &mut update.record);
    let shown = update.publish(database, &change, &table)?;
    drop(change);
    // The update is done: if the items cannot be counted, the response omits the counts.
    let _ = database.count(&shown);
    Ok(description::of(database, &shown, Status::Updating).encode("TableDescription"))
}

/// A change of a table, as it is put together.
struct Update {
    /// The table as it will be.
    record: TableRecord,
    /// The table as the answer shows it.
    shown: TableRecord,
    now_ms: u64,
    /// The index that is to be filled.
    created: Option<Keyspace>,
    /// Keyspaces that are no longer used.
    dropped: Vec<Keyspace>,
    stream: Option<StreamChange>,
}

impl Update {
    fn of(record: &TableRecord, now_ms: u64) -> Self {
        Self {
            record: record.clone(),
            shown: record.clone(),
            now_ms,
            created: None,
            dropped: Vec::new(),
            stream: None,
        }
    }

    fn apply_stream(
        &mut self,
        input: &UpdateTableInput,
        database: &Inner,
        change: &Change<'_>,
    ) -> Result<()> {
        let Some(wanted) = &input.stream else { return Ok(()) };
        if input.throughput.is_some() {
            return Err(message::stream_with_throughput());
        }
        let name = &self.record.name;
        let is_open = self.record.stream.as_ref().is_some_and(|stream| stream.enabled);
        match wanted {
            StreamChange::Begin(_) if is_open => return Err(message::stream_already_enabled(name)),
            StreamChange::Begin(view) => return self.begin_stream(view, database, change),
            StreamChange::End if !is_open => return Err(message::no_stream_to_disable(name)),
            StreamChange::End if self.record.replication.is_some() => {
                return Err(message::replica_stream_needed());
            }
            StreamChange::End => {
                if let Some(stream) = &mut self.record.stream {
                    stream.enabled = false;
                }
            }
        }
        self.shown.stream = self.record.stream.clone();
        self.stream = Some(wanted.clone());
        Ok(())
    }

    fn begin_stream(&mut self, view: &str, database: &Inner, change: &Change<'_>) -> Result<()> {
        let keyspace = change.allocate_keyspaces(1)?;
        let setting = stream_setting::begin(database, &self.record.name, keyspace, view)?;
        self.record.stream = Some(setting);
        self.shown.stream = self.record.stream.clone();
        self.stream = Some(StreamChange::Begin(view.to_owned()));
        Ok(())
    }

    fn apply_settings(&mut self, input: &UpdateTableInput) -> Result<()> {
        let record = &mut self.record;
        record.drop_stale_insights();
        if let Some(protected) = input.deletion_protection {
            record.deletion_protection = protected;
        }
        if let Some(class) = &input.table_class {
            record.table_class =
                Some(TableClassSetting { class: class.clone(), changed_ms: Some(self.now_ms) });
        }
        if let Some(encryption) = &input.encryption {
            encryption.check_changes(record.encryption.as_ref())?;
            record.encryption = Some(encryption.clone());
        }
        self.shown.deletion_protection = record.deletion_protection;
        self.shown.table_class.clone_from(&record.table_class);
        self.shown.encryption.clone_from(&record.encryption);
        self.shown.settings.clone_from(&record.settings);
        Ok(())
    }

    /// Makes the change and gives the table that the answer shows.
    fn publish(self, database: &Inner, change: &Change<'_>, before: &Table) -> Result<Table> {
        let Self { record, shown, created, dropped, stream, .. } = self;
        let after = record.clone();
        let streams = match &stream {
            None => None,
            Some(StreamChange::Begin(_)) => stream_setting::begun(database, &after),
            Some(StreamChange::End) => stream_setting::ended(database, &before.record)?,
        };
        let streams = streams.into_iter().collect();
        // No other server fills the index while this one is alive.
        let claim = created.map(|index| database.claim(&backfill::job_name(&after.name, index)));
        let resources = claim.transpose()?.into_iter().collect();
        let alongside = Alongside { dropped, streams, resources, ..Alongside::default() };
        let table = change.put(record, alongside)?;
        if let Some(index) = created {
            Backfill { table, index }.submit(database);
        }
        for (name, keyspace) in indexes_of(&before.record) {
            if !indexes_of(&after).any(|(_, kept)| kept == keyspace) {
                database.observer.forget(&after.name, Some(name));
            }
        }
        database.background.wake();
        Ok(Table::new(shown, Some(before)))
    }
}

/// The indexes of a table, vector indexes included, by name.
fn indexes_of(record: &TableRecord) -> impl Iterator<Item = (&str, Keyspace)> {
    let secondary = record.indexes.iter().map(|index| (index.name.as_str(), index.keyspace));
    let vectors = record.vector_indexes.iter();
    secondary.chain(vectors.map(|index| (index.name.as_str(), index.keyspace)))
}
