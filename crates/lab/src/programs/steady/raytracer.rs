//! A ray tracer: spheres in an octree that is built once; each frame traces rays through it, with
//! vectors, hits and an image that are garbage when the next frame begins.

use heaphound::{Header, Local, Managed, Mutator, PlainArray, Ref, RefArray, Slot, Var};

use super::{Each, Work};
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Scene {
    header: Header,
    tree: Ref<OctNode>,
    image: Slot<PlainArray<u64>>,
}

#[derive(Managed)]
#[repr(C)]
struct OctNode {
    header: Header,
    middle: Ref<Vector>,
    half: f64,
    count: Var<u64>,
    spheres: Slot<Listed>,
    children: Slot<RefArray<OctNode>>,
}

#[derive(Managed)]
#[repr(C)]
struct Listed {
    header: Header,
    sphere: Ref<Sphere>,
    next: Slot<Listed>,
}

#[derive(Managed)]
#[repr(C)]
struct Sphere {
    header: Header,
    radius: f64,
    middle: Ref<Vector>,
}

#[derive(Managed)]
#[repr(C)]
struct Vector {
    header: Header,
    x: f64,
    y: f64,
    z: f64,
}

#[derive(Managed)]
#[repr(C)]
struct Hit {
    header: Header,
    distance: f64,
    point: Ref<Vector>,
    before: Slot<Hit>,
}

/// Spheres of a scene.
const SPHERES: usize = 250;
/// Spheres of a node that is not divided.
const CROWDED: u64 = 6;
const DEEPEST: usize = 5;
/// Rays of a frame, and steps of a ray.
const RAYS: usize = 40;
const STEPS: usize = 12;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(41);
    let tree = node(&mut m, [0.5; 3], 0.5);
    for _ in 0..SPHERES * work.scale {
        let mut m = m.scope();
        let middle = vector(&mut m, [0; 3].map(|_: u64| unit(&mut random)));
        let radius = 0.02 * unit(&mut random);
        let sphere = m.alloc(SphereInit { radius, middle }).expect("room");
        insert(&mut m, tree, sphere, 0);
    }
    let scene = m.alloc(SceneInit { tree, image: None }).expect("room");
    m.static_root::<Scene>("scene").set(&m, Some(&m[scene]));
    for _ in 0..work.rounds {
        let rays = RAYS * work.scale;
        let mut m = m.scope();
        let image = m.alloc_plain(rays, 0u64).expect("room");
        m[scene].image.set(Some(&m[image]));
        for ray in 0..rays {
            let mut m = m.scope();
            let hits = trace(&mut m, tree, &mut random);
            m[scene].image.get().expect("just set")[ray].set(hits);
            outcome.note(hits);
        }
        each(&mut m);
    }
    outcome
}

fn unit(random: &mut Random) -> f64 {
    random.below(1 << 20) as f64 / (1u64 << 20) as f64
}

fn vector<'a>(m: &mut Mutator<'a>, [x, y, z]: [f64; 3]) -> Local<'a, Vector> {
    m.alloc(VectorInit { x, y, z }).expect("room")
}

fn node<'a>(m: &mut Mutator<'a>, middle: [f64; 3], half: f64) -> Local<'a, OctNode> {
    m.scoped(|m| {
        let middle = vector(m, middle);
        m.alloc(OctNodeInit {
            middle,
            half,
            count: 0,
            spheres: None,
            children: None,
        })
    })
    .expect("room")
}

impl Vector {
    fn array(&self) -> [f64; 3] {
        [self.x, self.y, self.z]
    }
}

impl OctNode {
    /// Returns which of the eight children a point is in.
    fn octant(&self, point: [f64; 3]) -> usize {
        let middle = self.middle.get().array();
        (0..3)
            .map(|axis| ((point[axis] > middle[axis]) as usize) << axis)
            .sum()
    }
}

fn insert(m: &mut Mutator<'_>, at: Local<'_, OctNode>, sphere: Local<'_, Sphere>, depth: usize) {
    let mut m = m.scope();
    let point = m[sphere].middle.get().array();
    if let Some(children) = m[at].children.get() {
        let child = children[m[at].octant(point)].get().expect("all are there");
        let child = m.local(child);
        return insert(&mut m, child, sphere, depth + 1);
    }
    let listed = m.local(&m[sphere]);
    let next = m[at].spheres.get().map(|it| m.local(it));
    let listed = m.alloc(ListedInit {
        sphere: listed,
        next,
    });
    let listed = listed.expect("room");
    m[at].spheres.set(Some(&m[listed]));
    m[at].count.set(m[at].count.get() + 1);
    if m[at].count.get() > CROWDED && depth < DEEPEST {
        divide(&mut m, at, depth);
    }
}

fn divide(m: &mut Mutator<'_>, at: Local<'_, OctNode>, depth: usize) {
    let children = m.alloc_refs::<OctNode>(8).expect("room");
    let (middle, half) = (m[at].middle.get().array(), m[at].half / 2.0);
    for octant in 0..8 {
        let mut m = m.scope();
        let side = |axis: usize| match octant >> axis & 1 {
            1 => middle[axis] + half,
            _ => middle[axis] - half,
        };
        let child = node(&mut m, [side(0), side(1), side(2)], half);
        m[children][octant].set(Some(&m[child]));
    }
    let mut listed = m[at].spheres.get().map(|it| m.local(it));
    m[at].spheres.clear();
    m[at].children.set(Some(&m[children]));
    while let Some(one) = listed {
        let sphere = m.local(m[one].sphere.get());
        insert(m, at, sphere, depth);
        listed = m[one].next.get().map(|it| m.local(it));
    }
}

/// Follows a ray. Returns what it hit.
fn trace(m: &mut Mutator<'_>, tree: Local<'_, OctNode>, random: &mut Random) -> u64 {
    let from = [0; 3].map(|_: u64| unit(random));
    let to = [0; 3].map(|_: u64| unit(random));
    let mut last: Option<Local<'_, Hit>> = None;
    let mut hits = 0;
    for step in 0..STEPS {
        let part = step as f64 / STEPS as f64;
        let at = [0, 1, 2].map(|axis| from[axis] + part * (to[axis] - from[axis]));
        let point = vector(m, at);
        let mut leaf = &m[tree];
        while let Some(children) = leaf.children.get() {
            leaf = children[leaf.octant(at)].get().expect("all are there");
        }
        let mut listed = leaf.spheres.get();
        let mut near = f64::MAX;
        while let Some(one) = listed {
            let middle = one.sphere.get().middle.get().array();
            let square: f64 = (0..3).map(|axis| (middle[axis] - at[axis]).powi(2)).sum();
            near = near.min(square.sqrt() - one.sphere.get().radius);
            listed = one.next.get();
        }
        if near < 0.1 {
            hits = hits * 2 + 1;
            let hit = m.alloc(HitInit {
                distance: near,
                point,
                before: last,
            });
            last = Some(hit.expect("room"));
        }
    }
    hits + last.map_or(0, |hit| (m[hit].distance * 1e6) as u64)
}
