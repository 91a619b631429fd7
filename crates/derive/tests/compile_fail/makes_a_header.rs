//! Nobody but the heap makes a header.

use heaphound::Header;

fn main() {
    let _ = Header {};
    let _ = Header::default();
}
