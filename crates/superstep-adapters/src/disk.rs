//! Whose disk a folder is on. Shared by the doors that keep files.

use std::path::Path;

use superstep_core::error::Result;

/// Kinds of disk that belong to another machine, by the number the system gives them.
#[cfg(target_os = "linux")]
const NETWORK_DISKS: [(u32, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x7461_636f, "OCFS2"),
    (0x00c3_6400, "Ceph"),
];

/// Refuses a folder on a disk of another machine, where locks do not hold between machines. `name` is what is kept there.
#[cfg(target_os = "linux")]
pub(crate) fn check(folder: &Path, name: &str) -> Result<()> {
    use superstep_core::error::{Code, Error};

    let Ok(disk) = rustix::fs::statfs(folder) else { return Ok(()) };
    let network = NETWORK_DISKS.iter().find(|(number, _)| *number == disk.f_type as u32);
    network.map_or(Ok(()), |(_, kind)| {
        let message = format!("`{name}` is on a network disk ({kind})");
        Err(Error::new(Code::StoreUnavailable, message)
            .help("put it on a disk of this machine; for several machines use PostgreSQL or Redis")
            .retryable(false))
    })
}

/// Other systems do not tell in a way that is the same everywhere; SQLite finds out when it opens its log.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check(_folder: &Path, _name: &str) -> Result<()> {
    Ok(())
}
