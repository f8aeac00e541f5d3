//! TLS connections: accepted and rejected certificates.

use std::path::{Path, PathBuf};
use std::process::Command;

use superstep::ErrorCode;
use superstep_core::port::Checkpointer;
use superstep_core::testing::block_on;

use super::cluster::Cluster;
use super::options;

fn openssl(folder: &Path, words: &str) {
    let output = Command::new("openssl").current_dir(folder).args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Creates a CA and a certificate of it for a host.
fn certificates(folder: &Path, authority: &str, host: &str) -> PathBuf {
    let (ca, key) = (format!("{authority}.crt"), format!("{authority}.key"));
    let ca_request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    openssl(folder, &format!("{ca_request} -subj /CN={authority} -keyout {key} -out {ca}"));
    let server_request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr";
    openssl(folder, &format!("{server_request} -subj /CN={host}"));
    std::fs::write(folder.join("names"), format!("subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\n")).unwrap();
    let sign = "x509 -req -in server.csr -days 2 -CAcreateserial -extfile names -out server.crt";
    openssl(folder, &format!("{sign} -CA {ca} -CAkey {key}"));
    folder.join(ca)
}

/// Enables TLS on a server with the certificate in its folder.
fn encrypt(cluster: &Cluster) {
    let (folder, data) = (cluster.server_dir(), cluster.server_dir().join("data"));
    let script = "cp server.crt server.key data/ && chmod 600 data/server.key && chown --reference=data data/server.*";
    let copied = Command::new("sh").current_dir(folder).args(["-c", script]).status().unwrap();
    assert!(copied.success(), "{}", data.display());
    cluster.query("ALTER SYSTEM SET ssl = on");
    cluster.query("SELECT pg_reload_conf()");
    super::until(|| (cluster.query("SHOW ssl") == "on").then_some(()));
}

fn url(cluster: &Cluster, host: &str, mode: &str, root: Option<&Path>) -> String {
    let root = root.map_or_else(String::new, |root| format!("&sslrootcert={}", root.display()));
    cluster.url().replace("127.0.0.1", host).replace("sslmode=disable", &format!("sslmode={mode}{root}"))
}

/// R-FWK-37: a TLS connection accepts exactly the certificates that the URL permits.
#[test]
fn only_certificates_permitted_by_the_url_are_accepted() {
    let cluster = Cluster::own("secret");
    let own = certificates(cluster.server_dir(), "ours", "localhost");
    encrypt(&cluster);
    let other = cluster.server_dir().join("others");
    std::fs::create_dir(&other).unwrap();
    let other = certificates(&other, "theirs", "localhost");
    let (own, other) = (Some(own.as_path()), Some(other.as_path()));
    for (host, mode, root) in [
        ("localhost", "verify-full", own),
        ("127.0.0.1", "verify-ca", own),
        ("127.0.0.1", "require", None),
        ("127.0.0.1", "prefer", None),
    ] {
        let store = block_on(options().connect(&url(&cluster, host, mode, root))).unwrap();
        assert_eq!(block_on(store.status(&"t".into())).unwrap(), None, "{mode}");
        let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                         WHERE application_name = 'superstep'";
        assert_eq!(cluster.query(encrypted), "t", "{mode}");
    }
    for (host, mode, root) in [
        ("localhost", "verify-full", other),
        ("localhost", "verify-ca", other),
        ("localhost", "require", other),
        ("127.0.0.1", "verify-full", own),
        ("localhost", "verify-full", None),
    ] {
        let error = block_on(options().connect(&url(&cluster, host, mode, root))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
        let text = error.to_string();
        assert!(text.contains("is not trusted") || text.contains("no CA certificate"), "{text}");
        assert!(text.contains("`sslrootcert`"), "{text}");
    }
}

/// R-FWK-37: a server without TLS is rejected if the URL requires TLS.
#[test]
fn a_server_that_does_not_encrypt_is_rejected() {
    let cluster = Cluster::shared();
    for mode in ["require", "verify-full&sslrootcert=system"] {
        let error = block_on(options().connect(&url(&cluster, "127.0.0.1", mode, None))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
        let text = error.to_string();
        assert!(text.contains("does not support TLS") || text.contains("no CA certificate"), "{text}");
    }
    assert!(block_on(options().connect(&url(&cluster, "127.0.0.1", "prefer", None))).is_ok());
    let error = block_on(options().connect(&url(&cluster, "127.0.0.1", "verify-ca&sslrootcert=/nowhere.crt", None)));
    assert!(error.unwrap_err().to_string().contains("`/nowhere.crt` cannot be read"));
}
