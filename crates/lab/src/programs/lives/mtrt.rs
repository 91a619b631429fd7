//! A ray tracer after SPEC JVM98's `_227_mtrt`: spheres in an octree, through which a picture's rays are traced.
//!
//! The scene is built at start and lives to the end. From then on every operation on points and vectors makes
//! a new one, as the original's do, and so does every test of a sphere: masses of small objects that die at
//! once. The site that makes points makes those of the scene first and others ever after.
//!
//! The original's two threads render halves of the picture. Here one renders both, so that every run allocates in the same
//! order.

use heaphound::{
    Header, Local, Managed, Mutator, OutOfMemory, PlainArray, Ref, RefArray, Slot, Var,
};

use super::Checksum;
use crate::programs::Random;

/// Spheres of the scene.
const SPHERES: usize = 70_000;
/// Pixels of the picture.
const PIXELS: usize = 90_000;
/// Spheres of a node that is not divided, and nodes above one another.
const CROWDED: u64 = 8;
const DEEPEST: usize = 8;
/// How often a ray is reflected.
const REFLECTIONS: usize = 2;
/// Nodes that a ray goes through at most.
const STEPS: usize = 12;

#[derive(Managed)]
#[repr(C)]
struct Scene {
    header: Header,
    light: Ref<Point>,
    tree: Ref<OctNode>,
    picture: Ref<PlainArray<u64>>,
}

#[derive(Managed)]
#[repr(C)]
struct OctNode {
    header: Header,
    half: f64,
    count: Var<u64>,
    middle: Ref<Point>,
    spheres: Slot<SphereList>,
    children: Slot<RefArray<OctNode>>,
}

#[derive(Managed)]
#[repr(C)]
struct SphereList {
    header: Header,
    sphere: Ref<Sphere>,
    next: Slot<SphereList>,
}

#[derive(Managed)]
#[repr(C)]
struct Sphere {
    header: Header,
    radius: f64,
    middle: Ref<Point>,
    material: Ref<Material>,
}

#[derive(Managed)]
#[repr(C)]
struct Material {
    header: Header,
    shine: f64,
    color: Ref<Point>,
}

/// A point, a vector or a color.
#[derive(Managed)]
#[repr(C)]
struct Point {
    header: Header,
    x: f64,
    y: f64,
    z: f64,
}

#[derive(Managed)]
#[repr(C)]
struct Ray {
    header: Header,
    origin: Ref<Point>,
    direction: Ref<Point>,
}

#[derive(Managed)]
#[repr(C)]
struct Intersection {
    header: Header,
    distance: f64,
    point: Ref<Point>,
    sphere: Ref<Sphere>,
}

type Made<'a, T> = Result<Local<'a, T>, OutOfMemory>;

/// Builds the scene and renders it.
pub(super) fn run(m: &mut Mutator<'_>, scale: usize) -> Result<u64, OutOfMemory> {
    let mut m = m.scope();
    let mut random = Random::new(37);
    let tree = node(&mut m, [0.5; 3], 0.5)?;
    let spheres = (SPHERES * scale / 100).max(50);
    // Together they fill a tenth of the room, however many there are.
    let radius = (0.3 / (4.0 * spheres as f64)).cbrt() / 1.6;
    for _ in 0..spheres {
        let mut m = m.scope();
        let middle = point(&mut m, [0; 3].map(|_: u64| unit(&mut random)))?;
        let color = point(&mut m, [0; 3].map(|_: u64| unit(&mut random)))?;
        let shine = unit(&mut random);
        let material = m.alloc(MaterialInit { shine, color })?;
        let sphere = m.alloc(SphereInit {
            radius: radius * (0.5 + unit(&mut random)),
            middle,
            material,
        })?;
        insert(&mut m, tree, sphere, 0)?;
    }
    let pixels = PIXELS * scale / 100;
    let picture = m.alloc_plain(pixels, 0u64)?;
    let light = point(&mut m, [0.1, 0.9, 0.2])?;
    let scene = m.alloc(SceneInit {
        light,
        tree,
        picture,
    })?;
    m.static_root::<Scene>("scene").set(&m, Some(&m[scene]));
    let width = (pixels as f64).sqrt().ceil();
    for pixel in 0..pixels {
        let mut m = m.scope();
        let [x, y] = [pixel as f64 % width, (pixel as f64 / width).floor()].map(|it| it / width);
        let origin = point(&mut m, [x, y, 0.001])?;
        let direction = point(&mut m, [x - 0.5, y - 0.5, 1.3])?;
        let direction = normalized(&mut m, direction)?;
        let ray = m.alloc(RayInit { origin, direction })?;
        let color = shade(&mut m, scene, ray, REFLECTIONS)?;
        let color = m[color]
            .array()
            .map(|it| (it.clamp(0.0, 1.0) * 255.0) as u64);
        m[picture][pixel].set(color[0] << 16 | color[1] << 8 | color[2]);
    }
    let mut checksum = Checksum::default();
    m[picture]
        .iter()
        .for_each(|pixel| checksum.add(pixel.get()));
    Ok(checksum.value())
}

fn unit(random: &mut Random) -> f64 {
    random.below(1 << 20) as f64 / (1u64 << 20) as f64
}

// The scene.

fn node<'a>(m: &mut Mutator<'a>, middle: [f64; 3], half: f64) -> Made<'a, OctNode> {
    m.scoped(|m| {
        let middle = point(m, middle)?;
        m.alloc(OctNodeInit {
            half,
            count: 0,
            middle,
            spheres: None,
            children: None,
        })
    })
}

impl OctNode {
    /// Returns which child a point is in.
    fn octant(&self, point: [f64; 3]) -> usize {
        let middle = self.middle.get().array();
        let side = |axis: usize| ((point[axis] > middle[axis]) as usize) << axis;
        side(0) | side(1) | side(2)
    }

    /// Returns the undivided node that a point is in.
    fn leaf(&self, point: [f64; 3]) -> &Self {
        let mut node = self;
        while let Some(children) = node.children.get() {
            node = children[node.octant(point)].get().expect("all are there");
        }
        node
    }

    fn touches(&self, sphere: &Sphere) -> bool {
        let (middle, other) = (self.middle.get().array(), sphere.middle.get().array());
        (0..3).all(|axis| (middle[axis] - other[axis]).abs() <= self.half + sphere.radius)
    }
}

/// Puts a sphere into all nodes that it touches.
fn insert(
    m: &mut Mutator<'_>,
    at: Local<'_, OctNode>,
    sphere: Local<'_, Sphere>,
    depth: usize,
) -> Result<(), OutOfMemory> {
    if !m[at].touches(&m[sphere]) {
        return Ok(());
    }
    if let Some(children) = m[at].children.get() {
        let children = m.local(children);
        for octant in 0..8 {
            let mut m = m.scope();
            let child = m.local(m[children][octant].get().expect("all are there"));
            insert(&mut m, child, sphere, depth + 1)?;
        }
        return Ok(());
    }
    let next = m[at].spheres.get().map(|it| m.local(it));
    let sphere = m.local(&m[sphere]);
    let list = m.alloc(SphereListInit { sphere, next })?;
    m[at].spheres.set(Some(&m[list]));
    m[at].count.set(m[at].count.get() + 1);
    match m[at].count.get() > CROWDED && depth < DEEPEST {
        true => divide(m, at, depth),
        false => Ok(()),
    }
}

fn divide(m: &mut Mutator<'_>, at: Local<'_, OctNode>, depth: usize) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let children = m.alloc_refs::<OctNode>(8)?;
    let (middle, half) = (m[at].middle.get().array(), m[at].half / 2.0);
    for octant in 0..8 {
        let mut m = m.scope();
        let side = |axis: usize| match octant >> axis & 1 {
            1 => middle[axis] + half,
            _ => middle[axis] - half,
        };
        let child = node(&mut m, [side(0), side(1), side(2)], half)?;
        m[children][octant].set(Some(&m[child]));
    }
    let mut list = m[at].spheres.get().map(|it| m.local(it));
    m[at].spheres.clear();
    m[at].children.set(Some(&m[children]));
    while let Some(one) = list {
        let sphere = m.local(m[one].sphere.get());
        insert(&mut m.scope(), at, sphere, depth)?;
        list = m[one].next.get().map(|it| m.local(it));
    }
    Ok(())
}

// Points, which are never changed.

fn point<'a>(m: &mut Mutator<'a>, [x, y, z]: [f64; 3]) -> Made<'a, Point> {
    m.alloc(PointInit { x, y, z })
}

impl Point {
    fn array(&self) -> [f64; 3] {
        [self.x, self.y, self.z]
    }

    fn dot(&self, other: &Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }
}

/// Returns the vector from a point to another.
fn between<'a>(
    m: &mut Mutator<'a>,
    from: Local<'_, Point>,
    to: Local<'_, Point>,
) -> Made<'a, Point> {
    let (from, to) = (&m[from], &m[to]);
    let (x, y, z) = (to.x - from.x, to.y - from.y, to.z - from.z);
    m.alloc(PointInit { x, y, z })
}

/// Returns a point some way along a vector.
fn along<'a>(
    m: &mut Mutator<'a>,
    from: Local<'_, Point>,
    direction: Local<'_, Point>,
    way: f64,
) -> Made<'a, Point> {
    let (from, direction) = (&m[from], &m[direction]);
    let x = from.x + way * direction.x;
    let y = from.y + way * direction.y;
    let z = from.z + way * direction.z;
    m.alloc(PointInit { x, y, z })
}

fn normalized<'a>(m: &mut Mutator<'a>, vector: Local<'_, Point>) -> Made<'a, Point> {
    let vector = &m[vector];
    let length = vector.dot(vector).sqrt().max(1e-12);
    let [x, y, z] = vector.array().map(|it| it / length);
    m.alloc(PointInit { x, y, z })
}

fn scaled<'a>(m: &mut Mutator<'a>, color: Local<'_, Point>, by: f64) -> Made<'a, Point> {
    let [x, y, z] = m[color].array().map(|it| it * by);
    m.alloc(PointInit { x, y, z })
}

// Rays.

/// Returns the color that a ray sees.
fn shade<'a>(
    m: &mut Mutator<'a>,
    scene: Local<'_, Scene>,
    ray: Local<'_, Ray>,
    reflections: usize,
) -> Made<'a, Point> {
    m.scoped(|m| {
        let Some(hit) = intersect(m, scene, ray)? else {
            return point(m, [0.1, 0.1, 0.2]);
        };
        let (place, sphere) = (m.local(m[hit].point.get()), m.local(m[hit].sphere.get()));
        let middle = m.local(m[sphere].middle.get());
        let normal = between(m, middle, place)?;
        let normal = normalized(m, normal)?;
        let light = m.local(m[scene].light.get());
        let to_light = between(m, place, light)?;
        let to_light = normalized(m, to_light)?;
        // Off the surface, so that it does not hit itself.
        let origin = along(m, place, normal, 1e-6)?;
        let shadow = m.alloc(RayInit {
            origin,
            direction: to_light,
        })?;
        let lit = match intersect(m, scene, shadow)? {
            Some(_) => 0.2,
            None => 0.2 + 0.8 * m[normal].dot(&m[to_light]).max(0.0),
        };
        let material = m[sphere].material.get();
        let (shine, color) = (material.shine, m.local(material.color.get()));
        let color = scaled(m, color, lit)?;
        if reflections == 0 || shine < 0.4 {
            return Ok(color);
        }
        let direction = m.local(m[ray].direction.get());
        let turn = -2.0 * m[direction].dot(&m[normal]);
        let direction = along(m, direction, normal, turn)?;
        let mirrored = m.alloc(RayInit { origin, direction })?;
        let seen = shade(m, scene, mirrored, reflections - 1)?;
        along(m, color, seen, shine * 0.5)
    })
}

/// Returns the first sphere that a ray hits.
fn intersect<'a>(
    m: &mut Mutator<'a>,
    scene: Local<'_, Scene>,
    ray: Local<'_, Ray>,
) -> Result<Option<Local<'a, Intersection>>, OutOfMemory> {
    let tree = m.local(m[scene].tree.get());
    let origin = m.local(m[ray].origin.get());
    let direction = m.local(m[ray].direction.get());
    let mut way = 0.0;
    for _ in 0..STEPS {
        let here = along(m, origin, direction, way)?;
        let at = m[here].array();
        if at.iter().any(|it| !(0.0..1.0).contains(it)) {
            return Ok(None);
        }
        let leaf = m.local(m[tree].leaf(at));
        let exit = way + m[leaf].exit(at, m[direction].array());
        let mut nearest: Option<(f64, Local<'_, Sphere>)> = None;
        let mut list = m[leaf].spheres.get().map(|it| m.local(it));
        while let Some(one) = list {
            let sphere = m.local(m[one].sphere.get());
            let distance = distance(m, origin, direction, sphere)?;
            let is_nearer = |it: &f64| nearest.as_ref().is_none_or(|(least, _)| it < least);
            if let Some(distance) = distance.filter(is_nearer) {
                nearest = Some((distance, sphere));
            }
            list = m[one].next.get().map(|it| m.local(it));
        }
        // What is hit behind the node's end may not be the first.
        if let Some((distance, sphere)) = nearest
            && distance <= exit
        {
            let point = along(m, origin, direction, distance)?;
            let hit = m.alloc(IntersectionInit {
                distance,
                point,
                sphere,
            })?;
            return Ok(Some(hit));
        }
        way = exit + 1e-7;
    }
    Ok(None)
}

impl OctNode {
    /// Returns how far it is from a point inside to where a ray leaves.
    fn exit(&self, at: [f64; 3], direction: [f64; 3]) -> f64 {
        let middle = self.middle.get().array();
        let side = |axis: usize| match direction[axis] {
            way if way.abs() < 1e-12 => f64::MAX,
            way => (middle[axis] + self.half.copysign(way) - at[axis]) / way,
        };
        side(0).min(side(1)).min(side(2)).max(0.0)
    }
}

/// Returns how far it is to a sphere, if a ray hits it.
fn distance(
    m: &mut Mutator<'_>,
    origin: Local<'_, Point>,
    direction: Local<'_, Point>,
    sphere: Local<'_, Sphere>,
) -> Result<Option<f64>, OutOfMemory> {
    let mut m = m.scope();
    let middle = m.local(m[sphere].middle.get());
    let to_middle = between(&mut m, origin, middle)?;
    let (to_middle, radius) = (&m[to_middle], m[sphere].radius);
    let nearest = to_middle.dot(&m[direction]);
    let square = to_middle.dot(to_middle) - nearest * nearest;
    let inside = radius * radius - square;
    let distance = nearest - inside.max(0.0).sqrt();
    Ok((inside > 0.0 && distance > 0.0).then_some(distance))
}
