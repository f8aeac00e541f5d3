//! A key-value store in Redis.
//!
//! Every key is also a member of one sorted set, which is changed in the same script as the value; so keys are listed
//! in order, and no key is interpreted as a pattern. Connections run on a dedicated thread, so that the store works
//! without a Tokio runtime and outlives the runtime of its caller.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ::redis::aio::{ConnectionManager, ConnectionManagerConfig};
use ::redis::{Client, ErrorKind, FromRedisValue, RedisError, RedisResult, Script, ServerErrorKind};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{KeyValue, PutOptions, is_valid_key};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Maximum number of keys per script, because the server runs nothing else during a script.
const PAGE_SIZE: usize = 512;

/// `KEYS`: the value, the set. `ARGV`: the value, `1` for only if new, time to live in milliseconds, the key.
const PUT: &str = "
local how = {}
if ARGV[2] == '1' then how[#how + 1] = 'NX' end
if ARGV[3] ~= '' then how[#how + 1] = 'PX'; how[#how + 1] = ARGV[3] end
if not redis.call('SET', KEYS[1], ARGV[1], unpack(how)) then return 0 end
redis.call('ZADD', KEYS[2], 0, ARGV[4])
return 1";

/// `KEYS`: the set. `ARGV`: the prefix of values, the keys.
const DELETE: &str = "
for at = 2, #ARGV do
    redis.call('UNLINK', ARGV[1] .. ARGV[at])
    redis.call('ZREM', KEYS[1], ARGV[at])
end
return 1";

/// `KEYS`: the set. `ARGV`: the prefix of values, both ends of the range, the limit. Expired keys are removed from
/// the set.
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

/// Connection settings of a server; see [`RedisKeyValue::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct RedisOptions {
    space: String,
    response_timeout: Duration,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self { space: "superstep".to_owned(), response_timeout: Duration::from_secs(10) }
    }
}

impl RedisOptions {
    /// Sets the prefix of all names in the server: a value is stored under `‹space›=‹key›`, the set of keys is
    /// `‹space›#`. Default: `superstep`. A prefix has 1 to 128 of the characters `A-Z a-z 0-9 _ . : -`.
    pub fn space(mut self, space: impl Into<String>) -> Self {
        self.space = space.into();
        self
    }

    /// Sets the time after which a call fails if the server does not respond. Default: 10 seconds.
    pub fn response_timeout(mut self, response_timeout: Duration) -> Self {
        self.response_timeout = response_timeout;
        self
    }

    /// Connects to a server: `redis://:password@host:port/database`, or `redis+unix:///path/of/the/socket`.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid or requests TLS (`rediss`), if the server cannot be reached, or if the
    /// server rejects the password.
    pub async fn connect(&self, url: &str) -> Result<RedisKeyValue> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if !(1..=128).contains(&self.space.len()) || !self.space.bytes().all(is_plain) {
            return Err(Error::new(ErrorCode::ConfigInvalid, format!("`{}` is not a valid name prefix", self.space))
                .with_help("use 1 to 128 of `A-Z a-z 0-9 _ . : -`"));
        }
        let client = Client::open(url).map_err(|error| {
            Error::new(ErrorCode::ConfigInvalid, format!("the URL of the Redis server is invalid: {error}"))
                .with_help("use `redis://:password@host:port/database`; TLS (`rediss`) is not supported")
        })?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(self.response_timeout))
            .set_connection_timeout(Some(self.response_timeout))
            .set_max_delay(self.response_timeout / 4);
        let io_thread = IoThread::start().await?;
        let manager =
            io_thread.perform(async move { ConnectionManager::new_with_config(client, config).await }).await?;
        let connection = manager.clone();
        let warnings = io_thread.perform(async move { Ok(warnings(connection).await) }).await?;
        Ok(RedisKeyValue(Arc::new(RedisInner { io_thread, manager, warnings, space: self.space.clone() })))
    }
}

/// A key-value store in a Redis server. Clones share one store.
///
/// Any number of processes on any number of machines may share a server. The durability of saved values depends on the
/// settings of the server: see [`RedisKeyValue::warnings`]. Supports a single server or one with failover, not Redis
/// Cluster.
///
/// ```no_run
/// use superstep_adapters::key_value::{KeyValueCheckpointer, RedisKeyValue};
///
/// # async fn open() -> superstep::Result<()> {
/// let redis = RedisKeyValue::connect("redis://localhost:6379").await?;
/// for warning in redis.warnings() {
///     eprintln!("{warning}");
/// }
/// let store = KeyValueCheckpointer::open(redis)?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisKeyValue(Arc<RedisInner>);

struct RedisInner {
    io_thread: IoThread,
    manager: ConnectionManager,
    warnings: Vec<String>,
    space: String,
}

impl RedisKeyValue {
    /// Connects to a server, with the prefix `superstep`.
    ///
    /// # Errors
    /// Returns the errors of [`RedisOptions::connect`].
    pub async fn connect(url: &str) -> Result<Self> {
        RedisOptions::default().connect(url).await
    }

    /// Returns connection settings that the caller can change before connecting.
    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    /// Returns a warning for each server setting that weakens the guarantees of the store, as read when connecting;
    /// empty if there is none.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    fn values(&self) -> String {
        format!("{}=", self.0.space)
    }

    fn key_set(&self) -> String {
        format!("{}#", self.0.space)
    }

    /// Runs a request on the connection thread.
    async fn with_connection<T, F>(&self, operation: impl FnOnce(ConnectionManager) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = RedisResult<T>> + Send + 'static,
    {
        self.0.io_thread.perform(operation(self.0.manager.clone())).await
    }

    async fn run<T: FromRedisValue + Send + 'static>(
        &self,
        script: &'static str,
        keys: Vec<String>,
        arguments: Vec<Vec<u8>>,
    ) -> Result<T> {
        self.with_connection(|mut manager| async move {
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

impl std::fmt::Debug for RedisKeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisKeyValue").field("space", &self.0.space).finish_non_exhaustive()
    }
}

impl KeyValue for RedisKeyValue {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let name = self.values() + key;
        self.with_connection(|mut manager| async move { ::redis::cmd("GET").arg(name).query_async(&mut manager).await })
            .await
    }

    async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = keys.iter().map(|key| self.values() + key).collect();
        self.with_connection(
            |mut manager| async move { ::redis::cmd("MGET").arg(names).query_async(&mut manager).await },
        )
        .await
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        if !is_valid_key(key) {
            return Err(Error::new(ErrorCode::InputInvalid, format!("`{key}` is not a valid key")));
        }
        let ttl = put.ttl.map_or_else(String::new, |ttl| ttl.as_millis().clamp(1, 1 << 52).to_string());
        let if_absent = if put.if_absent { "1" } else { "0" };
        let arguments = [value, if_absent.as_bytes(), ttl.as_bytes(), key.as_bytes()].map(<[u8]>::to_vec);
        let is_put: u8 = self.run(PUT, vec![self.values() + key, self.key_set()], arguments.to_vec()).await?;
        Ok(is_put == 1)
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        for page in keys.chunks(PAGE_SIZE) {
            let arguments =
                std::iter::once(self.values().into_bytes()).chain(page.iter().map(|key| key.clone().into()));
            self.run::<u8>(DELETE, vec![self.key_set()], arguments.collect()).await?;
        }
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        let mut after = after.filter(|after| *after >= prefix).map(str::to_owned);
        // No key contains the character `\u{7f}`, so this is above every key with the prefix.
        let end = format!("({prefix}\u{7f}");
        while keys.len() < limit {
            let from = after.as_ref().map_or_else(|| format!("[{prefix}"), |after| format!("({after}"));
            let page_size = PAGE_SIZE.min(limit - keys.len());
            let arguments = [self.values(), from, end.clone(), page_size.to_string()].map(String::into_bytes);
            let page: Vec<String> = self.run(LIST, vec![self.key_set()], arguments.to_vec()).await?;
            let is_last = page.len() < page_size;
            after = page.last().cloned();
            keys.extend(page);
            if is_last {
                break;
            }
        }
        Ok(keys)
    }
}

/// The thread of the connections.
struct IoThread {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    async fn start() -> Result<Self> {
        let thread_start_error = |error: std::io::Error| {
            Error::new(
                ErrorCode::StoreUnavailable,
                format!("failed to start the background OS thread of the Redis key-value backend: {error}"),
            )
        };
        let (sender, started) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        // The runtime is created and dropped on its own thread: dropping a runtime inside a task of another runtime
        // panics.
        let work = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                drop(sender.send(Ok(runtime.handle().clone())));
                // Ends when the sender is dropped.
                drop(runtime.block_on(stopped));
            }
            Err(error) => drop(sender.send(Err(error))),
        };
        let thread =
            std::thread::Builder::new().name("superstep-redis".to_owned()).spawn(work).map_err(thread_start_error)?;
        let handle = started.await.map_err(|_| {
            Error::internal("the background OS thread of the Redis key-value backend ended unexpectedly")
        })?;
        Ok(Self { handle: handle.map_err(thread_start_error)?, stop: Some(stop), thread: Some(thread) })
    }

    async fn perform<T: Send + 'static>(
        &self,
        work: impl Future<Output = RedisResult<T>> + Send + 'static,
    ) -> Result<T> {
        match self.handle.spawn(work).await {
            Ok(done) => done.map_err(|error| describe(&error)),
            Err(_) => Err(Error::new(ErrorCode::StoreUnavailable, "the connection to Redis is closed")
                .with_help("this write may be lost; create a new checkpointer")),
        }
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread panics only because of a bug; the waiting caller has received an error.
            drop(thread.join());
        }
    }
}

/// Converts an error of the server or the connection.
fn describe(error: &RedisError) -> Error {
    let outage = |message: &str, help: &str| Error::new(ErrorCode::StoreUnavailable, message).with_help(help);
    let described = match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig, _)
        | (_, Some("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
            outage("Redis rejected the user", "nothing was saved; check the password and the permissions of the user")
                .with_retryable(false)
        }
        (ErrorKind::Server(ServerErrorKind::ReadOnly), _) | (_, Some("READONLY")) => {
            outage("the Redis server is a read-only replica", "nothing was saved; connect to the primary server")
        }
        (_, Some("OOM")) => outage(
            "the Redis server is out of memory",
            "this write was not saved; all earlier acknowledged writes are saved; give the server more memory",
        ),
        (_, Some("MISCONF")) => {
            outage("Redis cannot write to its disk", "this write was not saved; check the disk of the server")
        }
        _ => outage(
            "Redis is unreachable, or did not respond",
            "this commit may be lost; all earlier acknowledged commits are saved; continue the thread later",
        ),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.with_source(Arc::from(cause))
}

/// Returns a warning for each setting that weakens the guarantees of the store.
async fn warnings(mut manager: ConnectionManager) -> Vec<String> {
    let response: RedisResult<std::collections::BTreeMap<String, String>> = ::redis::cmd("CONFIG")
        .arg("GET")
        .arg(&["appendonly", "appendfsync", "maxmemory", "maxmemory-policy"])
        .query_async(&mut manager)
        .await;
    let Ok(settings) = response else {
        return vec![
            "the durability settings of the server cannot be read: check that `appendonly` is `yes`, `appendfsync` is \
             `always` and `maxmemory-policy` is `noeviction`"
                .to_owned(),
        ];
    };
    let has_setting = |name: &str, value: &str| settings.get(name).is_some_and(|current| current == value);
    let mut warnings = Vec::new();
    if !has_setting("appendonly", "yes") {
        warnings.push("`appendonly` is off: acknowledged supersteps are lost when the server stops".to_owned());
    } else if !has_setting("appendfsync", "always") {
        warnings.push(
            "`appendfsync` is not `always`: the supersteps of the last second may be lost when the machine of the \
             server fails"
                .to_owned(),
        );
    }
    if !has_setting("maxmemory-policy", "noeviction") && !has_setting("maxmemory", "0") {
        warnings.push(
            "`maxmemory-policy` is not `noeviction`: the server evicts saved data when its memory is full".to_owned(),
        );
    }
    warnings
}
