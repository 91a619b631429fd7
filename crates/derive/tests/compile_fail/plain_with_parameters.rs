use heaphound::Plain;

#[derive(Clone, Copy, Plain)]
struct Pair<T> {
    a: T,
    b: T,
}

fn main() {}
