//! The allocator of the command, and how it returns memory to the system.
//!
//! glibc keeps most of what many threads have freed: gigabytes after 28 bodies of 16.8 MB that were decoded at
//! the same time. jemalloc returns it after ten seconds, or when asked.

use std::sync::Mutex;

use tikv_jemalloc_ctl::{Access as _, AsName as _, Result};
use tikv_jemalloc_ctl::{background_thread, max_background_threads};

use crate::output;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Starts the thread that returns free pages in the background: one for all arenas, since it only sleeps and
/// gives back.
pub(crate) fn start_background_thread() {
    let started = max_background_threads::write(1).and_then(|()| background_thread::write(true));
    if let Err(error) = started {
        output::warn(&format!(
            "no background thread of the allocator ({error}): freed memory goes back to the system later"
        ));
    }
}

/// Returns all free pages to the system now.
pub(crate) fn purge() {
    static PURGING: Mutex<()> = Mutex::new(());
    // Another thread does it already.
    let Ok(_purging) = PURGING.try_lock() else { return };
    // This is an optimisation only: where it fails, pages are returned later.
    let _ = purge_arenas();
}

/// Free pages are kept for a time that is set per arena; an arena where it is set to zero drops all of
/// them at once. jemalloc's own command for that has no safe interface.
fn purge_arenas() -> Result<()> {
    let count: u32 = b"arenas.narenas\0".name().read()?;
    let mut decay_ms = b"arena.0.dirty_decay_ms\0".name().mib::<[usize; 3]>()?;
    for arena in 0..count as usize {
        decay_ms[1] = arena;
        // Arenas are created when they are first used; the others refuse the setting.
        let before: Result<isize> = decay_ms.update(0_isize);
        if let Ok(before) = before {
            decay_ms.write(before)?;
        }
    }
    Ok(())
}
