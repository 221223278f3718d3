//! A PostgreSQL server of the tests' own: in a temporary folder, on a free port, as an unprivileged user.
//!
//! It ends when its owner is dropped or the process that started it ends, however that happens: a shell
//! watches over it that reads from a pipe which only that process holds. [`Proxy`] stands between a client
//! and the server and cuts connections; [`Pooler`] is a pgbouncer.
//!
//! The store's tests include this file by its path, so it uses nothing of the workspace.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Starts the server, waits for the end of its input, ends the server and, unless told otherwise, removes
/// its folder.
const WATCH: &str = r#"exec 3<&0
"$1"/postgres -D "$2"/data -p "$3" -k "$2" -c listen_addresses=127.0.0.1 -c max_connections=300 \
    -c fsync="$4" -c max_wal_size=4GB </dev/null >"$2"/log 2>&1 &
server=$!
last=$(cat <&3)
kill -QUIT $server 2>/dev/null
wait $server
if [ "$last" != keep ]; then rm -rf "$2"; fi"#;

/// How many servers this process has started.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    user: Option<(u32, u32)>,
    syncs: bool,
    watcher: Mutex<Option<Child>>,
}

impl Postgres {
    /// Starts a server; none, and a line that says so, if PostgreSQL is not installed. Fails then with
    /// `KEYLOOM_REQUIRE_CLIENTS=1`. Without syncs it is faster, and survives kills all the same.
    pub fn start(syncs: bool) -> Option<Self> {
        let Some(programs) = programs() else {
            let reason = "PostgreSQL is not installed (scripts/setup-clients installs it)";
            assert!(std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(), "{reason}");
            eprintln!("skipped: {reason}");
            return None;
        };
        let server = Self::in_new_folder(programs, syncs);
        let mut initdb = server.command("initdb");
        initdb.arg("-D").arg(server.folder.join("data"));
        initdb.args(["-U", "keyloom", "--auth=trust", "-N", "-E", "UTF8", "--locale=C"]);
        let made = initdb.output().expect("to run initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.resume();
        Some(server)
    }

    fn in_new_folder(programs: PathBuf, syncs: bool) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyloom-pg-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let user = unprivileged();
        if let Some((user, group)) = user {
            chown(&folder, Some(user), Some(group)).expect("to give the folder away");
        }
        Self { programs, folder, port: free_port(), user, syncs, watcher: Mutex::default() }
    }

    /// A standby of this server, which waits for it with every commit from now on.
    #[must_use]
    pub fn with_standby(&self) -> Self {
        let standby = Self::in_new_folder(self.programs.clone(), self.syncs);
        let from =
            format!("host=127.0.0.1 port={} user=keyloom application_name=standby", self.port);
        let mut copy = standby.command("pg_basebackup");
        copy.args(["-R", "-X", "stream", "-c", "fast", "-d", &from, "-D"]);
        let copied = copy.arg(standby.folder.join("data")).output().expect("to run pg_basebackup");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        standby.resume();
        self.set(&[("synchronous_standby_names", "standby")]);
        standby
    }

    /// Makes a standby the primary, which waits for nobody.
    pub fn promote(&self) {
        self.query("SELECT pg_promote()");
        self.set(&[("synchronous_standby_names", "")]);
    }

    /// The URL of a store in a schema of its own.
    pub fn url(&self, schema: &str) -> String {
        Self::url_through(self.port, schema)
    }

    /// The same through a proxy on this port.
    pub fn url_through(port: u16, schema: &str) -> String {
        format!(
            "postgres://keyloom@127.0.0.1:{port}/postgres?sslmode=disable&keyloom_schema={schema}"
        )
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs a statement and returns what it prints, one row per line.
    pub fn query(&self, sql: &str) -> String {
        let mut psql = self.command("psql");
        psql.args(["-h", "127.0.0.1", "-U", "keyloom", "-d", "postgres", "-X", "-A", "-t", "-q"]);
        let output = psql.args(["-p", &self.port.to_string(), "-c", sql]).output();
        let output = output.expect("to run psql");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs a script under `pgbench` with prepared statements: transactions per second, and the average
    /// latency in milliseconds.
    pub fn pgbench(
        &self,
        script: &str,
        clients: usize,
        seconds: u64,
    ) -> Result<(f64, f64), String> {
        let file = self.write_file("pgbench.sql", script);
        let mut pgbench = self.command("pgbench");
        pgbench.args(["-n", "-M", "prepared", "-h", "127.0.0.1", "-U", "keyloom", "-j", "2"]);
        pgbench.args(["-p", &self.port.to_string(), "-c", &clients.to_string()]);
        pgbench.args(["-T", &seconds.to_string(), "-f"]).arg(&file).arg("postgres");
        let output = pgbench.output().map_err(|error| format!("run pgbench: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figure = |label: &str| -> Result<f64, String> {
            let line = text.lines().find_map(|line| line.strip_prefix(label));
            let figure = line.and_then(|line| line.split(' ').next()?.parse().ok());
            figure.ok_or_else(|| {
                format!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr))
            })
        };
        Ok((figure("tps = ")?, figure("latency average = ")?))
    }

    /// The processor time that all its processes have used so far.
    pub fn cpu(&self) -> Duration {
        /// In which Linux counts it, on every architecture.
        const TICK: Duration = Duration::from_millis(10);
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid"));
        let own = file.expect("a running server").lines().next().unwrap_or_default().to_owned();
        let mut ticks = 0;
        for process in std::fs::read_dir("/proc").expect("Linux").flatten() {
            // It may have ended meanwhile.
            let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
            let fields: Vec<&str> = fields.split(' ').collect();
            let sum = |fields: Option<&[&str]>| -> u32 {
                fields.into_iter().flatten().filter_map(|field| field.parse::<u32>().ok()).sum()
            };
            if *process.file_name() == *own {
                // Also what those have used that have ended.
                ticks += sum(fields.get(11..15));
            } else if fields.get(1) == Some(&own.as_str()) {
                ticks += sum(fields.get(11..13));
            }
        }
        TICK * ticks
    }

    /// Writes a file that the server may read and nobody else, in its folder.
    pub fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("to write a file for the server");
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("to close it");
        if let Some((user, group)) = self.user {
            chown(&path, Some(user), Some(group)).expect("to give it away");
        }
        path
    }

    /// Changes settings, and waits until the server has read them.
    pub fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.query(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        }
        self.query("SELECT pg_reload_conf()");
        let end = Instant::now() + Duration::from_secs(20);
        for (name, value) in settings {
            while self.query(&format!("SHOW {name}")) != *value {
                assert!(Instant::now() < end, "the server does not take {name} = {value}");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Ends the server at once, without a checkpoint and in the middle of everything.
    pub fn stop_immediately(&self) {
        if let Some(mut watcher) = self.watcher.lock().expect("no panic").take() {
            if let Some(mut input) = watcher.stdin.take() {
                input.write_all(b"keep").expect("to tell the shell");
            }
            watcher.wait().expect("to wait for the server");
        }
    }

    /// Starts the server again and waits until it answers.
    pub fn resume(&self) {
        let mut watcher = Command::new("sh");
        watcher.args(["-c", WATCH, "sh"]).arg(&self.programs).arg(&self.folder);
        watcher.arg(self.port.to_string()).arg(if self.syncs { "on" } else { "off" });
        watcher.stdin(Stdio::piped()).current_dir(&self.folder);
        if let Some((user, group)) = self.user {
            watcher.uid(user).gid(group);
        }
        *self.watcher.lock().expect("no panic") = Some(watcher.spawn().expect("to start a shell"));
        let end = Instant::now() + Duration::from_mins(1);
        let mut ready = self.command("pg_isready");
        ready.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-q"]);
        while !ready.status().is_ok_and(|status| status.success()) {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < end, "PostgreSQL does not start: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(&self.folder);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop_immediately();
        // A folder of temporary files: what is left does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder of PostgreSQL's programs.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    folders.extend(debian.flatten().map(|version| version.path().join("bin")));
    let has_all = |folder: &Path| {
        ["initdb", "postgres", "psql", "pg_isready"].iter().all(|p| folder.join(p).exists())
    };
    folders.into_iter().find(|folder| has_all(folder))
}

/// Another user's and group's number if this is root, whom PostgreSQL refuses.
fn unprivileged() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    ["postgres", "nobody"].iter().find_map(|user| Some((id(&["-u", user])?, id(&["-g", user])?)))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}

/// A `pgbouncer` in front of a server that gives connections to clients for one transaction at a time.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    process: Child,
}

impl Pooler {
    /// Starts it; none, and a line that says so, if it is not installed.
    pub fn start(server: &Postgres) -> Option<Self> {
        let Some(program) = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
            .into_iter()
            .find(|program| Path::new(program).exists())
        else {
            let reason = "pgbouncer is not installed (scripts/setup-clients installs it)";
            assert!(std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(), "{reason}");
            eprintln!("skipped: {reason}");
            return None;
        };
        let (port, folder) = (free_port(), &server.folder);
        let users = server.write_file("users", "\"keyloom\" \"\"\n");
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user=keyloom\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n\
             auth_file = {}\npool_mode = transaction\ndefault_pool_size = 5\n\
             server_reset_query =\nlogfile = {}\n",
            server.port,
            users.display(),
            folder.join("pooler.log").display()
        );
        let settings = server.write_file("pooler.ini", &settings);
        let mut pooler = Command::new(program);
        pooler.arg("-q").arg(settings).current_dir(folder).stdin(Stdio::null());
        if let Some((user, group)) = server.user {
            pooler.uid(user).gid(group);
        }
        let pooler = Self { port, process: pooler.spawn().expect("to start pgbouncer") };
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "pgbouncer does not start");
            thread::sleep(Duration::from_millis(20));
        }
        Some(pooler)
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = (self.process.kill(), self.process.wait());
    }
}

/// Stands between clients and a server, and cuts connections on request.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<Cutting>,
}

/// When a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Before the text arrives; what precedes it does.
    Before,
    /// When the server has committed or rolled back; its answer is lost.
    After,
    /// At once, and the message arrives later all the same, when the client has given up.
    Late(Duration),
    /// At once, and the message arrives when a client sends this text on another connection, before that text.
    Overtaking(&'static str),
    /// By the client alone: from then on nothing arrives, and nothing comes back.
    Never,
}

/// How long a cut connection is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long what a client has sent takes to the server and into its queue.
const ARRIVAL: Duration = Duration::from_millis(30);

#[derive(Debug, Default)]
struct Cutting {
    /// What to look for in the client's bytes, where to cut, and how many times it is let pass.
    plan: Mutex<Option<(Vec<u8>, Cut, usize)>>,
    /// The text that a message is held back for, and how to let it go.
    held: Mutex<Option<(&'static str, Sender<()>)>>,
    /// Bytes from clients after which a connection is cut; zero for never.
    cut_after_bytes: AtomicU64,
    /// Bytes that clients have sent.
    sent: AtomicU64,
    cuts: AtomicUsize,
    lost_commits: AtomicUsize,
    /// The port of the server.
    to: AtomicU16,
}

/// Finds a text in bytes that come in pieces.
struct Search {
    last: Vec<u8>,
}

impl Search {
    fn new() -> Self {
        Self { last: Vec::new() }
    }

    /// Where the first of these texts begins in the piece, at the earliest at zero.
    fn find(&mut self, texts: &[&[u8]], piece: &[u8]) -> Option<usize> {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(1);
        let before = self.last.len();
        self.last.extend_from_slice(piece);
        let found = texts
            .iter()
            .filter_map(|text| self.last.windows(text.len()).position(|window| window == *text));
        let found = found.min().map(|place| place.saturating_sub(before));
        let keep = self.last.len().saturating_sub(if found.is_some() { 0 } else { longest - 1 });
        self.last.drain(..keep);
        found
    }
}

/// The answers of a connection after it was cut.
#[derive(Debug, Default)]
struct Muted {
    is_muted: AtomicBool,
    has_ended: AtomicBool,
}

impl Proxy {
    /// A proxy in front of a port.
    pub fn start(to: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("its number").port();
        let state = Arc::new(Cutting { to: to.into(), ..Cutting::default() });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let to = shared.to.load(Ordering::SeqCst);
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                shared.connect(client, server);
            }
        });
        Self { port, state }
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends new connections to another server.
    pub fn redirect(&self, to: u16) {
        self.state.to.store(to, Ordering::SeqCst);
    }

    /// Cuts the connection on which a client sends this text, having let it pass so many times.
    pub fn cut_at(&self, text: &str, cut: Cut, let_pass: usize) {
        *self.state.plan.lock().expect("no panic") = Some((text.into(), cut, let_pass));
    }

    /// Cuts the next connection whose client has sent so many more bytes.
    pub fn cut_after(&self, bytes: u64) {
        self.state.cut_after_bytes.store(bytes, Ordering::SeqCst);
    }

    /// How many bytes clients have sent so far.
    pub fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst)
    }

    /// How many connections were cut as planned.
    pub fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// On how many of them the server has committed, and nobody got the answer.
    pub fn lost_commits(&self) -> usize {
        self.state.lost_commits.load(Ordering::SeqCst)
    }
}

impl Cutting {
    fn connect(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (Ok(mut from), Ok(mut to)) = (client.try_clone(), server.try_clone()) else { return };
        let (mut back, mut answers) = (client, server);
        let muted = Arc::new(Muted::default());
        let (shared, quiet) = (Arc::clone(self), Arc::clone(&muted));
        thread::spawn(move || {
            let (mut buffer, mut search) = (vec![0; 64 << 10], Search::new());
            while let Ok(count) = from.read(&mut buffer) {
                let bytes = buffer.get(..count).unwrap_or_default();
                if bytes.is_empty() {
                    break;
                }
                shared.sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                shared.let_go(bytes);
                match shared.verdict(&mut search, bytes) {
                    Some((cut, arriving)) => {
                        shared.cut(cut, &from, &mut to, bytes, arriving, &muted);
                        break;
                    }
                    None if to.write_all(bytes).is_err() => break,
                    None => {}
                }
            }
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let (mut buffer, mut search) = (vec![0; 64 << 10], Search::new());
            while let Ok(count) = answers.read(&mut buffer) {
                let bytes = buffer.get(..count).unwrap_or_default();
                if bytes.is_empty() {
                    break;
                }
                if quiet.is_muted.load(Ordering::SeqCst) {
                    shared.note(&quiet, &mut search, bytes);
                } else if back.write_all(bytes).is_err() {
                    break;
                }
            }
            let _ = (answers.shutdown(Shutdown::Both), back.shutdown(Shutdown::Both));
        });
    }

    /// Cuts a connection whose client has sent these bytes.
    fn cut(
        &self,
        cut: Cut,
        from: &TcpStream,
        to: &mut TcpStream,
        bytes: &[u8],
        arriving: usize,
        muted: &Muted,
    ) {
        muted.is_muted.store(true, Ordering::SeqCst);
        match cut {
            Cut::Before => {
                let _ = to.write_all(bytes.get(..arriving).unwrap_or(bytes));
                return;
            }
            Cut::Never => {
                let (mut from, mut ignored) = (from, [0; 1024]);
                while from.read(&mut ignored).is_ok_and(|count| count > 0) {}
                return;
            }
            Cut::After => {}
            Cut::Late(delay) => {
                let _ = from.shutdown(Shutdown::Both);
                thread::sleep(delay);
            }
            Cut::Overtaking(text) => {
                let (go, gone) = channel();
                *self.held.lock().expect("no panic") = Some((text, go));
                let _ = from.shutdown(Shutdown::Both);
                let _ = gone.recv_timeout(PATIENCE);
            }
        }
        let _ = to.write_all(bytes);
        let end = Instant::now() + PATIENCE;
        while !muted.has_ended.load(Ordering::SeqCst) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets a message go that is held back until a client sends this, and gives it time to arrive.
    fn let_go(&self, bytes: &[u8]) {
        let mut held = self.held.lock().expect("no panic");
        let is_awaited = |text: &str| Search::new().find(&[text.as_bytes()], bytes).is_some();
        if held.as_ref().is_some_and(|(text, _)| is_awaited(text))
            && let Some((_, go)) = held.take()
        {
            let _ = go.send(());
            thread::sleep(ARRIVAL);
        }
    }

    /// Looks for the end of a transaction in answers that go nowhere.
    fn note(&self, muted: &Muted, search: &mut Search, answers: &[u8]) {
        let mut commits = Search { last: search.last.clone() };
        if search.find(&[b"COMMIT\0", b"ROLLBACK\0"], answers).is_some() {
            let has_committed = commits.find(&[b"COMMIT\0"], answers).is_some();
            self.lost_commits.fetch_add(usize::from(has_committed), Ordering::SeqCst);
            muted.has_ended.store(true, Ordering::SeqCst);
        }
    }

    /// Whether these bytes of a client are those at which to cut, and how many still arrive.
    fn verdict(&self, search: &mut Search, bytes: &[u8]) -> Option<(Cut, usize)> {
        let left = self.cut_after_bytes.load(Ordering::SeqCst);
        if left > 0 {
            let after = left.saturating_sub(bytes.len() as u64);
            self.cut_after_bytes.store(after, Ordering::SeqCst);
            if after == 0 {
                self.cuts.fetch_add(1, Ordering::SeqCst);
                return Some((Cut::Before, left as usize));
            }
        }
        let mut plan = self.plan.lock().expect("no panic");
        let (text, cut, let_pass) = plan.as_mut()?;
        let place = search.find(&[text], bytes)?;
        if *let_pass > 0 {
            *let_pass -= 1;
            return None;
        }
        let cut = *cut;
        *plan = None;
        self.cuts.fetch_add(1, Ordering::SeqCst);
        Some((cut, place))
    }
}
