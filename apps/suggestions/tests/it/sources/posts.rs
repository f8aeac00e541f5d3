//! Posts: table, search and write access.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use superstep::core::port::Clock;
use superstep::store::Embedder;
use superstep_suggestions::sample;
use superstep_suggestions::sources::{Engagement, NewPost, PostFilter, SourceSettings, Sources, TimeToLive};
use superstep_suggestions::types::{Mode, PostSummary};

use super::{Folder, noon};

fn ids(posts: &[PostSummary]) -> Vec<&str> {
    posts.iter().map(|post| post.id.as_str()).collect()
}

fn post(text: &str) -> NewPost {
    NewPost::new(text)
}

/// R-SUG-21: matching posts are found, at most five, without the post of the run.
#[tokio::test]
async fn matching_posts_are_returned() {
    let (_folder, sources, _) = super::sample().await;
    let results =
        sources.search_posts("How do I roll back a failed AKS deployment?", &["p042".to_owned()]).await.unwrap();
    assert!((1..=5).contains(&results.len()) && !ids(&results).contains(&"p042"), "{:?}", ids(&results));
    assert!(ids(&results).contains(&"p005"), "{results:#?}");
    let all = sources.search_posts("How do I roll back a failed AKS deployment?", &[]).await.unwrap();
    assert_eq!(all[0].id, "p042");
    assert!(sources.search_posts("zebra xylophone", &[]).await.unwrap().is_empty());
    assert!(sources.search_posts("???", &[]).await.unwrap().is_empty());
}

/// R-SUG-21: an expired post is excluded, from the instant of its expiry.
#[tokio::test]
async fn expired_posts_are_left_out() {
    let clock = noon();
    let sources =
        Sources::open(&SourceSettings { clock: Arc::new(clock.clone()), ..SourceSettings::default() }).unwrap();
    let short = NewPost { ttl: TimeToLive::Hour, ..post("Where is the marmalade?") };
    let created = sources.posts().create(short).await.unwrap();
    assert_eq!(created.expires_at.as_unix_micros() - created.created_at.as_unix_micros(), 3_600_000_000);
    clock.advance(Duration::from_secs(3_599));
    assert_eq!(ids(&sources.search_posts("marmalade", &[]).await.unwrap()), [created.id.as_str()]);
    assert_eq!(sources.posts().embeddings().len(), 1);
    clock.advance(Duration::from_secs(1));
    assert!(sources.search_posts("marmalade", &[]).await.unwrap().is_empty());
    assert!(sources.posts().get(&created.id).await.unwrap().is_none());
    assert!(sources.posts().list(PostFilter::default()).await.unwrap().posts.is_empty());
    assert!(sources.posts().engage(&created.id, Engagement::Join).await.unwrap().is_none());
    assert!(sources.posts().embeddings().is_empty());
}

/// R-SUG-6: searching changes neither the database nor the files next to it.
#[tokio::test]
async fn searching_never_writes() {
    let (folder, sources, _) = super::sample().await;
    let watch = Connection::open(folder.path().join("posts.sqlite")).unwrap();
    let version = || watch.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let before = version();
    for query in ["AKS", "expenses", "'; DROP TABLE posts; --", "\" OR 1"] {
        sources.search_posts(query, &[]).await.unwrap();
        sources.search_m365(query, None).await.unwrap();
    }
    sources.posts().get("p042").await.unwrap().unwrap();
    sources.posts().list(PostFilter::default()).await.unwrap();
    assert_eq!(version(), before);
    // The comparison detects a write.
    sources.posts().engage("p042", Engagement::Interested).await.unwrap();
    assert_ne!(version(), before);
}

/// Semantic embedding model with two directions only, as a provider would offer.
struct Meaning(AtomicUsize);

impl Embedder for Meaning {
    fn name(&self) -> &str {
        "meaning"
    }

    fn dimension(&self) -> usize {
        2
    }

    async fn embed(&self, texts: Vec<String>) -> superstep::Result<Vec<Vec<f32>>> {
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        let is_vehicle = |text: &String| text.contains("car") || text.contains("automobile");
        Ok(texts.iter().map(|text| if is_vehicle(text) { vec![1.0, 0.0] } else { vec![0.1, 0.995] }).collect())
    }
}

#[derive(Clone)]
struct Counted(Arc<Meaning>);

impl Embedder for Counted {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn embed(&self, texts: Vec<String>) -> impl Future<Output = superstep::Result<Vec<Vec<f32>>>> + Send {
        self.0.embed(texts)
    }
}

/// R-SUG-21, R-SUG-37: a provider's embedding model finds posts without shared words; each post is embedded once per
/// start.
#[tokio::test]
async fn posts_are_found_by_meaning_and_vectors_are_cached() {
    let folder = Folder::new();
    let meaning = Counted(Arc::new(Meaning(AtomicUsize::new(0))));
    let mut settings = SourceSettings::from_folder(folder.path());
    settings.embedder = Some(meaning.clone().into());
    let sources = Sources::open(&settings).unwrap();
    let car = sources.posts().create(post("My car is broken")).await.unwrap();
    sources.posts().create(post("Poetry evening")).await.unwrap();
    assert_eq!(ids(&sources.search_posts("automobile", &[]).await.unwrap()), [car.id.as_str()]);
    assert_eq!(meaning.0.0.load(Ordering::Relaxed), 3);
    sources.search_posts("automobile", &[]).await.unwrap();
    assert_eq!(meaning.0.0.load(Ordering::Relaxed), 4, "only the query is new");
    let embeddings = sources.posts().embeddings();
    assert!(
        embeddings.iter().any(|kept| kept.post_id == car.id && kept.vector == [1.0, 0.0] && kept.text.contains("car"))
    );
    drop(sources);
    let reopened = Sources::open(&settings).unwrap();
    assert!(reopened.posts().embeddings().is_empty());
    assert_eq!(ids(&reopened.search_posts("automobile", &[]).await.unwrap()), [car.id.as_str()]);
    assert_eq!(meaning.0.0.load(Ordering::Relaxed), 7);
}

/// R-SUG-21: the similarity threshold is a setting, and posts below it are excluded.
#[tokio::test]
async fn posts_below_the_similarity_threshold_are_excluded() {
    let mut settings = SourceSettings::default();
    settings.limits.similarity = 0.95;
    let strict = Sources::open(&settings).unwrap();
    strict.posts().create(post("Tea and biscuits in the garden")).await.unwrap();
    assert!(strict.search_posts("biscuits tomorrow", &[]).await.unwrap().is_empty());
    assert_eq!(strict.search_posts("tea and biscuits in the garden", &[]).await.unwrap().len(), 1);
    let usual = Sources::open(&SourceSettings::default()).unwrap();
    usual.posts().create(post("Tea and biscuits in the garden")).await.unwrap();
    assert_eq!(usual.search_posts("biscuits tomorrow", &[]).await.unwrap().len(), 1);
}

/// R-SUG-21: the default threshold is exactly 0.2, and the default limit is five, most similar first.
#[tokio::test]
async fn the_default_threshold_and_limit_apply() {
    let near = |cosine: f32| vec![cosine, (1.0 - cosine * cosine).sqrt()];
    let nearness = Nearness([("query", near(1.0)), ("at", near(0.2)), ("below", near(0.19))].into());
    let sources =
        Sources::open(&SourceSettings { embedder: Some(nearness.into()), ..SourceSettings::default() }).unwrap();
    for text in ["at the threshold", "below the threshold"] {
        sources.posts().create(post(text)).await.unwrap();
    }
    let results = sources.search_posts("query", &[]).await.unwrap();
    assert_eq!(results.iter().map(|post| post.text.as_str()).collect::<Vec<_>>(), ["at the threshold"]);

    let sources = Sources::open(&SourceSettings::default()).unwrap();
    for number in 0..8 {
        sources.posts().create(post(&format!("tea {}", "and cake ".repeat(number)))).await.unwrap();
    }
    let results = sources.search_posts("tea", &[]).await.unwrap();
    assert_eq!((results.len(), results[0].text.as_str()), (5, "tea"));
}

/// Embedding model that maps the first word of a text to a fixed vector.
struct Nearness(std::collections::BTreeMap<&'static str, Vec<f32>>);

impl Embedder for Nearness {
    fn name(&self) -> &str {
        "nearness"
    }

    fn dimension(&self) -> usize {
        2
    }

    async fn embed(&self, texts: Vec<String>) -> superstep::Result<Vec<Vec<f32>>> {
        let first = |text: &String| text.split_whitespace().next().unwrap_or_default().to_owned();
        Ok(texts.iter().map(|text| self.0[first(text).as_str()].clone()).collect())
    }
}

/// R-SUG-39: posts are listed by page, tag and mode, newest first; engagement is counted.
#[tokio::test]
async fn posts_are_listed_and_engaged_with() {
    let clock = noon();
    let sources =
        Sources::open(&SourceSettings { clock: Arc::new(clock.clone()), ..SourceSettings::default() }).unwrap();
    let posts = sources.posts();
    let mut created = Vec::new();
    for (number, mode) in [Mode::Question, Mode::Offer, Mode::Question].into_iter().enumerate() {
        // The second and third post have the same timestamp.
        clock.advance(Duration::from_micros(u64::from(number == 1)));
        let tags = vec![if number == 0 { "Tea" } else { "cake" }.to_owned()];
        created.push(posts.create(NewPost { mode, tags, ..post(&format!("Post {number}")) }).await.unwrap().id);
    }
    let page = |limit, after: Option<String>| posts.list(PostFilter { limit, after, ..PostFilter::default() });
    let first = page(2, None).await.unwrap();
    assert_eq!(ids(&first.posts), [created[2].as_str(), &created[1]]);
    let second = page(2, first.next).await.unwrap();
    assert_eq!((ids(&second.posts), second.next), (vec![created[0].as_str()], None));
    let tea = posts.list(PostFilter { tag: Some("tea".to_owned()), ..PostFilter::default() }).await.unwrap();
    assert_eq!(ids(&tea.posts), [created[0].as_str()]);
    let offers = posts.list(PostFilter { mode: Some(Mode::Offer), ..PostFilter::default() }).await.unwrap();
    assert_eq!(ids(&offers.posts), [created[1].as_str()]);
    posts.engage(&created[0], Engagement::Interested).await.unwrap().unwrap();
    let joined = posts.engage(&created[0], Engagement::Join).await.unwrap().unwrap();
    assert_eq!((joined.interested_count, joined.join_count), (1, 1));
    assert_eq!(posts.get(&created[0]).await.unwrap().unwrap(), joined);
    assert!(posts.engage("nobody", Engagement::Join).await.unwrap().is_none());
}

/// R-SUG-43, R-SUG-40: the sample has 80 valid posts with relative ages, 62 of them unexpired; loading again changes
/// nothing, and unpacking again keeps edits of the user.
#[tokio::test]
async fn the_sample_is_loaded_once() {
    let (folder, sources, clock) = super::sample().await;
    let now = sources.posts().now().unwrap();
    assert_eq!(now.as_unix_micros(), clock.now());
    let sample_posts = sample::posts(now).unwrap();
    assert_eq!((sample_posts.len(), sample_posts.iter().filter(|post| post.expires_at > now).count()), (80, 62));
    for post in &sample_posts {
        let copy = NewPost { tags: post.tags.clone(), lat: post.lat, lng: post.lng, ..NewPost::new(post.text.clone()) };
        assert_eq!(copy.violations(), [], "{}", post.id);
    }
    let stored = sources.posts().get("p001").await.unwrap().unwrap();
    assert_eq!(now.as_unix_micros() - stored.created_at.as_unix_micros(), 240 * 60_000_000);
    clock.advance(Duration::from_secs(60));
    assert_eq!(sample::load_posts(&sources).await.unwrap(), 0);
    assert_eq!(sources.posts().get("p001").await.unwrap().unwrap().created_at, stored.created_at);
    folder.write("words.txt", "mine, yours\n");
    sample::unpack(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("words.txt")).unwrap(), "mine, yours\n");
    assert!(folder.path().join("m365/mail/archive.mbox").exists() && folder.path().join("README.md").exists());
}
