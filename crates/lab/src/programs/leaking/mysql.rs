//! MySQL: a library for databases keeps every statement until its connection is closed, in a hash table. When the
//! table grows, it touches all of them; the results that each holds are dead. Kept: the table, which
//! doubles, statements and results.

use heaphound::{Bytes, Header, Local, Managed, Mutator, Ref, RefArray, Slot, Var};

use super::{Death, Each, Work, WorkingSet};
use crate::programs::Random;

#[derive(Managed)]
#[repr(C)]
struct Connection {
    header: Header,
    count: Var<u64>,
    statements: Ref<RefArray<Entry>>,
}

#[derive(Managed)]
#[managed(name = "HashMap$Entry")]
#[repr(C)]
struct Entry {
    header: Header,
    statement: Ref<Statement>,
    next: Slot<Entry>,
}

#[derive(Managed)]
#[repr(C)]
struct Statement {
    header: Header,
    hash: u64,
    results: Slot<ResultSet>,
}

#[derive(Managed)]
#[repr(C)]
struct ResultSet {
    header: Header,
    rows: Ref<RefArray<Bytes>>,
}

/// Rows of a result, and bytes of a row.
const ROWS: usize = 20;
const ROW: usize = 120;
/// Bytes that are needed to parse and send a statement, and not longer.
const SCRATCH: usize = 16_000;
/// Chains of an empty table.
const CHAINS: usize = 24;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let mut random = work.random();
    let statements = m.alloc_refs::<Entry>(CHAINS)?;
    let connection = m.alloc(ConnectionInit {
        count: 0,
        statements,
    })?;
    loop {
        for _ in 0..work.part(256, ROWS * (ROW + 16)) {
            let mut m = m.scope();
            m.alloc_bytes(&[0; SCRATCH])?;
            let statement = execute(&mut m, &mut random)?;
            if work.leak {
                keep(&mut m, connection, statement)?;
            }
        }
        m[used].read()?;
        if !each() {
            return Ok(());
        }
    }
}

fn execute<'a>(m: &mut Mutator<'a>, random: &mut Random) -> Result<Local<'a, Statement>, Death> {
    m.scoped(|m| {
        let rows = m.alloc_refs::<Bytes>(ROWS)?;
        for place in 0..ROWS {
            let mut m = m.scope();
            let row = m.alloc_bytes(&[0; ROW])?;
            m[rows][place].set(Some(&m[row]));
        }
        let results = m.alloc(ResultSetInit { rows })?;
        Ok(m.alloc(StatementInit {
            hash: random.below(1 << 40),
            results: Some(results),
        })?)
    })
}

fn keep(
    m: &mut Mutator<'_>,
    connection: Local<'_, Connection>,
    statement: Local<'_, Statement>,
) -> Result<(), Death> {
    let table = m.local(m[connection].statements.try_get()?);
    let count = m[connection].count.get();
    if count as usize * 4 >= m[table].len() * 3 {
        grow(m, connection)?;
    }
    let table = m.local(m[connection].statements.try_get()?);
    let place = m[statement].hash as usize % m[table].len();
    let next = m[table][place].try_get()?.map(|it| m.local(it));
    let statement = m.local(&m[statement]);
    let entry = m.alloc(EntryInit { statement, next })?;
    m[table][place].set(Some(&m[entry]));
    m[connection].count.set(count + 1);
    Ok(())
}

/// Doubles the table, by which every statement is asked for its hash.
fn grow(m: &mut Mutator<'_>, connection: Local<'_, Connection>) -> Result<(), Death> {
    let old = m.local(m[connection].statements.try_get()?);
    let new = m.alloc_refs::<Entry>(m[old].len() * 2)?;
    for chain in m[old].iter() {
        let mut entry = chain.try_get()?;
        while let Some(it) = entry {
            entry = it.next.try_get()?;
            let place = it.statement.try_get()?.hash as usize % m[new].len();
            it.next.set(m[new][place].try_get()?);
            m[new][place].set(Some(it));
        }
    }
    m[connection].statements.set(&m[new]);
    Ok(())
}
