//! Several servers on one store: a run whose process dies is gone on with by another that is up, once; one that lives is left
//! alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use superstep::core::id::{InterruptId, ThreadId};
use superstep::store::Search;
use superstep_server::{Config, Desk, Order, ResumeRuns, RunStatus, Stop, Stores, What, serve};
use tokio::sync::Semaphore;

use crate::bench::{Bench, order};
use crate::life::{killed_in_the_third_round, on_file, short_lease, words};
use crate::support::{Scratch, Served, app, client, start_server};

/// Waits until the last run of a thread is written down as this.
async fn until(desk: &Desk, thread: &str, status: RunStatus) {
    let wait = async {
        while desk.record(&thread.into()).await.unwrap().is_none_or(|known| known.status != status) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(40), wait).await.unwrap();
}

/// Writes down that a run is under way, as a process does that dies then.
async fn died(stores: &Stores, order: &Order) {
    let record = json!({"version": 1, "order": order, "status": "running", "started_at": ""});
    let listed = json!({"version": 1, "run": order.run, "thread": order.thread, "graph": order.graph, "taken_up": 0});
    stores.items.put(["server", "runs"], order.run.to_string(), record).await.unwrap();
    stores.items.put(["server", "unfinished"], order.run.to_string(), listed).await.unwrap();
}

fn tale(thread: &str, options: serde_json::Value) -> Order {
    Order::new("tale", thread, What::Start(json!({"topic": "sea", "rounds": 3}))).options(options)
}

/// R-SRV-19, R-SRV-20: a process is killed while a server is up; the run moves on within twenty seconds, and no round is told
/// twice.
#[tokio::test]
async fn a_run_whose_process_is_killed_is_taken_up_by_a_server_that_is_up() {
    let scratch = Scratch::new();
    let served = start_server(Config::new(short_lease(&scratch.file()).await)).await;
    killed_in_the_third_round(&scratch).await;
    let died = Instant::now();
    served.gate.add_permits(5);
    until(served.server.desk(), "t1", RunStatus::Finished).await;
    assert!(died.elapsed() < Duration::from_secs(20), "{:?}", died.elapsed());
    // Rounds three to five.
    assert_eq!((words(&served, "t1").await, served.gate.available_permits()), (5, 2));
    let record = served.server.desk().known(&"t1".into()).await.unwrap();
    assert_eq!(served.server.desk().run(record.run).await.unwrap().unwrap().taken_up, 1);
}

/// R-SRV-20: a run of a server that lives is neither taken up nor marked by another, however often that one looks.
#[tokio::test]
async fn a_run_of_a_server_that_lives_is_left_alone() {
    for (resume, status) in
        [(ResumeRuns::Automatically, RunStatus::Finished), (ResumeRuns::OnRequest, RunStatus::Interrupted)]
    {
        let scratch = Scratch::new();
        let mut config = on_file(&scratch).await;
        // It has no place for what the other is to find.
        config.max_runs = 1;
        let first = start_server(config).await;
        let mut config = on_file(&scratch).await;
        config.resume = resume;
        let second = start_server(config).await;
        let id = first.tale(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
        let thread = ThreadId::from(id.as_str());
        first.gate.add_permits(1);
        first.reader(&id, None).await.until("on_chain_end", "turn").await;
        // What is found dead later than that was looked at more seldom.
        died(&on_file(&scratch).await.stores, &tale("dead", json!({}))).await;
        until(second.server.desk(), "dead", status).await;
        let run = first.server.desk().running(&thread).expect("it runs where it began");
        let record = first.server.desk().run(run).await.unwrap().unwrap();
        assert_eq!((record.status, record.taken_up), (RunStatus::Running, 0));
        assert_eq!(second.server.desk().running(&thread), None);
        first.gate.add_permits(2);
        until(first.server.desk(), &id, RunStatus::Finished).await;
        let record = first.server.desk().run(run).await.unwrap().unwrap();
        assert_eq!((words(&first, &id).await, record.status, record.taken_up), (3, RunStatus::Finished, 0));
    }
}

/// R-SRV-20: servers that find the same dead runs, while they are up and one more when it starts, run each once.
#[tokio::test]
async fn a_dead_run_is_taken_up_by_one_of_several_servers() {
    let scratch = Scratch::new();
    let gate = Arc::new(Semaphore::new(0));
    let server = async |config: Config| {
        let server = serve(vec![app(&gate)], config.port(0)).await.unwrap();
        Served { server, client: client(), gate: gate.clone() }
    };
    let (first, second) = (server(on_file(&scratch).await).await, server(on_file(&scratch).await).await);
    let stores = on_file(&scratch).await.stores;
    let mut third = None;
    for starts in [false, true] {
        let name = |number: u32| format!("dead-{starts}-{number}");
        let dead: Vec<Order> = (0..8).map(|number| tale(&name(number), json!({"gated": true}))).collect();
        for order in &dead {
            died(&stores, order).await;
        }
        if starts {
            third = Some(server(on_file(&scratch).await).await);
        }
        gate.add_permits(3 * dead.len());
        for order in &dead {
            until(first.server.desk(), order.thread.as_str(), RunStatus::Finished).await;
            let record = second.server.desk().run(order.run).await.unwrap().unwrap();
            assert_eq!((record.status, record.taken_up), (RunStatus::Finished, 1));
            assert_eq!(words(&second, order.thread.as_str()).await, 3);
        }
        // A round that two of them told would have taken one more.
        assert_eq!(gate.available_permits(), 0);
        assert!(stores.items.search(Search::new(["server", "unfinished"])).await.unwrap().is_empty());
    }
    drop(third);
}

/// R-SRV-20: a process that was taken for dead and was not does not write over what the one after it wrote.
#[tokio::test]
async fn a_run_that_was_taken_up_elsewhere_is_not_written_over() {
    let bench = Bench::new();
    let server = bench.serve(bench.config()).await;
    let (desk, begun) = (server.desk(), order("t", json!({"gated": true})));
    desk.start(begun.clone()).await.unwrap();
    bench.said().await;
    bench
        .overwrite(begun.run, |record| {
            (record["status"], record["taken_up"]) = (json!("stopped"), json!(1));
        })
        .await;
    bench.go_on();
    while desk.running(&"t".into()).is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let record = desk.run(begun.run).await.unwrap().unwrap();
    assert_eq!((record.status, record.taken_up), (RunStatus::Stopped, 1));
}

/// R-SRV-19: of a run that died, the desk says that it can go on, goes on with it, and stops it; of one that another server
/// drives it says that it runs.
#[tokio::test]
async fn a_run_that_died_goes_on_or_is_stopped_when_somebody_asks() {
    let bench = Bench::new();
    let (first, second) = (bench.serve(bench.config()).await, bench.serve(bench.config()).await);
    let (here, there) = (first.desk(), second.desk());
    here.start(order("lives", json!({"gated": true}))).await.unwrap();
    bench.said().await;
    let record = there.known(&"lives".into()).await.unwrap();
    assert_eq!(there.standing(&record).await.unwrap(), RunStatus::Running);
    assert_eq!(there.halt(&"lives".into(), Stop::Now).await.unwrap_err().status(), 409);
    assert_eq!(there.start(Order::new("work", "lives", What::GoOn)).await.unwrap_err().status(), 409);
    assert_eq!(here.standing(&record).await.unwrap(), RunStatus::Running);
    here.halt(&"lives".into(), Stop::Now).await.unwrap();
    until(there, "lives", RunStatus::Stopped).await;

    for thread in ["goes on", "stops"].map(|name| name.replace(' ', "-")) {
        here.start(order(&thread, json!({}))).await.unwrap();
        until(here, &thread, RunStatus::Finished).await;
    }
    bench.forget_ends().await;
    let record = there.known(&"goes-on".into()).await.unwrap();
    assert_eq!((record.status, there.standing(&record).await.unwrap()), (RunStatus::Running, RunStatus::Interrupted));
    there.halt(&"stops".into(), Stop::Now).await.unwrap();
    assert_eq!(here.known(&"stops".into()).await.unwrap().status, RunStatus::Stopped);
    there.start(order("goes-on", json!({}))).await.unwrap();
    until(here, "goes-on", RunStatus::Finished).await;
    assert_eq!(there.halt(&"goes-on".into(), Stop::Now).await.unwrap_err().status(), 409);
}

/// R-SRV-20: a run that is refused takes back what it wrote, and nothing that another server wrote meanwhile.
#[tokio::test]
async fn a_refused_run_restores_nothing_that_is_out_of_date() {
    for has_later in [false, true] {
        let bench = Bench::new();
        let (first, second) = (bench.serve(bench.config()).await, bench.serve(bench.config()).await);
        let (before, later) = (order("t", json!({"gated": true})), order("t", json!({})));
        first.desk().start(before.clone()).await.unwrap();
        bench.said().await;
        bench.hold_taking();
        let refused = Order::new("work", "t", What::Answer([(InterruptId::from_bits(7), json!(1))].into()));
        let refusal = tokio::spawn({
            let (desk, refused) = (second.desk().clone(), refused.clone());
            async move { desk.start(refused).await }
        });
        bench.held().await;
        assert_eq!(first.desk().known(&"t".into()).await.unwrap().run, refused.run);
        bench.go_on();
        while first.desk().running(&"t".into()).is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if has_later {
            first.desk().start(later.clone()).await.unwrap();
            until(first.desk(), "t", RunStatus::Finished).await;
        }
        bench.release();
        refusal.await.unwrap().unwrap_err();
        let known = second.desk().known(&"t".into()).await.unwrap();
        let last = if has_later { later.run } else { before.run };
        assert_eq!((known.run, known.status), (last, RunStatus::Finished));
        assert_eq!(second.desk().run(refused.run).await.unwrap(), None);
        assert_eq!(second.desk().run(before.run).await.unwrap().unwrap().status, RunStatus::Finished);
        assert_eq!(bench.listed().await, 0);
    }
}
