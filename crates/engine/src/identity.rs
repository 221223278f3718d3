//! Random identifiers of tables, backups and iterators.
//!
//! This is the engine's only source of randomness.

/// A random UUID (version 4).
pub(crate) fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness an identifier may repeat after a restart; tables are found by name, so
    // nothing but the uniqueness of `TableId` is lost.
    let _ = getrandom::fill(&mut bytes);
    let mut value = u128::from_be_bytes(bytes);
    value &= !(0xF << 76 | 0x3 << 62);
    value |= 0x4 << 76 | 0x2 << 62;
    let hex = format!("{value:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// The last part of a backup's, export's or import's ARN: a time and a random suffix.
pub(crate) fn dated(now_ms: u64) -> String {
    let random = uuid();
    format!("{now_ms:014}-{}", random.get(..8).unwrap_or_default())
}

/// The last part of a system backup's ARN: a time alone, as on AWS.
pub(crate) fn system(now_ms: u64) -> String {
    format!("{now_ms:014}-00000000")
}

#[cfg(test)]
mod tests {
    #[test]
    fn uuids_have_their_version_and_differ() {
        let (first, second) = (super::uuid(), super::uuid());
        assert_ne!(first, second);
        assert_eq!(first.len(), 36);
        assert_eq!(&first[14..15], "4");
        assert!(matches!(&first[19..20], "8" | "9" | "a" | "b"));
    }
}
