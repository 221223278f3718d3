//! `StreamSpecification`: enables and disables a table's stream.

use keyloom_core::Result;
use keyloom_core::calendar::DateTime;

use crate::catalog::TableRecord;
use crate::catalog::record::{OpenShard, StreamSetting};
use crate::database::Inner;
use crate::layout::Keyspace;
use crate::stream::{Moment, StreamRecord, registry};

/// The stream that a table begins to write to, in this keyspace.
pub(crate) fn begin(
    database: &Inner,
    table: &str,
    keyspace: Keyspace,
    view: &str,
) -> Result<StreamSetting> {
    let known = registry::all(database.store.as_ref())?;
    let is_taken = |label: &String| known.iter().any(|s| s.table == table && s.label == *label);
    // Two streams of one table never share a label, even if the clock stands still.
    let mut now_ms = database.clock.now_ms();
    while is_taken(&label(now_ms)) {
        now_ms += 1;
    }
    Ok(StreamSetting {
        keyspace,
        enabled: true,
        view: view.to_owned(),
        label: label(now_ms),
        shards: vec![OpenShard { number: 0, first_hash: 0, start: database.streams.number() }],
    })
}

/// What is stored when a table's stream begins.
pub(crate) fn begun(database: &Inner, record: &TableRecord) -> Option<StreamRecord> {
    let setting = record.stream.as_ref()?;
    let boundary = setting.shards.first().map_or(0, |shard| shard.start);
    let at = Moment { now_ms: database.clock.now_ms(), boundary };
    Some(StreamRecord::begin(record, setting, at))
}

/// What is stored when a table's stream ends, if it has one that is open.
pub(crate) fn ended(database: &Inner, record: &TableRecord) -> Result<Option<StreamRecord>> {
    let Some(setting) = record.stream.as_ref().filter(|stream| stream.enabled) else {
        return Ok(None);
    };
    let mut stream = registry::find(database.store.as_ref(), setting.keyspace)?;
    if let Some(stream) = &mut stream {
        stream.close(Moment::after(database, stream)?);
    }
    Ok(stream)
}

/// The label of a stream that begins now: the time, to the millisecond.
pub(crate) fn label(now_ms: u64) -> String {
    let now = DateTime::of_ms(now_ms);
    format!("{now}.{:03}", now.ms)
}

#[cfg(test)]
mod tests {
    #[test]
    fn labels_are_utc_to_the_millisecond() {
        assert_eq!(super::label(0), "1970-01-01T00:00:00.000");
        assert_eq!(super::label(951_826_154_321), "2000-02-29T12:09:14.321");
        assert_eq!(super::label(1_794_700_800_007), "2026-11-15T00:00:00.007");
    }
}
