use heaphound::Plain;

#[derive(Plain)]
struct Point {
    x: f32,
    y: f32,
}

fn main() {}
