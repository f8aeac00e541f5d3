//! Values under keys in Redis.
//!
//! Every key is also in one sorted set, changed in the same script as the value: so keys are listed in their order, and
//! no name is ever taken for a pattern. Connections live on a thread of their own, so that the store works without a
//! runtime and outlives any.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ::redis::aio::{ConnectionManager, ConnectionManagerConfig};
use ::redis::{Client, ErrorKind, FromRedisValue, RedisError, RedisResult, Script, ServerErrorKind};
use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{KeyValue, Put, is_key};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The most keys that one script looks at: a server does nothing else meanwhile.
const PAGE: usize = 512;

/// Keys: the value, the set. Arguments: the value, whether only a new one, how long in milliseconds, the name.
const PUT: &str = "
local how = {}
if ARGV[2] == '1' then how[#how + 1] = 'NX' end
if ARGV[3] ~= '' then how[#how + 1] = 'PX'; how[#how + 1] = ARGV[3] end
if not redis.call('SET', KEYS[1], ARGV[1], unpack(how)) then return 0 end
redis.call('ZADD', KEYS[2], 0, ARGV[4])
return 1";

/// Keys: the set. Arguments: what values begin with, the names.
const DELETE: &str = "
for at = 2, #ARGV do
    redis.call('UNLINK', ARGV[1] .. ARGV[at])
    redis.call('ZREM', KEYS[1], ARGV[at])
end
return 1";

/// Keys: the set. Arguments: what values begin with, the range, how many. What has lapsed is taken from the set.
const LIST: &str = "
local found, from, most = {}, ARGV[2], tonumber(ARGV[4])
while #found < most do
    local some = redis.call('ZRANGEBYLEX', KEYS[1], from, ARGV[3], 'LIMIT', 0, most)
    if #some == 0 then break end
    for _, name in ipairs(some) do
        if redis.call('EXISTS', ARGV[1] .. name) == 0 then
            redis.call('ZREM', KEYS[1], name)
        elseif #found < most then
            found[#found + 1] = name
        end
    end
    from = '(' .. some[#some]
end
return found";

/// How a server is connected to; see [`Redis::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct RedisOptions {
    space: String,
    patience: Duration,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self { space: "superstep".to_owned(), patience: Duration::from_secs(10) }
    }
}

impl RedisOptions {
    /// What the names in the server begin with: values are `‹space›=‹key›`, the set of keys is `‹space›#`. `superstep`
    /// unless told; 1 to 128 of `A-Z a-z 0-9 _ . : -`.
    pub fn space(mut self, space: impl Into<String>) -> Self {
        self.space = space.into();
        self
    }

    /// How long a server that does not answer is waited for before a call fails. 10 seconds unless told.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Connects to a server: `redis://:password@host:port/database`, or `redis+unix:///path/of/the/socket`.
    ///
    /// # Errors
    /// When the address cannot be read or asks for encryption (`rediss`), or the server cannot be reached or refuses
    /// the password.
    pub async fn connect(&self, url: &str) -> Result<Redis> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if !(1..=128).contains(&self.space.len()) || !self.space.bytes().all(is_plain) {
            return Err(Error::new(Code::ConfigInvalid, format!("`{}` cannot be put before names", self.space))
                .help("take 1 to 128 of `A-Z a-z 0-9 _ . : -`"));
        }
        let client = Client::open(url).map_err(|error| {
            Error::new(Code::ConfigInvalid, format!("the address of the Redis server cannot be used: {error}"))
                .help("write `redis://:password@host:port/database`; encryption (`rediss`) is not supported yet")
        })?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(self.patience))
            .set_connection_timeout(Some(self.patience))
            .set_max_delay(self.patience / 4);
        let room = Room::start().await?;
        let manager = room.perform(async move { ConnectionManager::new_with_config(client, config).await }).await?;
        let asked = manager.clone();
        let warnings = room.perform(async move { Ok(warnings(asked).await) }).await?;
        Ok(Redis(Arc::new(Inner { room, manager, warnings, space: self.space.clone() })))
    }
}

/// A Redis server as a store of values under keys. Clones are one and the same.
///
/// Any number of processes on any number of machines may share it. What was told as saved is as safe as the server makes
/// it: see [`Redis::warnings`]. One server, or one that takes over for it; not a cluster.
///
/// ```no_run
/// use superstep_adapters::key_value::{KeyValueStore, Redis};
///
/// # async fn open() -> superstep::Result<()> {
/// let redis = Redis::connect("redis://localhost:6379").await?;
/// for warning in redis.warnings() {
///     eprintln!("{warning}");
/// }
/// let store = KeyValueStore::open(redis)?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Redis(Arc<Inner>);

struct Inner {
    room: Room,
    manager: ConnectionManager,
    warnings: Vec<String>,
    space: String,
}

impl Redis {
    /// Connects to a server, with names that begin with `superstep`.
    ///
    /// # Errors
    /// As [`RedisOptions::connect`].
    pub async fn connect(url: &str) -> Result<Self> {
        RedisOptions::default().connect(url).await
    }

    /// Connects in another way than the usual.
    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    /// What the settings of the server take away from the promises of a store, as it was when it was connected to;
    /// empty when that is nothing.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    fn values(&self) -> String {
        format!("{}=", self.0.space)
    }

    fn set(&self) -> String {
        format!("{}#", self.0.space)
    }

    /// Asks the server, on the thread of the connection.
    async fn ask<T, F>(&self, question: impl FnOnce(ConnectionManager) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = RedisResult<T>> + Send + 'static,
    {
        self.0.room.perform(question(self.0.manager.clone())).await
    }

    async fn run<T: FromRedisValue + Send + 'static>(
        &self,
        script: &'static str,
        keys: Vec<String>,
        arguments: Vec<Vec<u8>>,
    ) -> Result<T> {
        self.ask(|mut manager| async move {
            let script = Script::new(script);
            let mut call = script.prepare_invoke();
            for key in &keys {
                call.key(key);
            }
            for argument in &arguments {
                call.arg(&argument[..]);
            }
            call.invoke_async(&mut manager).await
        })
        .await
    }
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redis").field("space", &self.0.space).finish_non_exhaustive()
    }
}

impl KeyValue for Redis {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let name = self.values() + key;
        self.ask(|mut manager| async move { ::redis::cmd("GET").arg(name).query_async(&mut manager).await }).await
    }

    async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = keys.iter().map(|key| self.values() + key).collect();
        self.ask(|mut manager| async move { ::redis::cmd("MGET").arg(names).query_async(&mut manager).await }).await
    }

    async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
        if !is_key(key) {
            return Err(Error::new(Code::InputInvalid, format!("`{key}` is not a key")));
        }
        let lasts = put.lasts.map_or_else(String::new, |lasts| lasts.as_millis().clamp(1, 1 << 52).to_string());
        let only_new = if put.only_new { "1" } else { "0" };
        let arguments = [value, only_new.as_bytes(), lasts.as_bytes(), key.as_bytes()].map(<[u8]>::to_vec);
        let is_put: u8 = self.run(PUT, vec![self.values() + key, self.set()], arguments.to_vec()).await?;
        Ok(is_put == 1)
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        for some in keys.chunks(PAGE) {
            let arguments =
                std::iter::once(self.values().into_bytes()).chain(some.iter().map(|key| key.clone().into()));
            self.run::<u8>(DELETE, vec![self.set()], arguments.collect()).await?;
        }
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let mut found: Vec<String> = Vec::new();
        let mut after = after.filter(|after| *after >= prefix).map(str::to_owned);
        // No key has a character as high as the last of these.
        let end = format!("({prefix}\u{7f}");
        while found.len() < limit {
            let from = after.as_ref().map_or_else(|| format!("[{prefix}"), |after| format!("({after}"));
            let most = PAGE.min(limit - found.len());
            let arguments = [self.values(), from, end.clone(), most.to_string()].map(String::into_bytes);
            let some: Vec<String> = self.run(LIST, vec![self.set()], arguments.to_vec()).await?;
            let is_last = some.len() < most;
            after = some.last().cloned();
            found.extend(some);
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}

/// The thread that connections live on.
struct Room {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Room {
    async fn start() -> Result<Self> {
        let no_thread =
            |error: std::io::Error| Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}"));
        let (told, begun) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        // The runtime is made and ends on its thread: one that ends in a task of another takes that down with it.
        let work = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                drop(told.send(Ok(runtime.handle().clone())));
                // Whoever lets go of the other end wants it to stop.
                drop(runtime.block_on(stopped));
            }
            Err(error) => drop(told.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("superstep-redis".to_owned()).spawn(work).map_err(no_thread)?;
        let handle = begun.await.map_err(|_| Error::internal("the thread of a store ended at once"))?;
        Ok(Self { handle: handle.map_err(no_thread)?, stop: Some(stop), thread: Some(thread) })
    }

    async fn perform<T: Send + 'static>(
        &self,
        work: impl Future<Output = RedisResult<T>> + Send + 'static,
    ) -> Result<T> {
        match self.handle.spawn(work).await {
            Ok(done) => done.map_err(|error| describe(&error)),
            Err(_) => Err(Error::new(Code::StoreUnavailable, "the connection to Redis is closed")
                .help("this may not be saved; open the store anew")),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only panics for a bug, of which whoever waited was told.
            drop(thread.join());
        }
    }
}

/// A failure of the server or of the way to it as an error of ours.
fn describe(error: &RedisError) -> Error {
    let outage = |message: &str, help: &str| Error::new(Code::StoreUnavailable, message).help(help);
    let described = match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig, _)
        | (_, Some("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
            outage("Redis refuses the user", "nothing was saved; look at the password and the rights of the user")
                .retryable(false)
        }
        (ErrorKind::Server(ServerErrorKind::ReadOnly), _) | (_, Some("READONLY")) => outage(
            "this Redis server is a copy that takes no writes",
            "nothing of this was saved; connect to the server that does",
        ),
        (_, Some("OOM")) => outage(
            "the memory of the Redis server is full",
            "this was not saved, everything before it is; give it more memory",
        ),
        (_, Some("MISCONF")) => {
            outage("Redis cannot write to its disk", "this was not saved; look at the disk of the server")
        }
        _ => outage(
            "Redis cannot be reached, or did not answer",
            "this may not be saved, everything told before it is; go on with the thread later",
        ),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.caused_by(Arc::from(cause))
}

/// What a setting takes away.
async fn warnings(mut manager: ConnectionManager) -> Vec<String> {
    let asked: RedisResult<std::collections::BTreeMap<String, String>> = ::redis::cmd("CONFIG")
        .arg("GET")
        .arg(&["appendonly", "appendfsync", "maxmemory", "maxmemory-policy"])
        .query_async(&mut manager)
        .await;
    let Ok(settings) = asked else {
        return vec![
            "the server does not tell how it keeps what is saved: see that `appendonly` is `yes`, `appendfsync` is \
             `always` and `maxmemory-policy` is `noeviction`"
                .to_owned(),
        ];
    };
    let is = |name: &str, value: &str| settings.get(name).is_some_and(|found| found == value);
    let mut warnings = Vec::new();
    if !is("appendonly", "yes") {
        warnings
            .push("`appendonly` is off: when the server ends, supersteps that were told as saved are gone".to_owned());
    } else if !is("appendfsync", "always") {
        warnings.push(
            "`appendfsync` is not `always`: when the machine of the server fails, the last second may be gone"
                .to_owned(),
        );
    }
    if !is("maxmemory-policy", "noeviction") && !is("maxmemory", "0") {
        warnings
            .push("`maxmemory-policy` is not `noeviction`: a server that is full forgets what was saved".to_owned());
    }
    warnings
}
