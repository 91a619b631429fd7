//! Each mistake of a text is told, with its place.

use heaphound::deal;

fn main() {
    let _ = deal!("forall Node x: x.next ==");
    let _ = deal!(
        "rule one: assertion(forall Node x: x.next = = null);
         rule two: assertion(exists Node x x.data > 0);"
    );
    let _ = deal!("assertion(forall Node x: \"a\" == x.name && )");
    let _ = deal!("// nothing");
}
