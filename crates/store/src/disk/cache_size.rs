//! The default size of the block cache.

use std::fs::File;
use std::io::Read as _;
use std::sync::OnceLock;

/// The cache takes one in this many bytes of the memory.
const SHARE: u64 = 8;

const LEAST: u64 = 64 << 20;
const MOST: u64 = 2 << 30;

/// The default if the size of the memory is unknown.
const OTHERWISE: u64 = 128 << 20;

/// An eighth of the memory available to this process, within bounds.
pub(crate) fn default_cache_bytes() -> u64 {
    share_of(machine_memory_bytes())
}

/// The memory available to this process: that of the machine, or the container's limit if lower;
/// `None` if the system does not report it.
pub fn machine_memory_bytes() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let limit = beginning("/sys/fs/cgroup/memory.max")
            .or_else(|| beginning("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
        let machine = beginning("/proc/meminfo").unwrap_or_default();
        memory_of(&machine, &limit.unwrap_or_default())
    })
}

/// The first bytes of a file of the kernel's, in one read: every further one would delay the start.
fn beginning(path: &str) -> Option<String> {
    let mut bytes = [0; 64];
    let read = File::open(path).and_then(|mut file| file.read(&mut bytes)).ok()?;
    Some(String::from_utf8_lossy(bytes.get(..read)?).into_owned())
}

fn share_of(memory: Option<u64>) -> u64 {
    memory.map_or(OTHERWISE, |bytes| (bytes / SHARE).clamp(LEAST, MOST))
}

/// Parses the kernel's figure for the machine and the container's limit.
fn memory_of(meminfo: &str, limit: &str) -> Option<u64> {
    let machine = meminfo.lines().find_map(|line| {
        let kilobytes = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?;
        Some(kilobytes.trim().parse::<u64>().ok()?.saturating_mul(1024))
    });
    machine.into_iter().chain(limit.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_a_share_of_what_machine_and_container_have() {
        let machine = |kilobytes: u64| format!("MemTotal:  {kilobytes} kB\nMemFree:  17 kB\n");
        let cases = [
            (machine(8 << 20), "max\n", 1 << 30),
            (machine(8 << 20), "", 1 << 30),
            (machine(8 << 20), "1073741824\n", 128 << 20),
            (machine(8 << 20), "17179869184\n", 1 << 30),
            (machine(64 << 20), "max\n", MOST),
            (machine(128 << 10), "max\n", LEAST),
            (String::new(), "4294967296\n", 512 << 20),
            (String::new(), "", OTHERWISE),
            ("MemTotal: lots".to_owned(), "max", OTHERWISE),
        ];
        for (meminfo, limit, expected) in cases {
            assert_eq!(share_of(memory_of(&meminfo, limit)), expected, "{meminfo:?} {limit:?}");
        }
    }
}
