//! What extends a class can stand for it, and not the other way round, nor one beside it.

use heaphound::collections::{GcVec, VecMut};
use heaphound::{Heap, Local, Slot, managed};

#[managed]
struct Shape {}

#[managed]
struct Circle {
    #[managed(superclass)]
    shape: Shape,
}

#[managed]
struct Square {
    #[managed(superclass)]
    shape: Shape,
}

#[managed]
struct Holder {
    circle: Slot<Circle>,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let holder = m.alloc(HolderInit { circle: None }).unwrap();
    let shape = m.alloc(ShapeInit {}).unwrap();
    let square = m.alloc(SquareInit { shape: ShapeInit {} }).unwrap();
    m[holder].circle.set(shape);
    m[holder].circle.set(&m[square]);
    let circles = GcVec::<Circle>::new(&mut m).unwrap();
    circles.push(&mut m, square).unwrap();
    let _: Local<'_, Circle> = square.upcast_to(&m);
}
