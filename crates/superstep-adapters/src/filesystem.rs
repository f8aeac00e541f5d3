//! Detection of network filesystems, on which file locks do not work between machines. Used by the adapters that
//! store files.

use std::path::Path;

use superstep_core::error::Result;

/// Magic numbers of network filesystems, as `statfs` reports them.
#[cfg(target_os = "linux")]
const NETWORK_FILESYSTEMS: [(u32, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x7461_636f, "OCFS2"),
    (0x00c3_6400, "Ceph"),
];

/// Rejects a folder on a network filesystem, where locks do not hold between machines. `name` is the path shown in
/// the error.
#[cfg(target_os = "linux")]
pub(crate) fn reject_network_filesystem(folder: &Path, name: &str) -> Result<()> {
    use superstep_core::error::{Error, ErrorCode};

    let Ok(disk) = rustix::fs::statfs(folder) else { return Ok(()) };
    let network = NETWORK_FILESYSTEMS.iter().find(|(number, _)| *number == disk.f_type as u32);
    network.map_or(Ok(()), |(_, kind)| {
        let message = format!("`{name}` is on a network filesystem ({kind})");
        Err(Error::new(ErrorCode::StoreUnavailable, message)
            .with_help("use a local disk; for several machines use PostgreSQL or Redis")
            .with_retryable(false))
    })
}

/// Accepts every folder: other systems have no portable way to detect a network filesystem. SQLite fails when it
/// opens its write-ahead log there.
#[cfg(not(target_os = "linux"))]
pub(crate) fn reject_network_filesystem(_folder: &Path, _name: &str) -> Result<()> {
    Ok(())
}
