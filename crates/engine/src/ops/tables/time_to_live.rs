//! UpdateTimeToLive and DescribeTimeToLive.

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_api::tables::{UpdateTimeToLiveInput, encode_time_to_live};
use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::catalog::Alongside;
use crate::catalog::record::{Status, TtlSetting};
use crate::database::Inner;
use crate::replication;

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = database.catalog.described_table(control_table(&fields))?;
    if table.record.status == Status::Creating {
        return Err(message::ttl_not_described(table.record.status.as_str()));
    }
    let ttl = table.record.ttl.as_ref().filter(|ttl| ttl.enabled);
    Ok(encode_time_to_live(ttl.map(|ttl| ttl.attribute.as_str())))
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = UpdateTimeToLiveInput::decode(&fields);
    let UpdateTimeToLiveInput { table_name, enabled, attribute_name: attribute } = input;
    let change = database.change()?;
    let table = database.catalog.described_table(table_name)?;
    if table.record.status == Status::Creating {
        return Err(message::ttl_while_creating(table.name()));
    }
    let now_ms = database.clock.now_ms();
    check(table.record.ttl.as_ref(), enabled, attribute)?;
    if let Some(ttl) = &table.record.ttl {
        let interval_ms = database.options.ttl_change_interval.as_millis();
        if u128::from(now_ms.saturating_sub(ttl.changed_ms)) < interval_ms {
            return Err(message::ttl_changed_too_often());
        }
    }
    let mut record = table.record.clone();
    record.ttl = Some(TtlSetting { attribute: attribute.into(), enabled, changed_ms: now_ms });
    replication::note_settings(database, &table.record, &mut record);
    let table = change.put(record, Alongside::default())?;
    drop(change);
    if enabled {
        crate::ttl::look_through(&table);
        database.background.wake();
    }
    Ok(input.encode_output())
}

/// Time to live can be switched on when it is off, and off when it is on for the same attribute.
fn check(current: Option<&TtlSetting>, enabled: bool, attribute: &str) -> Result<()> {
    match current.filter(|ttl| ttl.enabled) {
        Some(ttl) if ttl.attribute != attribute => {
            Err(message::ttl_other_attribute(&ttl.attribute))
        }
        Some(_) if enabled => Err(message::ttl_already_enabled()),
        None if !enabled => Err(message::ttl_already_disabled()),
        _ => Ok(()),
    }
}
