//! Backups: under load, repeated, interrupted, of damaged stores, to full disks; and restored.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use keyloom_store::{
    BackupReport, BackupSource, BackupTarget, Bytes, DiskOptions, DiskStore, Durability, Inventory,
    Store, StoreError, restore_backup,
};

/// Small buffers: a few hundred writes create tables, segments and compactions.
fn options() -> DiskOptions {
    DiskOptions { memtable_bytes: 40_000, cache_bytes: 4 << 20, ..DiskOptions::default() }
}

/// The number of keys of a writer, which it overwrites repeatedly.
const WINDOW: u64 = 1000;

fn key(writer: u64, number: u64) -> Bytes {
    format!("writer {writer} key {:06}", number % WINDOW).into()
}

/// Incompressible, and different for each number.
fn value(writer: u64, number: u64) -> Bytes {
    let mut random = fastrand::Rng::with_seed(number * 16 + writer);
    let random = std::iter::repeat_with(move || random.u8(..));
    number.to_be_bytes().into_iter().chain(random.take(400)).collect()
}

/// One transaction: a key, and a copy of it at the far end of the key space.
fn put(store: &DiskStore, writer: u64, number: u64) -> Result<(), StoreError> {
    let mut transaction = store.begin(&[])?;
    let key = key(writer, number);
    transaction.put(key.clone(), value(writer, number));
    transaction.put([b"zz copy of ", &key[..]].concat().into(), value(writer, number));
    transaction.put(format!("newest of {writer}").into(), number.to_be_bytes().to_vec().into());
    transaction.commit().map_err(StoreError::from)
}

fn number(value: Option<Bytes>) -> Option<u64> {
    value.map(|value| u64::from_be_bytes(*value.first_chunk().unwrap()))
}

/// Checks that all transactions of a writer up to its newest are complete.
fn check(store: &dyn Store, writer: u64, at_least: u64) -> u64 {
    let newest = number(store.get(format!("newest of {writer}").as_bytes()).unwrap());
    let count = newest.map_or(0, |newest| newest + 1);
    assert!(count >= at_least, "writer {writer}: {count} of at least {at_least}");
    for number in count.saturating_sub(WINDOW)..count {
        let key = key(writer, number);
        let expected = Some(value(writer, number));
        assert_eq!(store.get(&key).unwrap(), expected, "{writer} {number}");
        let copy = [b"zz copy of ", &key[..]].concat();
        assert_eq!(store.get(&copy).unwrap(), expected, "{writer} {number}");
    }
    count
}

fn verify(store: &dyn Store) -> u64 {
    let verification = store.verify().unwrap();
    assert_eq!(verification.damage, Vec::<String>::new());
    verification.entries
}

fn open(path: &Path) -> DiskStore {
    let (store, report) = DiskStore::open(path, options()).unwrap();
    assert_eq!(report.cut, None, "a backup is cleanly closed");
    store
}

fn all_files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all_files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let inside = |file: PathBuf| (file.strip_prefix(path).unwrap().to_owned(), file);
    all_files(path)
        .into_iter()
        .map(inside)
        .map(|(name, file)| (name, fs::read(file).unwrap()))
        .collect()
}

/// A store with tables and with records in its log.
fn store_with(path: &Path, count: u64) -> DiskStore {
    let (store, _) = DiskStore::open(path, options()).unwrap();
    (0..count).for_each(|number| put(&store, 0, number).unwrap());
    store
}

fn refusal<T>(outcome: Result<T, StoreError>, named: &Path, why: &str) {
    let Err(error) = outcome else { panic!("not refused: {why}") };
    let text = error.to_string();
    assert!(text.contains(&*named.to_string_lossy()) && text.contains(why), "{text}");
}

/// Stops the writers when dropped: a test that fails would otherwise wait for them for ever.
struct StopWriters<'a>(&'a AtomicBool);

impl Drop for StopWriters<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_backup_under_load_holds_all_acknowledged_transactions_whole() {
    const WRITERS: u64 = 3;
    let scratch = tempfile::tempdir().unwrap();
    let (original, to) = (scratch.path().join("store"), scratch.path().join("backup"));
    // Without waiting for the disk, they flush and compact all the time.
    let relaxed = DiskOptions { durability: Durability::Relaxed, ..options() };
    let (store, _) = DiskStore::open(&original, relaxed).unwrap();
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    let backups: u64 = env::var("KEYLOOM_BACKUPS").map_or(6, |count| count.parse().unwrap());
    let (mut longest, mut linked) = (Duration::ZERO, 0);
    thread::scope(|scope| {
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    put(store, writer as u64, number).unwrap();
                    acknowledged.store(number + 1, Ordering::Release);
                }
            });
        }
        let _stop = StopWriters(&stop);
        for round in 0..backups {
            thread::sleep(Duration::from_millis(round * 7 % 40));
            let before: Vec<u64> =
                acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
            let report = store.backup(&to).unwrap();
            longest = longest.max(report.pause);
            linked += report.tables_linked;
            // A copy is opened: a backup that was opened is not a backup any more.
            let restored = scratch.path().join("restored");
            restore_backup(&to, &restored).unwrap();
            let copy = open(&restored);
            for (writer, before) in before.iter().enumerate() {
                check(&copy, writer as u64, *before);
            }
            verify(&copy);
            drop(copy);
            fs::remove_dir_all(&restored).unwrap();
        }
    });
    let written: u64 = acknowledged.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    eprintln!("{backups} backups, {written} writes, longest pause {longest:?}, {linked} links");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    for writer in 0..WRITERS {
        check(&store, writer, 0);
    }
}

#[test]
fn a_backup_opens_as_a_store_and_is_private_to_its_owner() {
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("deep/er/backup");
    let store = store_with(&scratch.path().join("store"), 700);
    store.backup(&to).unwrap();
    #[cfg(unix)]
    for path in all_files(&to).iter().chain([&to, &to.join("tree/tables")]) {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    assert!(!scratch.path().join("deep/er/backup.partial").exists());
    let copy = open(&to);
    assert_eq!(check(&copy, 0, 700), 700);
    assert_eq!(verify(&copy), verify(&store));
    // It can be written, and then cannot receive backups.
    put(&copy, 1, 0).unwrap();
    refusal(store.backup(&to), &to, "open in another process");
    copy.close().unwrap();
    refusal(store.backup(&to), &to, "has been opened as a store");
    refusal(restore_backup(&to, &scratch.path().join("new")).map(drop), &to, "has been opened");
}

/// Backs up until no table is new, and gives the last two reports: a compaction may still replace tables after the
/// last write, but it ends.
fn backups_until_nothing_is_new(
    store: &DiskStore,
    to: &Path,
    first: BackupReport,
) -> (BackupReport, BackupReport) {
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut before = first;
    loop {
        let again = store.backup(to).unwrap();
        if again.tables_copied == 0 {
            return (before, again);
        }
        assert!(Instant::now() < deadline, "copied again: {again:?}");
        before = again;
    }
}

#[test]
fn a_second_backup_copies_only_new_tables() {
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backup");
    let store = store_with(&scratch.path().join("store"), 900);
    let first = store.backup(&to).unwrap();
    assert!(first.tables_copied > 0 && first.tables_linked == 0, "{first:?}");
    let (before, again) = backups_until_nothing_is_new(&store, &to, first);
    assert_eq!(again.tables_linked, before.tables_copied + before.tables_linked, "{again:?}");
    assert!(again.bytes_copied < 200_000 && again.bytes_linked > 500_000, "{again:?}");
    put(&store, 1, 0).unwrap();
    store.backup(&to).unwrap();
    assert_eq!(check(&open(&to), 1, 1), 1);
}

#[test]
fn a_table_damaged_in_the_previous_backup_is_copied_again() {
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backup");
    let store = store_with(&scratch.path().join("store"), 3000);
    let first = store.backup(&to).unwrap();
    backups_until_nothing_is_new(&store, &to, first);
    let table = all_files(&to.join("tree/tables"))[0].clone();
    let mut bytes = fs::read(&table).unwrap();
    bytes[1000] ^= 1;
    fs::write(&table, bytes).unwrap();
    let again = store.backup(&to).unwrap();
    assert_eq!(again.tables_copied, 1, "{again:?}");
    restore_backup(&to, &scratch.path().join("restored")).unwrap();
    verify(&open(&scratch.path().join("restored")));
}

#[test]
fn unsuitable_directories_are_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("store");
    let store = store_with(&original, 50);
    refusal(store.backup(&original), &original, "directory of the store");
    refusal(store.backup(original.join("a/b")), &original.join("a/b"), "directory of the store");
    assert!(!original.join("a").exists());
    let full = scratch.path().join("holiday");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("photo"), "x").unwrap();
    refusal(store.backup(&full), &full, "holds no backup of a store");
    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let restored = restore_backup(&empty, &scratch.path().join("restored"));
    refusal(restored, &empty, "holds no backup of a store");
    let other = scratch.path().join("other");
    store_with(&other, 3).close().unwrap();
    refusal(store.backup(&other), &other, "is a store, not a backup");
    let backup = scratch.path().join("backup");
    store_with(&scratch.path().join("third"), 3).backup(&backup).unwrap();
    refusal(store.backup(&backup), &backup, "backup of another store");
    // A foreign file where the copy would be collected is not removed.
    let mine = scratch.path().join("new.partial");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("diary"), "x").unwrap();
    refusal(store.backup(scratch.path().join("new")), &mine, "needed for the unfinished copy");
    assert!(mine.join("diary").exists());
    refusal(restore_backup(&backup, &full).map(drop), &full, "empty or missing");
    refusal(restore_backup(&other, &scratch.path().join("x")).map(drop), &other, "not a backup");
    assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
    for left in ["holiday.partial", "other.partial", "backup.partial", "x", "x.partial"] {
        assert!(!scratch.path().join(left).exists(), "{left}");
    }
}

#[test]
fn a_closed_store_is_backed_up_without_changing_it() {
    let scratch = tempfile::tempdir().unwrap();
    let (original, image) = (scratch.path().join("store"), scratch.path().join("image"));
    let store = store_with(&original, 600);
    // As a kill would leave it; idle, so that a plain copy is consistent.
    thread::sleep(Duration::from_millis(300));
    for (name, bytes) in contents(&original) {
        fs::create_dir_all(image.join(&name).parent().unwrap()).unwrap();
        fs::write(image.join(name), bytes).unwrap();
    }
    refusal(BackupSource::of_directory(&original), &original, "open in another process");
    store.close().unwrap();
    for (round, path) in [&original, &image].into_iter().enumerate() {
        let to = scratch.path().join(format!("backup {round}"));
        let before = contents(path);
        let source = BackupSource::of_directory(path).unwrap();
        source.copy_to(BackupTarget::prepare(&to, Some(path)).unwrap()).unwrap();
        assert_eq!(contents(path), before, "the store is not changed");
        assert_eq!(check(&open(&to), 0, 600), 600);
    }
}

#[test]
fn backing_up_a_damaged_store_fails_and_names_the_file() {
    let scratch = tempfile::tempdir().unwrap();
    let (original, to) = (scratch.path().join("store"), scratch.path().join("backup"));
    let store = store_with(&original, 2000);
    store.backup(&to).unwrap();
    let good = contents(&to);
    // New tables, so that something has to be copied.
    (2000..3000).for_each(|number| put(&store, 0, number).unwrap());
    thread::sleep(Duration::from_millis(300));
    // Replaced tables still exist, but are not part of a backup.
    let probe = scratch.path().join("probe");
    store.backup(&probe).unwrap();
    let new: Vec<PathBuf> =
        contents(&probe).into_keys().filter(|name| !good.contains_key(name)).collect();
    let victims =
        new.iter().filter(|name| name.starts_with("tree/tables") || name.starts_with("log"));
    let mut flipped = 0;
    for victim in victims.map(|name| original.join(name)) {
        flip(&victim, 100);
        refusal(store.backup(&to), &victim, "is damaged");
        flip(&victim, 100);
        assert_eq!(contents(&to), good, "the previous backup is unchanged");
        flipped += 1;
    }
    assert!(flipped > 1, "{flipped}");
    store.backup(&to).unwrap();
    assert_ne!(contents(&to), good);
}

fn flip(path: &Path, offset: u64) {
    use std::io::{Read, Seek, SeekFrom, Write};
    let mut file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(&[byte[0] ^ 4]).unwrap();
}

#[test]
fn restoring_a_damaged_backup_fails_and_names_the_file() {
    let scratch = tempfile::tempdir().unwrap();
    let (backup, to) = (scratch.path().join("backup"), scratch.path().join("restored"));
    store_with(&scratch.path().join("store"), 1000).backup(&backup).unwrap();
    for victim in all_files(&backup) {
        if fs::metadata(&victim).unwrap().len() > 0 {
            let offset = fs::metadata(&victim).unwrap().len() / 2;
            flip(&victim, offset);
            let error = restore_backup(&backup, &to).unwrap_err().to_string();
            let in_pair = victim.ends_with("tree/current") && error.contains("tree");
            let named = error.contains(&*victim.to_string_lossy()) || in_pair;
            let is_marker = victim.ends_with("BACKUP");
            assert!(named || is_marker, "{}: {error}", victim.display());
            assert!(!to.exists(), "{}", victim.display());
            flip(&victim, offset);
        }
    }
    restore_backup(&backup, &to).unwrap();
    assert_eq!(check(&open(&to), 0, 1000), 1000);
}

#[test]
fn a_restored_store_has_its_own_id() {
    let scratch = tempfile::tempdir().unwrap();
    let (backup, restored) = (scratch.path().join("backup"), scratch.path().join("restored"));
    store_with(&scratch.path().join("store"), 400).backup(&backup).unwrap();
    let summary = restore_backup(&backup, &restored).unwrap();
    assert!(summary.bytes > 100_000, "{summary:?}");
    let store = open(&restored);
    put(&store, 1, 0).unwrap();
    refusal(store.backup(&backup), &backup, "backup of another store");
    store.close().unwrap();
    assert_eq!(check(&open(&restored), 1, 1), 1);
}

/// Passes this many bytes through, then ends or fails.
struct Broken<R> {
    inner: R,
    left: usize,
    fails: bool,
}

impl<R: io::Read> io::Read for Broken<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && self.fails {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let room = buffer.len().min(self.left);
        let read = self.inner.read(buffer.get_mut(..room).unwrap())?;
        self.left -= read;
        Ok(read)
    }
}

#[test]
fn a_truncated_archive_leaves_the_previous_backup() {
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backup");
    let store = store_with(&scratch.path().join("store"), 300);
    store.backup(&to).unwrap();
    let good = contents(&to);
    (300..900).for_each(|number| put(&store, 0, number).unwrap());
    let target = || BackupTarget::prepare(&to, None).unwrap();
    let inventory = Inventory::decode(&target().inventory().encode()).unwrap();
    let mut archive = Vec::new();
    let source = store.capture_source().unwrap();
    assert!(source.may_go_to(&inventory));
    source.write_archive(&inventory, &mut archive).unwrap();
    // The archive ends with the manifest's block, padding, and two blocks of zeros.
    let end = archive.len() - 2048;
    for left in (0..end).step_by(end / 60).chain([end - 1, end - 512, end - 1024]) {
        for fails in [false, true] {
            let broken = Broken { inner: archive.as_slice(), left, fails };
            let outcome = target().take_archive(broken);
            assert!(outcome.is_err(), "broken off at {left} of {}", archive.len());
            assert_eq!(contents(&to), good, "broken off at {left}");
        }
    }
    // Nor is anything accepted that was changed in transfer.
    for at in (0..end).step_by(end / 50) {
        let mut changed = archive.clone();
        changed[at] ^= 1;
        if target().take_archive(changed.as_slice()).is_ok() {
            // Fields of the archive format that do not concern the files.
            let copy = scratch.path().join("restored");
            restore_backup(&to, &copy).unwrap();
            assert_eq!(check(&open(&copy), 0, 900), 900, "changed at {at}");
            fs::remove_dir_all(&copy).unwrap();
            fs::remove_dir_all(&to).unwrap();
            for (name, bytes) in &good {
                fs::create_dir_all(to.join(name).parent().unwrap()).unwrap();
                fs::write(to.join(name), bytes).unwrap();
            }
        }
    }
    target().take_archive(archive.as_slice()).unwrap();
    assert_eq!(check(&open(&to), 0, 900), 900);
}

#[test]
fn names_outside_the_backup_are_not_written() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["../x", "/tmp/x", "tree/tables/../../x", "log/x", "LOCK", "tree/tables/"] {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &b"x"[..]).unwrap();
        let archive = builder.into_inner().unwrap();
        let target = BackupTarget::prepare(&scratch.path().join("backup"), None).unwrap();
        let error = target.take_archive(archive.as_slice()).unwrap_err().to_string();
        assert!(error.contains("not part of a backup"), "{name}: {error}");
    }
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

const CHILD: &str = "KEYLOOM_BACKUP_CHILD";

/// Writes and backs up repeatedly until it is killed.
#[test]
#[ignore = "run by the test below in a process of its own"]
fn backs_up_until_it_is_killed() {
    let Ok(scratch) = env::var(CHILD) else { return };
    let scratch = PathBuf::from(scratch);
    let relaxed = DiskOptions { durability: Durability::Relaxed, ..options() };
    let (store, _) = DiskStore::open(scratch.join("store"), relaxed).unwrap();
    let first = check(&store, 0, 0);
    let mut number = first;
    loop {
        for _ in 0..200 {
            put(&store, 0, number).unwrap();
            number += 1;
        }
        fs::write(scratch.join("begun"), "").unwrap();
        store.backup(scratch.join("backup")).unwrap();
        fs::write(scratch.join("complete.tmp"), number.to_string()).unwrap();
        fs::rename(scratch.join("complete.tmp"), scratch.join("complete")).unwrap();
    }
}

#[test]
fn killing_a_backup_leaves_the_previous_one_usable() {
    let kills: u64 = env::var("KEYLOOM_BACKUP_KILLS").map_or(10, |count| count.parse().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let program = env::current_exe().unwrap();
    let begin = Instant::now();
    let mut unfinished = 0;
    for kill in 0..kills {
        let mut child = Command::new(&program)
            .args(["--ignored", "--exact", "backs_up_until_it_is_killed"])
            .env(CHILD, scratch.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The first process is to complete a backup; most of the others end in the middle of one.
        let sign = scratch.path().join(if kill == 0 { "complete" } else { "begun" });
        while !sign.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(kill * 7_813 % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_file(scratch.path().join("begun")).unwrap();
        unfinished += u64::from(scratch.path().join("backup.partial").exists());
        let complete = fs::read_to_string(scratch.path().join("complete")).unwrap();
        let restored = scratch.path().join("restored");
        restore_backup(&scratch.path().join("backup"), &restored).unwrap();
        let copy = open(&restored);
        check(&copy, 0, complete.parse().unwrap());
        verify(&copy);
        drop(copy);
        fs::remove_dir_all(&restored).unwrap();
    }
    // The next one cleans up.
    open_any(&scratch.path().join("store")).backup(scratch.path().join("backup")).unwrap();
    assert!(!scratch.path().join("backup.partial").exists());
    eprintln!("{kills} kills, {unfinished} in the middle, in {:?}", begin.elapsed());
    assert!(unfinished > kills / 5, "{unfinished} of {kills}");
}

fn open_any(path: &Path) -> DiskStore {
    DiskStore::open(path, options()).unwrap().0
}

const SMALL_DISK: &str = "KEYLOOM_BACKUP_DISK";
const CANNOT_MOUNT: i32 = 77;

#[test]
#[ignore = "run by the test below in a namespace of its own"]
fn inside_a_small_disk() {
    let Ok(disk) = env::var(SMALL_DISK) else { return };
    let disk = PathBuf::from(disk);
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        std::process::exit(CANNOT_MOUNT);
    }
    let scratch = tempfile::tempdir().unwrap();
    let store = store_with(&scratch.path().join("store"), 300);
    let to = disk.join("backup");
    store.backup(&to).unwrap();
    let good = contents(&to);
    for writer in 1..4 {
        (0..900).for_each(|number| put(&store, writer, number).unwrap());
    }
    let error = store.backup(&to).unwrap_err().to_string();
    assert!(error.contains("No space left on device") && error.contains("backup"), "{error}");
    assert_eq!(contents(&to), good, "the previous backup is unchanged");
    assert!(!disk.join("backup.partial").exists(), "the space is freed");
    // The store itself has lost nothing and still accepts writes.
    assert!(store.health().is_ready());
    put(&store, 0, 300).unwrap();
    restore_backup(&to, &scratch.path().join("restored")).unwrap();
    assert_eq!(check(&open(&scratch.path().join("restored")), 0, 300), 300);
}

#[test]
fn a_full_disk_leaves_the_previous_backup_and_the_store() {
    let disk = tempfile::tempdir().unwrap();
    let status = Command::new("unshare")
        .args(["--mount", "--map-root-user", "--"])
        .arg(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "inside_a_small_disk", "--nocapture"])
        .env(SMALL_DISK, disk.path())
        .status();
    match status.ok().and_then(|status| status.code()) {
        Some(0) => {}
        None | Some(CANNOT_MOUNT) => eprintln!("NOT RUN: no mount namespace on this system"),
        other => panic!("the child ended with {other:?}"),
    }
}

#[test]
fn a_backup_directory_with_other_files_is_refused_and_left_untouched() {
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backup");
    let store = store_with(&scratch.path().join("store"), 300);
    store.backup(&to).unwrap();
    let others = ["notes.txt", "log/notes", "tree/tables/987654", "tree/v987654", "sub/deep/file"];
    for other in others {
        let file = to.join(other);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        let before = contents(&to);
        let named = to.join(other.split_once("/deep").map_or(other, |(top, _)| top));
        refusal(store.backup(&to), &named, "is not part of the backup");
        assert_eq!(contents(&to), before, "{other}");
        fs::remove_file(&file).unwrap();
    }
    refusal(store.backup(&to), &to.join("sub"), "is not part of the backup");
    fs::remove_dir_all(to.join("sub")).unwrap();
    // What a refused server and a file browser leave is not in the way.
    fs::write(to.join("LOCK"), "").unwrap();
    fs::write(to.join(".DS_Store"), "").unwrap();
    store.backup(&to).unwrap();
    assert!(!to.join("LOCK").exists());
    assert!(!scratch.path().join("backup.partial").exists());
}

#[test]
fn a_file_that_appears_during_a_backup_is_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let (to, late) = (scratch.path().join("backup"), scratch.path().join("late"));
    let store = store_with(&scratch.path().join("store"), 300);
    store.backup(&to).unwrap();
    let target = BackupTarget::prepare(&to, None).unwrap();
    fs::write(to.join("notes.txt"), "mine").unwrap();
    let source = store.capture_source().unwrap();
    refusal(source.copy_to(target), &to.join("notes.txt"), "is not part of the backup");
    assert_eq!(fs::read(to.join("notes.txt")).unwrap(), b"mine");
    // A directory that was missing when the backup began is never replaced.
    let target = BackupTarget::prepare(&late, None).unwrap();
    DiskStore::open(&late, options()).unwrap().0.close().unwrap();
    let before = contents(&late);
    store.capture_source().unwrap().copy_to(target).unwrap_err();
    assert_eq!(contents(&late), before);
}
