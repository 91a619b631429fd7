//! Delaunay: a mesh of triangles to which points are added, and which is finished soon. No leak, though triangles
//! that were divided remain as the index by which points are found. Kept: the mesh and the index;
//! triangles are divided in three, and edges are not flipped.

use heaphound::{Header, Local, Managed, Mutator, Slot};

use super::{Death, Each, Work};
use crate::programs::Random;

#[derive(Managed)]
#[repr(C)]
struct Triangle {
    header: Header,
    a: u64,
    b: u64,
    c: u64,
    /// Those that it was divided in.
    parts: [Slot<Triangle>; 3],
}

/// How large the plane is.
const PLANE: u64 = 1 << 24;
const ITERATIONS: usize = 40;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let mut random = work.random();
    let far = 2 * PLANE as u32;
    let mesh = triangle(m, [[0, 0], [far, 0], [0, far]])?;
    // Half the heap, all in all.
    let points = work.part(2 * ITERATIONS, 3 * size_of::<Triangle>());
    for _ in 0..ITERATIONS {
        for _ in 0..points {
            insert(&mut m.scope(), mesh, &mut random)?;
        }
        if !each() {
            break;
        }
    }
    Ok(())
}

fn triangle<'a>(m: &mut Mutator<'a>, corners: [[u32; 2]; 3]) -> Result<Local<'a, Triangle>, Death> {
    let [a, b, c] = corners.map(|[x, y]| u64::from(x) << 32 | u64::from(y));
    Ok(m.alloc(TriangleInit {
        a,
        b,
        c,
        parts: [None; 3],
    })?)
}

/// Divides the triangle that a point lies in.
fn insert(
    m: &mut Mutator<'_>,
    mesh: Local<'_, Triangle>,
    random: &mut Random,
) -> Result<(), Death> {
    let point = [0; 2].map(|_| random.below(PLANE) as u32);
    let mut around = &m[mesh];
    loop {
        let parts = around.parts.each_ref().map(Slot::try_get);
        let mut last = None;
        let mut inside = None;
        for part in parts {
            let part = part?;
            last = part.or(last);
            inside = inside.or(part.filter(|it| it.contains(point)));
        }
        // On an edge between two, rounding never leaves it outside of all.
        match inside.or(last) {
            Some(part) => around = part,
            None => break,
        }
    }
    let around = m.local(around);
    for side in 0..3 {
        let mut corners = m[around].corners();
        corners[side] = point;
        let part = triangle(m, corners)?;
        m[around].parts[side].set(Some(&m[part]));
    }
    Ok(())
}

impl Triangle {
    fn corners(&self) -> [[u32; 2]; 3] {
        [self.a, self.b, self.c].map(|it| [(it >> 32) as u32, it as u32])
    }

    fn contains(&self, point: [u32; 2]) -> bool {
        let [a, b, c] = self.corners().map(|it| it.map(i64::from));
        let p = point.map(i64::from);
        let turn = |a: [i64; 2], b: [i64; 2]| {
            (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
        };
        let turns = [turn(a, b), turn(b, c), turn(c, a)];
        turns.iter().all(|&it| it >= 0) || turns.iter().all(|&it| it <= 0)
    }
}
