//! The tables and statements of the store.
//!
//! Statements are unnamed and typed, so that they work through a pooler; where there is none, the frequent ones are
//! prepared. A statement that must touch
//! a certain number of rows *raises* otherwise: it divides by zero, and the transaction fails.

use tokio_postgres::types::Type;

use super::options::PostgresOptions;

/// A statement that is prepared, and the types of its parameters.
pub(super) type Prepared = (String, Vec<Type>);

/// The text of every statement, for one schema.
pub(super) struct Sql {
    pub(super) create: String,
    pub(super) tune: String,
    pub(super) first_epoch: String,
    pub(super) read: String,
    pub(super) read_all: String,
    pub(super) lock: String,
    pub(super) lock_only: String,
    pub(super) forward: String,
    pub(super) backward: String,
    pub(super) plain_forward: String,
    pub(super) plain_backward: String,
    pub(super) lock_epoch: String,
    pub(super) share_epoch: String,
    pub(super) set_epoch: String,
    pub(super) advance_lanes: String,
    pub(super) insert_lane: String,
    pub(super) mark: String,
    pub(super) set_sums: String,
    pub(super) claim: String,
    pub(super) lane: String,
    pub(super) lanes: String,
    pub(super) beat: String,
    pub(super) dead_lanes: String,
    pub(super) delete_lanes: String,
    pub(super) update: String,
    pub(super) delete: String,
    pub(super) check: String,
    pub(super) insert: String,
    pub(super) probe: String,
    pub(super) unprobe: String,
    pub(super) upsert: String,
    pub(super) remove: String,
    pub(super) append: String,
    pub(super) fold: String,
    pub(super) sums: String,
    pub(super) make_node: String,
    pub(super) to_remove: String,
    pub(super) delete_tails: String,
    pub(super) delete_totals: String,
    pub(super) count: String,
    pub(super) size: String,
}

/// Begins a flight. A pooler may hand out any session, so everything is set for the transaction alone.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL synchronous_commit = on; \
     SET LOCAL lock_timeout = '1s'; \
     SET LOCAL idle_in_transaction_session_timeout = '2s'";

/// The same for PostgreSQL, and what it needs besides: without statistics it may join by hashing, and
/// then it takes row locks in any order, not in that of the keys. One statement costs it a third of
/// what six cost.
pub(super) const BEGIN_IN_ORDER: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SELECT set_config('synchronous_commit', 'on', true), \
     set_config('lock_timeout', '1s', true), \
     set_config('idle_in_transaction_session_timeout', '2s', true), \
     set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), \
     set_config('enable_seqscan', 'off', true)";

/// The same settings for a session that is ours alone, made once. And what it prepares is planned once: every statement
/// goes through the index of its keys, which takes longer to plan for each key than to read. A sort instead, of all rows
/// of a range, could only be planned while they are few, and is ruled out. Not all databases know that setting.
pub(super) const SETTINGS: &str = "SET synchronous_commit = on; \
     SET lock_timeout = '1s'; \
     SET idle_in_transaction_session_timeout = '2s'; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; \
     SET enable_bitmapscan = off; \
     SELECT set_config(name, 'force_generic_plan', false) FROM pg_settings \
       WHERE name = 'plan_cache_mode'";

/// Begins a flight in such a session.
pub(super) const BEGIN_SETTLED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Begins a snapshot.
pub(super) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
     SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// The database's clock, in milliseconds.
pub(super) const CLOCK: &str = "SELECT (extract(epoch from clock_timestamp()) * 1000)::bigint";

/// A statement over a changed set that fails unless it has `$count` rows.
fn raising(change: &str, count: &str) -> String {
    format!(
        "WITH u AS ({change} RETURNING 1) \
         SELECT 1 / (CASE WHEN (SELECT count(*) FROM u) = {count} THEN 1 ELSE 0 END)"
    )
}

/// A page of entries, cut by their number and by their bytes; at least one. And the epoch's row.
fn page(s: &str, order: &str) -> String {
    let page = format!(
        "SELECT k, v FROM (SELECT k, v, sum(octet_length(k) + octet_length(v)) OVER \
           (ORDER BY k {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before \
           FROM (SELECT k, v FROM {s}.kv WHERE k >= $1 AND k < $2 ORDER BY k {order} LIMIT $3) i) p \
         WHERE before IS NULL OR before < $4 ORDER BY k {order}"
    );
    with_epoch(s, &page, order)
}

/// A page of entries, cut by their number alone. Values that are longer than expected are left out, so that it is
/// not many bytes. And the epoch's row.
fn plain_page(s: &str, order: &str) -> String {
    let page = format!(
        "SELECT k, CASE WHEN octet_length(v) <= $4 THEN v END FROM {s}.kv \
         WHERE k >= $1 AND k < $2 ORDER BY k {order} LIMIT $3"
    );
    with_epoch(s, &page, order)
}

/// A page and the epoch's row, both of one moment.
fn with_epoch(s: &str, page: &str, order: &str) -> String {
    format!(
        "(SELECT k, v FROM {s}.kv WHERE k = '\\x00'::bytea) UNION ALL ({page}) ORDER BY k {order}"
    )
}

impl Sql {
    #[expect(clippy::too_many_lines, reason = "one statement after the other")]
    pub(super) fn new(options: &PostgresOptions) -> Self {
        let s = &options.schema;
        Self {
            create: format!(
                "CREATE SCHEMA IF NOT EXISTS {s}; \
                 CREATE TABLE IF NOT EXISTS {s}.kv \
                   (k bytea PRIMARY KEY, v bytea NOT NULL, r bigint NOT NULL); \
                 CREATE TABLE IF NOT EXISTS {s}.lane (id bigint PRIMARY KEY, n bigint NOT NULL, \
                   x bigint NOT NULL, e bigint NOT NULL, sums bytea NOT NULL, \
                   seen timestamptz NOT NULL, about text NOT NULL); \
                 CREATE TABLE IF NOT EXISTS {s}.tail (id bytea PRIMARY KEY, n bigint NOT NULL); \
                 CREATE TABLE IF NOT EXISTS {s}.total (id bytea PRIMARY KEY, n bigint NOT NULL)"
            ),
            // Values are stored as they are: images are small or compress badly, and a page's size is
            // known without reading them.
            tune: format!(
                "ALTER TABLE {s}.kv ALTER COLUMN v SET STORAGE EXTERNAL; \
                 ALTER TABLE {s}.kv SET (fillfactor = 80); \
                 ALTER TABLE {s}.lane SET (fillfactor = 20, autovacuum_vacuum_threshold = 500, \
                   autovacuum_vacuum_scale_factor = 0); \
                 ALTER TABLE {s}.tail SET (fillfactor = 20, autovacuum_vacuum_threshold = 500, \
                   autovacuum_vacuum_scale_factor = 0)"
            ),
            first_epoch: format!(
                "INSERT INTO {s}.kv (k, v, r) VALUES ($1, $2, 0) ON CONFLICT (k) DO NOTHING"
            ),
            read: format!("SELECT k, r, v FROM {s}.kv WHERE k = ANY($1)"),
            lock: format!("SELECT k, r, v FROM {s}.kv WHERE k = ANY($1) ORDER BY k FOR UPDATE"),
            lock_only: format!("SELECT 1 FROM {s}.kv WHERE k = ANY($1) ORDER BY k FOR UPDATE"),
            read_all: format!("SELECT k, v FROM {s}.kv WHERE k >= $1 AND k < $2 ORDER BY k"),
            forward: page(s, "ASC"),
            backward: page(s, "DESC"),
            plain_forward: plain_page(s, "ASC"),
            plain_backward: plain_page(s, "DESC"),
            lock_epoch: format!("SELECT v FROM {s}.kv WHERE k = $1 FOR UPDATE"),
            share_epoch: format!("SELECT v FROM {s}.kv WHERE k = $1 FOR SHARE"),
            set_epoch: format!("UPDATE {s}.kv SET v = $2 WHERE k = $1"),
            advance_lanes: format!("UPDATE {s}.lane SET e = $1"),
            insert_lane: format!(
                "INSERT INTO {s}.lane (id, n, x, e, sums, seen, about) \
                 VALUES ($1, 0, 0, $2, '', now(), $3)"
            ),
            mark: raising(
                &format!(
                    "UPDATE {s}.lane SET n = $2, x = $3, sums = $5, seen = now() \
                     WHERE id = $1 AND n = $2 - 1 AND e = $4"
                ),
                "1",
            ),
            set_sums: format!("UPDATE {s}.lane SET sums = $2 WHERE id = $1"),
            claim: format!("UPDATE {s}.lane SET n = $2, x = 0 WHERE id = $1 AND n = $2 - 1"),
            lane: format!("SELECT n, x, e FROM {s}.lane WHERE id = $1"),
            lanes: format!(
                "SELECT id, n, (extract(epoch from now() - seen) * 1000)::bigint, about \
                 FROM {s}.lane ORDER BY id"
            ),
            beat: format!("UPDATE {s}.lane SET seen = now() WHERE id = $1"),
            dead_lanes: format!(
                "SELECT id, sums FROM {s}.lane WHERE id = $1 \
                 OR seen < now() - interval '10 minutes' ORDER BY id FOR UPDATE"
            ),
            delete_lanes: format!("DELETE FROM {s}.lane WHERE id = ANY($1)"),
            update: raising(
                &format!(
                    "UPDATE {s}.kv SET v = w.v, r = w.r FROM unnest($1, $2, $3, $4) w(k, r0, v, r) \
                     WHERE kv.k = w.k AND kv.r = w.r0"
                ),
                "$5",
            ),
            delete: raising(
                &format!(
                    "DELETE FROM {s}.kv USING unnest($1, $2) w(k, r0) \
                     WHERE kv.k = w.k AND kv.r = w.r0"
                ),
                "$3",
            ),
            check: format!(
                "WITH u AS (SELECT kv.k FROM unnest($1, $2) w(k, r0) JOIN {s}.kv ON kv.k = w.k \
                 AND kv.r = w.r0 ORDER BY kv.k FOR UPDATE OF kv) \
                 SELECT 1 / (CASE WHEN (SELECT count(*) FROM u) = $3 THEN 1 ELSE 0 END)"
            ),
            insert: format!(
                "INSERT INTO {s}.kv (k, v, r) SELECT k, v, r FROM unnest($1, $2, $3) w(k, v, r) \
                 ORDER BY k"
            ),
            probe: format!(
                "INSERT INTO {s}.kv (k, v, r) SELECT k, '', 0 FROM unnest($1) w(k) ORDER BY k"
            ),
            unprobe: format!("DELETE FROM {s}.kv WHERE k = ANY($1)"),
            upsert: format!(
                "INSERT INTO {s}.kv (k, v, r) SELECT k, v, r FROM unnest($1, $2, $3) w(k, v, r) \
                 ORDER BY k ON CONFLICT (k) DO UPDATE SET v = excluded.v, r = excluded.r"
            ),
            remove: format!("DELETE FROM {s}.kv WHERE k = ANY($1)"),
            append: format!(
                "WITH w AS (SELECT id, c, f FROM unnest($1, $2, $3) w(id, c, f)), \
                 t AS (INSERT INTO {s}.tail AS t (id, n) SELECT id, f + c - 1 FROM w ORDER BY id \
                   ON CONFLICT (id) DO UPDATE SET \
                     n = greatest(t.n + (SELECT c FROM w WHERE w.id = t.id), excluded.n) \
                   RETURNING id, n) \
                 INSERT INTO {s}.kv (k, v, r) \
                 SELECT '\\x01'::bytea || a.id || \
                   decode(lpad(to_hex(t.n - w.c + a.i), 16, '0'), 'hex'), a.v, $7 \
                 FROM unnest($4, $5, $6) a(id, v, i) JOIN t ON t.id = a.id JOIN w ON w.id = a.id"
            ),
            fold: format!(
                "INSERT INTO {s}.total AS t (id, n) SELECT id, n FROM unnest($1, $2) w(id, n) \
                 ORDER BY id ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n"
            ),
            sums: format!(
                "SELECT sums, NULL::bytea AS id, 0::bigint AS n FROM {s}.lane \
                 UNION ALL SELECT NULL, id, n FROM {s}.total WHERE id = ANY($1)"
            ),
            make_node: format!(
                "INSERT INTO {s}.kv (k, v, r) VALUES ($1, $2, $3) ON CONFLICT (k) DO NOTHING"
            ),
            to_remove: format!(
                "SELECT k, CASE WHEN octet_length(k) = $4 THEN v END FROM {s}.kv \
                 WHERE k >= $1 AND k < $2 ORDER BY k LIMIT $3"
            ),
            delete_tails: format!("DELETE FROM {s}.tail WHERE id >= $1 AND id < $2"),
            delete_totals: format!("DELETE FROM {s}.total WHERE id >= $1 AND id < $2"),
            count: format!("SELECT count(*) FROM (SELECT 1 FROM {s}.kv LIMIT 10001) c"),
            size: format!(
                "SELECT reltuples::bigint, pg_total_relation_size('{s}.kv')::bigint FROM pg_class \
                 WHERE oid = '{s}.kv'::regclass"
            ),
        }
    }

    /// What those who look up prepare.
    pub(super) fn of_lookups(&self) -> Vec<Prepared> {
        vec![(self.read.clone(), vec![Type::BYTEA_ARRAY])]
    }

    /// What snapshots prepare.
    pub(super) fn of_scans(&self) -> Vec<Prepared> {
        let page = || vec![Type::BYTEA, Type::BYTEA, Type::INT8, Type::INT8];
        let mut scans = self.of_lookups();
        let pages = [&self.forward, &self.backward, &self.plain_forward, &self.plain_backward];
        scans.extend(pages.map(|sql| (sql.clone(), page())));
        scans
    }

    /// What lanes prepare.
    pub(super) fn of_flights(&self) -> Vec<Prepared> {
        let (number, bytes) = (Type::INT8, Type::BYTEA);
        let (numbers, keys) = (Type::INT8_ARRAY, Type::BYTEA_ARRAY);
        let types = |types: &[&Type]| types.iter().map(|kind| (*kind).clone()).collect();
        vec![
            (self.mark.clone(), types(&[&number, &number, &number, &number, &bytes])),
            (self.set_sums.clone(), types(&[&number, &bytes])),
            (self.lock.clone(), types(&[&keys])),
            (self.lock_only.clone(), types(&[&keys])),
            (self.check.clone(), types(&[&keys, &numbers, &number])),
            (self.update.clone(), types(&[&keys, &numbers, &keys, &numbers, &number])),
            (self.delete.clone(), types(&[&keys, &numbers, &number])),
            (self.insert.clone(), types(&[&keys, &keys, &numbers])),
            (self.upsert.clone(), types(&[&keys, &keys, &numbers])),
            (self.probe.clone(), types(&[&keys])),
            (self.unprobe.clone(), types(&[&keys])),
            (self.remove.clone(), types(&[&keys])),
            (
                self.append.clone(),
                types(&[&keys, &numbers, &numbers, &keys, &keys, &numbers, &number]),
            ),
        ]
    }
}
