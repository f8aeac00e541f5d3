//! `superstep serve`: an address on stdout, an answer there, an end in order.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::support::{Folder, Said};

/// R-CLI-6: one line with the address on stdout; Ctrl-C ends it in order.
#[cfg(unix)]
#[test]
fn a_server_says_where_it_is_answers_and_stops_in_order() {
    use rustix::process::{Pid, Signal, kill_process};

    let folder = Folder::new("serve");
    let mut child = folder.command(&["serve", "--port", "0"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /ok HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0);
    for line in ["review, talk, titles", "store   sqlite:.superstep/superstep.db", "stopping"] {
        assert!(said.stderr.contains(line), "{line}: {}", said.stderr);
    }
}

/// R-CLI-10: a port that is taken is said to be.
#[test]
fn a_port_that_is_taken_is_a_clear_error() {
    let folder = Folder::new("taken");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = folder.run(&["serve", "--port", &port, "--quiet"]);
    insta::assert_snapshot!(said.shown().replace(&port, "[port]"), @r"
    ---
    error[SS-027]: cannot listen on `127.0.0.1` port [port]: address in use
      help: choose another port, or set `server.port_in_use` to `next`
      more: superstep explain SS-027
    [exit 78]
    ");
}

/// R-CLI-6: nobody is let in by accident.
#[test]
fn an_address_that_others_reach_needs_a_word() {
    let folder = Folder::new("open");
    let said = folder.run(&["serve", "--port", "0", "--host", "0.0.0.0"]);
    assert_eq!(said.code, 77);
    assert!(said.stderr.contains("--insecure"), "{}", said.stderr);
}
