//! Searching a text index after Lucene's `lusearch`: 32 threads search one index, for which
//! one `IndexSearcher` should do. With the bug each thread opens its own.

use heaphound::{Header, Local, Managed, Mutator, PlainArray, Ref, RefArray, Slot, Str};

use super::{Outcome, Random, Size};

/// How large the index is, and how often it is searched.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Documents in the index.
    pub documents: usize,
    /// Words that may occur in them.
    pub terms: usize,
    /// Searches.
    pub searches: usize,
    /// Whether it asserts.
    pub assertions: bool,
    /// Whether each thread has a searcher of its own.
    pub bug: bool,
}

impl Options {
    /// With assertions.
    pub fn of(size: Size, bug: bool) -> Self {
        let (documents, terms, searches) = match size {
            Size::Small => (200, 100, 1_000),
            Size::Large => (25_000, 10_000, 200_000),
        };
        Self {
            documents,
            terms,
            searches,
            assertions: true,
            bug,
        }
    }
}

/// Threads that search.
const THREADS: usize = 32;
/// Segments of the index.
const SEGMENTS: usize = 8;
/// Hits of a search.
const HITS: usize = 10;

#[derive(Managed)]
#[repr(C)]
struct QueryThread {
    header: Header,
    name: Ref<Str>,
    searcher: Slot<IndexSearcher>,
    latest: Slot<Hits>,
}

#[derive(Managed)]
#[repr(C)]
struct IndexSearcher {
    header: Header,
    reader: Ref<IndexReader>,
    similarity: Ref<Similarity>,
}

#[derive(Managed)]
#[repr(C)]
struct Similarity {
    header: Header,
    norm: u64,
}

#[derive(Managed)]
#[repr(C)]
struct IndexReader {
    header: Header,
    directory: Ref<Directory>,
    segments: Ref<RefArray<Segment>>,
}

#[derive(Managed)]
#[repr(C)]
struct Directory {
    header: Header,
    path: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Segment {
    header: Header,
    documents: Ref<RefArray<Document>>,
    terms: Ref<RefArray<TermInfo>>,
}

#[derive(Managed)]
#[repr(C)]
struct Document {
    header: Header,
    number: u64,
    title: Ref<Field>,
    body: Ref<Field>,
    date: Ref<DateField>,
}

#[derive(Managed)]
#[repr(C)]
struct Field {
    header: Header,
    boost: u64,
    text: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct DateField {
    header: Header,
    day: u64,
}

#[derive(Managed)]
#[repr(C)]
struct TermInfo {
    header: Header,
    term: Ref<Term>,
    postings: Ref<Postings>,
}

#[derive(Managed)]
#[repr(C)]
struct Term {
    header: Header,
    text: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Postings {
    header: Header,
    documents: Ref<PlainArray<u32>>,
}

#[derive(Managed)]
#[repr(C)]
struct Query {
    header: Header,
    clauses: Ref<RefArray<TermQuery>>,
}

#[derive(Managed)]
#[repr(C)]
struct TermQuery {
    header: Header,
    number: u64,
    weight: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Hits {
    header: Header,
    query: Ref<Query>,
    documents: Ref<RefArray<ScoreDoc>>,
}

#[derive(Managed)]
#[repr(C)]
struct ScoreDoc {
    header: Header,
    score: u64,
    document: Ref<Document>,
}

/// Builds the index, starts the threads, and searches with each in turn.
pub fn run(m: &mut Mutator<'_>, options: &Options) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(3);
    if options.assertions {
        let one = m
            .expect()
            .message("open one searcher and use it for all searches");
        one.instances::<IndexSearcher>(1);
    }
    let threads = m.alloc_refs::<QueryThread>(THREADS).expect("room");
    m.static_root::<RefArray<QueryThread>>("threads")
        .set(&m, Some(&m[threads]));
    {
        let mut m = m.scope();
        let reader = open(&mut m, options, &mut random);
        let mut searcher = IndexSearcher::new(&mut m, reader);
        for number in 0..THREADS {
            if options.bug && number > 0 {
                searcher = IndexSearcher::new(&mut m, reader);
            }
            let name = m.alloc_str(&format!("query {number}")).expect("room");
            let thread = m.alloc(QueryThreadInit {
                name,
                searcher: Some(searcher),
                latest: None,
            });
            let thread = thread.expect("room");
            m[threads][number].set(Some(&m[thread]));
        }
    }
    for number in 0..options.searches {
        let mut m = m.scope();
        let thread = m.local(m[threads][number % THREADS].get().expect("all are there"));
        let hits = search(&mut m, thread, options, &mut random);
        m[thread].latest.set(Some(&m[hits]));
        let found = m[hits].documents.get().iter().filter_map(|it| it.get());
        let found = found.map(|it| it.score * it.document.get().number).sum();
        outcome.note(found);
    }
    outcome
}

impl IndexSearcher {
    fn new<'a>(m: &mut Mutator<'a>, reader: Local<'a, IndexReader>) -> Local<'a, Self> {
        let similarity = m.alloc(SimilarityInit { norm: 7 }).expect("room");
        let init = IndexSearcherInit { reader, similarity };
        m.alloc(init).expect("room")
    }
}

fn open<'a>(m: &mut Mutator<'a>, options: &Options, random: &mut Random) -> Local<'a, IndexReader> {
    m.scoped(|m| {
        let path = m.alloc_str("index")?;
        let directory = m.alloc(DirectoryInit { path })?;
        let segments = m.alloc_refs::<Segment>(SEGMENTS)?;
        for number in 0..SEGMENTS {
            let mut m = m.scope();
            let segment = segment(&mut m, options, random);
            m[segments][number].set(Some(&m[segment]));
        }
        m.alloc(IndexReaderInit {
            directory,
            segments,
        })
    })
    .expect("room")
}

fn segment<'a>(m: &mut Mutator<'a>, options: &Options, random: &mut Random) -> Local<'a, Segment> {
    m.scoped(|m| {
        let count = options.documents / SEGMENTS;
        let documents = m.alloc_refs::<Document>(count)?;
        for number in 0..count {
            let mut m = m.scope();
            let title = field(&mut m, "title", random);
            let body = field(&mut m, "body", random);
            let day = random.below(10_000);
            let date = m.alloc(DateFieldInit { day })?;
            let document = m.alloc(DocumentInit {
                number: number as u64,
                title,
                body,
                date,
            })?;
            m[documents][number].set(Some(&m[document]));
        }
        let count = options.terms / SEGMENTS;
        let terms = m.alloc_refs::<TermInfo>(count)?;
        for number in 0..count {
            let mut m = m.scope();
            let text = m.alloc_str(&format!("term {number}"))?;
            let term = m.alloc(TermInit { text })?;
            let places = m.alloc_plain(HITS, 0u32)?;
            for place in m[places].iter() {
                place.set(random.index(options.documents / SEGMENTS) as u32);
            }
            let postings = m.alloc(PostingsInit { documents: places })?;
            let info = m.alloc(TermInfoInit { term, postings })?;
            m[terms][number].set(Some(&m[info]));
        }
        m.alloc(SegmentInit { documents, terms })
    })
    .expect("room")
}

fn field<'a>(m: &mut Mutator<'a>, name: &str, random: &mut Random) -> Local<'a, Field> {
    m.scoped(|m| {
        let text = m.alloc_str(&format!("{name} {}", random.below(1_000_000)))?;
        m.alloc(FieldInit { boost: 1, text })
    })
    .expect("room")
}

fn search<'a>(
    m: &mut Mutator<'a>,
    thread: Local<'_, QueryThread>,
    options: &Options,
    random: &mut Random,
) -> Local<'a, Hits> {
    m.scoped(|m| {
        let searcher = m.local(m[thread].searcher.get().expect("set when it was made"));
        let clauses = m.alloc_refs::<TermQuery>(1)?;
        let number = random.below((options.terms / SEGMENTS) as u64);
        let clause = m.alloc(TermQueryInit { number, weight: 2 })?;
        m[clauses][0].set(Some(&m[clause]));
        let query = m.alloc(QueryInit { clauses })?;
        let segments = m[searcher].reader.get().segments.get();
        let segment = m.local(
            segments[random.index(SEGMENTS)]
                .get()
                .expect("all are there"),
        );
        let documents = m.alloc_refs::<ScoreDoc>(HITS)?;
        for hit in 0..HITS {
            let mut m = m.scope();
            let info = m[segment].terms.get()[number as usize]
                .get()
                .expect("all are there");
            let place = info.postings.get().documents.get()[hit].get() as usize;
            let document = m[segment].documents.get()[place].get();
            let document = m.local(document.expect("all are there"));
            let score = m[searcher].similarity.get().norm * m[clause].weight;
            let scored = m.alloc(ScoreDocInit { score, document })?;
            m[documents][hit].set(Some(&m[scored]));
        }
        m.alloc(HitsInit { query, documents })
    })
    .expect("room")
}
